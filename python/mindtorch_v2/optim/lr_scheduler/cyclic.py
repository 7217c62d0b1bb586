"""A schedule that goes up and down between two rates."""

import math
import types

from mindtorch_v2.optim.lr_scheduler.base import LRScheduler, per_group, set_value

__all__ = ["CyclicLR"]


class CyclicLR(LRScheduler):
    """The rate goes from base_lr to max_lr and back, and momentum the other way round.

    >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0, momentum=0.9)
    >>> schedule = torch.optim.lr_scheduler.CyclicLR(optimizer, 1.0, 3.0, step_size_up=2)
    >>> optimizer.step(); schedule.step()
    >>> schedule.get_last_lr()
    [2.0]
    """

    def __init__(
        self,
        optimizer,
        base_lr,
        max_lr,
        step_size_up=2000,
        step_size_down=None,
        mode="triangular",
        gamma=1.0,
        scale_fn=None,
        scale_mode="cycle",
        cycle_momentum=True,
        base_momentum=0.8,
        max_momentum=0.9,
        last_epoch=-1,
    ):
        self.optimizer = optimizer
        rates = per_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for rate, group in zip(rates, optimizer.param_groups, strict=True):
                set_value(group, "lr", rate)
        self.max_lrs = per_group("max_lr", optimizer, max_lr)
        step_size_up = float(step_size_up)
        step_size_down = step_size_up if step_size_down is None else float(step_size_down)
        self.total_size = step_size_up + step_size_down
        self.step_ratio = step_size_up / self.total_size
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError("mode is invalid and scale_fn is None")
        self.mode, self.gamma = mode, gamma
        self._scale_fn_custom = scale_fn
        self.scale_mode = scale_mode
        if scale_fn is None:
            self.scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._set_up_momentum(optimizer, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = rates

    def _set_up_momentum(self, optimizer, base, largest, last_epoch):
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError(
                "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"
            )
        self.use_beta1 = "betas" in optimizer.defaults
        self.base_momentums = per_group("base_momentum", optimizer, base)
        self.max_momentums = per_group("max_momentum", optimizer, largest)
        if last_epoch != -1:
            return
        pairs = zip(self.max_momentums, self.base_momentums, strict=True)
        for (most, least), group in zip(pairs, optimizer.param_groups, strict=True):
            if self.use_beta1:
                group["betas"] = (most, *group["betas"][1:])
            else:
                group["momentum"] = most
            group["max_momentum"], group["base_momentum"] = most, least

    def scale_fn(self, x):
        """The height of a cycle, relative to the first."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular":
            return 1.0
        if self.mode == "triangular2":
            return 1 / (2.0 ** (x - 1))
        return self.gamma**x

    def get_lr(self):
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1.0 + self.last_epoch / self.total_size - cycle
        if x <= self.step_ratio:
            height = x / self.step_ratio
        else:
            height = (x - 1) / (self.step_ratio - 1)
        height *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            pairs = zip(self.base_momentums, self.max_momentums, strict=True)
            for (low, high), group in zip(pairs, self.optimizer.param_groups, strict=True):
                momentum = high - (high - low) * height
                if self.use_beta1:
                    group["betas"] = (momentum, *group["betas"][1:])
                else:
                    group["momentum"] = momentum
        return [
            low + (high - low) * height
            for low, high in zip(self.base_lrs, self.max_lrs, strict=True)
        ]

    def state_dict(self):
        """Everything but the optimizer; of a scale function only an object, not a plain one."""
        state = super().state_dict()
        function = state.pop("_scale_fn_custom")
        plain = function is None or isinstance(function, types.FunctionType)
        state["_scale_fn_custom"] = None if plain else dict(function.__dict__)
        return state

    def load_state_dict(self, state_dict):
        """Takes over what state_dict gave."""
        state = dict(state_dict)
        values = state.pop("_scale_fn_custom", None)
        super().load_state_dict(state)
        if values is not None:
            self._scale_fn_custom.__dict__.update(values)
