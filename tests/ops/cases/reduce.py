"""Reductions: over everything, one dimension, several, negative ones, with keepdim and dtype."""

import math

import numpy as np

from tests.ops.case import (
    ALL,
    EXACT,
    FLOATS,
    INTS_AND_BOOL,
    NUMBERS,
    Dtype,
    OpCase,
    S,
    T,
    V,
    bad,
    only,
)


def axis_of(dim):
    return tuple(dim) if isinstance(dim, (list, tuple)) else dim


def reducer(function):
    """Gives a NumPy reduction torch's argument names. An empty tuple of dims means all."""

    def reduce(x, dim=None, keepdim=False, dtype=None):
        axis = axis_of(dim)
        axis = None if axis == () else axis
        if x.ndim == 0:
            axis = None
        x = x if dtype is None else x.astype(dtype)
        return function(x, axis=axis, keepdims=keepdim)

    return reduce


def wide(function):
    """Sums and products of integers are int64."""

    def compute(x, *args, **more):
        return function(x if x.dtype.kind == "f" else x.astype(np.int64), *args, **more)

    return compute


SHAPES = ((3, 4), (5,), (2, 3, 4), (31, 67), (1, 7, 1))
WHOLE = [S(T(shape)) for shape in (*SHAPES, ())]
ONE_DIM = [
    S(T((3, 4)), 0),
    S(T((3, 4)), 1),
    S(T((2, 3, 4)), -2),
    S(T((2, 3, 4)), dim=1, keepdim=True),
    S(T((2, 3, 4)), -1, True),
    S(T((31, 67)), 0),
    S(T((31, 67)), 1),
    S(T((5,)), 0),
    S(T(()), 0),
    S(T(()), -1),
    S(T((2, 0, 3)), 0),
    S(T((0, 3)), 1),
]
MANY_DIMS = [
    S(T((2, 3, 4)), (0, 2)),
    S(T((2, 3, 4)), [-1, 0]),
    S(T((2, 3, 4)), (0, 1, 2)),
    S(T((2, 3, 4, 2)), (1, -1), keepdim=True),
    S(T((2, 0, 3)), (0, 2)),
]
EMPTY = [S(T((0,))), S(T((2, 0, 3))), S(T((0, 3)), 0), S(T((2, 0, 3)), 1), S(T((2, 0)), (0, 1))]
DTYPES = [
    S(T((3, 4)), dtype=Dtype("float64")),
    S(T((3, 4)), 1, dtype=Dtype("float64")),
    S(T((2, 3, 4)), (0, -1), True, dtype=Dtype("float64")),
]

OUT_OF_RANGE = bad(
    IndexError,
    r"Dimension out of range \(expected to be in range of \[-2, 1\], but got 2\)",
    T((3, 4)),
    2,
)
TWICE = bad(RuntimeError, "dim 0 appears multiple times in the list of dims", T((3, 4)), (0, -2))

# Where the answer is the logarithm of a sum, and may lie near zero.
LOG_SUM = {
    "float16": (4e-3, 8e-3),
    "bfloat16": (2e-2, 4e-2),
    "float32": (1e-5, 2e-5),
    "float64": (1e-11, 1e-11),
}
LONG_SUM = {
    "float16": (2e-3, 2e-3),
    "bfloat16": (1e-2, 1e-2),
    "float32": (1e-5, 2e-5),
    "float64": (1e-11, 1e-11),
}


def extreme(name, oracle):
    """max or min along a dimension: the values, and where the first of them is."""

    def along(x, dim, keepdim=False):
        if x.ndim == 0:
            return x, np.zeros((), np.int64)
        pick = np.argmax if name == "max" else np.argmin
        return (
            oracle(x, axis=dim, keepdims=keepdim),
            pick(x, axis=dim, keepdims=keepdim),
        )

    return along


