"""torch.profiler: its schedules and enumerations. There is no profiler yet: profile() says so."""

import enum

__all__ = ["ProfilerAction", "ProfilerActivity", "profile", "schedule", "supported_activities"]


class ProfilerActivity(enum.Enum):
    """Whose work is recorded."""

    CPU = 0
    XPU = 1
    CUDA = 2
    MTIA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(enum.Enum):
    """What a profiler does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def supported_activities():
    """An empty set: nothing can be recorded yet.

    >>> torch.profiler.supported_activities()
    set()
    """
    return set()


def schedule(*, wait, warmup, active, repeat=0, skip_first=0, skip_first_wait=0):
    """What to do in each step: after `skip_first` steps, cycles of `wait`, `warmup` and `active`
    steps, as often as `repeat` says, or without end. The first cycle does not wait if
    `skip_first_wait` is set.

    >>> plan = torch.profiler.schedule(wait=1, warmup=1, active=2)
    >>> [plan(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError("Invalid profiler schedule arguments")

    def action(step):
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        if skip_first_wait:
            step += wait
        length = wait + warmup + active
        cycle, place = divmod(step, length)
        if (repeat and cycle >= repeat) or place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


class profile:
    """NotImplementedError: there is no profiler yet."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError(
            "torch.profiler.profile: there is no profiler yet. A pipeline's dumps and "
            "torch.npu.memory's history are."
        )
