"""torch.fft: discrete Fourier transforms, the ops named fft_..., without the prefix.

>>> torch.fft.rfft(torch.tensor([1., 2., 3., 4.]))
tensor([10.+0.j, -2.+2.j, -2.+0.j])
"""

from mindtorch_v2 import _C
from mindtorch_v2._C import Tensor

globals().update(
    (name.removeprefix("fft_"), function)
    for name, function in _C._functions.items()
    if name.startswith("fft_")
)
__all__ = ["Tensor"] + sorted(
    name.removeprefix("fft_") for name in _C._functions if name.startswith("fft_")
)
