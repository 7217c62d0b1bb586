"""Weights in the device's own layout, FRACTAL_NZ: blocks of 16 rows and 32 bytes."""

import ctypes

import numpy as np
import pytest

from . import acl
from .case import Arguments, In, Out, Scalar, launch
from .test_rules import INVALID, fails
from .values import random

ND, FRACTAL_NZ = 2, 29


def blocked(matrix, rest=77):
    width = 32 // matrix.itemsize
    rows, columns = (-(-n // block) for n, block in zip(matrix.shape, (16, width), strict=True))
    # What is left of the blocks is never used.
    whole = np.full((rows * 16, columns * width), rest, matrix.dtype)
    whole[: matrix.shape[0], : matrix.shape[1]] = matrix
    return whole.reshape(rows, 16, columns, width).transpose(2, 0, 1, 3).copy()


def describe(shape, dtype, pointer, format, turned, dims):
    shape = list(shape)
    strides = [int(np.prod(shape[i + 1 :])) for i in range(len(shape))]
    if turned:
        strides[-2:] = [1, shape[-2]]
    make = acl.function("aclCreateTensor", ctypes.c_void_p)
    handle = make(
        acl.int64s(shape), ctypes.c_uint64(len(shape)), acl.CODES[dtype], acl.int64s(strides),
        ctypes.c_int64(0), format, acl.int64s(dims), ctypes.c_uint64(len(dims)), pointer,
    )  # fmt: skip
    return ctypes.c_void_p(handle)


def described(npu, shape, dtype, storage, format=FRACTAL_NZ, turned=False, dims=None):
    """A tensor over `storage`, which is laid out already; `dims`: what it says of its storage."""
    pointer = npu.upload(storage)
    dims = storage.shape if dims is None else dims
    return describe(shape, dtype, pointer, format, turned, dims), pointer


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


def test_a_memory_without_room_for_whole_blocks(npu):
    """The device would write behind it."""
    w = np.zeros((20, 35), np.float16)
    weight, pointer = described(npu, w.shape, "f16", w, format=ND)
    size, executor = acl.phase_one("aclnnTransMatmulWeight", [weight])
    workspace = npu.malloc(size)
    acl.phase_two("aclnnTransMatmulWeight", workspace, size, executor, npu.stream)
    with fails(507015, "aclnnTransMatmulWeight", "mmWeightRef"):
        npu.synchronize()
    acl.check("aclDestroyTensor", weight)
    npu.free(pointer)
    npu.free(workspace)


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


FLAT = [lambda w: (w.size,), lambda w: (w.size + 1,), lambda w: (blocked(w).size,)]


@pytest.mark.parametrize("op", ["aclnnMm", "aclnnMatmul"])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("shape", [(32, 16), (20, 35), (20, 1), (1, 35)])
@pytest.mark.parametrize("dims", FLAT)
def test_a_description_may_only_count_the_elements(npu, op, turned, shape, dims):
    """One dimension of storage, as CANN's samples and ggml have it."""
    x, w = (random(each, "f16", 1).astype(np.float16) for each in ((3, shape[0]), shape))
    arguments = product(npu, x, w)
    storage = blocked(np.ascontiguousarray(w.T) if turned else w)
    weight, pointer = described(npu, w.shape, "f16", storage, turned=turned, dims=dims(w))
    arguments.handles[1] = weight
    run_with(npu, op, arguments, weight, pointer)


def test_a_quantised_product_with_a_counted_weight(npu):
    w = random((40, 70), "i8", 3, -99, 99)
    arguments = arguments_of(npu, lambda x, scale: (x.astype(int) @ w.astype(int)) * scale)
    weight, pointer = described(npu, w.shape, "i8", blocked(w), dims=(w.size,))
    arguments.handles[1], arguments.handles[10] = weight, False
    run_with(npu, "aclnnQuantMatmulWeightNz", arguments, weight, pointer)


def test_a_storage_with_fewer_elements_than_the_matrix(npu):
    w = np.zeros((16, 16), np.float16)
    weight, pointer = described(npu, w.shape, "f16", blocked(w), dims=(w.size - 1,))
    arguments = product(npu, np.zeros((3, 16)), w)
    arguments.handles[1] = weight
    with fails(INVALID, "aclnnMm", "mat2", "storage shape"):
        acl.phase_one("aclnnMm", arguments.handles)
    acl.check("aclDestroyTensor", weight)
    npu.free(pointer)
    arguments.close()


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("turned", [False, True])
def test_a_batch_of_blocked_weights(npu, flat, turned):
    x, w = random((2, 3, 20), "f16", 1), random((2, 20, 35), "f16", 2).astype(np.float16)
    lying = np.ascontiguousarray(w.swapaxes(1, 2)) if turned else w
    storage = np.stack([blocked(each) for each in lying])
    dims = (w.size,) if flat else None
    weight, pointer = described(npu, w.shape, "f16", storage, turned=turned, dims=dims)
    arguments = product(npu, x, w)
    arguments.handles[1] = weight
    run_with(npu, "aclnnBatchMatMul", arguments, weight, pointer)


@pytest.mark.parametrize("dims", [None, *FLAT])
@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    "shape, dtype", [((20, 35), "f16"), ((17, 1), "f16"), ((2, 20, 35), "f16"), ((33, 40), "i8")]
)
def test_shapes_that_are_not_whole_blocks_are_padded(npu, shape, dtype, turned, dims):
    kind = acl.NUMPY[dtype]
    w = random(shape, dtype, 2, -9, 9).astype(kind)
    lying = np.ascontiguousarray(w.swapaxes(-1, -2)) if turned else w
    expected = np.stack([blocked(each, 0) for each in lying.reshape(-1, *lying.shape[-2:])])
    room = np.full(expected.size, 77, kind)
    room[: w.size] = lying.reshape(-1)
    storage = w.shape if dims is None else dims(w) if w.ndim == 2 else (w.size,)
    weight, pointer = described(npu, shape, dtype, room, format=ND, turned=turned, dims=storage)
    size, executor = acl.phase_one("aclnnTransMatmulWeight", [weight])
    assert size > 0
    workspace = npu.malloc(size)
    acl.phase_two("aclnnTransMatmulWeight", workspace, size, executor, npu.stream)
    npu.synchronize()
    npu.free(workspace)
    assert acl.view_shape(weight) == list(shape)
    np.testing.assert_array_equal(npu.download(pointer, room), expected.reshape(-1))
    if dtype == "f16":
        x = random((*shape[:-2], 3, shape[-2]), "f16", 1)
        arguments = product(npu, x, w)
        arguments.handles[1] = weight
        run_with(npu, "aclnnMatmul", arguments, weight, pointer)
    else:
        x, scale = random((3, 33), "f16", 1), random((40,), "f16", 3, 0.1, 1)
        out = Out(x.astype(np.float64) @ (w * scale), "f16", (2e-2, 4e-1))
        given = [In(x, "f16"), None, In(scale, "f16"), *[None] * 4, 0, out]
        arguments = Arguments(npu, given, "contiguous")
        arguments.handles[1] = weight
        run_with(npu, "aclnnWeightQuantBatchMatmulV2", arguments, weight, pointer)


@pytest.mark.parametrize("dtype", ["i4", "i32"])
@pytest.mark.parametrize("turned", [False, True])
def test_blocks_of_4_bit_numbers(npu, dtype, turned):
    """Packed into blocks by one op, read from them by the other."""
    w, x = random((72, 24), "i32", 1, -8, 7), random((3, 72), "f16", 2, -1, 1)
    scale = random((24,), "f16", 3, 0.1, 1)
    lying = np.ascontiguousarray(w.T) if turned else w
    each = 8 if dtype == "i32" else 1
    shape = (lying.shape[0], lying.shape[1] // each)
    blocks = (-(-lying.shape[1] // 64), -(-lying.shape[0] // 16), 16, 64 // each)
    storage = np.full(int(np.prod(blocks)) * each // 2, 77, np.uint8)
    packed, pointer = described(npu, shape, dtype, storage, dims=blocks)
    numbers = Arguments(npu, [In(lying, "i32")], "contiguous")
    workspace = launch(npu, "aclnnConvertWeightToINT4Pack", [*numbers.handles, packed])
    npu.synchronize()
    if workspace:
        npu.free(workspace)
    numbers.close()
    acl.check("aclDestroyTensor", packed)
    view = shape[::-1] if turned else shape
    weight = describe(view, dtype, pointer, FRACTAL_NZ, turned, blocks)
    out = Out(x.astype(np.float64) @ (w * scale), "f16", (2e-2, 4e-1))
    given = [In(x, "f16"), None, In(scale, "f16"), *[None] * 4, 0, out]
    arguments = Arguments(npu, given, "contiguous")
    arguments.handles[1] = weight
    run_with(npu, "aclnnWeightQuantBatchMatmulV2", arguments, weight, pointer)


def test_a_sum_with_a_blocked_product(npu):
    x, w = random((3, 20), "f16", 1), random((20, 35), "f16", 2).astype(np.float16)
    start = random((35,), "f16", 3)
    out = Out(start + 2 * (x.astype(np.float64) @ w), "f16", (4e-3, 4e-2))
    given = [In(start, "f16"), In(x, "f16"), None, Scalar(1, "f32"), Scalar(2, "f32"), out, 1]
    arguments = Arguments(npu, given, "contiguous")
    weight, pointer = described(npu, w.shape, "f16", blocked(w), dims=(w.size,))
    arguments.handles[2] = weight
    run_with(npu, "aclnnAddmm", arguments, weight, pointer)
