"""torch.accelerator: the accelerator of this machine, whichever it is.

>>> torch.accelerator.device_count() > 0
True
>>> torch.accelerator.current_accelerator()
device(type='npu')
"""

from mindtorch_v2 import _C, _kinds

__all__ = [
    "current_accelerator",
    "current_device_idx",
    "current_device_index",
    "current_stream",
    "device_count",
    "device_index",
    "empty_cache",
    "empty_host_cache",
    "get_device_capability",
    "get_memory_info",
    "is_available",
    "max_memory_allocated",
    "max_memory_reserved",
    "memory_allocated",
    "memory_reserved",
    "memory_stats",
    "reset_accumulated_memory_stats",
    "reset_peak_memory_stats",
    "set_device_idx",
    "set_device_index",
    "set_stream",
    "synchronize",
]

_kind = _C._accelerator_kind


def _module():
    return _kinds.module(_kinds.accelerator())


def _check(device):
    """A device of another kind is an error; torch.npu and its like check the rest."""
    if device is not None and not isinstance(device, int):
        kind = _C.device(device).type
        if kind != _kind():
            raise ValueError(f"{kind} doesn't match the current accelerator {_kind()}.")
    return device


def is_available():
    """Whether there is an accelerator."""
    return _kind() is not None


def device_count():
    """The number of its devices; 0 without one."""
    return _C._device_count(_kind()) if is_available() else 0


def current_accelerator(check_available=False):
    """Its kind, as a torch.device without an index; None without one."""
    return _C.device(_kind()) if is_available() else None


def current_device_index():
    """The index of the current device."""
    return _module().current_device()


def set_device_index(device, /):
    """Chooses the current device; a negative index changes nothing."""
    _module().set_device(_check(device))


current_device_idx = current_device_index
set_device_idx = set_device_index


class device_index:
    """with torch.accelerator.device_index(1): the current device is another one inside."""

    def __init__(self, device, /):
        self.idx = device

    def __enter__(self):
        self._context = _module().device(self.idx)
        self._context.__enter__()

    def __exit__(self, *error):
        self._context.__exit__(*error)


def current_stream(device=None, /):
    """The current stream of a device."""
    return _module().current_stream(_check(device))


def set_stream(stream):
    """Makes a stream and its device current."""
    _module().set_stream(stream)


def synchronize(device=None, /):
    """Waits until all work on a device is done."""
    _module().synchronize(_check(device))


def get_device_capability(device=None, /):
    """{"supported_dtypes": ...} of a device."""
    names = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64".split()
    _module().get_device_name(_check(device))
    held = _C._device_dtypes(_kind())
    return {"supported_dtypes": {getattr(_C, name) for name in names} & set(held)}


# Memory. Without an accelerator nothing is in use.


def empty_cache():
    """Gives memory that is kept for later tensors back to the device."""
    if is_available():
        _module().empty_cache()


def empty_host_cache():
    """Gives pinned memory that is kept for later back to the system."""
    if is_available():
        _module().host_empty_cache()


def memory_stats(device=None, /):
    """All that is counted about a device's memory, by torch's names."""
    return _module().memory_stats(_check(device)) if is_available() else {}


def _stat(name, device):
    return memory_stats(device).get(name, 0)


def memory_allocated(device=None, /):
    """Bytes in use by tensors."""
    return _stat("allocated_bytes.all.current", device)


def max_memory_allocated(device=None, /):
    """The most bytes that were in use by tensors."""
    return _stat("allocated_bytes.all.peak", device)


def memory_reserved(device=None, /):
    """Bytes held of the device."""
    return _stat("reserved_bytes.all.current", device)


def max_memory_reserved(device=None, /):
    """The most bytes that were held of the device."""
    return _stat("reserved_bytes.all.peak", device)


def reset_peak_memory_stats(device=None, /):
    """Every peak becomes the present value."""
    if is_available():
        _module().reset_peak_memory_stats(_check(device))


def reset_accumulated_memory_stats(device=None, /):
    """The sums of what was allocated and freed become 0."""
    if is_available():
        _module().reset_accumulated_memory_stats(_check(device))


def get_memory_info(device=None, /):
    """(free, total) bytes of a device."""
    return _module().mem_get_info(_check(device))
