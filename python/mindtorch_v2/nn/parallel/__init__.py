"""torch.nn.parallel: the wrappers of models that train on several devices."""

from mindtorch_v2.nn.modules.module import Module
from mindtorch_v2.nn.parallel import distributed, scatter_gather
from mindtorch_v2.nn.parallel.distributed import DistributedDataParallel

__all__ = ["DataParallel", "DistributedDataParallel", "distributed", "scatter_gather"]


class DataParallel(Module):
    """Runs a module on one device. Several devices are torch.distributed's job.

    >>> list(torch.nn.DataParallel(torch.nn.Linear(2, 1)).state_dict())
    ['module.weight', 'module.bias']
    """

    def __init__(self, module, device_ids=None, output_device=None, dim=0):
        super().__init__()
        self.module, self.dim = module, dim
        self.device_ids, self.output_device = list(device_ids or []), output_device
        if len(self.device_ids) > 1:
            raise NotImplementedError(
                "DataParallel over several devices is not there; one process per device is the way"
            )

    def forward(self, *inputs, **kwargs):
        return self.module(*inputs, **kwargs)
