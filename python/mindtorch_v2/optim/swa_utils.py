"""torch.optim.swa_utils: averages of models."""

import itertools
import math
from copy import deepcopy

import mindtorch_v2 as torch
from mindtorch_v2.nn import Module
from mindtorch_v2.nn.modules.batchnorm import _BatchNorm
from mindtorch_v2.optim.lr_scheduler.base import LRScheduler, per_group

__all__ = [
    "AveragedModel",
    "SWALR",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]


def _check_decay(decay):
    if decay < 0.0 or decay > 1.0:
        raise ValueError(
            f"Invalid decay value {decay} provided. Please provide a value in [0,1] range."
        )


def _move_towards(averages, values, weight):
    """Floats in one pass, the others by themselves."""
    pairs = list(zip(averages, values, strict=True))
    floats = [(a, v.to(a.dtype)) for a, v in pairs if a.is_floating_point()]
    if floats:
        torch._foreach_lerp_([a for a, _ in floats], [v for _, v in floats], weight)
    for average, value in pairs:
        if not average.is_floating_point():
            average.copy_(average + (value - average) * weight)


def get_ema_multi_avg_fn(decay=0.999):
    """A function that moves averages towards new values by 1 - decay, list by list."""
    _check_decay(decay)

    @torch.no_grad()
    def update(averages, values, _):
        _move_towards(averages, values, 1 - decay)

    return update


def get_swa_multi_avg_fn():
    """A function that takes new values into plain means, list by list."""

    @torch.no_grad()
    def update(averages, values, num_averaged):
        _move_towards(averages, values, 1 / (float(num_averaged) + 1))

    return update


def get_ema_avg_fn(decay=0.999):
    """A function that gives decay * average + (1 - decay) * value.

    >>> torch.optim.swa_utils.get_ema_avg_fn(0.5)(torch.zeros(1), torch.ones(1), 1)
    tensor([0.5000])
    """
    _check_decay(decay)

    @torch.no_grad()
    def update(average, value, num_averaged):
        return decay * average + (1 - decay) * value

    return update


def get_swa_avg_fn():
    """A function that gives the mean with one more value.

    >>> torch.optim.swa_utils.get_swa_avg_fn()(torch.zeros(1), torch.ones(1), 1)
    tensor([0.5000])
    """

    @torch.no_grad()
    def update(average, value, num_averaged):
        return average + (value - average) / (num_averaged + 1)

    return update


class AveragedModel(Module):
    """A copy of a model whose parameters are averages over the calls of update_parameters.

    >>> model = torch.nn.Linear(2, 1)
    >>> average = torch.optim.swa_utils.AveragedModel(model)
    >>> average.update_parameters(model)
    >>> average.n_averaged
    tensor(1)
    """

    def __init__(self, model, device=None, avg_fn=None, multi_avg_fn=None, use_buffers=False):
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise AssertionError("Only one of avg_fn and multi_avg_fn should be provided")
        self.module = deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", torch.tensor(0, dtype=torch.long, device=device))
        self.avg_fn, self.multi_avg_fn, self.use_buffers = avg_fn, multi_avg_fn, use_buffers

    def forward(self, *args, **kwargs):
        return self.module(*args, **kwargs)

    def _averaged(self, model):
        if not self.use_buffers:
            return list(model.parameters())
        return list(itertools.chain(model.parameters(), model.buffers()))

    def update_parameters(self, model):
        """Takes the parameters of the model into the average."""
        averages = [value.detach() for value in self._averaged(self.module)]
        source = model if not isinstance(model, AveragedModel) else model.module
        values = [
            value.detach().to(average.device)
            for average, value in zip(averages, self._averaged(source), strict=True)
        ]
        with torch.no_grad():
            if int(self.n_averaged) == 0:
                torch._foreach_copy_(averages, values)
            elif self.multi_avg_fn is not None:
                self.multi_avg_fn(averages, values, self.n_averaged)
            else:
                mean = self.avg_fn or get_swa_avg_fn()
                for average, value in zip(averages, values, strict=True):
                    average.copy_(mean(average, value, self.n_averaged.to(average.device)))
            if not self.use_buffers:
                # Buffers are not averaged: they are the model's.
                for mine, other in zip(self.module.buffers(), source.buffers(), strict=True):
                    mine.detach().copy_(other.detach().to(mine.device))
            self.n_averaged += 1


def update_bn(loader, model, device=None):
    """Computes the running statistics of the model's batch norms from the data of a loader.

    >>> model = torch.nn.BatchNorm1d(1)
    >>> torch.optim.swa_utils.update_bn([torch.tensor([[1.0], [3.0]])], model)
    >>> model.running_mean
    tensor([2.])
    """
    momenta = {}
    for module in model.modules():
        if isinstance(module, _BatchNorm):
            module.reset_running_stats()
            momenta[module] = module.momentum
    if not momenta:
        return
    was_training = model.training
    model.train()
    for module in momenta:
        module.momentum = None  # the mean over all batches
    with torch.no_grad():
        for batch in loader:
            if isinstance(batch, (list, tuple)):
                batch = batch[0]
            model(batch if device is None else batch.to(device))
    for module, momentum in momenta.items():
        module.momentum = momentum
    model.train(was_training)


class SWALR(LRScheduler):
    """From the rate there is to swa_lr in anneal_epochs, then constant.

    >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
    >>> schedule = torch.optim.swa_utils.SWALR(optimizer, 0.5, 2, "linear")
    >>> optimizer.step(); schedule.step()
    >>> schedule.get_last_lr()
    [0.75]
    """

    def __init__(self, optimizer, swa_lr, anneal_epochs=10, anneal_strategy="cos", last_epoch=-1):
        for rate, group in zip(
            per_group("swa_lr", optimizer, swa_lr), optimizer.param_groups, strict=True
        ):
            group["swa_lr"] = rate
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must by one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        self._anneal_strategy = anneal_strategy
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(f"anneal_epochs must be equal or greater than 0, got {anneal_epochs}")
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, epoch):
        """How far towards swa_lr an epoch is."""
        part = max(0, min(1, epoch / max(1, self.anneal_epochs)))
        return part if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * part)) / 2

    def get_lr(self):
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            target = group["swa_lr"]
            # The rate that this schedule began with, from the rate it set last.
            first = target if before == 1 else (group["lr"] - before * target) / (1 - before)
            rates.append(target * now + first * (1 - now))
        return rates
