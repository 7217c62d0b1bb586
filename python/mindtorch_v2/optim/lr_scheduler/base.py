"""The base of learning-rate schedules."""

import functools
import warnings
import weakref

from mindtorch_v2._C import Tensor
from mindtorch_v2.optim.optimizer import Optimizer

__all__ = ["LRScheduler"]

_EPOCH_WARNING = (
    "The epoch parameter in `scheduler.step()` was not necessary and is being "
    "deprecated where possible. Please use `scheduler.step()` to step the "
    "scheduler. During the deprecation, if epoch is different from None, the "
    "closed form is used instead of the new chainable form, where available. "
    "Please open an issue if you are unable to replicate your use case: "
    "https://github.com/pytorch/pytorch/issues/new/choose."
)


def kept(value):
    """A number to remember; a tensor is copied, because the optimizer changes it in place."""
    return value.clone() if isinstance(value, Tensor) else value


def set_value(group, key, value):
    """group[key] = value; a tensor stays the same tensor."""
    if isinstance(group[key], Tensor):
        group[key].fill_(value.item() if isinstance(value, Tensor) else value)
    else:
        group[key] = value


def per_group(name, optimizer, value):
    """value as a list with one entry per parameter group."""
    count = len(optimizer.param_groups)
    if isinstance(value, (list, tuple)):
        if len(value) != count:
            raise ValueError(
                f"{name} must have the same length as optimizer.param_groups. "
                f"{name} has {len(value)} values, param_groups has {count}."
            )
        return list(value)
    return [value] * count


class LRScheduler:
    """The base of all schedules: get_lr gives the rates of the groups for self.last_epoch. A
    schedule that knows them without the rates before also has _get_closed_form_lr.

    >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=0.5)
    >>> torch.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5).get_last_lr()
    [0.25]
    """

    _get_lr_called_within_step = False
    _is_initial = False

    def __init__(self, optimizer, last_epoch=-1):
        if not isinstance(optimizer, Optimizer):
            raise TypeError(f"{type(optimizer).__name__} is not an Optimizer")
        self.optimizer = optimizer
        if last_epoch == -1:
            for group in optimizer.param_groups:
                group.setdefault("initial_lr", kept(group["lr"]))
        else:
            for i, group in enumerate(optimizer.param_groups):
                if "initial_lr" not in group:
                    raise KeyError(
                        f"param 'initial_lr' is not specified in param_groups[{i}] when resuming "
                        "scheduler with last_epoch >= 0.\nThis typically happens when:\n"
                        "1. You're trying to resume training from a checkpoint but haven't "
                        "properly loaded the optimizer state\n2. You're using last_epoch >= 0 for "
                        "a fresh training run (not recommended)"
                    )
        self.base_lrs = [kept(group["initial_lr"]) for group in optimizer.param_groups]
        self.last_epoch = last_epoch
        _count_steps_of(optimizer)
        self._initial_step()

    def _initial_step(self):
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def state_dict(self):
        """Everything but the optimizer."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict):
        """Takes over what state_dict gave."""
        self.__dict__.update(state_dict)

    def get_last_lr(self):
        """The rates that were set last, one per group."""
        return self._last_lr

    def get_lr(self):
        """The rates for self.last_epoch; every schedule defines its own."""
        raise NotImplementedError

    def _rates(self):
        return [group["lr"] for group in self.optimizer.param_groups]

    def _warn_outside_step(self):
        if not self._get_lr_called_within_step:
            warnings.warn(
                "To get the last learning rate computed by the scheduler, "
                "please use `get_last_lr()`.",
                UserWarning,
                stacklevel=3,
            )

    def step(self, epoch=None):
        """Goes on to the next epoch, or to the given one."""
        if self._step_count == 1:
            self._warn_about_order()
        self._step_count += 1
        if epoch is not None:
            warnings.warn(_EPOCH_WARNING, UserWarning, stacklevel=2)
        self._update_lr(epoch)

    def _update_lr(self, epoch=None):
        self._get_lr_called_within_step = True
        try:
            if epoch is None:
                self.last_epoch += 1
                values = self.get_lr()
            else:
                self.last_epoch = epoch
                closed = getattr(self, "_get_closed_form_lr", self.get_lr)
                values = closed()
        finally:
            self._get_lr_called_within_step = False
        for group, value in zip(self.optimizer.param_groups, values, strict=True):
            set_value(group, "lr", value)
        self._last_lr = [kept(rate) for rate in self._rates()]

    def _warn_about_order(self):
        if not getattr(self.optimizer.step, "_wrapped_by_lr_sched", False):
            warnings.warn(
                "Seems like `optimizer.step()` has been overridden after learning rate scheduler "
                "initialization. Please, make sure to call `optimizer.step()` before "
                "`lr_scheduler.step()`. See more details at "
                "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate",
                UserWarning,
                stacklevel=3,
            )
        elif not getattr(self.optimizer, "_opt_called", False):
            warnings.warn(
                "Detected call of `lr_scheduler.step()` before `optimizer.step()`. "
                "In PyTorch 1.1.0 and later, you should call them in the opposite order: "
                "`optimizer.step()` before `lr_scheduler.step()`.  Failure to do this "
                "will result in PyTorch skipping the first value of the learning rate schedule. "
                "See more details at "
                "https://pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate",
                UserWarning,
                stacklevel=3,
            )


_LRScheduler = LRScheduler


def _count_steps_of(optimizer):
    """Notes in the optimizer that step was called, for the warning about the order."""
    if getattr(optimizer.step, "_wrapped_by_lr_sched", False):
        return
    reference = weakref.ref(optimizer)
    function = optimizer.step.__func__

    @functools.wraps(function)
    def step(*args, **kwargs):
        optimizer = reference()
        optimizer._opt_called = True
        return function.__get__(optimizer, type(optimizer))(*args, **kwargs)

    step._wrapped_by_lr_sched = True
    optimizer.step = step
