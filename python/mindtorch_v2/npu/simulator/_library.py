"""The simulator's libraries: their functions beside CANN's, and what they simulate."""

import ctypes
import functools
import itertools
import pathlib
import struct

from mindtorch_v2 import _C

LIBRARIES = (
    "ascendcl", "nnopbase", "opapi", "hccl", "acl_op_compiler", "ascend_dump", "msprofiler",
    "acl_tdt_channel", "acl_tdt_queue", "acl_cblas", "acl_dvpp", "acl_retr",
    "profapi", "runtime", "ge_runner", "graph",
)  # fmt: skip


def folder():
    """Where the libraries lie."""
    path = _C._npu_simulator_folder()
    if not path:
        raise RuntimeError("the Ascend simulator is not installed with this mindtorch_v2")
    return pathlib.Path(path)


def _path_in_use():
    if not _C._npu_is_in_use():
        return None
    attempts = _C._npu_load_report()["attempts"]
    return next(path for name, path, why in attempts if name == "libascendcl.so" and not why)


@functools.cache
def control():
    """The functions of simulator/ascend/core/control.h."""
    library = ctypes.CDLL(_path_in_use() or str(folder() / "libascendcl.so"))
    for name in ("calls", "expected", "settings", "take_reports"):
        getattr(library, f"mtsim_{name}").restype = ctypes.c_void_p
    library.mtsim_free.argtypes = [ctypes.c_void_p]
    return library


def text(name, *arguments):
    """What a function returns that gives a text."""
    address = getattr(control(), f"mtsim_{name}")(*arguments)
    try:
        return ctypes.string_at(address).decode()
    finally:
        control().mtsim_free(address)


def _exported(path):
    """(name, whether it is weak) of every function that a library exports."""
    data = path.read_bytes()
    (sections,) = struct.unpack_from("<Q", data, 40)
    size, count = struct.unpack_from("<HH", data, 58)
    headers = [struct.unpack_from("<IIQQQQIIQQ", data, sections + i * size) for i in range(count)]
    for header in headers:
        if header[1] != 11:  # SHT_DYNSYM
            continue
        names = headers[header[6]][4]
        for at in range(header[4], header[4] + header[5], 24):
            name, info, _, section = struct.unpack_from("<IBBH", data, at)
            if section and info & 15 == 2:  # defined here, and a function
                start = names + name
                yield data[start : data.index(b"\0", start)].decode(), info >> 4 == 2


@functools.cache
def functions():
    """{name: whether it is simulated} of CANN's functions. The two phases of an op count as one."""
    found = {}
    left_out = "mtsim_left_out_"  # what no library exports, so that programs take an older function
    for library in LIBRARIES:
        # What no source defines is generated, as a weak symbol.
        exported = dict(_exported(folder() / f"lib{library}.so"))
        for name, weak in exported.items():
            if not name.startswith(("_", "mtsim")) and f"{name}GetWorkspaceSize" not in exported:
                found[name.removesuffix("GetWorkspaceSize")] = not weak
            elif name.startswith(left_out):
                found[name.removeprefix(left_out)] = False
    return dict(sorted(found.items()))


def named_ops():
    """The ops that aclopCompileAndExecute knows by name."""
    library = ctypes.CDLL(str(folder() / "libacl_op_compiler.so"))
    name = library.mtsim_named_op
    name.restype, name.argtypes = ctypes.c_char_p, [ctypes.c_size_t]
    return sorted(found.decode() for found in iter(map(name, itertools.count()).__next__, None))
