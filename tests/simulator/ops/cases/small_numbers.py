"""Products with 4-bit numbers: two to a byte, or eight in each int32."""

import itertools

import numpy as np

from ..case import LAYOUTS, Case, In, Out
from ..values import random
from .quant import HALVES, f32, packed, plain
from .quant_products import GROUPED, grouped_arguments

PLAIN = ("contiguous", "sliced", "offset")


def words_of(numbers):
    """Eight numbers of the last dim in each int32, the first in the lowest bits."""
    nibbles = (numbers.astype(np.int64) & 15).reshape(*numbers.shape[:-1], -1, 8)
    words = (nibbles << (4 * np.arange(8))).sum(-1)
    return words.astype(np.uint32).view(np.int32)


def forms(numbers, transposed=True):
    """[(argument, layouts)] of a matrix of numbers: as INT4, and as words along either dim."""
    made = [(In(numbers, "i4"), LAYOUTS), (In(words_of(numbers), "i32"), PLAIN)]
    if transposed:
        along_rows = words_of(np.ascontiguousarray(numbers.T)).T
        made.append((In(along_rows, "i32"), ("transposed",)))
    return made


def weight_quant(op, more):
    """Scales for all, for columns, for groups of rows; ggml's weights are transposed views."""

    def cases():
        made = []
        for dtype, (group, shape) in itertools.product(
            HALVES, [(0, (1,)), (0, (16,)), (0, (1, 16)), (32, (3, 16)), (64, (2, 16))]
        ):
            x, w = random((3, 80), dtype, 1, -1, 1), random((80, 16), "i4", 2, -8, 7)
            scale, offset = random(shape, dtype, 3, 0.1, 1), random(shape, dtype, 4)
            rows = np.arange(80) // group if group else slice(None)
            for shifted, (weight, layouts) in itertools.product((False, True), forms(w)):
                s, o = (part[rows] if group else part for part in (scale, offset))
                real = (w + (o if shifted else 0)) * s.astype(np.float64)
                tensors = [In(x, dtype), weight, In(scale, dtype)]
                tensors.append(In(offset, dtype) if shifted else None)
                out = Out(x.astype(np.float64) @ real, dtype, (2e-2, 4e-1))
                arguments = [*tensors, None, None, None, group, *more, out]
                name = f"{dtype} {group} {shape} {shifted} {weight.dtype}"
                made.append(Case(op, arguments, name, layouts))
        return made

    return cases


def packed_scales():
    """Of the matrix unit's kind, with whole offsets."""
    x, w = random((3, 64), "f16", 1, -1, 1), random((64, 5), "i8", 2, -9, 9)
    scale, offset = random((5,), "f32", 3, 0.1, 1), random((5,), "i32", 4, -9, 9)
    value = x.astype(np.float64) @ ((w + offset) * plain(packed(scale)))
    made = []
    for dtype in ("u64", "i64"):
        tensors = [In(x, "f16"), In(w, "i8"), In(packed(scale).astype(np.int64), dtype)]
        tensors.append(In(offset, "i32"))
        arguments = [*tensors, None, None, None, 0, Out(value, "f16", (1e-2, 1e-1))]
        made.append(Case("aclnnWeightQuantBatchMatmulV2", arguments, dtype))
    return made


def products(op):
    """Both matrices of 4-bit numbers."""

    def cases():
        made = []
        for turned, batch in itertools.product((False, True), ((), (2,))):
            x1 = random((*batch, 4, 24), "i4", 1, -8, 7)
            x2 = random((*batch, 24, 16), "i4", 2, -8, 7)
            by = random((16,), "f32", 3, 0.01, 0.1)
            value = f32(np.matmul(x1.astype(int), x2.astype(int))) * by
            b = np.ascontiguousarray(x2.swapaxes(-1, -2)) if turned else x2
            kinds = [(In(x1, "i4"), In(b, "i4"))]
            kinds.append((In(words_of(x1), "i32"), In(words_of(b), "i32")))
            for left, right in kinds:
                more = [None, None] if op == "aclnnQuantMatmulV4" else [None]
                tensors = [left, right, In(by, "f32"), *more, None]
                arguments = [*tensors, False, turned, Out(value, "bf16")]
                name = f"{turned} {batch} {left.dtype}"
                made.append(Case(op, arguments, name, LAYOUTS if left.dtype == "i4" else PLAIN))
        return made

    return cases


def grouped():
    """Weights of their own for groups of rows of x, scales for columns or for parts of them."""
    made = []
    ends, experts = np.array([2, 2, 6]), np.array([0, 0, 2, 2, 2, 2])
    for op, dtype, lines, shifted in itertools.product(GROUPED, HALVES, (0, 2), (False, True)):
        x, w = random((6, 8), dtype, 1), random((3, 8, 16), "i4", 2, -8, 7)
        shape = (3, lines, 16) if lines else (3, 16)
        by, at = random(shape, dtype, 4, 0.1, 1), random(shape, dtype, 5)
        s, o = (np.repeat(part.reshape(3, -1, 16), 8 // max(lines, 1), 1) for part in (by, at))
        real = (w + (o if shifted else 0)) * s.astype(np.float64)
        value = np.einsum("mk,mkn->mn", x, real[experts])
        one = [[In(w, "i4")], [In(by, dtype)], [In(at, dtype)]]
        words = [[In(words_of(w), "i32")], [In(by, dtype)], [In(at, dtype)]]
        apart = [[In(each, "i4") for each in w], [In(each, dtype) for each in by]]
        apart.append([In(each, dtype) for each in at])
        for name, (weights, scales, offsets) in {"one": one, "words": words, "own": apart}.items():
            lists = [[In(x, dtype)], weights, None, None, None, scales]
            lists.append(offsets if shifted else None)
            out = Out(value, dtype, (2e-2, 4e-1))
            arguments = grouped_arguments(op, ends, lists, None, out)
            made.append(Case(op, arguments, f"{dtype} {lines} {shifted} {name}", PLAIN))
    return made


def packing():
    made = []
    for shape in ((6, 16), (2, 3, 8)):
        numbers = random(shape, "i32", 1, -8, 7)
        arguments = [In(numbers, "i32"), Out(numbers, "i4")]
        made.append(Case("aclnnConvertWeightToINT4Pack", arguments, f"{shape}"))
    return made


OPS = {
    "aclnnWeightQuantBatchMatmulV2 of int4": weight_quant("aclnnWeightQuantBatchMatmulV2", []),
    "aclnnWeightQuantBatchMatmulV3 of int4": weight_quant("aclnnWeightQuantBatchMatmulV3", [0]),
    "aclnnWeightQuantBatchMatmulV2 with packed scales": packed_scales,
    "aclnnQuantMatmulV3 of int4": products("aclnnQuantMatmulV3"),
    "aclnnQuantMatmulV4 of int4": products("aclnnQuantMatmulV4"),
    "aclnnGroupedMatmul of int4": grouped,
    "aclnnConvertWeightToINT4Pack to int4": packing,
}
