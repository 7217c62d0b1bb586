"""Running sums, products and extremes along a dimension."""

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
)
from tests.ops.cases.reduce import LONG_SUM, OUT_OF_RANGE

SHAPES_AND_DIMS = (
    ((3, 4), 0),
    ((3, 4), 1),
    ((2, 3, 4), -2),
    ((5,), 0),
    ((5,), -1),
    ((), 0),
    ((0,), 0),
    ((2, 0, 3), 1),
    ((2, 0, 3), 0),
    ((13, 67), 1),
    ((67, 13), 0),
)


def scan(function):
    def run(x, dim, dtype=None):
        if dtype is not None:
            x = x.astype(dtype)
        elif x.dtype.kind != "f":
            x = x.astype(np.int64)
        return function(x, axis=dim) if x.ndim else x

    return run


def running(pick, accumulate):
    """The extreme so far, and where it was last met."""

    def run(x, dim):
        if x.ndim == 0:
            return x, np.zeros((), np.int64)
        values = accumulate(x, axis=dim)
        positions = np.arange(x.shape[dim]).reshape(
            [-1 if d == dim % x.ndim else 1 for d in range(x.ndim)]
        )
        met = np.where(x == values, positions, 0)
        return values, np.maximum.accumulate(met, axis=dim)

    return run


SAMPLES = [S(T(shape), dim) for shape, dim in SHAPES_AND_DIMS]
NEAR_ONE = [S(T(shape, 0.75, 1.25), dim) for shape, dim in SHAPES_AND_DIMS]
DISTINCT = [S(T(shape, distinct=True), dim) for shape, dim in SHAPES_AND_DIMS[:7]]

CASES = [
    OpCase(
        "cumsum",
        scan(np.cumsum),
        SAMPLES,
        ALL,
        "sum",
        {**LONG_SUM, "float16": (4e-3, 8e-3), "bfloat16": (2e-2, 6e-2)},
        out="loose",
        bad=(OUT_OF_RANGE,),
    ),
    OpCase(
        "cumsum",
        scan(np.cumsum),
        [S(T((3, 4)), 1, dtype=Dtype("float64")), S(T((3, 4)), dim=0, dtype=Dtype("float64"))],
        ALL,
        "float64",
        variant="dtype",
    ),
    OpCase(
        "cumsum",
        scan(np.cumsum),
        SAMPLES[:6],
        FLOATS,
        variant="in_place",
        inplace=True,
        tolerance={**LONG_SUM, "float16": (4e-3, 8e-3), "bfloat16": (2e-2, 6e-2)},
        unchecked=INTS_AND_BOOL,
    ),
    OpCase(
        "cumprod",
        scan(np.cumprod),
        NEAR_ONE,
        ALL,
        "sum",
        {**LONG_SUM, "float16": (1e-2, 1e-2), "bfloat16": (1e-1, 1e-1)},
        out="loose",
        bad=(OUT_OF_RANGE,),
    ),
    OpCase(
        "cumprod",
        scan(np.cumprod),
        [S(T((3, 4), 0.5, 2), 1, dtype=Dtype("float64"))],
        ALL,
        "float64",
        variant="dtype",
    ),
    OpCase(
        "cummax",
        running(np.argmax, np.maximum.accumulate),
        DISTINCT,
        NUMBERS,
        ("same", "int64"),
        EXACT,
        out="any",
        unchecked=("bool",),
        bad=(OUT_OF_RANGE,),
    ),
    OpCase(
        "cummin",
        running(np.argmin, np.minimum.accumulate),
        DISTINCT,
        NUMBERS,
        ("same", "int64"),
        EXACT,
        out="any",
        unchecked=("bool",),
        bad=(OUT_OF_RANGE,),
    ),
]
