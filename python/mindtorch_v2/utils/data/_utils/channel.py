"""Messages between a loader and a worker: pickles, with the shared memory they refer to.

The descriptors of shared memory travel with a message through its socket. Nothing has a name, so
nothing stays behind when a process is killed with messages on their way.
"""

import io
import os
import pickle
import socket
import struct
from multiprocessing.reduction import ForkingPickler

import mindtorch_v2.multiprocessing
from mindtorch_v2 import _C, _shared_memory

from .segments import Leases

_HEADER = struct.Struct("<QI")  # bytes of the pickle, number of descriptors
_DESCRIPTORS_AT_ONCE = 250  # Linux takes 253


class Closed(Exception):
    """The other end of the channel is gone."""


class _Connection:
    """Bytes and descriptors through a socket."""

    def __init__(self, connection):
        self._socket = connection

    def fileno(self):
        return self._socket.fileno()

    def send_bytes(self, data, descriptors=()):
        try:
            self._socket.sendall(_HEADER.pack(len(data), len(descriptors)))
            for start in range(0, len(descriptors), _DESCRIPTORS_AT_ONCE):
                group = descriptors[start : start + _DESCRIPTORS_AT_ONCE]
                socket.send_fds(self._socket, [b"\0"], group)
            self._socket.sendall(data)
        except (BrokenPipeError, ConnectionResetError):
            raise Closed from None

    def receive_bytes(self):
        size, count = _HEADER.unpack(self._read(_HEADER.size))
        descriptors = []
        while len(descriptors) < count:
            wanted = min(count - len(descriptors), _DESCRIPTORS_AT_ONCE)
            data, received, flags, _ = socket.recv_fds(self._socket, 1, wanted)
            descriptors += received
            if not data:
                raise Closed
            if flags & socket.MSG_CTRUNC:
                raise RuntimeError(
                    "Too many open files. Communication with the workers is no longer possible. "
                    "Please increase the limit using `ulimit -n` in the shell."
                )
        return self._read(size), descriptors

    def _read(self, size):
        data = bytearray(size)
        view = memoryview(data)
        while view:
            try:
                count = self._socket.recv_into(view)
            except ConnectionResetError:
                count = 0
            if count == 0:
                raise Closed
            view = view[count:]
        return data

    def close(self):
        self._socket.close()

    def shut_down(self):
        """Ends the connection, also where a forked process holds a copy of this end."""
        try:
            self._socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass  # the other end was first


def connect():
    """(the loader's, a worker's) ends of a new connection."""
    mine, its = socket.socketpair()
    return LoaderEnd(mine), WorkerEnd(its)


def _small_storage(data):
    storage = _C.UntypedStorage(len(data))
    memoryview(storage).cast("B")[:] = data
    return storage


class _BatchPickler(ForkingPickler):
    """Puts storages into shared memory, and their places into the pickle."""

    def __init__(self, file, pool):
        super().__init__(file, pickle.HIGHEST_PROTOCOL)
        self.descriptors = []
        self.kept = []  # what must live until the message is sent
        self._pool = pool
        self._whole = set()  # storages that one tensor fills

    def reducer_override(self, obj):
        if isinstance(obj, _C.Tensor):
            if obj.layout is not _C.strided:
                return NotImplemented  # its components are strided
            storage = obj.untyped_storage()
            if storage.nbytes() == obj.numel() * obj.element_size():
                self.kept.append(storage)
                self._whole.add(id(storage))
            return NotImplemented
        if type(obj) is not _C.UntypedStorage or obj.device.type != "cpu" or not obj.nbytes():
            return NotImplemented
        if obj.nbytes() <= _shared_memory.SMALL_BYTES:
            return _small_storage, (bytes(memoryview(obj)),)
        return _received_storage, self._place(obj)

    def _place(self, storage):
        """(number in the pool or None, index of the descriptor or None)."""
        owned = self._pool.find(storage)
        if owned is None and id(storage) in self._whole and not storage.is_shared():
            copy = self._pool.take(storage.nbytes())
            copy.copy_(storage)
            self.kept.append(copy)
            owned = self._pool.find(copy)
        if owned is None:
            # A view of something larger, which later batches may show other parts of.
            segment = _shared_memory.share(storage)
            self.kept.append(segment)
            return None, self._add(segment)
        owned.sent += 1
        if owned.known:
            return owned.number, None
        owned.known = True
        return owned.number, self._add(_shared_memory.segment_of(owned.storage))

    def _add(self, segment):
        self.descriptors.append(segment.fd)
        return len(self.descriptors) - 1


def _received_storage(number, place):
    raise AssertionError("stands in a pickle for storage() of its _Memory")


class _Memory:
    """The memory that came with a message."""

    def __init__(self, leases, descriptors):
        self._leases = leases
        self._segments = [_shared_memory.Segment(fd, os.fstat(fd).st_size) for fd in descriptors]

    def storage(self, number, place):
        if number is None:
            return _shared_memory.map_segment(self._segments[place])
        if place is not None:
            self._leases.map(number, self._segments[place])
        return self._leases.lend(number)


class _BatchUnpickler(pickle.Unpickler):
    """Makes tensors over the memory that came with a message. It must not be part of a reference
    cycle: it refers to the tensors."""

    def __init__(self, file, memory):
        super().__init__(file)
        self._memory = memory

    def find_class(self, module, name):
        found = super().find_class(module, name)
        return self._memory.storage if found is _received_storage else found


class WorkerEnd(_Connection):
    """Gets tasks and sends batches."""

    def pack(self, message, pool):
        """A message for send(). Memory of the pool is lent from here on."""
        file = io.BytesIO()
        pickler = _BatchPickler(file, pool)
        pickler.dump(message)
        forgotten, pool.forgotten = pool.forgotten, []
        pickle.dump(forgotten, file)
        return file.getbuffer(), pickler.descriptors, pickler.kept

    def send(self, packed):
        data, descriptors, _ = packed
        self.send_bytes(data, descriptors)

    def receive(self):
        """(task, the numbers of segments that came back)."""
        data, _ = self.receive_bytes()
        return pickle.loads(data)


class LoaderEnd(_Connection):
    """Sends tasks and gets batches."""

    def __init__(self, connection):
        super().__init__(connection)
        self._leases = Leases()

    def send(self, task):
        self.send_bytes(ForkingPickler.dumps((task, self._leases.take_returned())))

    def receive(self):
        data, descriptors = self.receive_bytes()
        file = io.BytesIO(data)
        message = _BatchUnpickler(file, _Memory(self._leases, descriptors)).load()
        self._leases.forget(pickle.load(file))
        return message
