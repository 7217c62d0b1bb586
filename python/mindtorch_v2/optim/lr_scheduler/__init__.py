"""torch.optim.lr_scheduler: learning rates that change from epoch to epoch.

>>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
>>> schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=2, gamma=0.5)
>>> for epoch in range(4):
...     print(schedule.get_last_lr())
...     optimizer.step()
...     schedule.step()
[1.0]
[1.0]
[0.5]
[0.5]
"""

from mindtorch_v2.optim.lr_scheduler.base import LRScheduler, _LRScheduler
from mindtorch_v2.optim.lr_scheduler.composed import ChainedScheduler, SequentialLR
from mindtorch_v2.optim.lr_scheduler.cosine import (
    CosineAnnealingLR,
    CosineAnnealingWarmRestarts,
)
from mindtorch_v2.optim.lr_scheduler.cyclic import CyclicLR
from mindtorch_v2.optim.lr_scheduler.decay import (
    ConstantLR,
    ExponentialLR,
    LambdaLR,
    LinearLR,
    MultiplicativeLR,
    MultiStepLR,
    PolynomialLR,
    StepLR,
)
from mindtorch_v2.optim.lr_scheduler.one_cycle import OneCycleLR
from mindtorch_v2.optim.lr_scheduler.plateau import ReduceLROnPlateau

__all__ = [
    "ChainedScheduler",
    "ConstantLR",
    "CosineAnnealingLR",
    "CosineAnnealingWarmRestarts",
    "CyclicLR",
    "ExponentialLR",
    "LRScheduler",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "OneCycleLR",
    "PolynomialLR",
    "ReduceLROnPlateau",
    "SequentialLR",
    "StepLR",
]
