"""Softmax, running sums, sorting, distinct values."""

import numpy as np

from ..acl import CODES
from ..case import Case, In, Out, Ref, Scalar
from ..values import FLOATS, INTEGERS, REAL, random

ORDERED = (*FLOATS, *INTEGERS, "f64")
BOTH = ("contiguous", "transposed", "sliced", "offset")
DENSE_OUT = ("contiguous", "offset")


def softmax(x, dim):
    e = np.exp(x - x.max(dim, keepdims=True))
    return e / e.sum(dim, keepdims=True)


def rows(op, f):
    def cases():
        made = []
        for dtype in (*FLOATS, "f64"):
            for dim in (0, 1, -1):
                x = random((2, 3, 5), dtype, 1)
                expected = f(x.astype(np.float64), dim)
                arguments = [In(x, dtype), dim, Out(expected, dtype)]
                made.append(Case(op, arguments, f"{dtype} {dim}"))
        return made

    return cases


def grads(op, log):
    def cases():
        made = []
        for dtype in FLOATS:
            for dim in (0, -1):
                y = softmax(random((2, 3, 5), dtype, 1).astype(np.float64), dim)
                y = np.log(y) if log else y
                from ..values import rounded

                y = rounded(y, dtype).astype(np.float64)
                grad = random((2, 3, 5), dtype, 2)
                if log:
                    expected = grad - np.exp(y) * grad.sum(dim, keepdims=True)
                else:
                    expected = y * (grad - (grad * y).sum(dim, keepdims=True))
                arguments = [In(grad, dtype), In(y, dtype), dim, Out(expected, dtype)]
                made.append(Case(op, arguments, f"{dtype} {dim}"))
        return made

    return cases


def scan(op, f, dtypes, scalar_dim=False, in_place=False):
    def cases():
        made = []
        for dtype in dtypes:
            for dim in (0, 1):
                x = random((3, 4), dtype, 1, -2, 2)
                expected = f(x, dim, dtype=x.dtype)
                where = Scalar(dim, "i64") if scalar_dim else dim
                if in_place:
                    arguments = [Ref(x, dtype, expected), where]
                else:
                    arguments = [In(x, dtype), where, CODES[dtype], Out(expected, dtype)]
                made.append(Case(op, arguments, f"{dtype} {dim}"))
        return made

    return cases


def cumsum_v2():
    made = []
    for exclusive in (False, True):
        for reverse in (False, True):
            x = random((3, 4), "f32", 1)
            y = np.flip(x, 1) if reverse else x
            total = np.cumsum(y, 1)
            total = total - y if exclusive else total
            expected = np.flip(total, 1) if reverse else total
            arguments = [In(x, "f32"), 1, exclusive, reverse, Out(expected, "f32")]
            made.append(Case("aclnnCumsumV2", arguments, f"{exclusive} {reverse}"))
    return made


def extremes(op, f):
    def cases():
        made = []
        for dtype in ORDERED:
            x = random((3, 6), dtype, 1, -9, 9)
            values = f.accumulate(x, 1)
            hits = np.where(x == values, np.arange(6), 0)
            indices = np.maximum.accumulate(hits, 1)
            arguments = [In(x, dtype), 1, Out(values, dtype), Out(indices, "i64")]
            made.append(Case(op, arguments, dtype))
        return made

    return cases


def ordered(x, dim, descending):
    key = -x.astype(np.float64) if descending else x
    return np.argsort(key, dim, kind="stable")


def sort(op, values):
    def cases():
        made = []
        for dtype in (*REAL, "u16", "u32", "u64"):
            for dim in (0, -1):
                for descending in (False, True):
                    x = random((4, 5), dtype, 1, -9, 9)
                    order = ordered(x, dim, descending)
                    sorted_x = np.take_along_axis(x, order, dim)
                    outputs = [Out(sorted_x, dtype)] if values else []
                    stable = [True] if values else []
                    arguments = [In(x, dtype), *stable, dim, descending, *outputs]
                    arguments.append(Out(order, "i64"))
                    made.append(Case(op, arguments, f"{dtype} {dim} {descending}"))
        return made

    return cases


