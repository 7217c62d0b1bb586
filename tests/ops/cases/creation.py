"""Tensors created from sizes, from numbers, and like other tensors."""

import numpy as np

from tests.ops.case import ALL, CLOSE, EXACT, FLOATS, NUMBERS, Dtype, OpCase, S, T, bad

SIZES = ((2, 3), (), (0,), (2, 0, 3), (5,), (1, 1))
NEGATIVE = bad(RuntimeError, "negative", (2, -1))


def made(name, oracle, samples, dtypes, variant, **more):
    settings = {"tolerance": EXACT, "creation": True, "method": None, **more}
    return OpCase(name, oracle, samples, dtypes, variant=variant, **settings)


def by_dtype(name, oracle, *arguments, dtypes=ALL, **more):
    """One case per dtype: the dtype is an argument here, not the dtype of an input."""
    return [
        made(
            name,
            oracle,
            [S(*args, dtype=Dtype(dtype)) for args in arguments],
            (dtype,),
            dtype,
            **more,
        )
        for dtype in dtypes
    ]


def full_of(value):
    def fill(*size, dtype=np.float64):
        size = size[0] if len(size) == 1 and isinstance(size[0], (list, tuple)) else size
        return np.full(size, value, dtype)

    return fill


def arange(*limits, dtype=None):
    return np.arange(*limits).astype(
        dtype or (np.int64 if all(isinstance(n, int) for n in limits) else np.float64)
    )


def linspace(start, end, steps, dtype=np.float64):
    return np.linspace(start, end, steps).astype(dtype)


def logspace(start, end, steps, base=10.0, dtype=np.float64):
    return np.logspace(start, end, steps, base=base)


def eye(n, m=None, dtype=np.float64):
    return np.eye(n, m, dtype=dtype)


def like(value):
    return lambda x, dtype=None: np.full(x.shape, value, dtype or x.dtype)


def full_like(x, value, dtype=None):
    return np.full(x.shape, value, dtype or x.dtype)


def new(value):
    def fill(x, *size, dtype=None):
        size = size[0] if len(size) == 1 and isinstance(size[0], (list, tuple)) else size
        return np.full(size, value, dtype or x.dtype)

    return fill


def new_full(x, size, value, dtype=None):
    return np.full(size, value, dtype or x.dtype)


LIKE = [S(T(shape)) for shape in ((3, 4), (), (0,), (2, 3, 4))]
LIKE_INT = [S(T((3, 4)), dtype=Dtype("int32"))]
NEW = [S(T((2,)), 3, 4), S(T((2,)), (3, 4)), S(T(()), ()), S(T((2,)), 0)]

