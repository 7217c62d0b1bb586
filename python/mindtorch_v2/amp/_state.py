"""Whether autocast is on for a device type, on this thread, and which dtype it casts to."""

import mindtorch_v2 as torch
from mindtorch_v2 import _C, _kinds

# What a call that names no device type means.
_ACCELERATOR = "cuda"
DEVICE_TYPES = _kinds.WITH_MEMORY
# Devices that torch's autocast knows and that are not there: the dtype it would cast to.
_ABSENT = {
    **dict.fromkeys(("xpu", "ipu", "mtia", "mps"), torch.float16),
    **dict.fromkeys(("hpu", "xla", "maia"), torch.bfloat16),
}


def check_device_type(device_type):
    """Raises torch's error for a name that is no device type; True where autocast knows it."""
    return torch.device(device_type).type in DEVICE_TYPES


def _known(device_type):
    if not check_device_type(device_type):
        raise RuntimeError(
            "unknown device type for autocast in get_autocast_dispatch_key_from_device_type"
        )
    return device_type


def is_autocast_enabled(device_type=None):
    """Whether autocast is on for a device type, or without one for CUDA devices.

    >>> torch.is_autocast_enabled("cpu")
    False
    """
    if device_type in _ABSENT:
        return False
    return _C._is_autocast_enabled(_known(device_type or _ACCELERATOR))


def set_autocast_enabled(device_type, enabled=None):
    """set_autocast_enabled(device_type, enabled); set_autocast_enabled(enabled) is for CUDA."""
    position = 2
    if enabled is None:
        device_type, enabled, position = _ACCELERATOR, device_type, 1
    if not isinstance(enabled, bool):
        raise TypeError(
            f"set_autocast_enabled(): argument 'enabled' (position {position}) must be bool, not "
            f"{type(enabled).__name__}"
        )
    _C._set_autocast_enabled(_known(device_type), enabled)


def get_autocast_dtype(device_type):
    """The dtype that autocast casts to.

    >>> torch.get_autocast_dtype("cpu")
    torch.bfloat16
    """
    if device_type in _ABSENT:
        return _ABSENT[device_type]
    if not check_device_type(device_type):
        raise RuntimeError("unsupported scalarType")
    return _C._get_autocast_dtype(device_type)


def set_autocast_dtype(device_type, dtype):
    """Sets the dtype that autocast casts to where a block names none."""
    if not isinstance(dtype, torch.dtype):
        raise TypeError(
            "set_autocast_dtype(): argument 'dtype' (position 2) must be torch.dtype, not "
            f"{type(dtype).__name__}"
        )
    _C._set_autocast_dtype(_known(device_type), dtype)


def is_autocast_cpu_enabled():
    """The same as is_autocast_enabled("cpu")."""
    return is_autocast_enabled("cpu")


def set_autocast_cpu_enabled(enabled):
    """The same as set_autocast_enabled("cpu", enabled)."""
    set_autocast_enabled("cpu", enabled)


def get_autocast_cpu_dtype():
    """The same as get_autocast_dtype("cpu")."""
    return get_autocast_dtype("cpu")


def set_autocast_cpu_dtype(dtype):
    """The same as set_autocast_dtype("cpu", dtype)."""
    set_autocast_dtype("cpu", dtype)


def get_autocast_gpu_dtype():
    """The same as get_autocast_dtype("cuda")."""
    return get_autocast_dtype(_ACCELERATOR)


def set_autocast_gpu_dtype(dtype):
    """The same as set_autocast_dtype("cuda", dtype)."""
    set_autocast_dtype(_ACCELERATOR, dtype)
