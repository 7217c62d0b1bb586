"""torch_npu: what programs written for Ascend import beside torch.

>>> import mindtorch_v2.torch_npu as torch_npu
>>> torch_npu.npu is torch.npu
True
"""

import importlib

from mindtorch_v2 import npu, version
from mindtorch_v2.torch_npu._attention import npu_fusion_attention
from mindtorch_v2.torch_npu._functions import (
    get_npu_format,
    npu_add_rms_norm,
    npu_confusion_transpose,
    npu_format_cast,
    npu_geglu,
    npu_rms_norm,
    npu_rotary_mul,
    npu_scaled_masked_softmax,
    npu_swiglu,
)
from mindtorch_v2.torch_npu._layers import (
    batch_norm_reduce,
    dropout_with_byte_mask,
    fast_gelu,
    npu_add_layer_norm,
    npu_bmmV2,
    npu_conv2d,
    npu_conv3d,
    npu_conv_transpose2d,
    npu_convolution,
    npu_convolution_transpose,
    npu_deep_norm,
    npu_fast_gelu,
    npu_ffn,
    npu_gelu,
    npu_group_norm_silu,
    npu_layer_norm_eval,
    npu_linear,
    npu_mish,
    npu_silu,
    npu_silu_,
    npu_softmax_cross_entropy_with_logits,
)
from mindtorch_v2.torch_npu._shapes import (
    npu_broadcast,
    npu_dtype_cast,
    npu_dtype_cast_,
    npu_format_cast_,
    npu_indexing,
    npu_max,
    npu_min,
    npu_one_hot,
    npu_pad,
    npu_prefetch,
    npu_reshape,
    npu_scatter,
    npu_slice,
    npu_sort_v2,
    npu_transpose,
    one_,
    scatter_update,
    scatter_update_,
)

__version__ = version.torch_version_with_ours


def __getattr__(name):
    if name in ("contrib", "optim", "profiler"):
        return importlib.import_module(f"mindtorch_v2.torch_npu.{name}")
    raise AttributeError(f"module 'torch_npu' has no attribute {name!r}")
