"""The ACL runtime of one NPU: its stream, and memory that is freed once the stream is idle."""

import collections
import threading

from mindtorch_v2 import _C

# A test may put an object here whose `rt` is called instead of the device.
acl = None


def _require(device_id):
    try:
        _C._check_device_available(_C.device("npu", device_id))
    except RuntimeError as error:
        raise _C._DeviceUnavailableError(str(error)) from None


def _check(result, function):
    if isinstance(result, int) and result != 0:
        raise RuntimeError(f"{function} failed with error code {result}")


class _Runtime:
    """What one device has. Making one touches no device."""

    def __init__(self, device_id=0):
        self.device_id = device_id
        self.initialized = False
        self.context = None
        self.stream = None
        self._lock = threading.Lock()
        self._deferred = collections.deque()

    def defer_free(self, ptr):
        """Frees device memory once the work given to the stream by now is done: at the latest in
        synchronize().
        """
        if not ptr:
            return
        if acl is None and _C._device_count("npu") > self.device_id:
            _C._defer_free("npu", self.device_id, ptr)
        else:
            with self._lock:
                self._deferred.append(ptr)

    def synchronize(self):
        """Waits for the stream; then frees what was deferred, in order."""
        if acl is None:
            _require(self.device_id)
            _C._current_stream("npu", self.device_id)._synchronize()
            return
        rt = acl.rt
        with self._lock:
            deferred = len(self._deferred)
        _check(rt.synchronize_stream(self.stream), "aclrtSynchronizeStream")
        for _ in range(deferred):
            with self._lock:
                ptr = self._deferred.popleft() if self._deferred else None
            if ptr is not None:
                _check(rt.free(ptr), "aclrtFree")


_runtimes = {}


def get_runtime(device_id=0):
    """The runtime of a device; always the same object.

    >>> from mindtorch_v2._backends.npu.runtime import get_runtime
    >>> get_runtime(1).device_id
    1
    """
    runtime = _runtimes.get(device_id)
    if runtime is None:
        runtime = _runtimes.setdefault(device_id, _Runtime(device_id))
    return runtime


def mem_get_info(device_id=0, attr=0):
    """(free, total) bytes of a device; `attr` names the kind of memory, as ACL does."""
    runtime = get_runtime(device_id)
    if hasattr(runtime, "get_mem_info"):
        rt = runtime
    elif acl is not None:
        rt = acl.rt
    else:
        _require(device_id)
        return _C._memory_info("npu", device_id)
    _check(rt.set_device(device_id), "aclrtSetDevice")
    context = getattr(runtime, "context", None)
    if context is not None:
        _check(rt.set_context(context), "aclrtSetCurrentContext")
    free, total, *status = rt.get_mem_info(attr)
    if status:
        _check(status[0], "aclrtGetMemInfo")
    return free, total
