"""torch.distributed.distributed_c10d: the old place of torch.distributed's functions."""

from mindtorch_v2.distributed import *
from mindtorch_v2.distributed import _no_group
from mindtorch_v2.distributed import group as GroupMember

__all__ = ["GroupMember"]


def _get_default_group():
    """ValueError: there is no default process group."""
    _no_group()
