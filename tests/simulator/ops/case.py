"""What a case is made of, and the runner: case x layout."""

import ctypes
import dataclasses

import numpy as np

from . import acl
from .values import assert_close, encode

LAYOUTS = ("contiguous", "transposed", "sliced", "offset")
CANARY = 0xA5


@dataclasses.dataclass
class In:
    """A tensor the op reads."""

    values: object
    dtype: str


@dataclasses.dataclass
class Out:
    """One it writes: what must be in it then. `shape`: where the op may write less than this."""

    expected: object
    dtype: str
    tolerance: object = None
    shape: object = None


@dataclasses.dataclass
class Ref:
    """One it changes."""

    values: object
    dtype: str
    expected: object
    tolerance: object = None


@dataclasses.dataclass
class Scalar:
    value: object
    dtype: str


@dataclasses.dataclass
class Ints:
    values: object


@dataclasses.dataclass
class Floats:
    values: object


@dataclasses.dataclass
class Bools:
    values: object


@dataclasses.dataclass
class List:
    members: list


@dataclasses.dataclass
class Scalars:
    members: list


@dataclasses.dataclass
class Case:
    op: str
    arguments: list
    name: str = ""
    layouts: tuple = LAYOUTS


def laid_out(shape, layout):
    """The shape of a storage, strides and offset in elements of a view of `shape` in it."""
    shape = list(shape)
    dense = [int(np.prod(shape[i + 1 :])) for i in range(len(shape))]
    size = int(np.prod(shape))
    if layout == "transposed" and len(shape) > 1:
        return size, [int(np.prod(shape[:i])) for i in range(len(shape))], 0
    if layout == "sliced" and shape:
        return 2 * size, [2 * stride for stride in dense], 0
    if layout == "offset":
        return size + 8, dense, 8
    return size, dense, 0


def packed(numbers):
    """4-bit numbers, two to a byte, the first in the low half."""
    nibbles = np.append(numbers, np.zeros(numbers.size % 2, np.int8)).astype(np.uint8) & 15
    return nibbles[::2] | nibbles[1::2] << 4


def unpacked(raw, count):
    nibbles = np.stack([raw & 15, raw >> 4], -1).reshape(-1)[:count].astype(np.int8)
    return np.where(nibbles > 7, nibbles - 16, nibbles).astype(np.int8)


class Buffer:
    """A tensor in device memory."""

    def __init__(self, device, shape, dtype, layout, values=None):
        self.device, self.shape, self.dtype = device, list(shape), dtype
        count, strides, offset = laid_out(shape, layout)
        item = np.dtype(acl.NUMPY[dtype]).itemsize
        self.storage = np.full(count * item, CANARY, np.uint8).view(
            np.uint8 if dtype == "bool" else acl.NUMPY[dtype]
        )
        self.view = np.lib.stride_tricks.as_strided(
            self.storage[offset:], self.shape, [stride * item for stride in strides]
        )
        if values is not None and self.view.size:
            self.view[...] = encode(np.broadcast_to(values, self.shape), dtype)
        if dtype == "i4":
            self.storage[...] = unpacked(packed(self.storage), count)
        self.pointer = device.upload(packed(self.storage) if dtype == "i4" else self.storage)
        self.handle = acl.create_tensor(self.shape, dtype, strides, offset, count, self.pointer)

    def read(self):
        """The elements now; the bytes around them must be as they were."""
        if self.dtype == "i4":
            raw = self.device.download(self.pointer, packed(self.storage))
            after = unpacked(raw, self.storage.size)
        else:
            after = self.device.download(self.pointer, self.storage)
        inside = np.zeros(self.storage.shape, bool)
        offset = (self.view.ctypes.data - self.storage.ctypes.data) // self.storage.itemsize
        strides = [stride // self.storage.itemsize for stride in self.view.strides]
        mask = np.lib.stride_tricks.as_strided(inside[offset:], self.shape, strides)
        mask[...] = True
        outside = ~inside
        raw = [array[outside].tobytes() for array in (after, self.storage)]
        assert raw[0] == raw[1], "bytes outside the view were written"
        itemsize = after.itemsize
        result = np.lib.stride_tricks.as_strided(
            after[offset:], self.shape, [stride * itemsize for stride in strides]
        ).copy()
        return result.view(np.bool_) if self.dtype == "bool" else result

    def free(self):
        self.device.free(self.pointer)


class Arguments:
    """The C arguments of a case; everything made for them lives as long as this."""

    def __init__(self, device, arguments, layout):
        self.device, self.layout = device, layout
        self.buffers, self.checks, self.destroy = [], [], []
        self.handles = [self.convert(argument) for argument in arguments]

    def buffer(self, shape, dtype, values=None):
        made = Buffer(self.device, shape, dtype, self.layout, values)
        self.buffers.append(made)
        return made

    def tensor(self, argument):
        if isinstance(argument, In):
            return self.buffer(np.shape(argument.values), argument.dtype, argument.values).handle
        values = argument.values if isinstance(argument, Ref) else None
        shape = argument.shape if isinstance(argument, Out) and argument.shape else None
        made = self.buffer(
            np.shape(argument.expected) if shape is None else shape, argument.dtype, values
        )
        self.checks.append((made, argument))
        return made.handle

    def convert(self, argument):
        if isinstance(argument, (In, Out, Ref)):
            handle = self.tensor(argument)
            self.destroy.append(("aclDestroyTensor", handle))
            return handle
        if isinstance(argument, Scalar):
            return self.made("aclDestroyScalar", acl.create_scalar(argument.value, argument.dtype))
        if isinstance(argument, Ints):
            return self.made("aclDestroyIntArray", acl.create_array("Int", argument.values))
        if isinstance(argument, Floats):
            return self.made("aclDestroyFloatArray", acl.create_array("Float", argument.values))
        if isinstance(argument, Bools):
            return self.made("aclDestroyBoolArray", acl.create_array("Bool", argument.values))
        if isinstance(argument, List):
            handles = [self.tensor(member) for member in argument.members]
            return self.made("aclDestroyTensorList", acl.create_list("Tensor", handles))
        if isinstance(argument, Scalars):
            handles = [acl.create_scalar(scalar.value, scalar.dtype) for scalar in argument.members]
            return self.made("aclDestroyScalarList", acl.create_list("Scalar", handles))
        return argument

    def made(self, destroy, handle):
        self.destroy.append((destroy, handle))
        return handle

    def verify(self):
        for made, argument in self.checks:
            actual = made.read()
            expected = np.asarray(argument.expected)
            if isinstance(argument, Out) and argument.shape is not None:
                assert acl.view_shape(made.handle) == list(expected.shape)
                actual = actual.reshape(-1)[: expected.size].reshape(expected.shape)
            assert_close(actual, expected, made.dtype, argument.tolerance)

    def close(self):
        for name, handle in self.destroy:
            acl.check(name, handle)
        for made in self.buffers:
            made.free()


def launch(device, op, handles):
    """Both phases; returns the workspace, to be freed after a synchronisation."""
    size, executor = acl.phase_one(op, handles)
    workspace = device.malloc(size) if size else ctypes.c_void_p()
    acl.phase_two(op, workspace, size, executor, device.stream)
    return workspace


def run(device, case, layout):
    arguments = Arguments(device, case.arguments, layout)
    workspace = launch(device, case.op, arguments.handles)
    device.synchronize()
    if workspace:
        device.free(workspace)
    try:
        arguments.verify()
    finally:
        arguments.close()
