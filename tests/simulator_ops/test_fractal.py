"""Weights in the device's own layout, FRACTAL_NZ: blocks of 16 rows and 32 columns of int8."""

import ctypes

import numpy as np
import pytest

from . import acl
from .case import Arguments, In, Out, launch
from .test_rules import INVALID, fails
from .values import random

FRACTAL_NZ = 29


def blocked(matrix):
    rows, columns = (-(-n // block) for n, block in zip(matrix.shape, (16, 32), strict=True))
    whole = np.full((rows * 16, columns * 32), 77, np.int8)  # the rest of the blocks is never used
    whole[: matrix.shape[0], : matrix.shape[1]] = matrix
    return whole.reshape(rows, 16, columns, 32).transpose(2, 0, 1, 3).copy()


def fractal(npu, matrix, storage):
    pointer = npu.upload(storage)
    shape, dims = matrix.shape, storage.shape
    make = acl.function("aclCreateTensor", ctypes.c_void_p)
    handle = make(
        acl.int64s(shape), ctypes.c_uint64(2), acl.CODES["i8"], acl.int64s([shape[1], 1]),
        ctypes.c_int64(0), FRACTAL_NZ, acl.int64s(dims), ctypes.c_uint64(len(dims)), pointer,
    )  # fmt: skip
    return ctypes.c_void_p(handle), pointer


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
    weight, pointer = fractal(npu, given, blocked(given))
    arguments.handles[1], arguments.handles[10] = weight, transposed
    workspace = launch(npu, "aclnnQuantMatmulWeightNz", arguments.handles)
    npu.synchronize()
    arguments.verify()
    acl.check("aclDestroyTensor", weight)
    for each in (pointer, workspace):
        if each:
            npu.free(each)
    arguments.close()


@pytest.mark.parametrize("word, dims", [("storage shape", (3, 40, 32)), ("FRACTAL_NZ", None)])
def test_a_weight_that_is_not_blocked(npu, word, dims):
    w = random((40, 70), "i8", 3)
    arguments = arguments_of(npu, lambda x, scale: (x.astype(int) @ w.astype(int)) * scale)
    arguments.handles[10] = False
    if dims is None:
        weight = arguments.convert(In(w, "i8"))
    else:
        weight, pointer = fractal(npu, w, np.zeros(dims, np.int8))
    arguments.handles[1] = weight
    with fails(INVALID, "aclnnQuantMatmulWeightNz", word):
        acl.phase_one("aclnnQuantMatmulWeightNz", arguments.handles)
    if dims is not None:
        acl.check("aclDestroyTensor", weight)
        npu.free(pointer)
    arguments.close()
