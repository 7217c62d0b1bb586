"""Files from before torch's zip format: a row of pickles, and before that a tar archive, which is
only read."""

import pickle
import struct
import sys

from . import _pickling
from . import _serialization as serialization
from ._locations import MetaStorage, restore_storage
from ._whole_file import write_all

_MAGIC = 0x1950A86A20F9469CFC6C
_PROTOCOL = 1001


def dump(obj, protocol, pickle_module=None):
    """(the pickles of a file, its storages as _pickling.dump gives them)."""
    tail = (None,)  # no part of another storage
    data, storages = _pickling.dump(obj, protocol, pickle_module, tail)
    storages.sort(key=lambda storage: storage[0])
    system = {
        "protocol_version": _PROTOCOL,
        "little_endian": sys.byteorder == "little",
        "type_sizes": {"short": 2, "int": 4, "long": 4},
    }
    headers = [pickle.dumps(header, protocol) for header in (_MAGIC, _PROTOCOL, system)]
    keys = pickle.dumps([key for key, _, _ in storages], protocol)
    return b"".join((*headers, data, keys)), storages


def write(file, _folder, data, storages):
    """Writes what dump() gave."""
    write_all(file, data)
    for _, storage, width in storages:
        write_all(file, (storage.nbytes() // width).to_bytes(8, "little"))
        write_all(file, serialization.host_bytes(storage))


class _Bounded:
    """A file that is never asked for more than it has, whatever a pickle says about lengths."""

    def __init__(self, file):
        import os

        self._file = file
        start = file.tell()
        self._end = file.seek(0, os.SEEK_END)
        if self._end is None:
            self._end = file.tell()
        file.seek(start)

    def remaining(self):
        return self._end - self._file.tell()

    def read(self, size=-1):
        remaining = self.remaining()
        return self._file.read(remaining if size < 0 else min(size, remaining))

    def readline(self):
        return self._file.readline()

    def readinto(self, target):
        data = self.read(len(target))
        target[: len(data)] = data
        return len(data)

    def tell(self):
        return self._file.tell()

    def seek(self, position):
        self._file.seek(position)

    def read_storage(self, nbytes, location, map_location):
        """The next bytes as a storage."""
        end = self.tell() + nbytes
        if end > self._end:
            raise RuntimeError(
                f"unexpected EOF, expected {end - self._end} more bytes. The file might be "
                "corrupted."
            )
        storage = restore_storage(nbytes, location, map_location, self.readinto)
        self.seek(end)  # on the meta device nothing is read
        return storage


def load(f, map_location, options):
    """What the file holds; `options` says how pickles are read."""
    file = _Bounded(f)
    start = file.tell()
    if start == 0 and _is_tar(file):
        return _load_tar(f, map_location, options)
    file.seek(start)
    return _load_pickles(file, map_location, options)


def _count(value):
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise RuntimeError(f"expected a count, not {type(value).__name__}; corrupt file?")
    return value


def _load_pickles(f, map_location, options):
    """Four pickles, the list of storage keys, then per storage its element count and its bytes. The
    bytes come last, so the object is unpickled twice: once to learn which storages there are, and
    again when they are filled."""

    def none_expected(*pid):
        raise pickle.UnpicklingError("a storage before the object")

    def header():
        return _pickling.load_from(f, none_expected, options)

    if header() != _MAGIC:
        raise RuntimeError("Invalid magic number; corrupt file?")
    version = header()
    if version != _PROTOCOL:
        raise RuntimeError(f"Invalid protocol version: {version}")
    header()  # sizes of C types on the writing machine
    start = f.tell()
    wanted = {}

    def note(key, dtype, location, nbytes):
        wanted[key] = (dtype, location, nbytes)
        return MetaStorage(nbytes)

    _pickling.load_from(f, note, options)
    keys = header()
    if not isinstance(keys, list):
        raise RuntimeError("expected a list of storages; corrupt file?")
    filled = {}
    for key in keys:
        if not isinstance(key, str) or key not in wanted:
            raise RuntimeError("storages that the object does not have; corrupt file?")
        dtype, location, nbytes = wanted[key]
        count = int.from_bytes(f.read(8), "little")
        if count * (dtype.itemsize if dtype is not None else 1) != nbytes:
            raise RuntimeError(f"storage {key} has {count} elements; the pickle says otherwise")
        filled[key] = f.read_storage(nbytes, location, map_location)
    f.seek(start)

    def take(key, *_):
        if key not in filled:
            raise RuntimeError(f"storage {key} has no bytes in the file")
        return filled[key]

    return _pickling.load_from(f, take, options)


def _is_tar(file):
    start = file.tell()
    header = file.read(512)
    file.seek(start)
    return len(header) == 512 and header[257:262] == b"ustar"


def _load_tar(f, map_location, options):
    """Three files: storages, tensors over them, and a pickle that refers to both by number."""
    import io
    import tarfile

    if options.weights_only:
        raise RuntimeError(
            "Cannot use ``weights_only=True`` with files saved in the legacy .tar format. "
            "If you trust the source of this file, torch.load with `weights_only=False` may read "
            "it, but then the file can run any code."
        )
    objects = {}

    def by_number(saved_id):
        # A tuple is a class with its source code, which is not compared.
        return saved_id[0] if isinstance(saved_id, tuple) else objects[int(saved_id)]

    with tarfile.open(fileobj=f, mode="r:") as tar:

        def part(name):
            return _Bounded(io.BytesIO(tar.extractfile(name).read()))

        def read(file):
            return _pickling.load_from(file, None, options)

        file = part("storages")
        for _ in range(_count(read(file))):
            key, location, cls = read(file)
            nbytes = int.from_bytes(file.read(8), "little") * cls.dtype.itemsize
            objects[key] = cls(wrap_storage=file.read_storage(nbytes, location, map_location))
        for key, root_key, offset, count in read(file):
            root = objects[root_key]
            width = root.dtype.itemsize
            part_of = root.untyped()[offset * width : (offset + count) * width]
            objects[key] = type(root)(wrap_storage=part_of)

        file = part("tensors")
        for _ in range(_count(read(file))):
            key, storage_key, _cls = read(file)
            dims = struct.unpack("<ii", file.read(8))[0]
            size = struct.unpack(f"<{dims}q", file.read(8 * dims))
            stride = struct.unpack(f"<{dims}q", file.read(8 * dims))
            (offset,) = struct.unpack("<q", file.read(8))
            storage = objects[storage_key]
            objects[key] = serialization.rebuild_tensor(
                storage.untyped(), storage.dtype, offset, size, stride
            )
        return _pickling.load_from(part("pickle"), by_number, options)
