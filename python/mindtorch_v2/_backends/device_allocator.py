"""The allocator of one device: C++ behind a Python object whose methods are the driver's calls."""

import functools
import importlib.util
import weakref
from collections.abc import MutableMapping, Sequence

from mindtorch_v2 import _C

POOLS = ("small_pool", "large_pool")

# The part of each device that this process may reserve, and who must keep to it.
_fractions = {}
_living = weakref.WeakSet()


def set_memory_fraction(kind, device_id, fraction):
    """For all allocators of a device, those that exist and those to come."""
    _fractions[kind, device_id] = fraction
    for allocator in list(_living):
        if (allocator.kind, allocator.device_id) == (kind, device_id):
            allocator.memory_fraction = fraction


class Block:
    """A piece of device memory that is kept for later.

    >>> from mindtorch_v2._backends.npu.allocator import Block
    >>> Block(4096, 512, 100, "small_pool", None)
    Block(ptr=4096, size=512, requested=100, pool='small_pool', stream=None)
    """

    __slots__ = ("pool", "ptr", "requested", "size", "stream")

    def __init__(self, ptr, size, requested, pool, stream):
        self.ptr, self.size, self.requested = ptr, size, requested
        self.pool, self.stream = pool, stream

    def _key(self):
        return (self.ptr, self.size, self.requested, self.pool, self.stream or None)

    def __eq__(self, other):
        return self._key() == other._key() if isinstance(other, Block) else NotImplemented

    __hash__ = None

    def __repr__(self):
        return (
            f"Block(ptr={self.ptr}, size={self.size}, requested={self.requested}, "
            f"pool={self.pool!r}, stream={self.stream!r})"
        )


class LiveStats(MutableMapping):
    """The statistics as they are now. A value that is written stays apart from what is counted by
    the same difference; the reserved bytes, which rules depend on, are really set.
    """

    def __init__(self, allocator):
        self._allocator = allocator

    def __getitem__(self, key):
        return self._allocator.memory_stats()[key]

    def __setitem__(self, key, value):
        if key == "reserved_bytes.all.current":
            self._allocator._set_reserved_bytes(value)
        counted = self._allocator._read_stats().get(key, 0)
        self._allocator._written_stats[key] = value - counted

    def __delitem__(self, key):
        raise TypeError("statistics cannot be deleted")

    def __iter__(self):
        return iter(self._allocator.memory_stats())

    def __len__(self):
        return len(self._allocator.memory_stats())

    def __repr__(self):
        return repr(self._allocator.memory_stats())


class CachedBlocks(Sequence):
    """The free blocks of one pool. What is appended becomes memory of the allocator."""

    def __init__(self, allocator, pool):
        self._allocator, self._pool = allocator, pool

    def _blocks(self):
        kind = self._pool.removesuffix("_pool")
        return [
            Block(
                block["address"],
                block["size"],
                block["requested_size"],
                self._pool,
                segment["stream"] or None,
            )
            for segment in self._allocator._segments((0, 0))
            if segment["segment_type"] == kind
            for block in segment["blocks"]
            if block["state"] == "inactive"
        ]

    def append(self, block):
        """Adds memory that came from the driver."""
        large = self._pool == "large_pool"
        self._allocator._adopt(block.ptr, block.size, block.requested, large, block.stream)

    def extend(self, blocks):
        """Adds each of several blocks."""
        for block in blocks:
            self.append(block)

    def __getitem__(self, index):
        return self._blocks()[index]

    def __len__(self):
        return len(self._blocks())

    def __eq__(self, other):
        return self._blocks() == list(other) if isinstance(other, Sequence) else NotImplemented

    __hash__ = None

    def __repr__(self):
        return repr(self._blocks())


class _Snapshot:
    def snapshot(self):
        """Segments with their blocks, what happened, and the settings."""
        segments, trace = self._segments_and_trace()
        return {
            "device": self.device_id,
            "allocator": self.kind,
            "segments": segments,
            "device_traces": [[] for _ in range(self.device_id)] + [trace],
            "allocator_settings": self._allocator_settings(),
            "external_annotations": [],
        }

    def _apply_fraction(self):
        if (self.kind, self.device_id) in _fractions:
            self.memory_fraction = _fractions[self.kind, self.device_id]
        _living.add(self)


class RuntimeAllocator(_Snapshot, _C._RuntimeAllocator):
    """The memory of a device that is in use: what its tensors come from."""

    def __init__(self, kind, device_id):
        self.kind = kind
        super().__init__(kind, device_id)
        self._apply_fraction()

    def memory_stats(self):
        """All that is counted, by torch's names."""
        return self._read_stats()

    def _mem_get_info(self):
        """(free, total) bytes of the device."""
        return _C._memory_info(self.kind, self.device_id)


