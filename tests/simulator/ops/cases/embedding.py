"""Bags of rows of an embedding table, and rows shortened in place."""

import numpy as np

from ..case import Case, In, Out, Ref
from ..values import FLOATS, random


def bags():
    made = []
    indices, offsets = np.array([0, 5, 2, 2, 5, 1]), np.array([0, 2, 2])
    for dtype in FLOATS:
        for index in ("i8", "u8", "i16", "i32", "i64"):
            for mode in (0, 1, 2):
                for last in (False, True):
                    for padding in (-1, 5):
                        made.append(bag(dtype, index, mode, last, padding, indices, offsets))
    return made


def bag(dtype, index, mode, last, padding, indices, offsets):
    weight = random((6, 4), dtype, 1).astype(np.float64)
    ends = [*offsets[1:], len(indices)]
    result, best, sizes = np.zeros((3, 4)), np.zeros((3, 4)), []
    for i, (start, end) in enumerate(zip(offsets, ends, strict=True)):
        own = [row for row in indices[start:end] if row != padding]
        sizes.append(len(own))
        if not own:
            continue
        rows = weight[own]
        result[i] = [rows.sum(0), rows.mean(0), rows.max(0)][mode]
        best[i] = np.asarray(own)[rows.argmax(0)]
    owner = np.array([0, 0, 2, 2, 2, 2])
    given = np.append(offsets, len(indices)) if last else offsets
    place = index if index in ("i32", "i64") else "i32"
    outputs = [
        Out(result, dtype), Out(owner, place), Out(np.array(sizes), place),
        Out(best if mode == 2 else np.zeros(3), place),
    ]  # fmt: skip
    inputs = [In(weight, dtype), In(indices, index), In(given, index)]
    arguments = [*inputs, False, mode, False, None, last, padding, *outputs]
    return Case("aclnnEmbeddingBag", arguments, f"{dtype} {index} {mode} {last} {padding}")


def weighted():
    weight, factors = random((6, 4), "f32", 1), random((4,), "f32", 2)
    indices = np.array([0, 5, 2, 2])
    rows = weight[indices] * factors[:, None]
    outputs = [
        Out(np.stack([rows[:3].sum(0), rows[3]]), "f32"), Out(np.array([0, 0, 0, 1]), "i64"),
        Out(np.array([3, 1]), "i64"), Out(np.zeros(2), "i64"),
    ]  # fmt: skip
    inputs = [In(weight, "f32"), In(indices, "i64"), In(np.array([0, 3]), "i64")]
    arguments = [*inputs, False, 0, False, In(factors, "f32"), False, -1, *outputs]
    return [Case("aclnnEmbeddingBag", arguments)]


def renorm():
    made = []
    for dtype in FLOATS:
        for p in (0.0, 1.0, 2.0):
            x = random((5, 3), dtype, 1)
            x[3, 0] = 0
            size = np.linalg.norm(x.astype(np.float64), p, axis=1)
            limit = float(np.median(size))
            expected = x.astype(np.float64)
            for row in (0, 3, 4):
                if size[row] > limit:
                    expected[row] *= limit / (size[row] + 1e-7)
            where = np.array([[3, 0], [4, 3]])
            arguments = [Ref(x, dtype, expected), In(where, "i64"), limit, p]
            made.append(Case("aclnnEmbeddingRenorm", arguments, f"{dtype} {p}"))
    return made


OPS = {
    "aclnnEmbeddingBag": bags,
    "aclnnEmbeddingBag weighted": weighted,
    "aclnnEmbeddingRenorm": renorm,
}
