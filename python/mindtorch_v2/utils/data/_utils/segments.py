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


class _Uses:
    """Storages over mapped segments, and which of them are gone."""

    def __init__(self):
        self._users = {}  # id of a weak reference: itself, the segment it is a use of
        # Filled while tensors are destroyed, where no Python code may run: an interrupt of the user
        # would be lost in it.
        self._ended = deque()

    def add(self, storage, segment):
        """Another storage over the same bytes, which counts as a use of `segment`."""
        view = memoryview(storage)
        use = weakref.ref(view, self._ended.append)
        self._users[id(use)] = use, segment
        return _C.frombuffer(view, dtype=_C.uint8).untyped_storage()

    def take_ended(self):
        """The segments of the uses that have ended since the last call."""
        ended = []
        while self._ended:
            ended.append(self._users.pop(id(self._ended.popleft()))[1])
        return ended

    def current(self):
        """The segments of all other uses."""
        return [segment for _, segment in self._users.values()]


class _Owned:
    """A segment of a worker."""

    def __init__(self, number, storage):
        self.number = number
        self.storage = storage
        self.uses = 0  # storages of this process that lie in it
        self.sent = 0  # batches in the loader's hands that lie in it
        self.known = False  # the loader has mapped it


class SegmentPool:
    """The segments of a worker."""

    def __init__(self):
        self._count = 0
        self._owned = {}  # number: segment
        self._by_address = {}
        self._free = deque()  # the one that was freed first is first
        self._uses = _Uses()
        self.forgotten = []  # numbers that the loader need not keep

    def take(self, nbytes):
        """A storage of this size, with any bytes in it."""
        for owned in self._uses.take_ended():
            owned.uses -= 1
            self._check_free(owned)
        owned = next((free for free in self._free if free.storage.nbytes() == nbytes), None)
        if owned is not None:
            self._free.remove(owned)
        else:
            owned = _Owned(self._count, _shared_memory.new_shared_storage(nbytes))
            self._count += 1
            self._owned[owned.number] = owned
            self._by_address[owned.storage.data_ptr()] = owned
        owned.uses += 1
        return self._uses.add(owned.storage, owned)

    def find(self, storage):
        """The segment that a storage lies in; None if it is none of the pool's."""
        return self._by_address.get(storage.data_ptr())

    def give_back(self, number, reusable):
        """The loader has dropped a batch that lies in a segment."""
        owned = self._owned.get(number)
        if owned is None:
            return  # forgotten since
        owned.sent -= 1
        if reusable:
            self._check_free(owned)
        else:
            self._forget(owned)

    def _check_free(self, owned):
        if owned.uses or owned.sent or owned.number not in self._owned:
            return
        self._free.append(owned)
        if len(self._free) > _MOST_FREE:
            self._forget(self._free.popleft())

    def _forget(self, owned):
        del self._owned[owned.number]
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
        self._uses = _Uses()
        Leases._all.add(self)

    def map(self, number, segment):
        """Maps a segment that comes for the first time."""
        self._mapped[number] = _shared_memory.map_segment(segment)

    def lend(self, number):
        """A storage over a segment, for one batch."""
        storage = self._mapped[number]
        return self._uses.add(storage, (number, _shared_memory.segment_of(storage)))

    def take_returned(self):
        """(number, whether it may be used again) for every batch that is gone."""
        return [(number, not segment.is_exported) for number, segment in self._uses.take_ended()]

    def forget(self, numbers):
        """The worker has given these up."""
        for number in numbers:
            self._mapped.pop(number, None)

    @classmethod
    def before_fork(cls):
        for leases in cls._all:
            for _, segment in leases._uses.current():
                segment.is_exported = True


os.register_at_fork(before=Leases.before_fork)
