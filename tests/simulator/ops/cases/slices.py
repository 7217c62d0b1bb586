"""Slices with masks, chunks, windows."""

import numpy as np

from ..case import Case, In, Ints, List, Out
from ..values import FLOATS, random


def strided_slice():
    made = []
    x = random((4, 5, 6), "f32", 1)
    ways = [
        ([1, 0, 2], [3, 5, 6], [1, 2, 3], (0, 0, 0, 0, 0), x[1:3, 0:5:2, 2:6:3]),
        ([1], [3], [1], (0, 0, 0, 0, 0), x[1:3]),
        ([-1, 4], [-5, 0], [-1, -2], (0, 0, 0, 0, 0), x[::-1, 4:0:-2]),
        ([2, 0, 1], [3, 9, 9], [1, 1, 1], (1, 2, 0, 0, 0), x[:3, 0:, 1:]),
        ([0, 0, 1], [0, 0, 3], [1, 1, 1], (0, 0, 2, 0, 1), x[0, ..., 1:3]),
        ([0, 0, 2], [0, 3, 0], [1, 1, 1], (0, 0, 0, 1, 4), x[None, 0:3, 2]),
        ([3, 0], [1, 5], [1, 1], (0, 0, 0, 0, 0), x[3:1]),
    ]
    for begin, end, step, masks, expected in ways:
        lists = [Ints(begin), Ints(end), Ints(step)]
        arguments = [In(x, "f32"), *lists, *masks, Out(expected, "f32")]
        made.append(Case("aclnnStridedSlice", arguments, f"{begin} {masks}"))
    return made


def chunk_cat():
    made = []
    for dtype in FLOATS:
        parts = [random(shape, dtype, i) for i, shape in enumerate([(5, 2), (4, 3), (1,)])]
        blocks = []
        for part in parts:
            rows = -(-part.shape[0] // 2)
            whole = np.zeros((2 * rows, *part.shape[1:]), part.dtype)
            whole[: part.shape[0]] = part
            blocks.append(whole.reshape(2, -1))
        members = List([In(part, dtype) for part in parts])
        out = Out(np.concatenate(blocks, 1), dtype)
        made.append(Case("aclnnChunkCat", [members, 0, 2, out], dtype))
    return made


def chunk_cat_later_dim():
    parts = [random((2, 3), "f32", 1), random((2, 2, 2), "f32", 2)]
    first = np.pad(parts[0], ((0, 0), (0, 1))).reshape(2, 2, 2)
    out = Out(np.concatenate([first, parts[1]], 2), "bf16")
    members = List([In(part, "f32") for part in parts])
    return [Case("aclnnChunkCat", [members, 1, 2, out])]


def unfold_grad():
    made = []
    for dtype in FLOATS:
        for dim, size, step in [(0, 3, 2), (1, 2, 1), (-1, 2, 3)]:
            shape = (7, 4, 5)
            windows = (shape[dim] - size) // step + 1
            lead = list(shape)
            lead[dim] = windows
            grad = random((*lead, size), dtype, 1)
            expected = np.moveaxis(np.zeros(shape), dim, -1)
            moved = np.moveaxis(grad.astype(np.float64), dim if dim >= 0 else dim - 1, -2)
            for window in range(windows):
                expected[..., window * step : window * step + size] += moved[..., window, :]
            out = Out(np.moveaxis(expected, -1, dim), dtype)
            arguments = [In(grad, dtype), Ints(shape), dim, size, step, out]
            made.append(Case("aclnnUnfoldGrad", arguments, f"{dtype} {dim} {size} {step}"))
    return made


def confusion_transpose():
    made = []
    for dtype in (*FLOATS, "i32", "i8"):
        x = random((2, 6, 4), dtype, 1)
        after = x.reshape(2, 2, 3, 4).transpose(0, 2, 1, 3)
        arguments = [In(x, dtype), Ints([0, 2, 1, 3]), Ints([2, 2, 3, 4]), False, Out(after, dtype)]
        made.append(Case("aclnnConfusionTranspose", arguments, f"{dtype} then"))
        before = x.transpose(1, 0, 2).reshape(6, 8)
        arguments = [In(x, dtype), Ints([1, 0, 2]), Ints([6, 8]), True, Out(before, dtype)]
        made.append(Case("aclnnConfusionTranspose", arguments, f"{dtype} first"))
    return made


OPS = {
    "aclnnStridedSlice": strided_slice,
    "aclnnChunkCat": chunk_cat,
    "aclnnChunkCat later": chunk_cat_later_dim,
    "aclnnUnfoldGrad": unfold_grad,
    "aclnnConfusionTranspose": confusion_transpose,
}
