"""torch.cpu: the CPU as a device, in the shape of an accelerator's module."""

from mindtorch_v2 import _C

__all__ = [
    "current_device",
    "device_count",
    "empty_cache",
    "is_available",
    "is_initialized",
    "memory_stats",
    "set_device",
    "synchronize",
]


def is_available():
    """True.

    >>> torch.cpu.is_available()
    True
    """
    return True


def is_initialized():
    """True."""
    return True


def device_count():
    """One.

    >>> torch.cpu.device_count()
    1
    """
    return 1


def current_device():
    """The name of the one device.

    >>> torch.cpu.current_device()
    'cpu'
    """
    return "cpu"


def set_device(device):
    """There is only one: nothing happens."""


def synchronize(device=None):
    """Ops on the CPU are finished when they return: nothing happens."""


def empty_cache():
    """Gives memory that is kept for later tensors back to the system.

    >>> torch.cpu.empty_cache()
    >>> torch.cpu.memory_stats()["cached_bytes"]
    0
    """
    _C._cpu_empty_cache()


def memory_stats(device=None):
    """Bytes in use by tensors, bytes kept for later ones, and the most that are kept.

    >>> sorted(torch.cpu.memory_stats())
    ['allocated_bytes', 'cache_limit_bytes', 'cached_bytes']
    """
    return _C._cpu_memory_stats()


def __getattr__(name):
    if name == "amp":
        import importlib

        return importlib.import_module(f"{__name__}.amp")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
