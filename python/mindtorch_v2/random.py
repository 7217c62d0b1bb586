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
    """Starts the random numbers over from a seed, and returns the default generator.

    >>> torch.manual_seed(0).initial_seed()
    0
    """
    return default_generator.manual_seed(int(seed))


def seed():
    """Starts the random numbers over from a seed that the system picks, and returns it.

    >>> torch.seed() == torch.initial_seed()
    True
    """
    return default_generator.seed()


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
def fork_rng(devices=None, enabled=True, device_type="cpu"):
    """A with-block after which the random numbers go on as if it had not been.

    >>> a = torch.get_rng_state()
    >>> with torch.random.fork_rng():
    ...     _ = torch.seed()
    >>> torch.equal(a, torch.get_rng_state())
    True
    """
    if not enabled:
        yield
        return
    state = get_rng_state()
    try:
        yield
    finally:
        set_rng_state(state)