def topk():
    made = []
    for dtype in ORDERED:
        for dim, k in [(0, 2), (-1, 3), (1, 0)]:
            for largest in (False, True):
                x = random((4, 5), dtype, 1, -9, 9)
                order = np.take(ordered(x, dim, largest), range(k), dim)
                values = np.take_along_axis(x, order, dim)
                arguments = [In(x, dtype), k, dim, largest, True]
                arguments += [Out(values, dtype), Out(order, "i64")]
                made.append(Case("aclnnTopk", arguments, f"{dtype} {dim} {k} {largest}"))
    return made


def kth():
    made = []
    for dtype in ORDERED:
        x = random((4, 5), dtype, 1, -99, 99)
        order = ordered(x, 1, False)[:, 2]
        values = np.take_along_axis(x, order[:, None], 1)[:, 0]
        arguments = [In(x, dtype), 3, 1, False, Out(values, dtype), Out(order, "i64")]
        made.append(Case("aclnnKthvalue", arguments, dtype))
    return made


def median_dim():
    made = []
    for dtype in (*FLOATS, *INTEGERS):
        x = random((4, 6), dtype, 1, -99, 99)
        order = ordered(x, 1, False)[:, 2]
        values = np.take_along_axis(x, order[:, None], 1)[:, 0]
        arguments = [In(x, dtype), 1, False, Out(values, dtype), Out(order, "i64")]
        made.append(Case("aclnnMedianDim", arguments, dtype))
        middle = np.sort(x.reshape(-1))[(x.size - 1) // 2]
        made.append(Case("aclnnMedian", [In(x, dtype), Out(np.asarray(middle), dtype)], dtype))
    return made


def unique():
    made = []
    for dtype in REAL:
        x = random((3, 5), dtype, 1, -3, 3)
        if dtype in FLOATS or dtype == "f64":
            x = np.round(x)
        values, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
        inverse = inverse.reshape(x.shape)
        arguments = [
            In(x, dtype), True, True, True, Out(values, dtype, shape=(15,)), Out(inverse, "i64"),
            Out(counts, "i64", shape=(15,)),
        ]  # fmt: skip
        made.append(Case("aclnnUnique2", arguments, dtype, DENSE_OUT))
    return made


def search():
    made = []
    for right in (False, True):
        sequence = np.sort(random((3, 6), "f32", 1), 1)
        x = random((3, 4), "f32", 2)
        x[:, 0] = sequence[:, 2]
        side = "right" if right else "left"
        pairs = zip(sequence, x, strict=True)
        expected = np.stack([np.searchsorted(a, b, side) for a, b in pairs])
        arguments = [In(sequence, "f32"), In(x, "f32"), False, right, None, Out(expected, "i64")]
        made.append(Case("aclnnSearchSorted", arguments, side))
    return made


SUMMED = (*FLOATS, *INTEGERS, "f64", "c64", "c128")
OPS = {
    "aclnnSoftmax": rows("aclnnSoftmax", softmax),
    "aclnnLogSoftmax": rows("aclnnLogSoftmax", lambda x, dim: np.log(softmax(x, dim))),
    "aclnnSoftmaxBackward": grads("aclnnSoftmaxBackward", False),
    "aclnnLogSoftmaxBackward": grads("aclnnLogSoftmaxBackward", True),
    "aclnnCumsum": scan("aclnnCumsum", np.cumsum, SUMMED),
    "aclnnCumsumV2": cumsum_v2,
    "aclnnCumprod": scan("aclnnCumprod", np.cumprod, SUMMED, True),
    "aclnnInplaceCumprod": scan("aclnnInplaceCumprod", np.cumprod, SUMMED, True, True),
    "aclnnCummax": extremes("aclnnCummax", np.maximum),
    "aclnnCummin": extremes("aclnnCummin", np.minimum),
    "aclnnSort": sort("aclnnSort", True),
    "aclnnArgsort": sort("aclnnArgsort", False),
    "aclnnTopk": topk,
    "aclnnKthvalue": kth,
    "aclnnMedianDim": median_dim,
    "aclnnUnique2": unique,
    "aclnnSearchSorted": search,
}
