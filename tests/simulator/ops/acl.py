"""CANN's C interface through ctypes, as a third party would call it: the signatures come from the
tables of its headers, nothing from our sources."""

import ctypes
import functools
import os
import pathlib

import numpy as np
from mindtorch_v2.npu.simulator import _library as simulator

ROOT = pathlib.Path(__file__).resolve().parents[3]
TABLE = ROOT / "mindtorch" / "backends" / "ascend" / "abi" / "operators.tsv"

H2D, D2H = 1, 2
CODES = {
    "f32": 0, "f16": 1, "i8": 2, "i32": 3, "u8": 4, "i16": 6, "u16": 7, "u32": 8, "i64": 9,
    "u64": 10, "f64": 11, "bool": 12, "c64": 16, "c128": 17, "bf16": 27, "i4": 29, "c32": 33,
}  # fmt: skip
NUMPY = {
    "f32": np.float32, "f16": np.float16, "i8": np.int8, "i32": np.int32, "u8": np.uint8,
    "i16": np.int16, "u16": np.uint16, "u32": np.uint32, "i64": np.int64, "u64": np.uint64,
    "f64": np.float64, "bool": np.bool_, "c64": np.complex64, "c128": np.complex128,
    "bf16": np.uint16, "c32": np.uint32, "i4": np.int8,
}  # fmt: skip


def library_dir():
    named = os.environ.get("MINDTORCH_SIM_LIBRARY_DIR")
    return pathlib.Path(named) if named else simulator.folder()


@functools.cache
def libraries():
    folder = library_dir()
    return [
        ctypes.CDLL(str(folder / f"lib{name}.so"), mode=ctypes.RTLD_GLOBAL)
        for name in ("ascendcl", "nnopbase", "opapi")
    ]


_SCALARS = {
    "int64_t": ctypes.c_int64, "uint64_t": ctypes.c_uint64, "int32_t": ctypes.c_int32,
    "int": ctypes.c_int, "int8_t": ctypes.c_int8, "bool": ctypes.c_bool, "float": ctypes.c_float,
    "double": ctypes.c_double, "aclDataType": ctypes.c_int,
}  # fmt: skip


# What stands for "left out" of each kind of parameter; other kinds are pointers.
NOTHING = {**dict.fromkeys(_SCALARS, 0), "char*": ""}


def rows(path):
    lines = path.read_text().splitlines()
    return [line.split("\t") for line in lines if line and not line.startswith("#")]


def parameters_of(text):
    """[(C type without const, parameter name)]"""
    parameters = []
    for part in filter(None, map(str.strip, text.split(";"))):
        kind, name = part.removeprefix("const ").rsplit(" ", 1)
        parameters.append((kind.strip(), name))
    return parameters


@functools.cache
def signatures():
    """op -> its parameters, without the two that always come last"""
    every = [*rows(TABLE), *rows(TABLE.parent / "operators_newer.tsv")]
    found = {op: parameters_of("".join(rest)) for op, *rest in every if rest not in (["?"], ["-"])}
    for table in ("functions.tsv", "functions_newer.tsv"):  # a few ops are there
        for name, _, *rest in rows(TABLE.parent / table):
            if name.endswith("GetWorkspaceSize"):
                found[name.removesuffix("GetWorkspaceSize")] = parameters_of("".join(rest))[:-2]
    return found


@functools.cache
def function(name, result=ctypes.c_int):
    for library in libraries():
        try:
            found = getattr(library, name)
        except AttributeError:
            continue
        found.restype = result
        return found
    raise AttributeError(name)


def message():
    get = function("aclGetRecentErrMsg", ctypes.c_char_p)
    return (get() or b"").decode()


class Error(Exception):
    def __init__(self, call, code):
        self.code, self.text = code, message()
        super().__init__(f"{call} returned {code}: {self.text}")


def check(name, *arguments):
    code = function(name)(*arguments)
    if code != 0:
        raise Error(name, code)


