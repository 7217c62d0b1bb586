"""torch.nn.parallel.distributed: training by several processes."""

from mindtorch_v2.nn.modules.module import Module

__all__ = ["DistributedDataParallel"]


class DistributedDataParallel(Module):
    """A model that several processes train. It needs a process group, and torch.distributed has
    none: ValueError, as in torch before init_process_group().
    """

    def __init__(self, module, device_ids=None, output_device=None, **settings):
        from mindtorch_v2 import distributed

        super().__init__()
        self.process_group = distributed.new_group()
