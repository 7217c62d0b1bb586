"""Sparse tensors: coordinates (COO), compressed rows and columns (CSR, CSC), also of blocks (BSR,
BSC).

docs/sparse.md is the whole description.

>>> a = torch.sparse_coo_tensor([[0, 1], [1, 0]], [2., 3.], (2, 2))
>>> torch.sparse.mm(a, torch.eye(2))
tensor([[0., 2.],
        [3., 0.]])
"""

from mindtorch_v2.sparse import _attributes as _attributes
from mindtorch_v2.sparse import _autograd as _autograd
from mindtorch_v2.sparse import _pointwise as _pointwise
from mindtorch_v2.sparse import _shape as _shape
from mindtorch_v2.sparse._create import check_sparse_tensor_invariants
from mindtorch_v2.sparse._functions import (
    addmm,
    as_sparse_gradcheck,
    mm,
    sampled_addmm,
    spdiags,
    spsolve,
    sum,
)
from mindtorch_v2.sparse._reduce import log_softmax, softmax

__all__ = [
    "addmm",
    "as_sparse_gradcheck",
    "check_sparse_tensor_invariants",
    "log_softmax",
    "mm",
    "sampled_addmm",
    "softmax",
    "spdiags",
    "spsolve",
    "sum",
]
