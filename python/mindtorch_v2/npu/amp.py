"""torch.npu.amp: torch.amp for NPUs."""

import mindtorch_v2 as torch
from mindtorch_v2.amp._device_amp import make_names

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]

_names = make_names("npu", torch.float16, deprecated=False)
GradScaler = _names["GradScaler"]
autocast = _names["autocast"]
custom_bwd = _names["custom_bwd"]
custom_fwd = _names["custom_fwd"]
