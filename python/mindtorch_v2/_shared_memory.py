"""Storages in memory that several processes see.

A segment is a file in memory that has no name: when the last process that holds it is gone, so is
the segment, however that process ended.
"""

import os
import weakref

from mindtorch_v2 import _C, _kinds


class Segment:
    """The file behind a shared storage, which keeps it."""

    __slots__ = ("fd", "nbytes", "has_file_system", "is_exported", "__weakref__")

    def __init__(self, fd, nbytes, has_file_system=False):
        self.fd = fd
        self.nbytes = nbytes
        self.has_file_system = has_file_system  # whether the file can be given a name
        self.is_exported = False  # whether it was sent on to another process

    def __del__(self):
        os.close(self.fd)


_segments = weakref.WeakValueDictionary()  # address of the first byte: segment

SHARED_FOLDER = "/dev/shm"
# Up to this size the bytes themselves are sent: that is quicker than memory of their own.
SMALL_BYTES = 16384


def segment_of(storage):
    """The segment that a storage is mapped onto; None for memory of this process alone."""
    return _segments.get(storage.data_ptr()) if storage.nbytes() else None


def map_segment(segment):
    """A new storage over a segment's bytes."""
    storage = _C._map_file(segment.fd, 0, segment.nbytes, shared=True, populate=True, owner=segment)
    _segments[storage.data_ptr()] = segment
    return storage


def new_shared_storage(nbytes, in_file_system=False):
    """A storage of zeros in a segment of its own."""
    if nbytes == 0:
        return _C.UntypedStorage(0)
    if in_file_system:
        flags = os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC
        fd = os.open(SHARED_FOLDER, flags, 0o600)
    else:
        fd = os.memfd_create("mindtorch")
    segment = Segment(fd, nbytes, in_file_system)
    if in_file_system:
        os.posix_fallocate(fd, 0, nbytes)  # a full file system is an error here, not a signal later
    else:
        os.ftruncate(fd, nbytes)
    return map_segment(segment)


def share(storage, in_file_system=False):
    """Moves a storage, and with it all tensors over it, to shared memory; returns its segment."""
    segment = segment_of(storage)
    if storage.nbytes() and (segment is None or in_file_system and not segment.has_file_system):
        shared = new_shared_storage(storage.nbytes(), in_file_system)
        shared.copy_(storage)
        storage._exchange_memory(shared)
        segment = segment_of(storage)
    return segment


def storage_share_memory_(storage):
    """Moves the bytes to memory that other processes can see; returns the storage.

    >>> torch.UntypedStorage(4).share_memory_().is_shared()
    True
    """
    if storage.device.type not in _kinds.ACCELERATORS:
        _check_on_host(storage)
        share(storage)
    return storage


def storage_is_shared(storage):
    """Whether the bytes lie in memory that other processes can see.

    >>> torch.UntypedStorage(4).is_shared()
    False
    """
    return storage.device.type in _kinds.ACCELERATORS or segment_of(storage) is not None


def _check_on_host(storage):
    if storage.device.type != "cpu":
        raise NotImplementedError(f"a storage on {storage.device} can not be shared")


def storage_from_file(filename, shared=False, nbytes=0):
    """A storage over a file's bytes. With `shared`, what is written goes to the file, which is
    made and grown to `nbytes` if needed; else it stays in this process.

    >>> with open("numbers.bin", "wb") as f:
    ...     _ = f.write(bytes([1, 2, 3]))
    >>> torch.UntypedStorage.from_file("numbers.bin", shared=False, nbytes=3).tolist()
    [1, 2, 3]
    """
    fd = os.open(filename, (os.O_RDWR | os.O_CREAT if shared else os.O_RDONLY) | os.O_CLOEXEC)
    try:
        size = os.fstat(fd).st_size
        nbytes = nbytes or size
        if nbytes == 0:
            return _C.UntypedStorage(0)
        if size < nbytes:
            if not shared:
                raise RuntimeError(
                    f"unable to mmap {nbytes} bytes from file <{filename}>: it has {size} bytes"
                )
            os.ftruncate(fd, nbytes)
        return _C._map_file(fd, 0, nbytes, shared=shared, populate=False, owner=None)
    finally:
        os.close(fd)
