"""torch.npu: Ascend NPUs. torch.npu.is_available() says whether there is one.

>>> torch.npu.is_available() == (torch.npu.device_count() > 0)
True
"""

from mindtorch_v2 import _device_module
from mindtorch_v2.npu import memory, settings

globals().update(_device_module.make_functions("npu"))
for _part in (memory, settings):
    globals().update({name: getattr(_part, name) for name in _part.__all__})
__getattr__ = _device_module.make_getattr(
    "npu", __name__, ("amp", "doctor", "graphs", "random", "simulator", "streams")
)
