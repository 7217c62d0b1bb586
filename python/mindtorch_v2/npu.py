"""torch.npu: Ascend NPUs. torch.npu.is_available() says whether there is one.

>>> torch.npu.is_available() == (torch.npu.device_count() > 0)
True
"""

from mindtorch_v2 import _device_module

globals().update(_device_module.make_functions("npu"))
__getattr__ = _device_module.make_getattr("npu", __name__)
