"""torch.npu: Ascend NPUs. torch.npu.is_available() says whether there is one.

>>> torch.npu.is_available() == (torch.npu.device_count() > 0)
True
"""

from mindtorch_v2 import _device_module
from mindtorch_v2.npu import memory

globals().update(_device_module.make_functions("npu"))
globals().update({name: getattr(memory, name) for name in memory.__all__})
__getattr__ = _device_module.make_getattr(
    "npu", __name__, ("amp", "doctor", "graphs", "random", "simulator", "streams")
)