CASES = [
    *by_dtype("empty", None, *[(size,) for size in SIZES], (2, 3), bad=(NEGATIVE,)),
    made("empty", None, [S(2, 3), S(()), S(0)], ("float32",), "default"),
    made(
        "empty_strided", None, [S((2, 3), (1, 2)), S((), ()), S((2, 3), (4, 1))], ("float32",), ""
    ),
    # size and dtype
    *by_dtype("zeros", full_of(0), *[(size,) for size in SIZES], (2, 3), bad=(NEGATIVE,)),
    *by_dtype("ones", full_of(1), *[(size,) for size in SIZES], (2, 3), bad=(NEGATIVE,)),
    made("zeros", full_of(0), [S(2, 3), S((2, 3)), S(()), S(0)], ("float32",), "default"),
    made("ones", full_of(1), [S(2, 3), S([2, 3]), S(())], ("float32",), "default"),
    *by_dtype(
        "full",
        lambda size, value, dtype: np.full(size, value, dtype),
        ((2, 3), 1),
        ((), 1),
        ((0,), 1),
        bad=(bad(RuntimeError, "negative dimension", (-1,), 1),),
    ),
    made(
        "full",
        lambda size, value: np.full(size, value),
        [S((2, 3), 7), S((), -7)],
        ("int64",),
        "of_int",
    ),
    made(
        "full", lambda size, value: np.full(size, value), [S((2, 3), 0.5)], ("float32",), "of_float"
    ),
    made("full", lambda size, value: np.full(size, value), [S((2, 3), True)], ("bool",), "of_bool"),
    # ranges
    made(
        "arange",
        arange,
        [S(5), S(2, 7), S(10, 2, -3), S(0), S(3, 3)],
        ("int64",),
        "int",
        bad=(
            bad(RuntimeError, "step must be nonzero", 0, 5, 0),
            bad(RuntimeError, "upper bound and lower bound inconsistent with step sign", 5, 0, 1),
            bad(RuntimeError, "unsupported range", 0, float("inf")),
        ),
    ),
    made("arange", arange, [S(5.0), S(0.5, 3), S(1, 0, -0.25)], ("float32",), "float"),
    *by_dtype("arange", arange, (5,), (1, 9, 2), (100,), (90, -30, -1), dtypes=NUMBERS),
    *by_dtype(
        "linspace",
        linspace,
        (0, 8, 5),
        (3, -3, 7),
        (2, 2, 1),
        (0, 1, 0),
        dtypes=FLOATS,
        tolerance=CLOSE,
        bad=(bad(RuntimeError, "number of steps must be non-negative", 0, 1, -1),),
    ),
    made(
        "linspace", linspace, [S(0, 1, 11), S(-2, 2, 100)], ("float32",), "default", tolerance=CLOSE
    ),
    *by_dtype("linspace", linspace, (0, 8, 5), (8, 0, 5), dtypes=("int32", "int64")),
    *by_dtype("logspace", logspace, (0, 2, 5), dtypes=("float32", "float64"), tolerance=CLOSE),
    *by_dtype("eye", eye, (3,), (2, 4), (4, 2), (0,)),
    made(
        "eye",
        eye,
        [S(3)],
        ("float32",),
        "default",
        bad=(bad(RuntimeError, "n must be greater or equal to 0, got -1", -1),),
    ),
    # in the likeness of a tensor
    OpCase("zeros_like", like(0), LIKE, ALL, tolerance=EXACT, method=None),
    OpCase("ones_like", like(1), LIKE, ALL, tolerance=EXACT, method=None),
    OpCase("zeros_like", like(0), LIKE_INT, ALL, "int32", EXACT, method=None, variant="dtype"),
    OpCase("ones_like", like(1), LIKE_INT, ALL, "int32", EXACT, method=None, variant="dtype"),
    OpCase(
        "full_like",
        full_like,
        [S(T((3, 4)), 1), S(T(()), 1), S(T((0,)), 1)],
        ALL,
        tolerance=EXACT,
        method=None,
    ),
    OpCase(
        "full_like",
        full_like,
        [S(T((3, 4)), 5, dtype=Dtype("int32"))],
        ALL,
        "int32",
        EXACT,
        method=None,
        variant="dtype",
    ),
    OpCase("empty_like", None, LIKE, ALL, method=None),
    OpCase("new_zeros", new(0), NEW, ALL, tolerance=EXACT, function=None),
    OpCase("new_ones", new(1), NEW, ALL, tolerance=EXACT, function=None),
    OpCase(
        "new_zeros",
        new(0),
        [S(T((2,)), (3, 4), dtype=Dtype("int32"))],
        ALL,
        "int32",
        EXACT,
        function=None,
        variant="dtype",
    ),
    OpCase(
        "new_full",
        new_full,
        [S(T((2,)), (3, 4), 1), S(T((2,)), (), 1)],
        ALL,
        tolerance=EXACT,
        function=None,
    ),
    OpCase(
        "fill",
        lambda x, value: np.full_like(x, value),
        [S(T((3, 4)), 1), S(T(()), 1), S(T((0,)), 1)],
        ALL,
        tolerance=EXACT,
        inplace=True,
        method=None,
    ),
]
