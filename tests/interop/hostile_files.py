"""Mutated checkpoints: every one must give a value or a clear error, without much memory.

    python -m tests.interop.hostile_files --count 1000000 [--seed 0]

A run that is killed, or ends with another exception than those of ALLOWED, has found a bug; the
seed and the number of the input are printed.
"""

import argparse
import io
import pickle
import random
import resource
import struct
import zipfile
import zlib
from pathlib import Path

import mindtorch_v2 as torch

FILES = Path(__file__).parent / "files"
ALLOWED = (pickle.UnpicklingError, RuntimeError, EOFError, KeyError, IndexError, ValueError)
MEMORY = 1 << 30  # more than what is in use, for a file of 10 kB
INTERESTING = (0, 1, 0x7F, 0x80, 0xFF, 0x7FFF, 0xFFFF, 0x7FFFFFFF, 0xFFFFFFFF, 1 << 40, 1 << 63)


def seeds():
    """(kind, bytes) of whole files, and of pickles that are put into an archive."""
    zipped = (FILES / "zip.pt").read_bytes()
    found = [("file", zipped), ("file", (FILES / "legacy.pt").read_bytes())]
    small = io.BytesIO()
    torch.save([torch.ones(2, 3), torch.nn.Parameter(torch.ones(2)), {"a": b"x", "s": {1}}], small)
    found.append(("file", small.getvalue()))
    for data in (zipped, small.getvalue()):
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            name = next(name for name in archive.namelist() if name.endswith("data.pkl"))
            found.append(("pickle", (data, archive.read(name))))
    return found


def mutated(data, random):
    data = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 4, 16))):
        if not data:
            break
        place = random.randrange(len(data))
        kind = random.randrange(7)
        if kind == 0:
            data[place] ^= 1 << random.randrange(8)
        elif kind == 1:
            data[place] = random.randrange(256)
        elif kind == 2:  # a number of 1 to 8 bytes
            width = random.choice((1, 2, 4, 8))
            number = random.choice(INTERESTING) & ((1 << 8 * width) - 1)
            data[place : place + width] = number.to_bytes(width, "little")
        elif kind == 3:
            del data[place : place + random.choice((1, 2, 4, 64))]
        elif kind == 4:
            start = random.randrange(len(data))
            data[place:place] = data[start : start + random.choice((1, 2, 8, 64))]
        elif kind == 5:
            del data[place:]
        else:
            data[place:place] = random.randbytes(random.choice((1, 2, 8)))
    return bytes(data)


def with_pickle(data, program):
    """The archive with another pickle, and checksums that fit."""
    result = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(result, "w") as target:
        for name in source.namelist():
            target.writestr(name, program if name.endswith("data.pkl") else source.read(name))
    return result.getvalue()


def handmade():
    """Forged headers that chance does not find."""
    data = (FILES / "zip.pt").read_bytes()
    names = (
        b"bytearray",
        b"torch\nTensor",
        b"torch\nFloatStorage",
        b"torch.storage\nUntypedStorage",
    )
    huge = b"\x8a\x05" + (1 << 36).to_bytes(5, "little")
    for name in names:
        module = b"" if b"\n" in name else b"builtins\n"
        for call in (b"\x85R.", b"\x85\x81."):
            yield with_pickle(data, b"\x80\x02c" + module + name + b"\n" + huge + call)
        # as the function of _rebuild_from_type_v2
        yield with_pickle(
            data,
            b"\x80\x02ctorch._tensor\n_rebuild_from_type_v2\n(c" + module + name + b"\n"
            b"ctorch\nTensor\n" + huge + b"\x85}tR.",
        )
    legacy = (FILES / "legacy.pt").read_bytes()
    yield legacy.replace(struct.pack("<q", 12), struct.pack("<q", 1 << 40), 1)
    entry = data.index(b"PK\1\2")
    yield data[: entry + 20] + struct.pack("<II", 0xFFFFFFF0, 0xFFFFFFF0) + data[entry + 28 :]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a/data.pkl", bytes(1 << 20))
    bomb = packed.getvalue()
    entry = bomb.index(b"PK\1\2")
    yield bomb[: entry + 24] + struct.pack("<I", 0xFFFFFFF0) + bomb[entry + 28 :]


def load(data):
    """True if the file was read, False if it was refused."""
    try:
        torch.load(io.BytesIO(data))
    except ALLOWED:
        return False
    return True


def limit_memory():
    """Turns a huge allocation into a MemoryError, which is not allowed."""
    with open("/proc/self/statm") as file:
        used = int(file.read().split()[0]) * resource.getpagesize()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, before[1]))
    return before


def run(count, seed):
    """The number of files that were read all the same."""
    before = limit_memory()
    files, read = seeds(), 0
    try:
        for data in handmade():
            assert not load(data)
        for number in range(count):
            source = random.Random(f"{seed}.{number}")
            kind, data = source.choice(files)
            try:
                if kind == "file":
                    read += load(mutated(data, source))
                else:
                    archive, program = data
                    read += load(with_pickle_fast(archive, mutated(program, source)))
            except BaseException:
                print(f"seed {seed}, input {number}")
                raise
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)
    return read


_prepared = {}


def with_pickle_fast(data, program):
    """with_pickle, where only the first record changes: the rest is copied as it is."""
    if id(data) not in _prepared:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            info = next(info for info in archive.infolist() if info.filename.endswith("data.pkl"))
            others = [
                (other.filename, archive.read(other))
                for other in archive.infolist()
                if other is not info
            ]
        _prepared[id(data)] = info.filename, others
    name, others = _prepared[id(data)]
    body, central, count = bytearray(), bytearray(), 0
    for record, content in ((name, program), *others):
        encoded = record.encode()
        start, count = len(body), count + 1
        fields = (zlib.crc32(content), len(content), len(content), len(encoded), 0)
        body += struct.pack("<4sHHHHHIIIHH", b"PK\3\4", 20, 0, 0, 0, 33, *fields) + encoded
        body += content
        central += struct.pack(
            "<4sHHHHHHIIIHHHHHII", b"PK\1\2", 20, 20, 0, 0, 0, 33, *fields, 0, 0, 0, 0, start
        )
        central += encoded
    end = struct.pack("<4sHHHHIIH", b"PK\5\6", 0, 0, count, count, len(central), len(body), 0)
    return bytes(body + central + end)


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--count", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    read = run(options.count, options.seed)
    print(f"{options.count} inputs: {read} were read, the others refused")


if __name__ == "__main__":
    main()
