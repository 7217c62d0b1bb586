"""torch.linalg: the ops named linalg_..., without the prefix.

>>> torch.linalg.inv(torch.tensor([[2.]]))
tensor([[0.5000]])
"""

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._C import LinAlgError
from mindtorch_v2._overridable import make_overridable as _make_overridable


def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """torch.diagonal of the last two dimensions.

    >>> torch.linalg.diagonal(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    return torch.diagonal(A, offset, dim1, dim2)


globals().update(
    (name.removeprefix("linalg_"), function)
    for name, function in _C._functions.items()
    if name.startswith("linalg_")
)
__all__ = ["LinAlgError", "diagonal"] + sorted(
    name.removeprefix("linalg_") for name in _C._functions if name.startswith("linalg_")
)
_make_overridable(globals())