class DeviceAllocator(_Snapshot, _C._CachingAllocator):
    """Caches the memory of one device. No device is needed to make one: the calls of the driver are
    methods, which a test may replace on the object.
    """

    kind = None  # "npu", "cuda": subclasses say

    def __init__(self, device_id=0, conf=""):
        super().__init__(device_id, self.kind, conf)
        self._written_stats = {}
        self._apply_fraction()

    def __del__(self):
        # While the object still has its methods: they free what is left.
        if "_written_stats" in self.__dict__:
            self._close()

    # Calls of the driver.

    def _require_device(self):
        try:
            _C._check_device_available(_C.device(self.kind, self.device_id))
        except RuntimeError as error:
            raise _C._DeviceUnavailableError(str(error)) from None

    def _raw_malloc(self, size):
        """(address, size) of new device memory; a RuntimeError says that there is none left."""
        self._require_device()
        address = _C._raw_allocate(self.kind, self.device_id, size)
        if address == 0:
            raise RuntimeError(f"{self.kind}:{self.device_id} has no {size} bytes left")
        return address, size

    def _raw_free(self, ptr):
        """Gives device memory back."""
        self._require_device()
        _C._raw_release(self.kind, self.device_id, ptr)

    def _mem_get_info(self):
        """(free, total) bytes of the device."""
        self._require_device()
        return _C._memory_info(self.kind, self.device_id)

    # Without a device nothing runs: there is nothing to wait for.

    def _has_device(self):
        return _C._device_count(self.kind) > self.device_id

    def _sync_device(self):
        """Waits for all work of the device."""
        if self._has_device():
            _C._synchronize_device(self.kind, self.device_id)

    def _record_event(self, stream):
        """Marks the work given to a stream, an object or a handle, so far; None is the default
        stream.
        """
        if not self._has_device():
            return None
        if not isinstance(stream, _C._Stream):
            stream = _C._Stream(self.kind, self.device_id, 0, stream or 0)
        event = _C._Event()
        event._record(stream)
        return event

    def _event_complete(self, event):
        """Whether the marked work is done."""
        return event is None or event._query()

    # What there is.

    def memory_stats(self):
        """All that is counted, by torch's names."""
        stats = self._read_stats()
        for key, difference in self._written_stats.items():
            stats[key] = stats.get(key, 0) + difference
        return stats

    @property
    def _stats(self):
        return LiveStats(self)

    @property
    def _cached(self):
        return {pool: CachedBlocks(self, pool) for pool in POOLS}

    @property
    def _memory_fraction(self):
        return self.memory_fraction

    @_memory_fraction.setter
    def _memory_fraction(self, fraction):
        self.memory_fraction = fraction


class AllocatorTable:
    """The allocators of one kind of device, made when they are first asked for. A device that is
    in use has the one of its tensors; another, one that needs no device.
    """

    def __init__(self, make):
        self._make = make
        self._allocators = {}
        self._history = None

    def __call__(self, index):
        allocator = self._allocators.get(index)
        in_use = index in _C._devices_in_use(self._make.kind)
        if allocator is None or in_use != isinstance(allocator, RuntimeAllocator):
            make = RuntimeAllocator if in_use else lambda _, index: self._make(index)
            allocator = self._allocators[index] = make(self._make.kind, index)
            if self._history is not None:
                allocator._configure_history(*self._history)
        return allocator

    def all(self):
        """Those that exist."""
        for index in _C._devices_in_use(self._make.kind):
            self(index)
        return list(self._allocators.values())

    def configure_history(self, *settings):
        """For those that exist and those to come."""
        self._history = settings
        for allocator in self.all():
            allocator._configure_history(*settings)


class _Backend:
    """What a kind of device shows that has no module here."""

    def __init__(self, kind):
        name = f"{kind.capitalize()}Allocator"
        doc = f"Caches the memory of one {kind} device."
        self.get_allocator = AllocatorTable(
            type(name, (DeviceAllocator,), {"kind": kind, "__doc__": doc})
        )

    def mem_get_info(self, index):
        """(free, total) bytes of a device."""
        return self.get_allocator(index)._mem_get_info()


@functools.cache
def backend_of(kind):
    """What shows the memory of a kind of device: `get_allocator` and `mem_get_info`."""
    if importlib.util.find_spec(f"{__package__}.{kind}") is None:
        return _Backend(kind)
    return importlib.import_module(f"{__package__}.{kind}.allocator")
