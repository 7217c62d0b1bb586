"""torch.random: the default generator, and with it the numbers of torch.rand and its like."""

import contextlib

from mindtorch_v2 import _C

__all__ = [
    "default_generator",
    "fork_rng",
    "get_rng_state",
    "initial_seed",
    "manual_seed",
    "seed",
    "set_rng_state",
]

default_generator = _C._default_generator()


def _rebuild_generator(device, state):
    # How pickles name a generator.
    return _C.Generator(device).set_state(state)


def manual_seed(seed):
    """Starts the random numbers of all devices over from a seed; returns the CPU's generator.

    >>> torch.manual_seed(0).initial_seed()
    0
    """
    _C._seed_default_generators(int(seed))
    return default_generator


def seed():
    """Starts the random numbers over from a seed that the system picks, and returns it.

    >>> torch.seed() == torch.initial_seed()
    True
    """
    chosen = default_generator.seed()
    _C._seed_default_generators(chosen)
    return chosen


def initial_seed():
    """The seed the random numbers started from.

    >>> _ = torch.manual_seed(5)
    >>> torch.initial_seed()
    5
    """
    return default_generator.initial_seed()


def get_rng_state():
    """The state of the default generator, as a ByteTensor.

    >>> torch.get_rng_state().shape
    torch.Size([5056])
    """
    return default_generator.get_state()


def set_rng_state(new_state):
    """Goes on from a state that get_rng_state gave.

    >>> state = torch.get_rng_state()
    >>> torch.set_rng_state(state)
    """
    default_generator.set_state(new_state)


@contextlib.contextmanager
def fork_rng(devices=None, enabled=True, device_type=None):
    """A with-block after which the random numbers go on as if it had not been.

    Those of the CPU, and those of `devices` of that type: indices or devices, all if not given. The
    type is that of the accelerator, where there is one.

    >>> a = torch.get_rng_state()
    >>> with torch.random.fork_rng():
    ...     _ = torch.seed()
    >>> torch.equal(a, torch.get_rng_state())
    True
    """
    if not enabled:
        yield
        return
    generators = [default_generator, *_device_generators(device_type, devices)]
    states = [generator.get_state() for generator in generators]
    try:
        yield
    finally:
        for generator, state in zip(generators, states, strict=True):
            generator.set_state(state)


def _device_generators(device_type, devices):
    if device_type is None:
        from mindtorch_v2 import accelerator

        found = accelerator.current_accelerator() if accelerator.is_available() else None
        device_type = found.type if found is not None else "cpu"
    if device_type in ("cpu", "meta"):
        return []
    if devices is None:
        devices = range(_C._device_count(device_type))
    found = [_C.device(device_type, d) if isinstance(d, int) else _C.device(d) for d in devices]
    return [_C._default_generator(device) for device in found]
