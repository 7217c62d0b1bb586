"""Pointwise ops of three operands: where, clamp, lerp, addcmul, addcdiv."""

import math

import numpy as np

from tests.ops.case import ALL, EXACT, FLOATS, NUMBERS, SIGNED, OpCase, S, T, V, bad, mask, only

TRIPLES = (
    ((3, 4), (3, 4), (3, 4)),
    ((3, 4), (4,), (3, 1)),
    ((2, 3, 4), (3, 4), (4,)),
    ((3, 2), (), ()),
    ((), (), ()),
    ((0,), (1,), (0,)),
    ((2, 0), (2, 1), ()),
    ((29, 31), (29, 31), (29, 31)),
)


def clamp(x, min=None, max=None):
    if min is not None:
        x = np.maximum(x, np.asarray(min).astype(x.dtype))
    if max is not None:
        x = np.minimum(x, np.asarray(max).astype(x.dtype))
    return x


def lerp(a, b, weight):
    return a + weight * (b - a)


def addcmul(x, a, b, value=1):
    return (x + value * a * b).astype(x.dtype)


def addcdiv(x, a, b, value=1):
    return x + value * a / b


def triples(third=None, **kwargs):
    third = third or {}
    return [S(T(a), T(b), T(c, **third), **kwargs) for a, b, c in TRIPLES]


MISMATCH = bad(RuntimeError, "must match", T((2, 3)), T((2, 4)), T((2, 3)))
ODD = V((0.0, math.inf, -math.inf, math.nan, 1.0))

CASES = [
    OpCase(
        "where",
        np.where,
        [
            *[S(mask(a), T(b), T(c)) for a, b, c in TRIPLES],
            S(mask(()), T((3, 4)), T((3, 4))),
            S(mask((4,)), T((3, 1)), T(())),
        ],
        ALL,
        tolerance=EXACT,
        out="any",
        method=None,
        bad=(
            bad(RuntimeError, "must match", mask((3,)), T((4,)), T((3,))),
            bad(
                RuntimeError,
                "where expected condition to be a boolean tensor, but got a tensor with dtype",
                T((3,)),
                T((3,)),
                T((3,)),
            ),
        ),
    ),
    OpCase(
        "where",
        np.where,
        [
            only(FLOATS, V((True, False, True, False, True), "bool"), ODD, 2.0),
            only(NUMBERS, mask((3, 4)), T((3, 4)), 2),
            only(NUMBERS, mask((3, 4)), 2, T((3, 4))),
        ],
        ALL,
        variant="number",
        tolerance=EXACT,
        method=None,
    ),
    OpCase(
        "where",
        lambda a, condition, b: np.where(condition, a, b),
        [S(T((3, 4)), mask((4,)), T((3, 1))), S(T((0,)), mask((0,)), T((0,)))],
        ALL,
        tolerance=EXACT,
        variant="method",
        function=None,
    ),
    OpCase(
        "clamp",
        clamp,
        [
            S(T((3, 4)), 1, 3),
            S(T((37, 29)), min=1, max=3),
            S(T((2, 3, 4)), min=2),
            S(T((7,)), max=2),
            S(T(()), 1, 3),
            S(T((0,)), 1, 3),
            S(T((3, 4)), 3, 1),
            only(FLOATS, T((3, 4)), -1.5, 1.5),
            only(FLOATS, ODD, -1.0, 0.5),
            only(SIGNED, T((3, 4)), -2, 2),
        ],
        NUMBERS,
        tolerance=EXACT,
        inplace=True,
        out="any",
        unchecked=("bool",),
        bad=(bad(RuntimeError, "At least one of 'min' or 'max' must not be None", T((3,))),),
    ),
    OpCase(
        "clamp",
        clamp,
        [
            *[S(T(a), T(b, -3, 0), T(c, 0, 3)) for a, b, c in TRIPLES],
            S(T((3, 4)), min=T((4,))),
            S(T((3, 4)), max=T((3, 1))),
            only(FLOATS, ODD, V((-1.0,) * 5), V((1.0, 1.0, 1.0, 1.0, math.nan))),
        ],
        NUMBERS,
        variant="tensors",
        tolerance=EXACT,
        inplace=True,
        out="any",
        optional=("bool",),
    ),
    OpCase(
        "clip",
        clamp,
        [S(T((3, 4)), 1, 3), S(T((3, 4)), T((4,)), T((3, 1)))],
        NUMBERS,
        tolerance=EXACT,
        inplace=True,
        out="any",
        optional=("bool",),
    ),
    OpCase(
        "clamp_min",
        clamp,
        [S(T((3, 4)), 1), S(T((3, 4)), T((4,))), S(T((0,)), 1), S(T(()), 1)],
        NUMBERS,
        tolerance=EXACT,
        inplace=True,
        out="any",
        unchecked=("bool",),
    ),
    OpCase(
        "clamp_max",
        lambda x, limit: clamp(x, None, limit),
        [S(T((3, 4)), 1), S(T((3, 4)), T((4,))), S(T((0,)), 1), S(T(()), 1)],
        NUMBERS,
        tolerance=EXACT,
        inplace=True,
        out="any",
        unchecked=("bool",),
    ),
    OpCase(
        "lerp",
        lerp,
        [
            *triples({"low": 0, "high": 1}),
            S(T((3, 4)), T((4,)), 0.25),
            S(T((3, 4)), T((3, 4)), 1.5),
            S(T(()), T(()), 0.75),
            S(T((0,)), T((0,)), 0.5),
            S(V((1.0, 2.0)), V((5.0, 7.0)), 1.0),
        ],
        FLOATS,
        tolerance={
            "float16": (4e-3, 4e-3),
            "bfloat16": (3e-2, 3e-2),
            "float32": (2e-6, 2e-6),
            "float64": (1e-12, 1e-12),
        },
        inplace=True,
        out="any",
        bad=(
            bad(RuntimeError, "expected dtype", T((3,)), T((3,), dtype="float64"), 0.5),
            MISMATCH,
        ),
    ),
    OpCase(
        "addcmul",
        addcmul,
        [
            *triples(),
            S(T((3, 4)), T((4,)), T((3, 1)), value=2),
            only(FLOATS, T((3, 4)), T((4,)), T((3, 1)), value=0.5),
        ],
        NUMBERS,
        tolerance={
            "float16": (4e-3, 4e-3),
            "bfloat16": (3e-2, 3e-2),
            "float32": (4e-6, 4e-6),
            "float64": (1e-12, 1e-12),
        },
        inplace=True,
        out="cast",
        bad=(MISMATCH,),
    ),
    OpCase(
        "addcdiv",
        addcdiv,
        [
            *triples({"low": 1, "high": 4}),
            S(T((3, 4)), T((4,)), T((3, 1), 1, 4), value=2),
            S(T((3, 4)), T((4,)), T((3, 1), 1, 4), value=0.5),
        ],
        FLOATS,
        tolerance={
            "float16": (4e-3, 4e-3),
            "bfloat16": (3e-2, 3e-2),
            "float32": (4e-6, 4e-6),
            "float64": (1e-12, 1e-12),
        },
        inplace=True,
        out="cast",
        bad=(
            MISMATCH,
            bad(
                RuntimeError,
                "Integer division with addcdiv is no longer supported",
                T((3,), dtype="int32"),
                T((3,), dtype="int32"),
                T((3,), dtype="int32", low=1),
            ),
        ),
    ),
]
