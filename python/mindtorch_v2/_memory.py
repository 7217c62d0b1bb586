"""Memory of a kind of device: torch.npu.memory and torch.cuda.memory, written once.

Every function asks the allocator that the device's module gives, torch.npu._get_allocator(device),
when it is called. None needs a device.
"""

import contextlib
import itertools
import sys
import warnings

from mindtorch_v2 import _C, _memory_report
from mindtorch_v2._backends import device_allocator

_ORDER = ("all", "small_pool", "large_pool", "current", "peak", "allocated", "freed")
_pool_numbers = itertools.count(1)


def nested(flat):
    """{"a.b": 1} as {"a": {"b": 1}}; pools and kinds in torch's order."""

    def rank(key):
        metric, *path = key.split(".")
        return metric, [_ORDER.index(part) if part in _ORDER else -1 for part in path]

    result = {}
    for key in sorted(flat, key=rank):
        *path, last = key.split(".")
        place = result
        for part in path:
            place = place.setdefault(part, {})
        place[last] = flat[key]
    return result


class Devices:
    """One kind of device: its module, its indices, its allocators."""

    def __init__(self, kind):
        self._kind = kind

    def _module(self):
        return sys.modules[f"mindtorch_v2.{self._kind}"]

    def _backend(self):
        return device_allocator.backend_of(self._kind)

    def _table(self):
        return self._backend().get_allocator

    def _optional_index(self, device):
        """Of a number, a string or a torch.device; None for None, -1 and no index."""
        if device is not None and not isinstance(device, int):
            device = _C.device(device)
            if device.type != self._kind:
                raise ValueError(f"Expected a {self._kind} device, but got: {device}")
            device = device.index
        return device if device is not None and device >= 0 else None

    def _index(self, device=None):
        """The same; the current device where there is no index."""
        index = self._optional_index(device)
        if index is not None:
            return index
        try:
            return self._module().current_device()
        except RuntimeError:
            return 0

    def _allocator(self, device=None):
        """The one of the module, where a test may have put another."""
        get = self._module()._get_allocator
        return get() if device is None else get(device)

    def _used_allocator(self, device=None):
        """The same, of a device that is in use from now on, if there is one."""
        if _C._device_count(self._kind) > self._index(device):
            _C._use_device(self._kind, self._index(device))
        return self._allocator(device)

    def _allocators(self):
        """Those in use, one per device."""
        first = self._allocator()
        index = getattr(first, "device_id", 0)
        return [first, *(each for each in self._table().all() if each.device_id != index)]


