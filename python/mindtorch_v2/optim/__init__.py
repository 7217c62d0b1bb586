"""torch.optim: optimizers, learning-rate schedules, averages of models.

>>> model = torch.nn.Linear(2, 1)
>>> optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
>>> schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=100)
"""

from mindtorch_v2.optim import lr_scheduler, optimizer, swa_utils
from mindtorch_v2.optim.adam import Adam, Adamax, AdamW, NAdam, RAdam
from mindtorch_v2.optim.adaptive import ASGD, Adadelta, Adagrad, RMSprop, Rprop, SparseAdam
from mindtorch_v2.optim.lbfgs import LBFGS
from mindtorch_v2.optim.matrix import Adafactor, Muon
from mindtorch_v2.optim.optimizer import Optimizer
from mindtorch_v2.optim.sgd import SGD

__all__ = [
    "ASGD",
    "Adadelta",
    "Adafactor",
    "Adagrad",
    "Adam",
    "AdamW",
    "Adamax",
    "LBFGS",
    "Muon",
    "NAdam",
    "Optimizer",
    "RAdam",
    "RMSprop",
    "Rprop",
    "SGD",
    "SparseAdam",
    "lr_scheduler",
    "swa_utils",
]
