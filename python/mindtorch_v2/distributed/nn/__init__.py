"""torch.distributed.nn: collectives with gradients. They need a process group: there is none."""

from mindtorch_v2.distributed.nn import functional
from mindtorch_v2.distributed.nn.functional import *

__all__ = ["functional", *functional.__all__]