class Memory(Devices):
    """The functions of a memory module, as methods."""

    # Statistics.

    def memory_stats(self, device=None):
        """All that is counted about a device's memory, by torch's names.

        >>> torch.npu.memory_stats()["allocated_bytes.all.current"]
        0
        """
        return dict(self._allocator(device).memory_stats())

    def memory_stats_as_nested_dict(self, device=None):
        """memory_stats(), as dicts of dicts.

        >>> torch.npu.memory_stats_as_nested_dict()["allocated_bytes"]["all"]["current"]
        0
        """
        return nested(self.memory_stats(device))

    def memory_allocated(self, device=None):
        """Bytes in use by tensors.

        >>> torch.npu.memory_allocated()
        0
        """
        return self.memory_stats(device).get("allocated_bytes.all.current", 0)

    def max_memory_allocated(self, device=None):
        """The most bytes that were in use by tensors."""
        return self.memory_stats(device).get("allocated_bytes.all.peak", 0)

    def memory_reserved(self, device=None):
        """Bytes held of the device: those in use, and those kept for later."""
        return self.memory_stats(device).get("reserved_bytes.all.current", 0)

    def max_memory_reserved(self, device=None):
        """The most bytes that were held of the device."""
        return self.memory_stats(device).get("reserved_bytes.all.peak", 0)

    def reset_peak_memory_stats(self, device=None):
        """Every peak becomes the present value."""
        self._allocator(device).reset_peak_memory_stats()

    def reset_accumulated_memory_stats(self, device=None):
        """The sums of what was allocated and freed, and the numbers of events, become 0."""
        self._allocator(device).reset_accumulated_memory_stats()

    def _renamed(self, old, new, device):
        text = f"torch.{self._kind}.{old} is now torch.{self._kind}.{new}"
        warnings.warn(text, FutureWarning, stacklevel=3)
        return getattr(self._module(), new)(device)

    def memory_cached(self, device=None):
        """The old name of memory_reserved."""
        return self._renamed("memory_cached", "memory_reserved", device)

    def max_memory_cached(self, device=None):
        """The old name of max_memory_reserved."""
        return self._renamed("max_memory_cached", "max_memory_reserved", device)

    def reset_max_memory_allocated(self, device=None):
        """The old name of reset_peak_memory_stats."""
        self._renamed("reset_max_memory_allocated", "reset_peak_memory_stats", device)

    def reset_max_memory_cached(self, device=None):
        """The old name of reset_peak_memory_stats."""
        self._renamed("reset_max_memory_cached", "reset_peak_memory_stats", device)

    def memory_summary(self, device=None, abbreviated=False):
        """A table of what is counted, to read.

        >>> print(torch.npu.memory_summary(abbreviated=True).splitlines()[7])
        | Allocated memory      |      0 B   |      0 B   |      0 B   |      0 B   |
        """
        stats = self._allocator(device).memory_stats()
        return _memory_report.summary(stats, self._kind, self._index(device), abbreviated)

    def memory_snapshot(self, mempool_id=None):
        """The segments of the current device with their blocks, and what happened: a dict.
        memory_segments() gives torch's list.

        >>> sorted(torch.npu.memory_snapshot())[-2:]
        ['external_annotations', 'segments']
        """
        snapshot = self._allocator().snapshot()
        if mempool_id is not None:
            segments = [s for s in snapshot["segments"] if s["segment_pool_id"] == mempool_id]
            snapshot = {**snapshot, "segments": segments}
        return snapshot

    def memory_segments(self, mempool_id=None):
        """The segments of all devices with their blocks: the list that torch.cuda.memory_snapshot
        returns.

        >>> torch.npu.memory_segments()
        []
        """
        return [
            segment
            for allocator in self._allocators()
            for segment in allocator.snapshot()["segments"]
            if mempool_id in (None, segment["segment_pool_id"])
        ]

    # Limits and raw memory.

    def empty_cache(self, device=None):
        """Gives memory that is kept for later tensors back to the device."""
        allocators = self._allocators() if device is None else [self._allocator(device)]
        for allocator in allocators:
            allocator.empty_cache()

    def mem_get_info(self, device=None):
        """(free, total) bytes of a device, whoever holds the rest."""
        index = self._index(device)
        return self._backend().mem_get_info(index)

    def set_per_process_memory_fraction(self, fraction, device=None):
        """The part of a device's memory, from 0.0 to 1.0, that this process may hold."""
        if not isinstance(fraction, float):
            raise TypeError("Invalid type for fraction argument, must be `float`")
        if not 0 <= fraction <= 1:
            raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~1")
        device_allocator.set_memory_fraction(self._kind, self._index(device), fraction)
        self._used_allocator(device).memory_fraction = fraction

    def get_per_process_memory_fraction(self, device=None):
        """The part of a device's memory that this process may hold.

        >>> torch.npu.get_per_process_memory_fraction()
        1.0
        """
        return self._allocator(device).memory_fraction

    def caching_allocator_alloc(self, size, device=None, stream=None):
        """The address of `size` bytes of device memory, to be given to caching_allocator_delete."""
        return self._used_allocator(device).malloc(size, stream)

    def caching_allocator_delete(self, mem_ptr):
        """Frees what caching_allocator_alloc gave."""
        for allocator in self._allocators():
            if mem_ptr == 0 or allocator.owns(mem_ptr):
                allocator.free(mem_ptr)
                return
        raise RuntimeError(f"invalid device pointer: {mem_ptr:#x}")

    def get_allocator_backend(self):
        """'native': the one allocator there is."""
        return "native"

    # Pools.

    @contextlib.contextmanager
    def use_mem_pool(self, pool, device=None):
        """Inside the block this thread's memory comes from a pool of its own.

        >>> pool = torch.npu.MemPool()
        >>> with torch.npu.use_mem_pool(pool):
        ...     pool.use_count()
        2
        """
        allocator = self._used_allocator(device)
        allocator._begin_pool_scope(pool.id)
        try:
            yield
        finally:
            allocator._end_pool_scope(pool.id)

    def _mem_pool_class(self):
        memory = self

        class MemPool:
            """Device memory kept apart, for use_mem_pool. Its cached memory goes back to the device
            once the pool is gone. use_on_oom: others may take it before they fail; no_split: blocks
            are handed out whole.
            """

            def __init__(self, allocator=None, use_on_oom=False, no_split=False):
                if allocator is not None:
                    raise NotImplementedError("MemPool: allocator must be None")
                self.id = (0, next(_pool_numbers))
                self._allocator = memory._used_allocator()
                self._allocator._retain_pool(self.id, use_on_oom, no_split)

            def __del__(self):
                if hasattr(self, "_allocator"):
                    self._allocator._release_pool(self.id)

            def use_count(self):
                """The number of users, this object among them."""
                return self._allocator._pool_use_count(self.id)

            def snapshot(self, include_traces=True):
                """The segments of the pool."""
                return self._allocator._segments(self.id)

        MemPool.__module__, MemPool.__qualname__ = f"mindtorch_v2.{self._kind}.memory", "MemPool"
        return MemPool
