"""What bad arguments of quantised ops give."""

import pytest

from .case import Arguments, launch
from .test_image_rules import result, tensor
from .test_rules import INVALID, NULL_POINTER, fails, refused

BYTES, ONE = tensor(3, 4, dtype="i8"), tensor(1)
X, INT8 = tensor(3, 4), result(3, 4, dtype="i8")
WEIGHT, HALVES = "WeightQuantBatchMatmulV2", tensor(3, 64, dtype="f16")
BAD = {
    "round mode": ("AscendQuant", [X, ONE, None, False, "up", 2, INT8], INVALID, "roundMode is up"),
    "int4": ("AscendQuant", [X, ONE, None, False, "round", 29, INT8], INVALID, "dstType is 29"),
    "scale's size": ("AscendQuant", [X, tensor(3), None, False, "round", 2, INT8], INVALID,
                     "scale must have 4"),
    "axis": ("AscendQuantV3", [X, ONE, None, False, "round", 2, 2, INT8], INVALID, "axis is 2"),
    "no scale": ("AscendQuant", [X, None, None, False, "round", 2, INT8], NULL_POINTER, "scale"),
    "float32": ("DynamicQuant", [X, None, INT8, result(3)], INVALID, "x has dtype FLOAT"),
    "line scales": ("DynamicQuant", [tensor(3, 4, dtype="f16"), None, INT8, result(4)], INVALID,
                    "scaleOut has shape"),
    "dtype of out": ("Quantize", [X, ONE, None, 4, 0, INT8], INVALID, "dtype"),
    "inner sizes": ("QuantMatmulV4", [BYTES, BYTES, ONE, None, None, None, False, False,
                                      result(3, 4, dtype="f16")], INVALID, "x1 and x2"),
    "offset": ("QuantMatmulV4", [BYTES, BYTES, ONE, ONE, None, None, False, True,
                                 result(3, 3, dtype="f16")], INVALID, "offset"),
    "float matrices": ("QuantMatmulV4", [X, X, ONE, None, None, None, False, True,
                                         result(3, 3, dtype="f16")], INVALID, "x1 has dtype FLOAT"),
    "limits": ("FakeQuantPerTensorAffineCachemask", [X, ONE, tensor(1, dtype="i32"), 1.0, 9, 1,
                                                     result(3, 4), result(3, 4, dtype="bool")],
               INVALID, "quantMin"),
    "odd width": ("SwiGluQuant", [tensor(3, 5), None, None, None, False, "dynamic",
                                  result(3, 2, dtype="i8"), result(3)], INVALID, "even"),
    "quant mode": ("SwiGluQuant", [X, None, None, None, False, "none", result(3, 2, dtype="i8"),
                                   result(3)], INVALID, "quantModeOptional is none"),
    "4-bit lines": (WEIGHT, [HALVES, tensor(64, 5, dtype="i4"), tensor(5, dtype="f16"), *[None] * 4,
                             0, result(3, 5, dtype="f16")], INVALID, "even"),
    "rows of words": (WEIGHT, [HALVES, tensor(8, 5, dtype="i32"), tensor(40, dtype="f16"),
                               *[None] * 4, 0, result(3, 40, dtype="f16")], INVALID,
                      "x and weight"),
    "small group": (WEIGHT, [HALVES, tensor(64, 6, dtype="i4"), tensor(4, 6, dtype="f16"),
                             *[None] * 4, 16, result(3, 6, dtype="f16")], INVALID,
                    "antiquantGroupSize is 16"),
    "negative group": (WEIGHT, [HALVES, tensor(64, 6, dtype="i8"), tensor(6, dtype="f16"),
                                *[None] * 4, -32, result(3, 6, dtype="f16")], INVALID,
                       "antiquantGroupSize is -32"),
    "one group": (WEIGHT, [HALVES, tensor(64, 6, dtype="i4"), tensor(6, dtype="f16"), *[None] * 4,
                           64, result(3, 6, dtype="f16")], INVALID, "antiquantGroupSize is 64"),
    "scales of groups": (WEIGHT, [HALVES, tensor(64, 6, dtype="i4"), tensor(6, dtype="f16"),
                                  *[None] * 4, 32, result(3, 6, dtype="f16")], INVALID,
                         "antiquantScale must have"),
    "float weights": (WEIGHT, [HALVES, tensor(64, 6), tensor(6, dtype="f16"), *[None] * 4, 0,
                               result(3, 6, dtype="f16")], INVALID, "INT4"),
    "offset alone": (WEIGHT, [HALVES, tensor(64, 6, dtype="i8"), tensor(6, dtype="f16"), None, None,
                              tensor(6), None, 0, result(3, 6, dtype="f16")], INVALID,
                     "quantOffsetOptional"),
    "numbers of two kinds": ("QuantMatmulV4", [tensor(3, 4, dtype="i4"), BYTES, ONE, None, None,
                                               None, False, True, result(3, 3, dtype="f16")],
                             INVALID, "x2 must have the dtype of x1"),
    "activation": ("FFN", [tensor(3, 4, dtype="f16"), tensor(4, 4, dtype="f16"),
                           tensor(4, 4, dtype="f16"), *[None] * 11, "tanh", 0,
                           result(3, 4, dtype="f16")], INVALID, "activation is tanh"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments(npu, name):
    op, *rest = BAD[name]
    refused(npu, f"aclnn{op}", *rest)


def test_groups_that_do_not_fit_fail_on_the_device(npu):
    ends = tensor(1, dtype="i64")
    ends.values[0] = 9
    given = [X, tensor(1, 4), ends, None, 2, INT8]
    arguments = Arguments(npu, given, "contiguous")
    launch(npu, "aclnnGroupQuant", arguments.handles)
    with fails(507015):
        npu.synchronize()
    arguments.close()