DISTINCT_DIMS = [
    S(T((3, 4), distinct=True), 0),
    S(T((3, 4), distinct=True), 1),
    S(T((2, 3, 4), distinct=True), -2),
    S(T((2, 3, 4), distinct=True), dim=1, keepdim=True),
    S(T((13, 9), distinct=True), 0),
    S(T((5, 17), distinct=True), 1),
    S(T((5,), distinct=True), 0),
    S(T(()), 0),
    S(T((0, 3)), 1),
    only(FLOATS, V(((1.0, math.nan, 3.0), (2.0, 5.0, -math.inf))), 1),
    only(FLOATS, V(((math.inf, -math.inf, 3.0), (2.0, math.inf, -math.inf))), 0),
]


def arg(pick):
    def where(x, dim=None, keepdim=False):
        if x.ndim == 0:
            return np.zeros((), np.int64)
        if dim is None:
            return pick(x) if not keepdim else pick(x).reshape((1,) * x.ndim)
        return pick(x, axis=dim, keepdims=keepdim)

    return where


def spread(root):
    """var or std with torch's correction; NaN where there are too few elements."""

    def compute(x, dim=None, unbiased=True, keepdim=False, correction=None):
        if isinstance(dim, bool):
            dim, unbiased = None, dim
        ddof = correction if correction is not None else int(unbiased)
        axis = axis_of(dim)
        axis = None if axis == () or x.ndim == 0 else axis
        count = x.size if axis is None else math.prod(np.take(x.shape, axis).reshape(-1).tolist())
        mean = x.mean(axis=axis, keepdims=True) if count else np.nan
        total = np.square(x - mean).sum(axis=axis, keepdims=keepdim)
        with np.errstate(all="ignore"):
            found = np.divide(total, max(count - ddof, 0))
        return np.sqrt(found) if root else found

    return compute


SPREAD = [
    *[S(T(shape)) for shape in SHAPES],
    S(T((3, 4)), 1),
    S(T((3, 4)), dim=0, keepdim=True),
    S(T((2, 3, 4)), (0, 2)),
    S(T((2, 3, 4)), -1, correction=0),
    S(T((2, 3, 4)), dim=(0, 1), correction=2, keepdim=True),
    S(T((3, 4)), False),
    S(T((3, 4)), 1, unbiased=False),
    S(T((31, 67)), 0),
]


def norm(x, p="fro", dim=None, keepdim=False, dtype=None):
    x = x if dtype is None else x.astype(dtype)
    axis = axis_of(dim)
    if x.ndim == 0:
        axis = None
    p = 2 if p == "fro" else p
    size = np.abs(x)
    if p == math.inf:
        return size.max(axis=axis, keepdims=keepdim)
    if p == -math.inf:
        return size.min(axis=axis, keepdims=keepdim)
    if p == 0:
        return (x != 0).sum(axis=axis, keepdims=keepdim)
    return (size**p).sum(axis=axis, keepdims=keepdim) ** (1 / p)


NORMS = [
    *WHOLE,
    S(T((3, 4)), 1),
    S(T((3, 4)), math.inf),
    S(T((3, 4)), -math.inf),
    S(T((3, 4), grid=1), 0),
    S(T((3, 4)), 3),
    S(T((3, 4)), 2, 1),
    S(T((2, 3, 4)), 1, -1, True),
    S(T((2, 3, 4)), dim=(0, 2)),
    S(T((2, 3, 4)), p=2, dim=1, keepdim=True),
    S(T((0,))),
    S(T((31, 67)), 2, 0),
]
FLOAT_NORM = only(("float16", "bfloat16", "float32"), T((3, 4)), 2, 1, dtype=Dtype("float64"))


def logsumexp(x, dim, keepdim=False):
    axis = axis_of(dim) if x.ndim else None
    top = x.max(axis=axis, keepdims=True, initial=-np.inf)
    top = np.where(np.isfinite(top), top, 0)
    total = np.log(np.exp(x - top).sum(axis=axis, keepdims=True)) + top
    return total if keepdim else total.squeeze(axis)


TRUTH = [s for s in [*WHOLE, *ONE_DIM, *MANY_DIMS, *EMPTY] if not s.kwargs.get("dtype")]


