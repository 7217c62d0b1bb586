"""Between plain tensors and FRACTAL_NZ, with the sizes that the library itself names."""

import ctypes

import numpy as np
import pytest

from . import acl
from .test_fractal import FRACTAL_NZ, ND, blocked, describe
from .test_rules import INVALID, fails
from .values import random


def asked(tensor, format, dtype=-1):
    """The storage's shape and the format that a tensor of another layout has."""
    dims, rank, actual = ctypes.POINTER(ctypes.c_int64)(), ctypes.c_uint64(), ctypes.c_int()
    outputs = [ctypes.byref(each) for each in (dims, rank, actual)]
    acl.check("aclnnNpuFormatCastCalculateSizeAndFormat", tensor, format, dtype, *outputs)
    return [dims[i] for i in range(rank.value)], actual.value


def cast(npu, source, target):
    size, executor = acl.phase_one("aclnnNpuFormatCast", [source, target])
    workspace = npu.malloc(size) if size else ctypes.c_void_p()
    acl.phase_two("aclnnNpuFormatCast", workspace, size, executor, npu.stream)
    npu.synchronize()


@pytest.mark.parametrize("dtype", ["f32", "f16", "bf16", "i8", "i32"])
@pytest.mark.parametrize("shape", [(20, 40), (3, 16, 5), (1, 1)])
def test_there_and_back(npu, dtype, shape):
    x = random(shape, "i8" if dtype == "i8" else "i32", 1).astype(acl.NUMPY[dtype])
    pointers = [npu.upload(x)]
    plain = describe(shape, dtype, pointers[0], ND, False, shape)
    storage, format = asked(plain, FRACTAL_NZ)
    matrices = x.reshape(-1, *shape[-2:])
    expected = np.stack([blocked(matrix, 0) for matrix in matrices])
    assert format == FRACTAL_NZ
    assert storage == [*shape[:-2], *expected.shape[1:]]
    pointers.append(npu.upload(np.full_like(expected, 7)))
    blocks = describe(shape, dtype, pointers[1], FRACTAL_NZ, False, storage)
    cast(npu, plain, blocks)
    np.testing.assert_array_equal(npu.download(pointers[1], expected), expected)
    assert asked(blocks, ND) == (list(shape), ND)
    pointers.append(npu.upload(np.zeros_like(x)))
    back = describe(shape, dtype, pointers[2], ND, False, shape)
    cast(npu, blocks, back)
    np.testing.assert_array_equal(npu.download(pointers[2], x), x)
    for tensor in (plain, blocks, back):
        acl.check("aclDestroyTensor", tensor)
    for pointer in pointers:
        npu.free(pointer)


def test_the_width_of_blocks_follows_another_dtype(npu):
    x = np.zeros((16, 20), np.float32)
    pointer = npu.upload(x)
    tensor = describe(x.shape, "f32", pointer, ND, False, x.shape)
    assert asked(tensor, FRACTAL_NZ) == ([3, 1, 16, 8], FRACTAL_NZ)
    assert asked(tensor, FRACTAL_NZ, acl.CODES["f16"]) == ([2, 1, 16, 16], FRACTAL_NZ)
    with fails(INVALID, "format 2 to 4 is not simulated"):
        asked(tensor, 4)
    other = describe(x.shape, "f32", pointer, ND, False, x.shape)
    with fails(INVALID, "one of srcTensor and dstTensor must be FRACTAL_NZ"):
        acl.phase_one("aclnnNpuFormatCast", [tensor, other])
    astray = describe(x.shape, "f32", pointer, FRACTAL_NZ, False, [3, 2, 16, 8])
    with fails(INVALID, "dstTensor has the storage shape"):
        acl.phase_one("aclnnNpuFormatCast", [tensor, astray])
    for each in (tensor, other, astray):
        acl.check("aclDestroyTensor", each)
    npu.free(pointer)
