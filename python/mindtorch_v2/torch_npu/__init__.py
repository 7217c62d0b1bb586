"""torch_npu: what programs written for Ascend import beside torch.

>>> import mindtorch_v2.torch_npu as torch_npu
>>> torch_npu.npu is torch.npu
True
"""

from mindtorch_v2 import npu, version

__version__ = version.torch_version_with_ours


def __getattr__(name):
    if name == "contrib":
        import importlib

        return importlib.import_module("mindtorch_v2.torch_npu.contrib")
    raise AttributeError(f"module 'torch_npu' has no attribute {name!r}")
