"""Reductions."""

import numpy as np

from ..acl import CODES
from ..case import Case, In, Ints, Out, Scalar
from ..values import COMPLEX, FLOATS, INTEGERS, REAL, random

DIMS = [[], [0], [1, -1], [0, 1, 2]]


def wide(x, dtype):
    if dtype in COMPLEX:
        return x.astype(np.complex128)
    return x.astype(np.int64) if dtype in (*INTEGERS, "bool") else x.astype(np.float64)


def axes(dims):
    return tuple(dims) if dims else None


def listed(op, f, dtypes, before=(), after=(), out=None, low=-3.0, high=3.0, typed=False):
    """f(x, axis, keepdims). `typed`: the op takes the result's dtype."""

    def cases():
        made = []
        for dtype in dtypes:
            for dims in DIMS:
                for keep in (False, True):
                    x = random((2, 3, 4), dtype, 1, low, high)
                    expected = f(wide(x, dtype), axes(dims), keep)
                    result = out(dtype) if out else dtype
                    kind = [CODES[result]] if typed else []
                    arguments = [
                        In(x, dtype), *before, Ints(dims), *after, keep, *kind,
                        Out(expected, result),
                    ]  # fmt: skip
                    made.append(Case(op, arguments, f"{dtype} {dims} {keep}"))
        return made

    return cases


def sums(dtype):
    return "i64" if dtype in (*INTEGERS, "bool") else dtype


def floats(dtype):
    return "f32" if dtype in (*INTEGERS, "bool") else dtype


def flag(_):
    return "bool"


def lse(x, axis, keep):
    return np.log(np.sum(np.exp(x.astype(np.float64)), axis=axis, keepdims=keep))


def norm(p):
    def f(x, axis, keep):
        size = np.abs(x)
        if p == np.inf:
            return size.max(axis=axis, keepdims=keep)
        return (size**p).sum(axis=axis, keepdims=keep) ** (1 / p)

    return f


def variance(correction, root=False):
    def f(x, axis, keep):
        if axis is None or x[..., :1].size:
            result = np.var(x, axis=axis, ddof=correction, keepdims=keep)
        return np.sqrt(result) if root else result

    return f


def pair_of_nothing():
    made = []
    for op in ("aclnnVarMean", "aclnnStdMeanCorrection"):
        for shape, dims, result in [((2, 0), [1], (2,)), ((0,), [0], ()), ((0, 3), [0], (3,))]:
            nan = np.full(result, np.nan)
            outs = [Out(nan, "f32"), Out(nan, "f32")]
            arguments = [In(np.zeros(shape), "f32"), Ints(dims), 1, False, *outs]
            made.append(Case(op, arguments, f"{shape}"))
    return made


def by_dim(op, f, g, dtypes, values=True):
    def cases():
        made = []
        for dtype in dtypes:
            for dim in (0, 1, -1):
                for index in ("i32", "i64"):
                    x = random((2, 5, 4), dtype, 1, -99, 99)
                    outputs = [Out(f(x, dim), dtype)] if values else []
                    outputs.append(Out(g(x, dim), index))
                    arguments = [In(x, dtype), dim, False, *outputs]
                    made.append(Case(op, arguments, f"{dtype} {dim} {index}"))
        return made

    return cases


def whole(op, f, dtypes, typed=False):
    def cases():
        made = []
        for dtype in dtypes:
            x = random((3, 4), dtype, 1, 1, 3)
            kind = [CODES[dtype]] if typed else []
            value = f(wide(x, dtype))
            made.append(Case(op, [In(x, dtype), *kind, Out(np.asarray(value), dtype)], dtype))
        return made

    return cases


def pair(op, f, g, dtypes, more=()):
    def cases():
        made = []
        for dtype in dtypes:
            for dims in DIMS:
                x = random((2, 3, 4), dtype, 1)
                results = [h(wide(x, dtype), axes(dims), False) for h in (f, g)]
                outputs = [Out(result, dtype) for result in results]
                arguments = [In(x, dtype), Ints(dims), *more, False, *outputs]
                made.append(Case(op, arguments, f"{dtype} {dims}"))
        return made

    return cases


def empty():
    """A sum of nothing is 0, a mean not a number."""
    x = np.zeros((0, 3), np.float32)
    arguments = [In(x, "f32"), Ints([0]), False, 0]
    return [
        Case("aclnnReduceSum", [*arguments, Out(np.zeros(3), "f32")], "sum"),
        Case("aclnnMean", [*arguments, Out(np.full(3, np.nan), "f32")], "mean"),
    ]


def prod_dim():
    made = []
    for dtype in (*REAL, *COMPLEX):
        x = random((2, 3, 4), dtype, 1, 1, 3)
        result = sums(dtype)
        expected = np.prod(wide(x, dtype), axis=1, keepdims=True)
        arguments = [In(x, dtype), 1, True, CODES[result], Out(expected, result)]
        made.append(Case("aclnnProdDim", arguments, dtype))
    return made


def max_v2():
    made = []
    for dtype in REAL:
        for dims in DIMS:
            for noop in (False, True):
                x = random((2, 3, 4), dtype, 1)
                expected = x if noop and not dims else np_max(x, axes(dims), True)
                arguments = [In(x, dtype), Ints(dims), True, noop, Out(expected, dtype)]
                made.append(Case("aclnnMaxV2", arguments, f"{dtype} {dims} {noop}"))
    return made


def mean_v2():
    """Integers lose the fraction of their mean."""
    made = []
    for dtype in (*FLOATS, "f64", *COMPLEX, *INTEGERS):
        for dims, noop in [([], False), ([], True), ([0, 2], False)]:
            x = random((2, 3, 4), dtype, 1)
            expected = x if noop else np_mean(wide(x, dtype), axes(dims), False)
            arguments = [In(x, dtype), Ints(dims), False, noop, Out(expected, dtype)]
            made.append(Case("aclnnMeanV2", arguments, f"{dtype} {dims} {noop}"))
    return made


