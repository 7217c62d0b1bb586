"""torch.types: names for annotations."""

import os
from builtins import bool as _bool
from builtins import bytes as _bytes
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from collections.abc import Sequence
from typing import IO, Union

from mindtorch_v2._C import Size, Tensor
from mindtorch_v2._C import device as _device
from mindtorch_v2._C import dtype as _dtype
from mindtorch_v2._C import layout as _layout
from mindtorch_v2._symbolic import SymBool, SymFloat, SymInt
from mindtorch_v2.storage import UntypedStorage as Storage

__all__ = ["Device", "FileLike", "Number", "Storage"]
_SHADOWED = (_bool, _bytes, _complex, _float, _int, _str, _dtype, _layout)  # used by others

Number = Union[int, float, bool]  # noqa: UP007 - used at run time on Python 3.10
_Number = (int, float, bool)
Device = Union[_device, str, int, None]  # noqa: UP007
FileLike = Union[str, os.PathLike, IO[bytes]]  # noqa: UP007

_TensorOrTensors = Union[Tensor, Sequence[Tensor]]  # noqa: UP007
_size = Union[Size, list[int], tuple[int, ...]]  # noqa: UP007
_symsize = Union[Size, Sequence[Union[int, SymInt]]]  # noqa: UP007

IntLikeType = Union[int, SymInt]  # noqa: UP007
FloatLikeType = Union[float, SymFloat]  # noqa: UP007
BoolLikeType = Union[bool, SymBool]  # noqa: UP007
py_sym_types = (SymInt, SymFloat, SymBool)
PySymType = Union[SymInt, SymFloat, SymBool]  # noqa: UP007
