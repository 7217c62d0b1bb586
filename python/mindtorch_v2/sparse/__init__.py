"""Sparse tensors: coordinates (COO) and compressed rows and columns (CSR, CSC).

docs/sparse.md is the whole description.

>>> a = torch.sparse_coo_tensor([[0, 1], [1, 0]], [2., 3.], (2, 2))
>>> torch.sparse.mm(a, torch.eye(2))
tensor([[0., 2.],
        [3., 0.]])
"""

from mindtorch_v2.sparse import _attributes as _attributes
from mindtorch_v2.sparse import _pointwise as _pointwise
from mindtorch_v2.sparse import _shape as _shape
from mindtorch_v2.sparse._create import check_sparse_tensor_invariants
from mindtorch_v2.sparse._functions import addmm, mm, sampled_addmm, spdiags, sum
from mindtorch_v2.sparse._reduce import log_softmax, softmax

__all__ = [
    "addmm",
    "check_sparse_tensor_invariants",
    "log_softmax",
    "mm",
    "sampled_addmm",
    "softmax",
    "spdiags",
    "sum",
]
