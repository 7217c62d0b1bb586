"""The ACL runtime of one NPU: its stream, and memory that is freed once the stream is idle."""

import collections
import threading

from mindtorch_v2 import _C

# The ACL functions in use: an object with `rt`. None where there is no NPU.
acl = None


def _acl(device_id):
    if acl is None:
        try:
            _C._check_device_available(_C.device("npu", device_id))
        except RuntimeError as error:
            raise _C._DeviceUnavailableError(str(error)) from None
        raise _C._DeviceUnavailableError("the ACL runtime is not loaded")
    return acl


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
        """Frees device memory after the next synchronize()."""
        if ptr:
            with self._lock:
                self._deferred.append(ptr)

    def synchronize(self):
        """Waits for the stream; then frees what was deferred, in order."""
        rt = _acl(self.device_id).rt
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
    rt = runtime if hasattr(runtime, "get_mem_info") else _acl(device_id).rt
    _check(rt.set_device(device_id), "aclrtSetDevice")
    context = getattr(runtime, "context", None)
    if context is not None:
        _check(rt.set_context(context), "aclrtSetCurrentContext")
    free, total, *status = rt.get_mem_info(attr)
    if status:
        _check(status[0], "aclrtGetMemInfo")
    return free, total
