"""torch.xpu: Intel's GPUs. There are none, and what needs one says so."""

__all__ = [
    "current_device",
    "device_count",
    "empty_cache",
    "get_device_name",
    "init",
    "is_available",
    "is_bf16_supported",
    "is_initialized",
    "manual_seed",
    "manual_seed_all",
    "set_device",
    "synchronize",
]


def is_available():
    """False.

    >>> torch.xpu.is_available()
    False
    """
    return False


def device_count():
    """0.

    >>> torch.xpu.device_count()
    0
    """
    return 0


def is_initialized():
    """False."""
    return False


def is_bf16_supported(including_emulation=True):
    """False."""
    return False


def empty_cache():
    """Nothing is cached."""


def manual_seed(seed):
    """Seeds no device; torch.manual_seed seeds those that are there."""


def manual_seed_all(seed):
    """Seeds no device; torch.manual_seed seeds those that are there."""


def init():
    """AssertionError: there are no Intel GPUs."""
    raise AssertionError("Torch not compiled with XPU enabled")


def current_device():
    """AssertionError: there are no Intel GPUs."""
    init()


def set_device(device):
    """AssertionError: there are no Intel GPUs."""
    init()


def synchronize(device=None):
    """AssertionError: there are no Intel GPUs."""
    init()


def get_device_name(device=None):
    """AssertionError: there are no Intel GPUs."""
    init()
