"""Schedules by a formula of the epoch: LambdaLR, StepLR, LinearLR and so on."""

import types
from bisect import bisect_right
from collections import Counter

from mindtorch_v2.optim.lr_scheduler.base import LRScheduler

__all__ = [
    "ConstantLR",
    "ExponentialLR",
    "LambdaLR",
    "LinearLR",
    "MultiStepLR",
    "MultiplicativeLR",
    "PolynomialLR",
    "StepLR",
]


class _ByFunction(LRScheduler):
    """Keeps one function per group."""

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        self.optimizer = optimizer
        if isinstance(lr_lambda, (list, tuple)):
            if len(lr_lambda) != len(optimizer.param_groups):
                raise ValueError(
                    f"Expected {len(optimizer.param_groups)} lr_lambdas, but got {len(lr_lambda)}"
                )
            self.lr_lambdas = list(lr_lambda)
        else:
            self.lr_lambdas = [lr_lambda] * len(optimizer.param_groups)
        super().__init__(optimizer, last_epoch)

    def state_dict(self):
        """Everything but the optimizer; of the functions only objects, not plain functions."""
        state = super().state_dict()
        del state["lr_lambdas"]
        state["lr_lambdas"] = [
            None if isinstance(function, types.FunctionType) else dict(function.__dict__)
            for function in self.lr_lambdas
        ]
        return state

    def load_state_dict(self, state_dict):
        """Takes over what state_dict gave."""
        state = dict(state_dict)
        saved = state.pop("lr_lambdas")
        self.__dict__.update(state)
        for function, values in zip(self.lr_lambdas, saved, strict=True):
            if values is not None:
                function.__dict__.update(values)


class LambdaLR(_ByFunction):
    """The first rate times a function of the epoch.

    >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=8.0)
    >>> schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda epoch: 0.5**epoch)
    >>> optimizer.step(); schedule.step()
    >>> schedule.get_last_lr()
    [4.0]
    """

    def get_lr(self):
        self._warn_outside_step()
        return [
            base * function(self.last_epoch)
            for function, base in zip(self.lr_lambdas, self.base_lrs, strict=True)
        ]


class MultiplicativeLR(_ByFunction):
    """The rate before times a function of the epoch."""

    def __init__(self, optimizer, lr_lambda, last_epoch=-1):
        given = lr_lambda if isinstance(lr_lambda, (list, tuple)) else [lr_lambda]
        for function in given:
            if not callable(function):
                raise TypeError(
                    f"lr_lambda should be a function, but got {type(function).__name__}"
                )
        super().__init__(optimizer, lr_lambda, last_epoch)

    def get_lr(self):
        self._warn_outside_step()
        if self._is_initial:
            return self._rates()
        return [
            rate * function(self.last_epoch)
            for function, rate in zip(self.lr_lambdas, self._rates(), strict=True)
        ]


class StepLR(LRScheduler):
    """Times gamma every step_size epochs.

    >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
    >>> schedule = torch.optim.lr_scheduler.StepLR(optimizer, 1, gamma=0.5)
    >>> optimizer.step(); schedule.step()
    >>> schedule.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer, step_size, gamma=0.1, last_epoch=-1):
        self.step_size, self.gamma = step_size, gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._warn_outside_step()
        if self.last_epoch == 0 or self.last_epoch % self.step_size != 0:
            return self._rates()
        return [rate * self.gamma for rate in self._rates()]

    def _get_closed_form_lr(self):
        factor = self.gamma ** (self.last_epoch // self.step_size)
        return [base * factor for base in self.base_lrs]


class MultiStepLR(LRScheduler):
    """Times gamma at every milestone."""

    def __init__(self, optimizer, milestones, gamma=0.1, last_epoch=-1):
        self.milestones, self.gamma = Counter(milestones), gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._warn_outside_step()
        times = self.milestones.get(self.last_epoch, 0)
        return [rate * self.gamma**times if times else rate for rate in self._rates()]

    def _get_closed_form_lr(self):
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return [base * self.gamma**passed for base in self.base_lrs]


class ConstantLR(LRScheduler):
    """The first rate times a factor for total_iters epochs, then the first rate."""

    def __init__(self, optimizer, factor=1.0 / 3, total_iters=5, last_epoch=-1):
        if factor > 1.0 or factor < 0:
            raise ValueError("Constant multiplicative factor expected to be between 0 and 1.")
        self.factor, self.total_iters = factor, total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._warn_outside_step()
        if self.last_epoch == 0:
            return [rate * self.factor for rate in self._rates()]
        if self.last_epoch != self.total_iters:
            return self._rates()
        return [rate * (1.0 / self.factor) for rate in self._rates()]

    def _get_closed_form_lr(self):
        early = self.last_epoch < self.total_iters
        return [base * (self.factor if early else 1) for base in self.base_lrs]


class LinearLR(LRScheduler):
    """The first rate times a factor that goes from start_factor to end_factor.

    >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
    >>> torch.optim.lr_scheduler.LinearLR(optimizer, 0.25, total_iters=3).get_last_lr()
    [0.25]
    """

    def __init__(
        self, optimizer, start_factor=1.0 / 3, end_factor=1.0, total_iters=5, last_epoch=-1
    ):
        if start_factor > 1.0 or start_factor <= 0:
            raise ValueError(
                "Starting multiplicative factor expected to be greater than 0 and less or equal "
                "to 1."
            )
        if end_factor > 1.0 or end_factor < 0:
            raise ValueError("Ending multiplicative factor expected to be between 0 and 1.")
        self.start_factor, self.end_factor = start_factor, end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._warn_outside_step()
        if self.last_epoch == 0:
            return [rate * self.start_factor for rate in self._rates()]
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates()
        rise = self.end_factor - self.start_factor
        factor = 1.0 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise)
        return [rate * factor for rate in self._rates()]

    def _get_closed_form_lr(self):
        passed = min(self.total_iters, self.last_epoch)
        rise = self.end_factor - self.start_factor
        factor = self.start_factor + rise * passed / self.total_iters
        return [base * factor for base in self.base_lrs]


class ExponentialLR(LRScheduler):
    """Times gamma every epoch."""

    def __init__(self, optimizer, gamma, last_epoch=-1):
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._warn_outside_step()
        if self._is_initial:
            return self._rates()
        return [rate * self.gamma for rate in self._rates()]

    def _get_closed_form_lr(self):
        return [base * self.gamma**self.last_epoch for base in self.base_lrs]


class PolynomialLR(LRScheduler):
    """A power of the share of epochs that are left, down to 0."""

    def __init__(self, optimizer, total_iters=5, power=1.0, last_epoch=-1):
        self.total_iters, self.power = total_iters, power
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        self._warn_outside_step()
        if self._is_initial or self.last_epoch > self.total_iters:
            return self._rates()
        left = 1.0 - self.last_epoch / self.total_iters
        before = 1.0 - (self.last_epoch - 1) / self.total_iters
        return [rate * (left / before) ** self.power for rate in self._rates()]

    def _get_closed_form_lr(self):
        passed = min(self.total_iters, self.last_epoch)
        share = (1.0 - passed / self.total_iters) ** self.power
        return [base * share for base in self.base_lrs]
