"""The zip container of torch's file format: named records, stored uncompressed and aligned.

Records live under one folder, the archive's name: `data.pkl`, `byteorder`, `data/<key>` with the
bytes of one storage each, `version`, and a few that only describe the file.
"""

import os
import struct
import sys
import zipfile
import zlib
from concurrent.futures import ThreadPoolExecutor

from mindtorch_v2 import _C
from mindtorch_v2._whole_file import write_all

crc32 = _C._crc32 if _C._has_fast_crc32() else zlib.crc32
_ALIGNMENT = 64
_UTF8_AND_DESCRIPTOR = 0x0808  # names are UTF-8; checksum and sizes follow the data
_DATE = 0x0021  # 1980-01-01
_TOO_LARGE = 0xFFFFFFFF
_NO_CHECKSUM = 0  # as torch marks records whose checksum was not computed
_LARGE = 1 << 20  # from here on the checksum is computed beside the writing

_LOCAL = struct.Struct("<4sHHHHHIIIHH")
_CENTRAL = struct.Struct("<4sHHHHHHIIIHHHHHII")
_END = struct.Struct("<4sHHHHIIH")
_END64 = struct.Struct("<4sQHHIIQQQQ")
_LOCATOR64 = struct.Struct("<4sIQI")


class ArchiveWriter:
    """Writes records to a binary file, in one pass; a context manager."""

    def __init__(self, file, folder, alignment=_ALIGNMENT, has_checksums=True):
        self._file = file
        self._folder = folder
        self._alignment = alignment
        self._has_checksums = has_checksums
        self._position = 0
        self._records = []  # (name, checksum, size, position)
        self._threads = ThreadPoolExecutor(1)

    def __enter__(self):
        return self

    def __exit__(self, error_type, *details):
        self._threads.shutdown()
        if error_type is None:
            self._describe()
            self._finish()

    def write(self, name, data):
        """Adds a record; its bytes start at a multiple of the alignment, so that it can be
        mapped."""
        data = memoryview(data).cast("B")
        self._begin(name, data.nbytes)
        if not self._has_checksums:
            checksum = _NO_CHECKSUM
            self._write(data)
        elif data.nbytes < _LARGE:
            checksum = crc32(data)
            self._write(data)
        else:
            running = self._threads.submit(crc32, data)
            self._write(data)
            checksum = running.result()
        self._end(checksum)

    def write_zeros(self, name, size):
        """Adds a record that is to be filled in later, without a checksum."""
        self._begin(name, size)
        zeros = bytes(min(size, _LARGE))
        for start in range(0, size, _LARGE):
            self._write(zeros[: size - start])
        self._end(_NO_CHECKSUM)

    def _begin(self, name, size):
        name = f"{self._folder}/{name}".encode()
        start = self._position
        self._record = name, size, start
        large = size >= _TOO_LARGE
        sizes = struct.pack("<HHQQ", 1, 16, size, size) if large else b""
        padding = -(start + _LOCAL.size + len(name) + len(sizes) + 4) % self._alignment
        # An extra field of kind "FB" with nothing but padding in it, as torch's.
        extra = sizes + b"FB" + struct.pack("<H", padding) + bytes(padding)
        shown = _TOO_LARGE if large else size
        self._write(
            _LOCAL.pack(
                *(b"PK\3\4", 45 if large else 20, _UTF8_AND_DESCRIPTOR, 0, 0, _DATE),
                *(0, shown, shown, len(name), len(extra)),
            )
            + name
            + extra
        )

    def _end(self, checksum):
        name, size, start = self._record
        large = size >= _TOO_LARGE
        self._write(struct.pack("<4sIQQ" if large else "<4sIII", b"PK\7\b", checksum, size, size))
        self._records.append((name, checksum, size, start))

    def _write(self, data):
        self._position += len(data)
        write_all(self._file, data)

    def _describe(self):
        self.write("version", b"3\n")
        import hashlib

        def number(texts):
            digest = hashlib.blake2b(b"\n".join(texts), digest_size=8).digest()
            return int.from_bytes(digest, "little")

        names = number(record[0] for record in self._records)
        contents = number(str(record[1]).encode() for record in self._records)
        self.write(".data/serialization_id", f"{names:020d}{contents:020d}".encode())

    def _finish(self):
        start = self._position
        for name, checksum, size, position in self._records:
            wide = [value for value in (size, size, position) if value >= _TOO_LARGE]
            extra = struct.pack(f"<HH{len(wide)}Q", 1, 8 * len(wide), *wide) if wide else b""
            size, position = min(size, _TOO_LARGE), min(position, _TOO_LARGE)
            self._write(
                _CENTRAL.pack(
                    *(b"PK\1\2", 45, 45, _UTF8_AND_DESCRIPTOR, 0, 0, _DATE, checksum, size, size),
                    *(len(name), len(extra), 0, 0, 0, 0, position),
                )
                + name
                + extra
            )
        end, count = self._position, len(self._records)
        if count >= 0xFFFF or end >= _TOO_LARGE:
            self._write(_END64.pack(b"PK\6\6", 44, 45, 45, 0, 0, count, count, end - start, start))
            self._write(_LOCATOR64.pack(b"PK\6\7", 0, end, 1))
        shown = min(count, 0xFFFF)
        size, start = min(end - start, _TOO_LARGE), min(start, _TOO_LARGE)
        self._write(_END.pack(b"PK\5\6", 0, 0, shown, shown, size, start, 0))


