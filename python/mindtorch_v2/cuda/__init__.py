"""torch.cuda: NVIDIA GPUs. torch.cuda.is_available() says whether there is one.

>>> torch.cuda.is_available() == (torch.cuda.device_count() > 0)
True
"""

from mindtorch_v2 import _device_module
from mindtorch_v2.cuda import memory

globals().update(_device_module.make_functions("cuda"))
globals().update({name: getattr(memory, name) for name in memory.__all__})
__getattr__ = _device_module.make_getattr("cuda", __name__, ("amp", "graphs", "random", "streams"))
