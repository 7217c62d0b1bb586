"""What bad arguments of ops over images give."""

import numpy as np
import pytest

from .case import Arguments, Floats, In, Ints, Out, launch
from .test_rules import INVALID, NULL_POINTER, fails, refused


def tensor(*shape, dtype="f32"):
    return In(np.zeros(shape, np.float32), dtype)


def result(*shape, dtype="f32"):
    return Out(np.zeros(shape, np.float32), dtype)


IMAGE, PAIR = tensor(2, 3, 6, 6), Ints([2, 2])
POOLED = [result(2, 3, 3, 3), result(2, 3, 3, 3, dtype="i32")]
NONE, ONES = Ints([0, 0]), Ints([1, 1])
BAD = {
    "no kernel": ("MaxPool2dWithIndices", [IMAGE, None, PAIR, NONE, ONES, False, *POOLED],
                  NULL_POINTER, "kernelSize"),
    "three strides": ("MaxPool2dWithIndices", [IMAGE, PAIR, Ints([1, 1, 1]), NONE, ONES, False,
                                               *POOLED], INVALID, "stride"),
    "stride 0": ("MaxPool2dWithIndices", [IMAGE, PAIR, NONE, NONE, ONES, False, *POOLED], INVALID,
                 "strides must be positive"),
    "wide padding": ("MaxPool2dWithIndices", [IMAGE, PAIR, PAIR, PAIR, ONES, False, *POOLED],
                     INVALID, "padding"),
    "kernel too large": ("MaxPool2dWithIndices", [IMAGE, Ints([9, 9]), PAIR, NONE, ONES, False,
                                                  *POOLED], INVALID, "larger"),
    "pooled shape": ("MaxPool2dWithIndices", [IMAGE, PAIR, ONES, NONE, ONES, False, *POOLED],
                     INVALID, "out has shape"),
    "pooled dtype": ("AvgPool2d", [tensor(2, 3, 6, 6, dtype="i32"), PAIR, PAIR, NONE, False, True,
                                   0, 0, POOLED[0]], INVALID, "self has dtype INT32"),
    "mask's shape": ("MaxPool2dWithMask", [IMAGE, PAIR, PAIR, NONE, ONES, False, POOLED[0],
                                           result(2, 3, 4, 32, dtype="i8")], INVALID, "indices"),
    "adaptive size": ("AdaptiveMaxPool2d", [IMAGE, Ints([3]), POOLED[0],
                                            result(2, 3, 3, 3, dtype="i64")], INVALID,
                      "outputSize must have 2"),
    "autoPad": ("MaxPool", [IMAGE, PAIR, PAIR, 1, NONE, ONES, 0, POOLED[0]], INVALID, "autoPad"),
    "no image": ("GlobalMaxPool", [tensor(2, 3), result(2, 1)], INVALID, "self has 2 dim"),
    "upsampled size": ("UpsampleNearest2d", [IMAGE, Ints([3]), POOLED[0]], INVALID, "outputSize"),
    "upsampled rank": ("UpsampleNearest1d", [IMAGE, Ints([3]), POOLED[0]], INVALID,
                       "self has 4 dim"),
    "input size": ("UpsampleNearest2dBackward", [IMAGE, Ints([6, 6]), Ints([2, 3, 4, 4]), 0.0, 0.0,
                                                 POOLED[0]], INVALID, "gradInput has shape"),
    "upsampled dtype": ("UpsampleNearest2d", [IMAGE, Ints([3, 3]), result(2, 3, 3, 3, dtype="f16")],
                        INVALID, "out must have the dtype of self"),
    "resize mode": ("Resize", [IMAGE, Floats([1, 1, 2, 2]), "cubic", result(2, 3, 12, 12)], INVALID,
                    "mode is cubic"),
    "resize scales": ("Resize", [IMAGE, None, "nearest", result(2, 3, 12, 12)], NULL_POINTER,
                      "scales"),
    "interpolation": ("GridSampler3D", [tensor(1, 2, 3, 3, 3), tensor(1, 2, 2, 2, 3), 2, 0, False,
                                        result(1, 2, 2, 2, 2)], INVALID, "interpolationMode is 2"),
    "grid's batch": ("GridSampler2D", [IMAGE, tensor(1, 4, 4, 2), 0, 0, False,
                                       result(2, 3, 4, 4)], INVALID, "batch"),
    "theta's shape": ("AffineGrid", [tensor(2, 3, 3), Ints([2, 3, 4, 4]), False,
                                     result(2, 4, 4, 2)], INVALID, "theta has shape"),
    "groups": ("ChannelShuffle", [IMAGE, 2, result(2, 3, 6, 6)], INVALID, "groups is 2"),
    "boxes": ("RoiAlignV2", [IMAGE, tensor(4, 4), 2, 2, 1.0, 2, True, result(4, 3, 2, 2)], INVALID,
              "boxes must have"),
    "roi mode": ("RoiAlign", [IMAGE, tensor(4, 4), tensor(4, dtype="i64"), "mean", 2, 2, 2, 1.0,
                              result(4, 3, 2, 2)], INVALID, "mode is mean"),
    "tbc bias": ("ConvTbc", [tensor(6, 2, 3), tensor(3, 3, 4), tensor(3), 1, result(6, 2, 4), 0],
                 INVALID, "bias has shape"),
    "threshold": ("NonMaxSuppression", [tensor(1, 4, 4), tensor(1, 1, 4), Ints([1]), Floats([2.0]),
                                        Floats([0.0]), 0, result(4, 3, dtype="i32")], INVALID,
                  "iouThreshold"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments(npu, name):
    op, *rest = BAD[name]
    refused(npu, f"aclnn{op}", *rest)


def test_unpooling_to_a_place_outside_fails_on_the_device(npu):
    indices = In(np.full((1, 1, 1, 1), 16), "i64")
    given = [tensor(1, 1, 1, 1), indices, Ints([4, 4]), result(1, 1, 4, 4)]
    arguments = Arguments(npu, given, "contiguous")
    launch(npu, "aclnnMaxUnpool2d", arguments.handles)
    with fails(507015):
        npu.synchronize()
    arguments.close()
