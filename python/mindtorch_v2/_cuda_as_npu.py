"""Programs that say "cuda" run on NPUs: what --device npu and transfer_to_npu switch on."""

import sys
import warnings

import mindtorch_v2
from mindtorch_v2 import _C

# Names of torch.cuda that torch.npu has under another.
_NPU_NAMES = {"CUDAGraph": "NPUGraph"}


def send_cuda_to_npu():
    """From now on a device named "cuda" is an NPU, torch.cuda is torch.npu, and x.cuda() and
    x.is_cuda speak of NPUs. A warning says so, the first time."""
    if not _C._send_cuda_to("npu"):
        return
    from mindtorch_v2 import npu

    for cuda_name, npu_name in _NPU_NAMES.items():
        setattr(npu, cuda_name, getattr(npu, npu_name))
    mindtorch_v2.cuda = npu
    for name in [name for name in sys.modules if _is_cuda(name)]:
        del sys.modules[name]  # they are found anew, as torch.npu's
    sys.meta_path.insert(0, _CudaFinder)
    warnings.warn('devices named "cuda" are NPUs from here on', stacklevel=3)


def _is_cuda(name):
    parts = name.split(".")
    return parts[0] in ("torch", "mindtorch_v2") and parts[1:2] == ["cuda"]


class _CudaFinder:
    """Finds torch.cuda.x as torch.npu.x."""

    @staticmethod
    def find_spec(fullname, path=None, target=None):
        if not _is_cuda(fullname):
            return None
        from mindtorch_v2._install import alias

        return alias(fullname, "mindtorch_v2.npu" + fullname.partition(".cuda")[2])
