"""torch.npu.memory: what is known about device memory, and recording it.

>>> torch.npu.memory.memory_stats is torch.npu.memory_stats
True
"""

from mindtorch_v2 import _device_module

_names = _device_module.make_memory("npu")
__all__ = [name for name in _names if name[0] != "_"]
globals().update(_names)
