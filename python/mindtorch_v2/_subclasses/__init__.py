"""torch._subclasses: tensors without data that torch traces with. There are none; the meta device
has tensors without data."""

from mindtorch_v2._subclasses import fake_tensor

__all__ = ["fake_tensor"]
