"""A schedule that goes up once and then down to almost nothing."""

import math

from mindtorch_v2.optim.lr_scheduler.base import LRScheduler, per_group

__all__ = ["OneCycleLR"]


class OneCycleLR(LRScheduler):
    """From max_lr / div_factor up to max_lr, then down to a final_div_factor-th of the first.

    >>> optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], lr=1.0, momentum=0.9)
    >>> torch.optim.lr_scheduler.OneCycleLR(optimizer, 1.0, total_steps=10, div_factor=4.0) \\
    ...     .get_last_lr()
    [0.25]
    """

    def __init__(
        self,
        optimizer,
        max_lr,
        total_steps=None,
        epochs=None,
        steps_per_epoch=None,
        pct_start=0.3,
        anneal_strategy="cos",
        cycle_momentum=True,
        base_momentum=0.85,
        max_momentum=0.95,
        div_factor=25.0,
        final_div_factor=1e4,
        three_phase=False,
        last_epoch=-1,
    ):
        self.optimizer = optimizer
        self.total_steps = _total(total_steps, epochs, steps_per_epoch)
        if pct_start < 0 or pct_start > 1 or not isinstance(pct_start, float):
            raise ValueError(f"Expected float between 0 and 1 pct_start, but got {pct_start}")
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"anneal_strategy must be one of 'cos' or 'linear', instead got {anneal_strategy}"
            )
        rise = float(pct_start * self.total_steps) - 1
        if three_phase:
            ends = [rise, float(2 * pct_start * self.total_steps) - 2, self.total_steps - 1]
            stages = [("initial_lr", "max_lr"), ("max_lr", "initial_lr"), ("initial_lr", "min_lr")]
            momenta = [("max", "base"), ("base", "max"), ("max", "max")]
        else:
            ends = [rise, self.total_steps - 1]
            stages = [("initial_lr", "max_lr"), ("max_lr", "min_lr")]
            momenta = [("max", "base"), ("base", "max")]
        self._schedule_phases = [
            {
                "end_step": end,
                "start_lr": stage[0],
                "end_lr": stage[1],
                "start_momentum": f"{momentum[0]}_momentum",
                "end_momentum": f"{momentum[1]}_momentum",
            }
            for end, stage, momentum in zip(ends, stages, momenta, strict=True)
        ]
        self._anneal_func_type = anneal_strategy
        if last_epoch == -1:
            for i, largest in enumerate(per_group("max_lr", optimizer, max_lr)):
                group = optimizer.param_groups[i]
                group["initial_lr"] = largest / div_factor
                group["max_lr"] = largest
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        if cycle_momentum:
            self._set_up_momentum(optimizer, base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def _set_up_momentum(self, optimizer, base, largest, last_epoch):
        if "momentum" not in optimizer.defaults and "betas" not in optimizer.defaults:
            raise ValueError(
                "optimizer must support momentum or beta1 with `cycle_momentum` option enabled"
            )
        self.use_beta1 = "betas" in optimizer.defaults
        if last_epoch != -1:
            return
        most = per_group("max_momentum", optimizer, largest)
        least = per_group("base_momentum", optimizer, base)
        for group, high, low in zip(optimizer.param_groups, most, least, strict=True):
            if self.use_beta1:
                group["betas"] = (high, *group["betas"][1:])
            else:
                group["momentum"] = high
            group["max_momentum"], group["base_momentum"] = high, low

    def _anneal_func(self, start, end, share):
        if self._anneal_func_type == "cos":
            return end + (start - end) / 2.0 * (math.cos(math.pi * share) + 1)
        return (end - start) * share + start

    def get_lr(self):
        self._warn_outside_step()
        step = self.last_epoch
        if step > self.total_steps:
            raise ValueError(
                f"Tried to step {step} times. The specified number of total steps is "
                f"{self.total_steps}"
            )
        return [self._rate(group, step) for group in self.optimizer.param_groups]

    def _rate(self, group, step):
        start = 0.0
        for i, phase in enumerate(self._schedule_phases):
            end = phase["end_step"]
            if step <= end or i == len(self._schedule_phases) - 1:
                share = (step - start) / (end - start)
                rate = self._anneal_func(group[phase["start_lr"]], group[phase["end_lr"]], share)
                if self.cycle_momentum:
                    first, last = group[phase["start_momentum"]], group[phase["end_momentum"]]
                    momentum = self._anneal_func(first, last, share)
                    if self.use_beta1:
                        group["betas"] = (momentum, *group["betas"][1:])
                    else:
                        group["momentum"] = momentum
                return rate
            start = end
        raise AssertionError("a schedule has at least one phase")


def _total(total_steps, epochs, steps_per_epoch):
    if total_steps is not None:
        if total_steps <= 0 or not isinstance(total_steps, int):
            raise ValueError(f"Expected positive integer total_steps, but got {total_steps}")
        return total_steps
    if epochs is None or steps_per_epoch is None:
        raise ValueError("You must define either total_steps OR (epochs AND steps_per_epoch)")
    if not isinstance(epochs, int) or epochs <= 0:
        raise ValueError(f"Expected positive integer epochs, but got {epochs}")
    if not isinstance(steps_per_epoch, int) or steps_per_epoch <= 0:
        raise ValueError(f"Expected positive integer steps_per_epoch, but got {steps_per_epoch}")
    return epochs * steps_per_epoch
