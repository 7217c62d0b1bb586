"""The zip container of torch's file format: named records, stored uncompressed and aligned.

Records live under one folder, the archive's name: `data.pkl`, `byteorder`, `data/<key>` with the
bytes of one storage each, `version`, and a few that only describe the file.
"""

import os
import struct
import sys
import zipfile
import zlib

_ALIGNMENT = 64
# Where zipfile is asked to use 64-bit sizes; below its own limit, so that it never decides.
_LARGE_RECORD = 1 << 30
_ZIP64_EXTRA_BYTES = 20


class ArchiveWriter:
    """Writes records to a path or to an object with `write`; a context manager."""

    def __init__(self, f):
        if isinstance(f, (str, os.PathLike)):
            path = os.fspath(f)
            parent = os.path.dirname(path)
            if parent and not os.path.isdir(parent):
                raise RuntimeError(f"Parent directory {parent} does not exist.")
            self._folder = os.path.splitext(os.path.basename(path))[0]
        elif hasattr(f, "write"):
            self._folder = "archive"
        else:
            raise AttributeError(
                "expected 'f' to be string, path, or a file-like object with a 'write' attribute"
            )
        self._zip = zipfile.ZipFile(f, "w", zipfile.ZIP_STORED)

    def __enter__(self):
        return self

    def __exit__(self, error_type, *details):
        if error_type is None:
            self._describe()
        self._zip.close()

    def write(self, name, data):
        """Adds a record; its bytes start at a multiple of 64, so that it can be mapped."""
        info = zipfile.ZipInfo(f"{self._folder}/{name}", (1980, 1, 1, 0, 0, 0))
        data = memoryview(data)
        large = data.nbytes > _LARGE_RECORD
        start = self._zip.fp.tell() + 30 + len(info.filename.encode()) + 4
        if large:
            start += _ZIP64_EXTRA_BYTES
        padding = -start % _ALIGNMENT
        # An extra field of our own kind, "FB", with nothing but padding in it.
        info.extra = b"FB" + struct.pack("<H", padding) + bytes(padding)
        info.file_size = data.nbytes
        with self._zip.open(info, "w", force_zip64=large) as record:
            record.write(data)

    def _describe(self):
        self.write("version", b"3\n")
        import hashlib

        def number(text):
            return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")

        records = self._zip.infolist()
        names = number("\n".join(info.filename for info in records))
        contents = number("\n".join(str(info.CRC) for info in records))
        self.write(".data/serialization_id", f"{names:020d}{contents:020d}".encode())


class ArchiveReader:
    """Reads records of a seekable binary file."""

    def __init__(self, f):
        self._file = f
        try:
            self._zip = zipfile.ZipFile(f)
        except zipfile.BadZipFile as error:
            raise RuntimeError(
                f"failed reading zip archive: {error}. The file is incomplete or was changed "
                "after it was saved."
            ) from None
        names = self._zip.namelist()
        self._folder = names[0].partition("/")[0] if names else ""
        self._names = set(names)
        if not self.has("version"):
            raise RuntimeError('the zip archive has no record "version": not a file of torch.save')

    def has(self, name):
        return f"{self._folder}/{name}" in self._names

    def size(self, name):
        return self._info(name).file_size

    def read(self, name):
        data = bytearray(self.size(name))
        self.read_into(name, memoryview(data))
        return bytes(data)

    def read_into(self, name, target):
        """Fills `target`, a writable view of exactly size(name) bytes, and checks the sum."""
        info = self._info(name)
        if info.compress_type != zipfile.ZIP_STORED:
            # torch never compresses; a file that was packed again by another tool may be.
            target[:] = self._zip.read(info)
            return
        self._file.seek(info.header_offset)
        header = self._file.read(30)
        name_size, extra_size = struct.unpack("<HH", header[26:30])
        self._file.seek(info.header_offset + 30 + name_size + extra_size)
        filled = 0
        while filled < len(target):
            count = self._read_some(target[filled:])
            if not count:
                raise RuntimeError(f"failed reading file {name}: unexpected end of file")
            filled += count
        if zlib.crc32(target) != info.CRC:
            raise RuntimeError(f"failed reading file {name}: its checksum does not match")

    def is_byte_swapped(self):
        # Files older than the record come from little-endian machines.
        order = self.read("byteorder").decode() if self.has("byteorder") else "little"
        return order != sys.byteorder

    def _info(self, name):
        try:
            return self._zip.getinfo(f"{self._folder}/{name}")
        except KeyError:
            raise RuntimeError(f"failed locating file {name}: file not found") from None

    def _read_some(self, target):
        if hasattr(self._file, "readinto"):
            return self._file.readinto(target)
        data = self._file.read(len(target))
        target[: len(data)] = data
        return len(data)