class ArchiveReader:
    """Reads records of a seekable binary file. Nothing that the file says is trusted: no record is
    larger than the file can hold."""

    def __init__(self, f):
        self._file = f
        try:
            self._zip = zipfile.ZipFile(f)
            f.seek(0, os.SEEK_END)
            self._end = f.tell()
        except (zipfile.BadZipFile, *_MALFORMED) as error:
            raise RuntimeError(
                f"failed reading zip archive: {error}. The file is incomplete or was changed "
                "after it was saved."
            ) from None
        names = self._zip.namelist()
        if not names:
            raise RuntimeError("failed reading zip archive: it is empty")
        self._folder = names[0].partition("/")[0]
        self._names = set(names)
        if not (self.has("version") or self.has(".data/version")):
            raise RuntimeError('failed reading zip archive: it has no record "version"')

    def has(self, name):
        return f"{self._folder}/{name}" in self._names

    def size(self, name):
        return self._info(name).file_size

    def read(self, name):
        data = bytearray(self.size(name))
        self.read_into(name, memoryview(data))
        return bytes(data)

    def position(self, name):
        """Where the bytes of a record begin in the file; None if they are compressed."""
        info = self._info(name)
        if info.compress_type != zipfile.ZIP_STORED:
            return None
        self._file.seek(info.header_offset)
        header = self._file.read(_LOCAL.size)
        if len(header) < _LOCAL.size or header[:4] != b"PK\3\4":
            raise RuntimeError(f"failed reading file {name}: it is not where the archive says")
        position = info.header_offset + _LOCAL.size + sum(struct.unpack("<HH", header[26:30]))
        if position + info.file_size > self._end:
            raise RuntimeError(f"failed reading file {name}: unexpected end of file")
        return position

    def read_into(self, name, target):
        """Fills `target`, a writable view of exactly size(name) bytes, and checks the sum."""
        info = self._info(name)
        position = self.position(name)
        if position is None:
            # torch never compresses; a file that was packed again by another tool may be.
            self._decompress_into(info, name, target)
            return
        self._file.seek(position)
        if info.CRC == _NO_CHECKSUM:
            self._read_part(name, target)
            return
        if len(target) < _LARGE:
            self._read_part(name, target)
            checksum = crc32(target)
        else:
            checksum = self._read_large(name, target)
        if checksum != info.CRC:
            raise RuntimeError(f"failed reading file {name}: its checksum does not match")

    def _read_large(self, name, target):
        """Reads one part while the checksum of the part before is computed."""
        running = None
        with ThreadPoolExecutor(1) as threads:
            for start in range(0, len(target), 16 * _LARGE):
                part = target[start : start + 16 * _LARGE]
                self._read_part(name, part)
                checksum = running.result() if running is not None else 0
                running = threads.submit(crc32, part, checksum)
        return running.result()

    def _decompress_into(self, info, name, target):
        try:
            target[:] = self._zip.read(info)
        except (zipfile.BadZipFile, zlib.error, *_MALFORMED) as error:
            raise RuntimeError(f"failed reading file {name}: {error}") from None

    def is_byte_swapped(self, default=None):
        """`default`: the LoadEndianness of files that are older than the record."""
        if self.has("byteorder"):
            order = self.read("byteorder")
        elif default is None or default.name == "LITTLE":
            order = b"little"
        else:
            order = sys.byteorder.encode() if default.name == "NATIVE" else b"big"
        if order not in (b"little", b"big"):
            raise ValueError(f"Unknown endianness type: {order[:20].decode(errors='replace')}")
        return order.decode() != sys.byteorder

    def _info(self, name):
        try:
            info = self._zip.getinfo(f"{self._folder}/{name}")
        except KeyError:
            raise RuntimeError(f"failed locating file {name}: file not found") from None
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise RuntimeError(
                f"failed reading file {name}: unknown kind of compression {info.compress_type}"
            )
        # Deflate makes at most 1,032 bytes of one.
        most = self._end if info.compress_type == zipfile.ZIP_STORED else 1032 * self._end
        if not 0 <= info.header_offset < self._end:
            raise RuntimeError(f"failed reading file {name}: it is not where the archive says")
        if info.file_size > most:
            raise RuntimeError(
                f"failed reading file {name}: it claims {info.file_size} bytes in an archive of "
                f"{self._end} bytes"
            )
        return info

    def _read_part(self, name, target):
        while target:
            if hasattr(self._file, "readinto"):
                count = self._file.readinto(target)
            else:
                data = self._file.read(len(target))
                target[: len(data)] = data
                count = len(data)
            if not count:
                raise RuntimeError(f"failed reading file {name}: unexpected end of file")
            target = target[count:]


# What malformed bytes lead to inside zipfile, which takes them at their word.
_MALFORMED = (
    *(ValueError, IndexError, KeyError, EOFError, OSError, OverflowError),
    *(NotImplementedError, RuntimeError, struct.error, UnicodeError),
)
