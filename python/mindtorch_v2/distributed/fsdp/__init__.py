"""torch.distributed.fsdp: models that are spread over several processes. There is one process, so
that no module is one of these."""

from mindtorch_v2.nn.modules.module import Module

__all__ = ["FSDPModule", "FullyShardedDataParallel", "fully_shard"]


def _refuse():
    from mindtorch_v2 import distributed

    raise RuntimeError(distributed._NOT_AVAILABLE)


class FullyShardedDataParallel(Module):
    """A model whose parameters are spread over several processes."""

    def __init__(self, *args, **kwargs):
        super().__init__()
        _refuse()


class FSDPModule:
    """What fully_shard makes of a module."""

    def __new__(cls, *args, **kwargs):
        _refuse()


def fully_shard(module, **settings):
    """RuntimeError: process groups are not available."""
    _refuse()