def grid(samples):
    """The same samples with small whole numbers, so that some of them are zero."""
    return [S(T(s.args[0].shape, -1, 1, grid=1), *s.args[1:], **s.kwargs) for s in samples]


AMAX = [*WHOLE, *[s for s in ONE_DIM if s.args[0].shape != (2, 0, 3)], *MANY_DIMS[:4]]

CASES = [
    OpCase(
        "sum",
        wide(reducer(np.sum)),
        [*WHOLE, *ONE_DIM, *MANY_DIMS, *EMPTY, S(T((2, 3)), ())],
        ALL,
        "sum",
        LONG_SUM,
        bad=(OUT_OF_RANGE, TWICE),
    ),
    OpCase("sum", wide(reducer(np.sum)), ONE_DIM, ALL, "sum", LONG_SUM, variant="dim", out="loose"),
    OpCase("sum", reducer(np.sum), DTYPES, ALL, "float64", LONG_SUM, variant="dtype"),
    OpCase(
        "sum",
        reducer(np.sum),
        [S(T((3, 4)), dtype=Dtype("int32")), S(T((3, 4)), 0, dtype=Dtype("int32"))],
        INTS_AND_BOOL,
        "int32",
        variant="int32",
        unchecked=FLOATS,
    ),
    OpCase(
        "mean",
        reducer(np.mean),
        [*WHOLE, *ONE_DIM, *MANY_DIMS, *EMPTY],
        FLOATS,
        "same",
        LONG_SUM,
        bad=(
            OUT_OF_RANGE,
            bad(
                RuntimeError,
                "could not infer output dtype. Input dtype must be either a floating point or "
                "complex dtype. Got: Long",
                T((3,), dtype="int64"),
            ),
        ),
    ),
    OpCase("mean", reducer(np.mean), DTYPES, ALL, "float64", LONG_SUM, variant="dtype"),
    OpCase(
        "prod",
        wide(reducer(np.prod)),
        [
            *[S(T(shape, 0.5, 1.5)) for shape in ((3, 4), (5,), (), (0,))],
            S(T((3, 4), 0.5, 2), 0),
            S(T((2, 3, 4), 0.5, 2), -1, True),
            S(T((2, 3, 4), 0.5, 2), dim=1),
            S(T((0, 3)), 0),
            S(T((5, 31), 0.75, 1.25), 1),
        ],
        ALL,
        "sum",
        {**LONG_SUM, "float16": (4e-3, 4e-3), "bfloat16": (3e-2, 3e-2)},
        bad=(OUT_OF_RANGE,),
    ),
    OpCase(
        "prod",
        reducer(np.prod),
        [
            S(T((3, 4), 0.5, 2), dtype=Dtype("float64")),
            S(T((3, 4), 0.5, 2), 1, dtype=Dtype("float64")),
        ],
        ALL,
        "float64",
        LONG_SUM,
        variant="dtype",
    ),
    # largest and smallest
    OpCase(
        "max",
        np.max,
        [*WHOLE],
        ALL,
        tolerance=EXACT,
        bad=(
            bad(
                RuntimeError,
                r"max\(\): Expected reduction dim to be specified for input.numel\(\) == 0",
                T((0,)),
            ),
        ),
    ),
    OpCase(
        "min",
        np.min,
        [*WHOLE],
        ALL,
        tolerance=EXACT,
        bad=(
            bad(
                RuntimeError,
                r"min\(\): Expected reduction dim to be specified for input.numel\(\) == 0",
                T((0,)),
            ),
        ),
    ),
    OpCase(
        "max",
        extreme("max", np.max),
        DISTINCT_DIMS,
        NUMBERS,
        ("same", "int64"),
        EXACT,
        variant="dim",
        out="any",
        unchecked=("bool",),
        bad=(OUT_OF_RANGE,),
    ),
    OpCase(
        "min",
        extreme("min", np.min),
        DISTINCT_DIMS,
        NUMBERS,
        ("same", "int64"),
        EXACT,
        variant="dim",
        out="any",
        unchecked=("bool",),
        bad=(OUT_OF_RANGE,),
    ),
    OpCase(
        "amax",
        reducer(np.max),
        AMAX,
        ALL,
        tolerance=EXACT,
        out="any",
        bad=(
            OUT_OF_RANGE,
            bad(
                IndexError,
                r"amax\(\): Expected reduction dim 0 to have non-zero size",
                T((0, 3)),
                0,
            ),
        ),
    ),
    OpCase(
        "amin",
        reducer(np.min),
        AMAX,
        ALL,
        tolerance=EXACT,
        out="any",
        bad=(
            OUT_OF_RANGE,
            bad(
                IndexError,
                r"amin\(\): Expected reduction dim 0 to have non-zero size",
                T((0, 3)),
                0,
            ),
        ),
    ),
    OpCase(
        "aminmax",
        lambda x, *, dim=None, keepdim=False: (
            reducer(np.min)(x, dim, keepdim),
            reducer(np.max)(x, dim, keepdim),
        ),
        [S(T((3, 4))), S(T((3, 4)), dim=0), S(T((2, 3, 4)), dim=-1, keepdim=True), S(T(()))],
        ALL,
        tolerance=EXACT,
        out="any",
    ),
    OpCase(
        "argmax",
        arg(np.argmax),
        [S(T((3, 4), distinct=True)), S(T(())), S(T((7,), distinct=True)), *DISTINCT_DIMS],
        NUMBERS,
        "int64",
        EXACT,
        out="any",
        bad=(
            OUT_OF_RANGE,
            bad(IndexError, "Expected reduction dim to be specified for input.numel", T((0,))),
        ),
    ),
    OpCase(
        "argmin",
        arg(np.argmin),
        [S(T((3, 4), distinct=True)), S(T(())), S(T((7,), distinct=True)), *DISTINCT_DIMS],
        NUMBERS,
        "int64",
        EXACT,
        out="any",
        bad=(
            OUT_OF_RANGE,
            bad(IndexError, "Expected reduction dim to be specified for input.numel", T((0,))),
        ),
    ),
    # truth
    OpCase("any", reducer(np.any), grid(TRUTH), ALL, "truth", EXACT, bad=(OUT_OF_RANGE,)),
    OpCase("all", reducer(np.all), grid(TRUTH), ALL, "truth", EXACT, bad=(OUT_OF_RANGE,)),
    OpCase(
        "count_nonzero",
        lambda x, dim=None: np.count_nonzero(x, axis=axis_of(dim) if x.ndim else None),
        [
            S(T((3, 4), -1, 1, grid=1)),
            S(T((3, 4), -1, 1, grid=1), 1),
            S(T((2, 3, 4), -1, 1, grid=1), (0, 2)),
            S(T((0,))),
            S(T(())),
        ],
        ALL,
        "int64",
        EXACT,
    ),
    # spread
    OpCase("var", spread(False), SPREAD, FLOATS, "same", LONG_SUM, bad=(OUT_OF_RANGE,)),
    OpCase("std", spread(True), SPREAD, FLOATS, "same", LONG_SUM, bad=(OUT_OF_RANGE,)),
    OpCase(
        "norm",
        norm,
        NORMS,
        FLOATS,
        "same",
        LONG_SUM,
        bad=(bad(RuntimeError, "", T((3,), dtype="int32")),),
    ),
    OpCase("norm", norm, [FLOAT_NORM], FLOATS, "float64", LONG_SUM, variant="dtype"),
    OpCase(
        "logsumexp",
        logsumexp,
        [
            *[s for s in ONE_DIM if s.args[0].shape != (2, 0, 3)],
            *MANY_DIMS[:4],
            only(FLOATS, V(((-math.inf, -math.inf), (math.inf, 1.0), (1000.0, 1000.0))), 1),
            only(FLOATS, V(((1.0, math.nan),)), 1),
        ],
        ALL,
        "float",
        LOG_SUM,
        out="cast",
        bad=(OUT_OF_RANGE,),
    ),
]
