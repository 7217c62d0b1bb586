"""Sums and products beyond 64 bits are refused, not wrapped round to some number that fits."""

import ctypes

import pytest

from . import acl
from .case import Arguments, Bools, Case, In, Ints, Out, launch, run
from .test_image_rules import result, tensor
from .test_rules import INVALID, fails, refused

HALF, MOST = 1 << 32, 1 << 62  # HALF * HALF and 4 * MOST are 0 in 64 bits
EMPTY, NOTHING = tensor(0, 4, 2), result(0, 4, 2)
IMAGE, KERNEL, OUT = tensor(1, 1, 6, 6), tensor(1, 1, 5, 5), result(1, 1, 6, 6)
ONES, NONE, WIDE = Ints([1, 1]), Ints([0, 0]), Ints([MOST, MOST])
BAD = {
    "group norm": ("GroupNorm", [EMPTY, None, None, HALF, HALF, 1, 1, 1e-5, NOTHING, result(0),
                                 result(0)], "N * C * HxW"),
    "group norm of two negative sizes": ("GroupNorm", [tensor(4), None, None, -2, 2, -1, 1, 1e-5,
                                                       result(4), result(1), result(1)],
                                         "N * C * HxW"),
    "its gradient": ("GroupNormBackward", [EMPTY, EMPTY, tensor(0), tensor(0), None, HALF, HALF, 1,
                                           1, Bools([False] * 3), None, None, None],
                     "N * C * HxW"),
    "groups of nothing": ("GroupNorm", [EMPTY, None, None, 4, 0, 2, MOST, 1e-5, NOTHING, result(0),
                                        result(0)], "meanOut must have"),
    "repeats": ("RepeatInterleaveInt", [tensor(4), MOST, 0, result(0)], "outputSize"),
    "choices": ("MoeInitRoutingV2Grad", [tensor(0, 3), tensor(0, dtype="i32"), MOST, 0, 0,
                                         result(4, 3)], "expandedRowIdx"),
    "tokens": ("MoeTokenPermuteGrad", [tensor(0, 3), tensor(0, dtype="i32"), MOST, False,
                                       result(4, 3)], "sortedIndices"),
    "dilation": ("Convolution", [IMAGE, KERNEL, None, ONES, NONE, WIDE, False, NONE, 1, OUT, 0],
                 "dilation"),
    "dilated windows": ("MaxPool2dWithIndices", [IMAGE, Ints([5, 5]), ONES, NONE, WIDE, False, OUT,
                                                 result(1, 1, 6, 6, dtype="i32")], "dilation"),
    "samples": ("RoiAlign", [IMAGE, tensor(1, 4), tensor(1, dtype="i32"), "avg", 2, 2, 1 << 30, 1.0,
                             result(1, 1, 2, 2)], "samplingRatio"),
    "patches": ("Im2col", [IMAGE, Ints([5, 5]), WIDE, NONE, ONES, result(1, 25, 36)], "dilation"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments(npu, name):
    op, given, word = BAD[name]
    refused(npu, f"aclnn{op}", given, INVALID, word)


@pytest.mark.parametrize("shape, strides, offset", [
    ((1 << 31, 1 << 31), (1 << 31, 1), 0), ((HALF, HALF), (HALF, 1), 0), ((HALF, HALF), None, 0),
    ((2, 2), (1 << 60, 1), 0), ((3, 2), (-(1 << 62), 1), 0), ((2,), (1,), 1 << 60),
])  # fmt: skip
def test_tensors_that_no_memory_holds(npu, shape, strides, offset):
    pointer = npu.malloc(64)
    make = acl.function("aclCreateTensor", ctypes.c_void_p)
    handles = [ctypes.c_void_p(make(
        acl.int64s(shape), ctypes.c_uint64(len(shape)), 0, acl.int64s(strides) if strides else None,
        ctypes.c_int64(offset), 2, acl.int64s(shape), ctypes.c_uint64(len(shape)), pointer,
    )) for _ in range(2)]  # fmt: skip
    with fails(INVALID, "aclnnRelu", "self", "memory of any device"):
        acl.phase_one("aclnnRelu", handles)
    for handle in handles:
        acl.check("aclDestroyTensor", handle)
    npu.free(pointer)


def test_a_wide_padding_costs_no_time(npu):
    """Only taps inside the image are visited."""
    wide = 1 << 40
    window = [Ints([wide, 1]), Ints([wide, 1]), Ints([wide // 2, 0]), Ints([1, 1])]
    results = [Out([[[[5.0]]]], "f32"), Out([[[[1]]]], "i32")]
    arguments = [In([[[[3.0], [5.0]]]], "f32"), *window, False, *results]
    run(npu, Case("aclnnMaxPool2dWithIndices", arguments), "contiguous")


@pytest.mark.parametrize("far", [1e9, 1e30, float("inf"), float("nan")])
def test_a_box_of_more_samples_than_can_be(npu, far):
    rois, batch = In([[0, 0, far, far]], "f32"), tensor(1, dtype="i32")
    given = [IMAGE, rois, batch, "avg", 2, 2, 0, 1.0, result(1, 1, 2, 2)]
    arguments = Arguments(npu, given, "contiguous")
    workspace = launch(npu, "aclnnRoiAlign", arguments.handles)
    with fails(507015, "aclnnRoiAlign", "too large"):
        npu.synchronize()
    if workspace:
        npu.free(workspace)
    arguments.close()
