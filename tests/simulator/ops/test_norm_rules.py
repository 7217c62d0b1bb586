"""What bad arguments of normalisations give."""

import pytest

from .case import Bools
from .test_image_rules import result, tensor
from .test_rules import INVALID, NULL_POINTER, refused

X, Y, LINE, PER_LINE = tensor(2, 3, 4), result(2, 3, 4), tensor(4), result(2, 3, 1)
HALF = tensor(2, 4, dtype="f16")
BAD = {
    "no gamma": ("AddLayerNorm", [X, X, None, LINE, None, 1e-5, False, Y, PER_LINE, PER_LINE, None],
                 NULL_POINTER, "gamma"),
    "no sum": ("AddLayerNorm", [X, X, LINE, LINE, None, 1e-5, True, Y, PER_LINE, PER_LINE, None],
               NULL_POINTER, "xOut"),
    "gamma's size": ("DeepNorm", [X, X, LINE, tensor(3), 1.0, 1e-5, PER_LINE, PER_LINE, Y], INVALID,
                     "gamma"),
    "other shapes": ("DeepNorm", [X, LINE, LINE, LINE, 1.0, 1e-5, PER_LINE, PER_LINE, Y], INVALID,
                     "gx has shape"),
    "mean's size": ("DeepNorm", [X, X, LINE, LINE, 1.0, 1e-5, result(2), PER_LINE, Y], INVALID,
                    "meanOut must have 6"),
    "groups": ("GroupNormSilu", [X, tensor(3), tensor(3), 2, 1e-5, Y, result(2, 2), result(2, 2)],
               INVALID, "group must divide C"),
    "format": ("InstanceNorm", [tensor(1, 2, 3, 3), tensor(2), tensor(2), "NCL", 1e-5,
                                result(1, 2, 3, 3), result(1, 2, 1, 1), result(1, 2, 1, 1)],
               INVALID, "dataFormat is NCL"),
    "axis": ("AddRmsNormQuant", [HALF, HALF, tensor(4, dtype="f16"), LINE, None, None, None, 0,
                                 1e-5, True, result(2, 4, dtype="i8"), None,
                                 result(2, 4, dtype="f16")],
             INVALID, "axis is 0"),
    "one channel too few": ("BatchNormStats", [X, 1e-5, result(2), result(3)], INVALID,
                            "mean has shape"),
    "mask": ("LayerNormBackward", [X, X, None, PER_LINE, PER_LINE, LINE, None, Bools([True]), Y,
                                   None, None], NULL_POINTER, "normalizedShape"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments(npu, name):
    op, *rest = BAD[name]
    refused(npu, f"aclnn{op}", *rest)
