"""The parts of class Tensor that are written in Python."""

from mindtorch_v2 import _C
from mindtorch_v2._C import Tensor


def _repr(self, *, tensor_contents=None):
    from mindtorch_v2._tensor_str import _str

    return _str(self, tensor_contents=tensor_contents)


def _new_tensor(cls, *args, **kwargs):
    """What Tensor(...) does: sizes give an unset tensor, anything else is data."""
    raise NotImplementedError


Tensor.__repr__ = _repr
