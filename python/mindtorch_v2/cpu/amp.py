"""torch.cpu.amp: torch.amp for the CPU."""

import mindtorch_v2 as torch
from mindtorch_v2.amp._device_amp import make_names

__all__ = ["GradScaler", "autocast"]

_names = make_names("cpu", torch.bfloat16)
GradScaler = _names["GradScaler"]
autocast = _names["autocast"]
