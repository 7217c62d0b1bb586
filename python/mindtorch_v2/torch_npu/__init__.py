"""torch_npu: what programs written for Ascend import beside torch.

>>> import mindtorch_v2.torch_npu as torch_npu
>>> torch_npu.npu is torch.npu
True
"""

import importlib

from mindtorch_v2 import npu, version
from mindtorch_v2.torch_npu._attention import npu_fusion_attention
from mindtorch_v2.torch_npu._functions import (
    fast_gelu,
    get_npu_format,
    npu_add_rms_norm,
    npu_confusion_transpose,
    npu_fast_gelu,
    npu_format_cast,
    npu_geglu,
    npu_rms_norm,
    npu_rotary_mul,
    npu_scaled_masked_softmax,
    npu_swiglu,
)

__version__ = version.torch_version_with_ours


def __getattr__(name):
    if name in ("contrib", "optim", "profiler"):
        return importlib.import_module(f"mindtorch_v2.torch_npu.{name}")
    raise AttributeError(f"module 'torch_npu' has no attribute {name!r}")
