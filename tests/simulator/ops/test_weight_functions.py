"""Functions of the host: how large a weight is in the device's layout, and packed scales."""

import ctypes

import numpy as np
import pytest

from . import acl
from .cases.quant import packed
from .test_rules import INVALID, NULL_POINTER, fails

FLOAT, FLOAT16, INT8, BF16 = 0, 1, 2, 27


def size_of(function, shape, *arguments):
    array = acl.create_array("Int", shape)
    size = ctypes.c_uint64(77)
    try:
        acl.check(function, array, *arguments, ctypes.byref(size))
    finally:
        acl.check("aclDestroyIntArray", array)
    return size.value


@pytest.mark.parametrize("shape, size", [
    ((510, 510), 262144), ((16, 16), 256), ((1, 1), 256), ((17, 16), 512), ((3, 17, 1), 3 * 512),
])  # fmt: skip
def test_a_matmul_weight(npu, shape, size):
    assert size_of("aclnnCalculateMatmulWeightSize", shape) == size
    for dtype in (FLOAT16, BF16):
        assert size_of("aclnnCalculateMatmulWeightSizeV2", shape, dtype) == size


@pytest.mark.parametrize("shape, size", [
    ((510, 270), 147456), ((1, 1), 512), ((17, 33), 32 * 64), ((2, 3, 17, 33), 6 * 32 * 64),
])  # fmt: skip
def test_a_matmul_weight_of_bytes(npu, shape, size):
    assert size_of("aclnnCalculateMatmulWeightSizeV2", shape, INT8) == size


@pytest.mark.parametrize("shape, groups, size", [
    ((2, 4, 8, 8), 1, 16384), ((16, 16, 1, 1), 1, 256), ((17, 1, 3, 3), 1, 9 * 32 * 16),
    ((32, 1, 3, 3), 32, 9 * 2 * 256), ((8, 4, 1, 1), 2, 256), ((24, 8, 1, 1), 3, 2 * 256),
    ((0, 4, 8, 8), 1, 0),
])  # fmt: skip
def test_a_convolution_weight(npu, shape, groups, size):
    arguments = [False, ctypes.c_int64(groups), FLOAT16]
    assert size_of("aclnnCalculateConvolutionWeightSize", shape, *arguments) == size


MATMUL, MATMUL_V2 = "aclnnCalculateMatmulWeightSize", "aclnnCalculateMatmulWeightSizeV2"
CONVOLUTION, ONE = "aclnnCalculateConvolutionWeightSize", ctypes.c_int64(1)
HUGE = 1 << 30


@pytest.mark.parametrize("function, shape, arguments, word", [
    (MATMUL, (16,), [], "2 to 3"), (MATMUL, (1, 1, 1, 1), [], "2 to 3"),
    (MATMUL, (-1, 1), [], "size"), (MATMUL, (1 << 62, 1), [], "size"),
    (MATMUL, (HUGE, HUGE), [], "more elements"),
    (MATMUL_V2, (16,), [INT8], "2 to 6"), (MATMUL_V2, (0, 16), [INT8], "size of 0"),
    (MATMUL_V2, (16, 16), [-1], "dataType"), (MATMUL_V2, (16, 16), [999], "dataType"),
    (CONVOLUTION, (1, 1, 1), [False, ONE, FLOAT16], "expected are 4"),
    (CONVOLUTION, (1, 1, 1, 1), [True, ONE, FLOAT16], "transposed"),
    (CONVOLUTION, (1, 1, 1, 1), [False, ctypes.c_int64(0), FLOAT16], "groups is 0"),
    (CONVOLUTION, (3, 1, 1, 1), [False, ctypes.c_int64(2), FLOAT16], "groups must divide"),
    (CONVOLUTION, (1, 1, 1, 1), [False, ONE, FLOAT], "dataType is FLOAT"),
    (CONVOLUTION, (HUGE, HUGE, 1, 1), [False, ONE, FLOAT16], "more elements"),
])  # fmt: skip
def test_weights_that_do_not_exist(npu, function, shape, arguments, word):
    with fails(INVALID, function, word):
        size_of(function, shape, *arguments)


@pytest.mark.parametrize("function, arguments", [
    (MATMUL, []), (MATMUL_V2, [INT8]), (CONVOLUTION, [False, ONE, FLOAT16]),
])  # fmt: skip
def test_nothing_instead_of_a_pointer(npu, function, arguments):
    with fails(NULL_POINTER, "tensorShape"):
        acl.check(function, None, *arguments, ctypes.byref(ctypes.c_uint64()))
    shape = acl.create_array("Int", [16, 16, 1, 1][: 4 if function == CONVOLUTION else 2])
    with fails(NULL_POINTER, "weightTensorSize"):
        acl.check(function, shape, *arguments, None)
    acl.check("aclDestroyIntArray", shape)


def floats(values):
    return (ctypes.c_float * len(values))(*values), ctypes.c_uint64(len(values))


def words_of(scale, offset):
    """The result, which the caller frees."""
    result, size = ctypes.POINTER(ctypes.c_uint64)(), ctypes.c_uint64()
    given = [*floats(scale), *(floats(offset) if offset else (None, ctypes.c_uint64(0)))]
    acl.check("aclnnTransQuantParam", *given, ctypes.byref(result), ctypes.byref(size))
    words = [result[i] for i in range(size.value)]
    free = ctypes.CDLL(None).free
    free.argtypes = [ctypes.c_void_p]
    free(result)
    return words


def test_scales_become_words(npu):
    """The upper 19 bits of a float, bit 46; several words come in sixteens."""
    assert words_of([1.0], []) == [0x3F800000 | 1 << 46]
    scales = [0.1, 2.5, -3.0]
    assert words_of(scales, []) == [*packed(scales).tolist(), *[0] * 13]
    assert len(words_of([1.0] * 16, [])) == 16
    assert len(words_of([1.0] * 17, [])) == 32


def test_offsets_become_nine_bits(npu):
    offsets = [3, -1, 300, -300, 1.6, -1.6]
    whole = [3, -1, 255, -256, 2, -2]
    expected = packed([1.0] * 6, np.array(whole)).tolist()
    assert words_of([1.0] * 6, offsets)[:6] == expected
    assert words_of([1.0], [-1])[0] == 0x3F800000 | 1 << 46 | 0x1FF << 37


def test_words_that_cannot_be_made(npu):
    result, size = ctypes.POINTER(ctypes.c_uint64)(), ctypes.c_uint64()
    one, zero = ctypes.c_uint64(1), ctypes.c_uint64(0)
    scale, _ = floats([1.0])
    outputs = [ctypes.byref(result), ctypes.byref(size)]
    for given, code in [
        ([None, one, None, zero, *outputs], NULL_POINTER),
        ([scale, one, None, zero, None, outputs[1]], NULL_POINTER),
        ([scale, one, None, zero, outputs[0], None], NULL_POINTER),
        ([scale, zero, None, zero, *outputs], INVALID),
        ([scale, one, None, one, *outputs], INVALID),
        ([scale, one, scale, zero, *outputs], INVALID),
    ]:
        with fails(code, "aclnnTransQuantParam"):
            acl.check("aclnnTransQuantParam", *given)
