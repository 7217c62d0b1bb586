"""torch.types: names for annotations."""

from typing import Union

from mindtorch_v2 import _C
from mindtorch_v2._C import Tensor

__all__ = ["Device", "Number"]

Number = Union[int, float, bool]  # noqa: UP007 - used at run time on Python 3.10
Device = Union[_C.device, str, int, None]  # noqa: UP007