class Device:
    """A device with one stream."""

    def __init__(self):
        code = function("aclInit")(None)
        if code not in (0, 100002):
            raise Error("aclInit", code)
        check("aclrtSetDevice", 0)
        self.stream = ctypes.c_void_p()
        check("aclrtCreateStream", ctypes.byref(self.stream))

    def malloc(self, size):
        pointer = ctypes.c_void_p()
        check("aclrtMalloc", ctypes.byref(pointer), ctypes.c_size_t(max(size, 1) + 32), 0)
        return pointer

    def free(self, pointer):
        check("aclrtFree", pointer)

    def upload(self, array):
        pointer = self.malloc(array.nbytes)
        if array.nbytes:
            size = ctypes.c_size_t(array.nbytes)
            source = array.ctypes.data_as(ctypes.c_void_p)
            check("aclrtMemcpy", pointer, size, source, size, H2D)
        return pointer

    def download(self, pointer, like):
        array = np.empty_like(like)
        if array.nbytes:
            size = ctypes.c_size_t(array.nbytes)
            target = array.ctypes.data_as(ctypes.c_void_p)
            check("aclrtMemcpy", target, size, pointer, size, D2H)
        return array

    def synchronize(self):
        check("aclrtSynchronizeStream", self.stream)


def int64s(values):
    return (ctypes.c_int64 * max(len(values), 1))(*values)


def create_tensor(shape, dtype, strides, offset, storage, pointer):
    make = function("aclCreateTensor", ctypes.c_void_p)
    handle = make(
        int64s(shape), ctypes.c_uint64(len(shape)), CODES[dtype], int64s(strides),
        ctypes.c_int64(offset), 2, int64s([storage]), ctypes.c_uint64(1), pointer,
    )  # fmt: skip
    assert handle, message()
    return ctypes.c_void_p(handle)


def create_scalar(value, dtype):
    from .values import encode

    bits = encode(np.asarray(value), dtype)
    make = function("aclCreateScalar", ctypes.c_void_p)
    return ctypes.c_void_p(make(bits.ctypes.data_as(ctypes.c_void_p), CODES[dtype]))


def create_array(kind, values):
    c_type = {"Int": ctypes.c_int64, "Float": ctypes.c_float, "Bool": ctypes.c_bool}[kind]
    make = function(f"aclCreate{kind}Array", ctypes.c_void_p)
    data = (c_type * max(len(values), 1))(*values)
    return ctypes.c_void_p(make(data, ctypes.c_uint64(len(values))))


def create_list(kind, handles):
    make = function(f"aclCreate{kind}List", ctypes.c_void_p)
    data = (ctypes.c_void_p * max(len(handles), 1))(*[handle.value for handle in handles])
    return ctypes.c_void_p(make(data, ctypes.c_uint64(len(handles))))


def view_shape(tensor):
    dims, rank = ctypes.POINTER(ctypes.c_int64)(), ctypes.c_uint64()
    check("aclGetViewShape", tensor, ctypes.byref(dims), ctypes.byref(rank))
    return [dims[i] for i in range(rank.value)]


def phase_one(op, arguments):
    """The workspace size and the executor."""
    converted = []
    parameters = signatures()[op]
    assert len(parameters) == len(arguments), f"{op} takes {[name for _, name in parameters]}"
    for (kind, _), argument in zip(parameters, arguments, strict=True):
        if kind in _SCALARS:
            converted.append(_SCALARS[kind](argument))
        elif kind == "char*":
            converted.append(ctypes.c_char_p(argument.encode()))
        else:
            converted.append(argument if argument is not None else ctypes.c_void_p())
    size, executor = ctypes.c_uint64(), ctypes.c_void_p()
    check(f"{op}GetWorkspaceSize", *converted, ctypes.byref(size), ctypes.byref(executor))
    return size.value, executor


def phase_two(op, workspace, size, executor, stream):
    check(op, workspace, ctypes.c_uint64(size), executor, stream)
