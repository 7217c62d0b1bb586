"""Weights in the device's own layout, FRACTAL_NZ: blocks of 16 rows and 32 bytes."""

import ctypes

import numpy as np
import pytest

from . import acl
from .case import Arguments, In, Out, launch
from .test_rules import INVALID, fails
from .values import random

ND, FRACTAL_NZ = 2, 29


def blocked(matrix):
    width = 32 // matrix.itemsize
    rows, columns = (-(-n // block) for n, block in zip(matrix.shape, (16, width), strict=True))
    # What is left of the blocks is never used.
    whole = np.full((rows * 16, columns * width), 77, matrix.dtype)
    whole[: matrix.shape[0], : matrix.shape[1]] = matrix
    return whole.reshape(rows, 16, columns, width).transpose(2, 0, 1, 3).copy()


def described(npu, shape, dtype, storage, format=FRACTAL_NZ, turned=False):
    """A tensor over `storage`, which is laid out already."""
    pointer = npu.upload(storage)
    dims, strides = storage.shape, [1, shape[0]] if turned else [shape[1], 1]
    make = acl.function("aclCreateTensor", ctypes.c_void_p)
    handle = make(
        acl.int64s(shape), ctypes.c_uint64(2), acl.CODES[dtype], acl.int64s(strides),
        ctypes.c_int64(0), format, acl.int64s(dims), ctypes.c_uint64(len(dims)), pointer,
    )  # fmt: skip
    return ctypes.c_void_p(handle), pointer


def run_with(npu, op, arguments, weight, pointer):
    workspace = launch(npu, op, arguments.handles)
    npu.synchronize()
    arguments.verify()
    acl.check("aclDestroyTensor", weight)
    for each in (pointer, workspace):
        if each:
            npu.free(each)
    arguments.close()


def arguments_of(npu, expected):
    x, scale = random((3, 40), "i8", 1, -99, 99), random((70,), "f32", 2, 1e-3, 1e-2)
    given = [In(x, "i8"), None, None, In(scale, "f32"), *[None] * 5]
    out = Out(expected(x, scale), "f16", (2e-3, 2e-2))
    return Arguments(npu, [*given, False, None, 0, out], "contiguous")


@pytest.mark.parametrize("transposed", [False, True])
def test_a_product_with_a_blocked_weight(npu, transposed):
    w = random((40, 70), "i8", 3, -99, 99)
    arguments = arguments_of(npu, lambda x, scale: (x.astype(int) @ w.astype(int)) * scale)
    given = np.ascontiguousarray(w.T) if transposed else w
    weight, pointer = described(npu, given.shape, "i8", blocked(given))
    arguments.handles[1], arguments.handles[10] = weight, transposed
    run_with(npu, "aclnnQuantMatmulWeightNz", arguments, weight, pointer)


@pytest.mark.parametrize("word, dims", [("storage shape", (3, 40, 32)), ("FRACTAL_NZ", None)])
def test_a_weight_that_is_not_blocked(npu, word, dims):
    w = random((40, 70), "i8", 3)
    arguments = arguments_of(npu, lambda x, scale: (x.astype(int) @ w.astype(int)) * scale)
    arguments.handles[10] = False
    if dims is None:
        weight = arguments.convert(In(w, "i8"))
    else:
        weight, pointer = described(npu, w.shape, "i8", np.zeros(dims, np.int8))
    arguments.handles[1] = weight
    with fails(INVALID, "aclnnQuantMatmulWeightNz", word):
        acl.phase_one("aclnnQuantMatmulWeightNz", arguments.handles)
    if dims is not None:
        acl.check("aclDestroyTensor", weight)
        npu.free(pointer)
    arguments.close()


def product(npu, x, w):
    expected = x.astype(np.float64) @ w.astype(np.float64)
    given = [In(x, "f16"), None, Out(expected, "f16", (4e-3, 4e-2)), 1]
    return Arguments(npu, given, "contiguous")


@pytest.mark.parametrize("op", ["aclnnMm", "aclnnMatmul"])
@pytest.mark.parametrize("turned", [False, True])
def test_float_products_take_blocked_weights(npu, op, turned):
    x, w = (random(shape, "f16", 1).astype(np.float16) for shape in ((3, 20), (20, 35)))
    arguments = product(npu, x, w)
    storage = blocked(np.ascontiguousarray(w.T) if turned else w)
    weight, pointer = described(npu, w.shape, "f16", storage, turned=turned)
    arguments.handles[1] = weight
    run_with(npu, op, arguments, weight, pointer)


def test_a_weight_is_turned_into_blocks_in_place(npu):
    x, w = (random(shape, "f16", 1).astype(np.float16) for shape in ((3, 20), (20, 35)))
    room = np.zeros(blocked(w).size, np.float16)
    room[: w.size] = w.reshape(-1)
    weight, pointer = described(npu, w.shape, "f16", room, format=ND)
    workspace = launch(npu, "aclnnTransMatmulWeight", [weight])
    npu.synchronize()
    format = ctypes.c_int()
    acl.check("aclGetFormat", weight, ctypes.byref(format))
    assert format.value == FRACTAL_NZ
    got = npu.download(pointer, room).reshape(blocked(w).shape)
    used = blocked(np.ones_like(w)) == 1
    np.testing.assert_array_equal(got[used], blocked(w)[used])
    if workspace:
        npu.free(workspace)
    arguments = product(npu, x, w)
    arguments.handles[1] = weight
    run_with(npu, "aclnnMm", arguments, weight, pointer)


def test_a_storage_without_room_for_whole_blocks(npu):
    w = np.zeros((20, 35), np.float16)
    weight, pointer = described(npu, w.shape, "f16", w, format=ND)
    with fails(INVALID, "aclnnTransMatmulWeight", "too small"):
        acl.phase_one("aclnnTransMatmulWeight", [weight])
    acl.check("aclDestroyTensor", weight)
    npu.free(pointer)


def test_other_ops_refuse_blocks(npu):
    w = np.zeros((16, 16), np.float16)
    weight, pointer = described(npu, w.shape, "f16", blocked(w))
    arguments = Arguments(npu, [None, Out(w, "f16")], "contiguous")
    arguments.handles[0] = weight
    with fails(INVALID, "aclnnRelu", "self", "format"):
        acl.phase_one("aclnnRelu", arguments.handles)
    acl.check("aclDestroyTensor", weight)
    npu.free(pointer)
    arguments.close()
