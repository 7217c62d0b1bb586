"""torch.cuda.memory: what is known about device memory, and recording it.

>>> torch.cuda.memory.memory_stats is torch.cuda.memory_stats
True
"""

from mindtorch_v2 import _device_module

_names = _device_module.make_memory("cuda")
__all__ = [name for name in _names if name[0] != "_"]
globals().update(_names)