def log_sum():
    made = []
    for dtype in FLOATS:
        x = random((2, 3, 4), dtype, 1, 0.5, 3)
        expected = np.log(np.sum(x.astype(np.float64), axis=(0, 2)))
        arguments = [In(x, dtype), Ints([0, 2]), False, False, Out(expected, dtype)]
        made.append(Case("aclnnReduceLogSum", arguments, dtype))
    return made


def smallest_and_largest():
    made = []
    for dtype in ORDERED:
        x = random((2, 3, 4), dtype, 1)
        outputs = [Out(f(x, axis=1), dtype) for f in (np.min, np.max)]
        made.append(Case("aclnnAminmaxDim", [In(x, dtype), 1, False, *outputs], dtype))
        outputs = [Out(np.asarray(f(x)), dtype) for f in (np.min, np.max)]
        made.append(Case("aclnnAminmaxAll", [In(x, dtype), *outputs], dtype))
    return made


def bincount():
    x = np.array([0, 3, 1, 1, 5])
    weights = np.arange(5, dtype=np.float32)
    counts = np.bincount(x, minlength=7)
    return [
        *[
            Case("aclnnBincount", [In(x, dtype), None, 7, Out(counts, "i64")], dtype)
            for dtype in INTEGERS
        ],
        Case("aclnnBincount", [In(x, "i32"), In(weights, "f32"), 0,
                               Out(np.bincount(x, weights), "f32")]),
    ]  # fmt: skip


def np_all(x, axis, keep):
    return np.all(x, axis=axis, keepdims=keep)


def np_any(x, axis, keep):
    return np.any(x, axis=axis, keepdims=keep)


def np_sum(x, axis, keep):
    return np.sum(x, axis=axis, keepdims=keep)


def np_mean(x, axis, keep):
    return np.mean(x, axis=axis, keepdims=keep)


def np_max(x, axis, keep):
    return np.max(x, axis=axis, keepdims=keep)


def np_min(x, axis, keep):
    return np.min(x, axis=axis, keepdims=keep)


ORDERED = (*FLOATS, *INTEGERS, "f64")
PICKED = (*FLOATS, "i32", "i64", "bool")
OPS = {
    "aclnnReduceSum": listed("aclnnReduceSum", np_sum, (*REAL, *COMPLEX), out=sums, typed=True),
    "aclnnReduceNansum": listed(
        "aclnnReduceNansum", np_sum, (*FLOATS, *INTEGERS, "bool"), out=sums, typed=True
    ),
    "aclnnMean": listed(
        "aclnnMean", np_mean, (*FLOATS, *INTEGERS, "f64", *COMPLEX), out=floats, typed=True
    ),
    "empty": empty,
    "aclnnAmax": listed("aclnnAmax", np_max, REAL),
    "aclnnAmin": listed("aclnnAmin", np_min, REAL),
    "aclnnAny": listed("aclnnAny", np_any, REAL, out=flag, low=-0.2, high=0.2),
    "aclnnAll": listed("aclnnAll", np_all, REAL, out=flag),
    "aclnnLogSumExp": listed("aclnnLogSumExp", lse, (*FLOATS, *INTEGERS, "bool"), out=floats),
    "aclnnVar": listed("aclnnVar", variance(1), FLOATS, after=[True]),
    "aclnnVarCorrection": listed("aclnnVarCorrection", variance(0), FLOATS, after=[0]),
    "aclnnStd": listed("aclnnStd", variance(1, True), FLOATS, after=[1]),
    "aclnnNorm": listed("aclnnNorm", norm(2), FLOATS, before=[Scalar(2, "f32")]),
    "aclnnNorm inf": listed("aclnnNorm", norm(np.inf), FLOATS, before=[Scalar(np.inf, "f32")]),
    "aclnnNorm 3": listed("aclnnNorm", norm(3), FLOATS, before=[Scalar(3, "f32")]),
    "aclnnLinalgVectorNorm": listed(
        "aclnnLinalgVectorNorm", norm(1), FLOATS, before=[Scalar(1, "f32")], typed=True
    ),
    "aclnnVarMean": pair("aclnnVarMean", variance(1), np_mean, FLOATS, [1]),
    "aclnnStdMeanCorrection": pair(
        "aclnnStdMeanCorrection", variance(1, True), np_mean, FLOATS, [1]
    ),
    "aclnnVarMean of nothing": pair_of_nothing,
    "aclnnAminmax": pair("aclnnAminmax", np_min, np_max, REAL),
    "aclnnMax": whole("aclnnMax", np.max, REAL),
    "aclnnMin": whole("aclnnMin", np.min, REAL),
    "aclnnProd": whole("aclnnProd", np.prod, (*REAL, *COMPLEX), True),
    "aclnnProdDim": prod_dim,
    "aclnnMaxDim": by_dim("aclnnMaxDim", np.max, np.argmax, PICKED),
    "aclnnMinDim": by_dim("aclnnMinDim", np.min, np.argmin, PICKED),
    "aclnnArgMax": by_dim("aclnnArgMax", np.max, np.argmax, ORDERED, False),
    "aclnnArgMin": by_dim("aclnnArgMin", np.min, np.argmin, ORDERED, False),
    "aclnnMaxV2": max_v2,
    "aclnnMeanV2": mean_v2,
    "aclnnReduceLogSum": log_sum,
    "aclnnAminmaxDim": smallest_and_largest,
    "aclnnBincount": bincount,
}
