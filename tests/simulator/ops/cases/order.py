"""Softmax, running sums, sorting."""

import numpy as np

from ..acl import CODES
from ..case import Case, In, Out, Ref, Scalar
from ..values import FLOATS, INTEGERS, random

ORDERED = (*FLOATS, *INTEGERS, "f64")
SORTED = (*FLOATS, *INTEGERS, "u16", "u32", "u64")
BOTH = ("contiguous", "transposed", "sliced", "offset")


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
    for exclusive, reverse in [(False, False), (False, True), (True, False), (True, True)]:
        for dtype in SUMMED:
            x = random((3, 4), dtype, 1)
            y = np.flip(x, 1) if reverse else x
            total = np.cumsum(y, 1, dtype=y.dtype)
            total = total - y if exclusive else total
            expected = np.flip(total, 1) if reverse else total
            arguments = [In(x, dtype), 1, exclusive, reverse, Out(expected, dtype)]
            name = f"{dtype} {exclusive} {reverse}"
            made.append(Case("aclnnCumsumV2", arguments, name))
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
        x = random((3, 6), "bool", 1)
        values = f.accumulate(x, 1)
        indices = np.maximum.accumulate(np.where(x == values, np.arange(6), 0), 1)
        made.append(Case(op, [In(x, "bool"), 1, Out(values, "bool"), Out(indices, "i64")], "bool"))
        return made

    return cases


def ordered(x, dim, descending):
    key = -x.astype(np.float64) if descending else x
    return np.argsort(key, dim, kind="stable")


def sort(op, dtypes, values):
    def cases():
        made = []
        for dtype in dtypes:
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
    for dtype in (*ORDERED, "u16", "u32", "u64"):
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
    for dtype in SORTED:
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


def nan_median():
    made = []
    for dtype in FLOATS:
        x = random((4, 6), dtype, 1, -99, 99)
        x[0, 2], x[1, :3], x[2] = np.nan, np.nan, np.nan
        numbers = (~np.isnan(x)).sum(1)
        order = np.argsort(x, 1, kind="stable")
        places = order[np.arange(4), np.maximum(numbers - 1, 0) // 2]
        values = x[np.arange(4), places]
        outputs = [Out(values[:, None], dtype), Out(places[:, None], "i64")]
        made.append(Case("aclnnNanMedianDim", [In(x, dtype), 1, True, *outputs], dtype))
        known = np.sort(x[~np.isnan(x)])
        middle = np.asarray(known[(known.size - 1) // 2])
        made.append(Case("aclnnNanMedian", [In(x, dtype), Out(middle, dtype)], dtype))
    for dtype in INTEGERS:
        x = random((4, 6), dtype, 1, -99, 99)
        order = ordered(x, 1, False)[:, 2]
        values = np.take_along_axis(x, order[:, None], 1)[:, 0]
        outputs = [Out(values, dtype), Out(order, "i64")]
        made.append(Case("aclnnNanMedianDim", [In(x, dtype), 1, False, *outputs], dtype))
    return made


def median_of_nan():
    """Where there is one it is the median."""
    x = random((2, 5), "f32", 1)
    x[1, 3] = np.nan
    first = np.argsort(x[0])[2]
    outputs = [Out(np.array([x[0, first], np.nan]), "f32"), Out(np.array([first, 3]), "i64")]
    return [Case("aclnnMedianDim", [In(x, "f32"), 1, False, *outputs])]


SUMMED = (*FLOATS, *INTEGERS, "f64", "c64", "c128")
OPS = {
    "aclnnSoftmax": rows("aclnnSoftmax", softmax),
    "aclnnLogSoftmax": rows("aclnnLogSoftmax", lambda x, dim: np.log(softmax(x, dim))),
    "aclnnSoftmaxBackward": grads("aclnnSoftmaxBackward", False),
    "aclnnLogSoftmaxBackward": grads("aclnnLogSoftmaxBackward", True),
    "aclnnCumsum": scan("aclnnCumsum", np.cumsum, SUMMED),
    "aclnnCumsumV2": cumsum_v2,
    "aclnnCumprod": scan("aclnnCumprod", np.cumprod, (*SUMMED, "u16", "u32", "u64"), True),
    "aclnnInplaceCumprod": scan(
        "aclnnInplaceCumprod", np.cumprod, (*SUMMED, "u16", "u32", "u64"), True, True
    ),
    "aclnnCummax": extremes("aclnnCummax", np.maximum),
    "aclnnCummin": extremes("aclnnCummin", np.minimum),
    "aclnnSort": sort("aclnnSort", (*SORTED, "bool"), True),
    "aclnnArgsort": sort("aclnnArgsort", SORTED, False),
    "aclnnTopk": topk,
    "aclnnKthvalue": kth,
    "aclnnMedianDim": median_dim,
    "aclnnMedianDim nan": median_of_nan,
    "aclnnNanMedianDim": nan_median,
}
