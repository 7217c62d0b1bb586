"""Memory of Ascend NPUs.

>>> from mindtorch_v2._backends.npu.allocator import NpuAllocator
>>> allocator = NpuAllocator()
>>> allocator.memory_stats()["allocated_bytes.all.current"]
0
"""

import warnings

from mindtorch_v2 import _C
from mindtorch_v2._backends.device_allocator import AllocatorTable, Block, DeviceAllocator
from mindtorch_v2._backends.npu import runtime

_conf = None


def _load_alloc_conf(force=False):
    """The settings of MINDTORCH_NPU_ALLOC_CONF, or of torch's variables, by name. Read once, and
    again with force=True. Mistakes in them are UserWarnings.
    """
    global _conf
    if _conf is None or force:
        settings, mistakes = _C._parse_alloc_conf(_C._alloc_conf_environment("npu"))
        _conf = settings
        for mistake in mistakes:
            warnings.warn(mistake, UserWarning, stacklevel=2)
    return dict(_conf)


def _reset_alloc_conf_for_test():
    """Forgets what was read."""
    global _conf
    _conf = None


def _conf_text(settings):
    return ",".join(f"{key}:{value}" for key, value in settings.items())


class NpuAllocator(DeviceAllocator):
    """Caches the memory of one NPU.

    >>> from mindtorch_v2._backends.npu.allocator import NpuAllocator
    >>> allocator = NpuAllocator()
    >>> allocator._raw_malloc = lambda size: (1 << 32, size)  # no NPU needed
    >>> allocator._raw_free = lambda ptr: None
    >>> hex(allocator.malloc(1000))
    '0x100000000'
    >>> allocator.memory_stats()["reserved_bytes.all.current"]
    2097152
    """

    kind = "npu"

    def __init__(self, device_id=0):
        super().__init__(device_id, _conf_text(_load_alloc_conf()))

    def _mem_get_info(self):
        """(free, total) bytes of the NPU."""
        return mem_get_info(self.device_id)


def mem_get_info(index):
    """(free, total) bytes of an NPU."""
    return runtime.mem_get_info(index)


get_allocator = AllocatorTable(NpuAllocator)
