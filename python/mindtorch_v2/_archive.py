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
_DESCRIPTOR = 0x08  # checksum and sizes follow the data
_DATE = (1980, 1, 1, 0, 0, 0)
_WIDE = 0xFFFFFFFF  # from here on sizes take 64 bits
_NO_CHECKSUM = 0  # as torch marks records whose checksum was not computed
_LARGE = 1 << 20  # from here on the checksum is computed beside the writing
_LOCAL_HEADER = 30


class _Stream:
    """A file that is only written to, from where it stands; zipfile asks for no more."""

    def __init__(self, file):
        self._file = file
        self._position = 0

    def write(self, data):
        write_all(self._file, data)
        self._position += len(data)

    def tell(self):
        return self._position

    def flush(self):
        pass


class ArchiveWriter:
    """Writes records to a binary file, in one pass; a context manager."""

    # zipfile writes what stands around the records: its own way of writing a record would compute
    # the checksum slowly, and nothing else meanwhile.

    def __init__(self, file, folder, alignment=_ALIGNMENT, has_checksums=True):
        self._file = _Stream(file)
        self._zip = zipfile.ZipFile(self._file, "w")
        self._folder = folder
        self._alignment = alignment
        self._has_checksums = has_checksums
        self._threads = ThreadPoolExecutor(1)

    def __enter__(self):
        return self

    def __exit__(self, error_type, *details):
        self._threads.shutdown()
        if error_type is None:
            self._describe()
            self._zip.start_dir = self._file.tell()
        else:
            self._zip.mode = "r"  # nothing more is written
        self._zip.close()

    def write(self, name, data):
        """Adds a record; its bytes start at a multiple of the alignment, so that it can be
        mapped."""
        data = memoryview(data).cast("B")
        info = self._begin(name, data.nbytes)
        if not self._has_checksums:
            self._file.write(data)
        elif data.nbytes < _LARGE:
            info.CRC = crc32(data)
            self._file.write(data)
        else:
            running = self._threads.submit(crc32, data)
            self._file.write(data)
            info.CRC = running.result()
        self._end(info)

    def write_zeros(self, name, size):
        """Adds a record that is to be filled in later, without a checksum."""
        info = self._begin(name, size)
        zeros = bytes(min(size, _LARGE))
        for start in range(0, size, _LARGE):
            self._file.write(zeros[: size - start])
        self._end(info)

    def _begin(self, name, size):
        info = zipfile.ZipInfo(f"{self._folder}/{name}", _DATE)
        info.flag_bits = _DESCRIPTOR
        info.CRC = _NO_CHECKSUM
        info.file_size = info.compress_size = size
        info.header_offset = self._file.tell()
        # An extra field of kind "FB" with nothing but padding in it, as torch's.
        info.extra = b"FB\0\0"
        length = info.header_offset + len(info.FileHeader(zip64=size >= _WIDE))
        padding = -length % self._alignment
        info.extra = b"FB" + struct.pack("<H", padding) + bytes(padding)
        self._file.write(info.FileHeader(zip64=size >= _WIDE))
        info.extra = b""  # the list of records needs none
        return info

    def _end(self, info):
        sizes = struct.pack("<QQ" if info.file_size >= _WIDE else "<II", *[info.file_size] * 2)
        self._file.write(b"PK\7\b" + struct.pack("<I", info.CRC) + sizes)
        self._zip.filelist.append(info)

    def _describe(self):
        self.write("version", b"3\n")
        import hashlib

        def number(texts):
            digest = hashlib.blake2b(b"\n".join(texts), digest_size=8).digest()
            return int.from_bytes(digest, "little")

        records = self._zip.filelist
        names = number(record.filename.encode() for record in records)
        contents = number(str(record.CRC).encode() for record in records)
        self.write(".data/serialization_id", f"{names:020d}{contents:020d}".encode())


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
        header = self._file.read(_LOCAL_HEADER)
        if len(header) < _LOCAL_HEADER or header[:4] != b"PK\3\4":
            raise RuntimeError(f"failed reading file {name}: it is not where the archive says")
        position = info.header_offset + _LOCAL_HEADER + sum(struct.unpack("<HH", header[26:30]))
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
