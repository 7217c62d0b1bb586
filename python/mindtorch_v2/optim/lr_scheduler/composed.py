"""Schedules made of schedules."""

import warnings
from bisect import bisect_right

from mindtorch_v2.optim.lr_scheduler.base import (
    LRScheduler,
    kept,
    set_value,
)

__all__ = ["ChainedScheduler", "SequentialLR"]


class _Composed(LRScheduler):
    """Writes down the states of the schedules in it."""

    def state_dict(self):
        """Everything but the optimizer, with the states of the schedules."""
        state = super().state_dict()
        schedulers = state.pop("_schedulers")
        state["_schedulers"] = [schedule.state_dict() for schedule in schedulers]
        return state

    def load_state_dict(self, state_dict):
        """Takes over what state_dict gave."""
        state = dict(state_dict)
        saved = state.pop("_schedulers")
        self.__dict__.update(state)
        for schedule, values in zip(self._schedulers, saved, strict=True):
            schedule.load_state_dict(values)


class SequentialLR(_Composed):
    """One schedule after the other, each from its milestone on.

    >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
    >>> first = torch.optim.lr_scheduler.ConstantLR(optimizer, 0.5, total_iters=10)
    >>> second = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.1)
    >>> schedule = torch.optim.lr_scheduler.SequentialLR(optimizer, [first, second], [2])
    >>> schedule.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer, schedulers, milestones, last_epoch=-1):
        name = type(self).__name__
        if len(schedulers) < 1:
            raise ValueError(
                f"{name} expects at least one scheduler to be chained, but got no scheduler."
            )
        for i, schedule in enumerate(schedulers):
            if not hasattr(schedule, "optimizer"):
                raise TypeError(f"{name} at index {i} should have `optimizer` as its attribute.")
            if _is_plateau(schedule):
                raise ValueError(
                    f"{name} does not support `ReduceLROnPlateau` scheduler as it "
                    "requires additional kwargs to be specified when calling `step`, "
                    f"but got one at index {i} in the given schedulers sequence."
                )
            if schedule.optimizer is not optimizer:
                raise ValueError(
                    f"{name} expects all schedulers to belong to the same optimizer, but "
                    f"got scheduler {type(schedule).__name__} at index {i} has "
                    f"{schedule.optimizer}, which is different from {type(optimizer).__name__}."
                )
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                "Sequential Schedulers expects number of schedulers provided to be one more "
                "than the number of milestone points, but got number of schedulers "
                f"{len(schedulers)} and the number of milestones to be equal to {len(milestones)}"
            )
        self._schedulers, self._milestones = list(schedulers), list(milestones)
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        # Every schedule began when it was made: back to the start, then only the first begins.
        for group in optimizer.param_groups:
            set_value(group, "lr", group["initial_lr"])
        for schedule in self._schedulers:
            schedule.last_epoch -= 1
        self._schedulers[0]._initial_step()
        self._last_lr = schedulers[0].get_last_lr()

    def recursive_undo(self, sched=None):
        """Takes one step of all schedules in it back."""
        for schedule in getattr(sched or self, "_schedulers", ()):
            schedule.last_epoch -= 1
            self.recursive_undo(schedule)

    def step(self):
        """Goes on to the next epoch."""
        self.last_epoch += 1
        index = bisect_right(self._milestones, self.last_epoch)
        schedule = self._schedulers[index]
        if index > 0 and self._milestones[index - 1] == self.last_epoch:
            with warnings.catch_warnings():
                # The epoch is ours to name, not the user's.
                warnings.filterwarnings("ignore", message=".*epoch parameter in `scheduler.step")
                schedule.step(0)
        else:
            schedule.step()
        self._last_lr = [kept(rate) for rate in schedule.get_last_lr()]


class ChainedScheduler(_Composed):
    """All schedules at once: each changes what the one before set.

    >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0)
    >>> parts = [torch.optim.lr_scheduler.ExponentialLR(optimizer, g) for g in (0.5, 0.1)]
    >>> schedule = torch.optim.lr_scheduler.ChainedScheduler(parts)
    >>> optimizer.step(); schedule.step()
    >>> schedule.get_last_lr()
    [0.05]
    """

    def __init__(self, schedulers, optimizer=None):
        name = type(self).__name__
        if len(schedulers) < 1:
            raise ValueError(
                f"{name} expects at least one scheduler to be chained, but got no scheduler."
            )
        optimizer = optimizer or schedulers[0].optimizer
        for i, schedule in enumerate(schedulers):
            if not hasattr(schedule, "optimizer"):
                raise TypeError(f"{name} at index {i} should have `optimizer` as its attribute.")
            if _is_plateau(schedule):
                raise ValueError(
                    f"{name} does not support `ReduceLROnPlateau` scheduler as it "
                    "requires additional kwargs to be specified when calling `step`, "
                    f"but got one at index {i} in the given schedulers sequence."
                )
            if optimizer is not schedule.optimizer:
                raise ValueError(
                    f"{name} expects all schedulers to belong to the same optimizer, but "
                    f"got scheduler {type(schedule).__name__} at index {i} has "
                    f"{schedule.optimizer}, which is different from {type(optimizer).__name__}."
                )
        self._schedulers, self.optimizer = list(schedulers), optimizer
        self._last_lr = [kept(rate) for rate in self._rates()]

    def step(self):
        """Goes on to the next epoch."""
        for schedule in self._schedulers:
            schedule.step()
        self._last_lr = [kept(rate) for rate in self._rates()]


def _is_plateau(schedule):
    from mindtorch_v2.optim.lr_scheduler.plateau import ReduceLROnPlateau

    return isinstance(schedule, ReduceLROnPlateau)
