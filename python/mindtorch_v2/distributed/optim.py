"""torch.distributed.optim: optimizers of several processes. They need a process group, and there is
none."""

from mindtorch_v2.optim.optimizer import Optimizer

__all__ = ["DistributedOptimizer", "PostLocalSGDOptimizer", "ZeroRedundancyOptimizer"]


class _NeedsGroup:
    def __init__(self, *args, **kwargs):
        from mindtorch_v2 import distributed

        raise RuntimeError(distributed._NOT_AVAILABLE)


class DistributedOptimizer(_NeedsGroup):
    """An optimizer of parameters in several processes."""


class PostLocalSGDOptimizer(_NeedsGroup, Optimizer):
    """An optimizer that averages the parameters of several processes."""


class ZeroRedundancyOptimizer(_NeedsGroup, Optimizer):
    """An optimizer whose state is spread over several processes."""
