"""mindtorch: torch-shaped tensors on the CPU, on Ascend NPUs and on NVIDIA GPUs.

>>> import mindtorch_v2 as torch
>>> torch.tensor([1.0, 2.0]) + 1
tensor([2., 3.])
"""

from mindtorch_v2 import _C
from mindtorch_v2._C import (
    Generator,
    OutOfMemoryError,
    Size,
    Tensor,
    bfloat16,
    channels_last,
    channels_last_3d,
    contiguous_format,
    device,
    dtype,
    float16,
    float32,
    float64,
    get_num_threads,
    int8,
    int16,
    int32,
    int64,
    layout,
    memory_format,
    preserve_format,
    set_num_threads,
    strided,
    uint8,
)
from mindtorch_v2._C import bool as bool  # noqa: A004 - torch.bool is a dtype

globals().update(_C._functions)

half, float, double = float16, float32, float64
short, int, long = int16, int32, int64

from mindtorch_v2 import _tensor  # noqa: E402
from mindtorch_v2._creation import *  # noqa: E402, F403

__version__ = "0.1.0"
