"""Ops called by name, as before the two-phase ops: descriptions, buffers, attributes."""

import ctypes
import functools

import numpy as np

from . import acl
from .values import encode

HOST = 2  # ACL_MEMTYPE_HOST_COMPILE_INDEPENDENT
ND = 2


@functools.cache
def library():
    return ctypes.CDLL(str(acl.library_dir() / "libacl_op_compiler.so"), mode=ctypes.RTLD_GLOBAL)


def created(name, *arguments):
    return ctypes.c_void_p(acl.function(name, ctypes.c_void_p)(*arguments))


def attributes_of(values):
    """An aclopAttr; the setter follows from the value's type."""
    attr = created("aclopCreateAttr")
    for name, value in values.items():
        key = name.encode()
        if isinstance(value, bool):
            acl.check("aclopSetAttrBool", attr, key, ctypes.c_uint8(value))
        elif isinstance(value, int):
            acl.check("aclopSetAttrInt", attr, key, ctypes.c_int64(value))
        elif isinstance(value, float):
            acl.check("aclopSetAttrFloat", attr, key, ctypes.c_float(value))
        elif isinstance(value, str):
            acl.check("aclopSetAttrString", attr, key, value.encode())
        elif value and isinstance(value[0], float):
            data = (ctypes.c_float * len(value))(*value)
            acl.check("aclopSetAttrListFloat", attr, key, len(value), data)
        else:
            acl.check("aclopSetAttrListInt", attr, key, len(value), acl.int64s(value))
    return attr


class Tensor:
    """A description and a buffer; None stands for an input that was left out."""

    def __init__(self, device, values, dtype, on_host=False):
        self.device, self.dtype = device, dtype
        self.bits = np.array([], np.float32) if values is None else encode(values, dtype)
        shape = self.bits.shape if values is not None else ()
        code = -1 if values is None else acl.CODES[dtype]
        self.desc = created("aclCreateTensorDesc", code, len(shape), acl.int64s(shape), ND)
        self.pointer = None
        if values is None:
            address = ctypes.c_void_p()
        elif on_host:
            acl.check("aclSetTensorPlaceMent", self.desc, HOST)
            address = self.bits.ctypes.data_as(ctypes.c_void_p)
        else:
            self.pointer = address = device.upload(self.bits)
        self.buffer = created("aclCreateDataBuffer", address, ctypes.c_size_t(self.bits.nbytes))

    def read(self):
        return self.device.download(self.pointer, self.bits)

    def close(self):
        acl.function("aclDestroyTensorDesc", None)(self.desc)
        acl.check("aclDestroyDataBuffer", self.buffer)
        if self.pointer is not None:
            self.device.free(self.pointer)


def pointers(handles):
    return (ctypes.c_void_p * max(len(handles), 1))(*[handle.value for handle in handles])


def call(device, op, inputs, outputs, attributes=None, version=""):
    """Puts it on the stream; raises acl.Error. The tensors stay open."""
    attr = attributes_of(attributes or {})
    function = getattr(library(), f"aclopCompileAndExecute{version}")
    arguments = []
    for tensors in (inputs, outputs):
        arguments += [len(tensors), pointers([tensor.desc for tensor in tensors])]
        arguments.append(pointers([tensor.buffer for tensor in tensors]))
    try:
        code = function(op.encode(), *arguments, attr, 0, 0, None, device.stream)
    finally:
        acl.function("aclopDestroyAttr", None)(attr)
    if code != 0:
        raise acl.Error(op, code)


def run(device, op, inputs, outputs, attributes=None):
    """What is in the outputs then. Inputs are (values, dtype), with True behind for those in
    the host's memory; outputs are (shape, dtype)."""
    given = [Tensor(device, *each) for each in inputs]
    made = [Tensor(device, np.zeros(shape), dtype) for shape, dtype in outputs]
    try:
        call(device, op, given, made, attributes)
        device.synchronize()
        return [tensor.read() for tensor in made]
    finally:
        for tensor in [*given, *made]:
            tensor.close()
