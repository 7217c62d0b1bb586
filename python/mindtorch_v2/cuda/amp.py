"""torch.cuda.amp: torch.amp for CUDA devices."""

import mindtorch_v2 as torch
from mindtorch_v2.amp._device_amp import make_names

__all__ = ["GradScaler", "autocast", "custom_bwd", "custom_fwd"]

_names = make_names("cuda", torch.float16)
GradScaler = _names["GradScaler"]
autocast = _names["autocast"]
custom_bwd = _names["custom_bwd"]
custom_fwd = _names["custom_fwd"]
