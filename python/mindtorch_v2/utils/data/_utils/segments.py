"""Shared memory that is used again, batch after batch.

New memory costs much more than the copy into it: the system clears every page, and two processes
map it. So a worker keeps its segments. A segment is lent to the loader with a batch, comes back
when the last tensor over it is gone there, and then takes another batch. Both sides keep it mapped.

Memory that may be seen by a third process does not come back: see Leases.
"""

import os
import weakref
from collections import deque

from mindtorch_v2 import _C, _shared_memory

_MOST_FREE = 8  # segments a worker keeps for later


def _lease(storage, returned):
    """Another storage over the same bytes; `returned()` is called when the last tensor over it is
    gone."""
    view = memoryview(storage)
    weakref.finalize(view, returned).atexit = False
    return _C.frombuffer(view, dtype=_C.uint8).untyped_storage()


class _Owned:
    """A segment of a worker."""

    def __init__(self, number, storage):
        self.number = number
        self.storage = storage
        self.held = True  # a tensor of the worker lies in it
        self.sent = 0  # batches in the loader's hands that lie in it
        self.known = False  # the loader has mapped it


class SegmentPool:
    """The segments of a worker."""

    def __init__(self):
        self._numbers = 0
        self._owned = {}  # number: segment
        self._by_address = {}
        self._free = deque()  # the one that was freed first is first
        self.forgotten = []  # numbers that the loader need not keep

    def take(self, nbytes):
        """A storage of this size, with any bytes in it."""
        for owned in self._free:
            if owned.storage.nbytes() == nbytes:
                self._free.remove(owned)
                owned.held = True
                break
        else:
            owned = _Owned(self._numbers, _shared_memory.new_shared_storage(nbytes))
            self._numbers += 1
            self._owned[owned.number] = owned
            self._by_address[owned.storage.data_ptr()] = owned
        return _lease(owned.storage, lambda: self._released(owned))

    def find(self, storage):
        """The segment that a storage lies in; None if it is none of the pool's."""
        return self._by_address.get(storage.data_ptr())

    def give_back(self, number, reusable):
        """The loader has dropped a batch that lies in a segment."""
        owned = self._owned[number]
        owned.sent -= 1
        if not reusable:
            self._forget(owned)
        else:
            self._check_free(owned)

    def _released(self, owned):
        owned.held = False
        self._check_free(owned)

    def _check_free(self, owned):
        if owned.held or owned.sent or owned.number not in self._owned:
            return
        self._free.append(owned)
        if len(self._free) > _MOST_FREE:
            self._forget(self._free.popleft())

    def _forget(self, owned):
        if self._owned.pop(owned.number, None) is not None:
            del self._by_address[owned.storage.data_ptr()]
            self.forgotten.append(owned.number)


class Leases:
    """The loader's side: the segments of one worker, and which batches lie in them.

    A tensor that is sent on to another process, or that a forked process inherits, stays as it is:
    its segment is not given back for another batch.
    """

    _all = weakref.WeakSet()

    def __init__(self):
        self._mapped = {}  # number: storage
        self._lent = {}  # number: batches that lie in it
        self.returned = deque()  # (number, whether it may be used again)
        Leases._all.add(self)

    def map(self, number, segment):
        """Maps a segment that comes for the first time."""
        self._mapped[number] = _shared_memory.map_segment(segment)

    def lend(self, number):
        """A storage over a segment, for one batch."""
        self._lent[number] = self._lent.get(number, 0) + 1
        storage = self._mapped[number]
        segment = _shared_memory.segment_of(storage)
        return _lease(storage, lambda: self._return(number, segment))

    def forget(self, numbers):
        """The worker has given these up."""
        for number in numbers:
            self._mapped.pop(number, None)

    def _return(self, number, segment):
        self._lent[number] -= 1
        self.returned.append((number, not segment.is_exported))

    @classmethod
    def before_fork(cls):
        for leases in cls._all:
            for number, count in leases._lent.items():
                if count and number in leases._mapped:
                    _shared_memory.segment_of(leases._mapped[number]).is_exported = True


os.register_at_fork(before=Leases.before_fork)
