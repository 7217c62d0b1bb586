"""Pointwise arithmetic of two tensors, or of a tensor and a number."""

import math
from dataclasses import replace

import numpy as np

from tests.ops.case import (
    ALL,
    CLOSE,
    EXACT,
    FLOATS,
    INTS,
    INTS_AND_BOOL,
    NUMBERS,
    SIGNED,
    OpCase,
    S,
    T,
    V,
    bad,
    bad_on_cpu,
    loose,
    only,
)


def by_zero(*args, **kwargs):
    return bad_on_cpu(RuntimeError, "ZeroDivisionError", *args, **kwargs)


# Every way in which two shapes broadcast.
PAIRS = (
    ((3, 4), (3, 4)),
    ((3, 4), (4,)),
    ((3, 1), (1, 4)),
    ((2, 3, 4), (3, 1)),
    ((), (3, 2)),
    ((3, 2), ()),
    ((), ()),
    ((0,), (1,)),
    ((2, 0, 3), (2, 1, 3)),
    ((5, 1), (1,)),
    ((31, 37), (31, 37)),
)
FEW_PAIRS = (((3, 4), (4,)), ((), (3, 2)), ((0,), (1,)), ((2, 3, 4), (3, 1)))


def tensors(low=-4.0, high=4.0, second=None, pairs=PAIRS, **spec):
    """The broadcasting pairs; `second` changes how the second operand is made."""
    second = {"low": low, "high": high, **spec, **(second or {})}
    return [S(T(a, low, high, **spec), T(b, **second)) for a, b in pairs]


def few(*args, **spec):
    """Fewer pairs, for second names and rarer ops."""
    return tensors(*args, pairs=FEW_PAIRS, **spec)


ODD = (0.0, -0.0, math.inf, -math.inf, math.nan, 1.0, -2.5, 3.0)
ODD_PAIRS = only(
    FLOATS,
    V(tuple((value,) * len(ODD) for value in ODD)),
    V((ODD,) * len(ODD)),
)


def numbers(*scalars, **spec):
    """A tensor and a Python int, which changes no dtype but bool."""
    signed = FLOATS + SIGNED
    return [only(signed if n < 0 else NUMBERS, T((3, 4), **spec), n) for n in scalars]


def with_floats(*scalars, **spec):
    """A float tensor and a Python float."""
    return [only(FLOATS, T((3, 4), **spec), scalar) for scalar in scalars]


def pointwise(name, oracle, samples, dtypes=ALL, result="same", **more):
    defaults = {"inplace": True, "out": "cast"}
    return OpCase(name, oracle, samples, dtypes, result, **{**defaults, **more})


BROADCAST = bad(
    RuntimeError,
    r"The size of tensor a \(3\) must match the size of tensor b \(4\) at non-singleton dim",
    T((2, 3)),
    T((2, 4)),
)
BOOL_MINUS = bad(
    RuntimeError,
    "Subtraction, the `-` operator, with two bool tensors is not supported",
    T((3,), dtype="bool"),
    T((3,), dtype="bool"),
)
INT_ALPHA = bad(
    RuntimeError,
    "For integral input tensors, argument alpha must not be a floating point number",
    T((3,), dtype="int32"),
    T((3,), dtype="int32"),
    alpha=1.5,
)
NOT_A_NUMBER = bad(TypeError, "", T((3,)), "1")


def logical_add(a, b, alpha=1):
    return (a | (b & bool(alpha))) if a.dtype == bool else a + alpha * b


def multiply(a, b):
    return np.multiply(a, b)


def floor_divide(a, b, rounding_mode=None):
    return np.floor(a / b) if np.asarray(a).dtype.kind == "f" else np.floor_divide(a, b)


def divide(a, b, rounding_mode=None):
    quotient = np.true_divide(a, b)
    if rounding_mode == "floor":
        return np.floor(quotient)
    if rounding_mode == "trunc":
        return np.trunc(quotient)
    return quotient


def remainder(a, b):
    # IEEE: the remainder by infinity is the dividend, moved to the divisor's side.
    return np.remainder(a, b)


def power(a, b):
    if np.asarray(a).dtype.kind in "iu":
        return np.power(a, b, dtype=a.dtype) if np.min(b, initial=0) >= 0 else a
    return np.power(np.asarray(a, np.float64), b)


def xlogy(x, y):
    return np.where(np.isnan(y), np.nan, np.where(x == 0, 0.0, x * np.log(y)))


def heaviside(x, values):
    return np.where(x == 0, values, np.where(x < 0, 0, 1)).astype(np.asarray(x).dtype)


def as_float(function):
    """For ops whose integer inputs become floats: NumPy would compute small ones in half."""
    return lambda a, b, **more: function(np.asarray(a, np.float64), np.asarray(b, np.float64))


def shift_left(a, b):
    return np.left_shift(a, b).astype(a.dtype)


BITS = [only(INTS, T((3, 4), -99, 99), 5)]
QUARTERS = {"grid": 0.25}
DIVISOR = {"nonzero": True, "grid": 0.5}
POSITIVE = {"low": 1, "high": 4}

CASES = [
    pointwise(
        "add",
        logical_add,
        [*tensors(), *numbers(3, -2), *with_floats(0.5, -1.25), ODD_PAIRS],
        ALL,
        tolerance=EXACT,
        bad=(BROADCAST, NOT_A_NUMBER),
    ),
    pointwise(
        "add",
        logical_add,
        [
            only(NUMBERS, T((3, 4)), T((4,)), alpha=3),
            only(NUMBERS, T((3, 4)), 2, alpha=2),
            only(FLOATS, T((3, 4)), T((3, 4)), alpha=0.5),
            only(NUMBERS, T((0,)), T((0,)), alpha=2),
        ],
        NUMBERS,
        variant="alpha",
        bad=(INT_ALPHA,),
    ),
    pointwise(
        "sub",
        lambda a, b, alpha=1: a - alpha * b,
        [*tensors(), *numbers(3, -2), *with_floats(0.5), ODD_PAIRS],
        NUMBERS,
        tolerance=EXACT,
        bad=(BROADCAST, BOOL_MINUS),
    ),
    pointwise(
        "sub",
        lambda a, b, alpha=1: a - alpha * b,
        [S(T((3, 4)), T((4,)), alpha=2), only(FLOATS, T((3, 4)), T((3, 4)), alpha=0.5)],
        NUMBERS,
        variant="alpha",
        bad=(INT_ALPHA,),
    ),
    pointwise(
        "rsub",
        lambda a, b, alpha=1: b - alpha * a,
        [S(T((3, 4)), T((4,))), S(T((3, 4)), 2), S(T((3, 4)), 2, alpha=2)],
        NUMBERS,
        inplace=False,
        out="",
        method=None,
    ),
    pointwise(
        "mul",
        multiply,
        [*tensors(), *numbers(3, -2), *with_floats(0.5, 0.125), ODD_PAIRS],
        ALL,
        tolerance=EXACT,
        signed_zero=True,
        bad=(BROADCAST, NOT_A_NUMBER),
    ),
    pointwise("multiply", multiply, few(), ALL),
    pointwise("subtract", np.subtract, few(), NUMBERS),
    pointwise(
        "div",
        divide,
        [*tensors(second={"nonzero": True}), *numbers(3, -2), *with_floats(0.5), ODD_PAIRS],
        result="float",
        bad=(
            BROADCAST,
            bad(
                RuntimeError,
                "div expected rounding_mode to be one of None, 'trunc', or 'floor' but found 'up'",
                T((3,)),
                2.0,
                rounding_mode="up",
            ),
        ),
    ),
    pointwise(
        "div",
        divide,
        [
            replace(s, kwargs={"rounding_mode": mode})
            for mode in ("floor", "trunc")
            for s in [*few(-9, 9, DIVISOR, **QUARTERS), *numbers(3, -2, **QUARTERS)]
        ],
        NUMBERS,
        variant="rounding_mode",
        tolerance=EXACT,
        bad=(
            by_zero(
                V((1, 2), "int32"),
                V((1, 0), "int32"),
                rounding_mode="floor",
            ),
        ),
    ),
    pointwise("divide", divide, few(second={"nonzero": True}), result="float"),
    pointwise("true_divide", divide, few(second={"nonzero": True}), result="float"),
    pointwise(
        "floor_divide",
        floor_divide,
        [*tensors(-9, 9, DIVISOR, **QUARTERS), *numbers(3, -2, **QUARTERS)],
        NUMBERS,
        tolerance=EXACT,
        bad=(
            by_zero(V((1, 2), "int32"), V((1, 0), "int32")),
            by_zero(V((1, 2), "int64"), 0),
        ),
    ),
    pointwise(
        "remainder",
        remainder,
        [*tensors(-9, 9, DIVISOR, **QUARTERS), *numbers(3, -2, **QUARTERS)],
        NUMBERS,
        tolerance=EXACT,
        bad=(by_zero(V((1, 2), "int32"), V((1, 0), "int32")),),
    ),
    pointwise(
        "fmod",
        np.fmod,
        [*tensors(-9, 9, DIVISOR, **QUARTERS), *numbers(3, -2, **QUARTERS)],
        NUMBERS,
        tolerance=EXACT,
        bad=(by_zero(V((1, 2), "int32"), V((1, 0), "int32")),),
    ),
    pointwise(
        "pow",
        power,
        [
            *tensors(0.25, 3, {"low": 0, "high": 3}),
            *numbers(0, 1, 2, 3, low=-3, high=3),
            *with_floats(0.5, -0.5, 2.0, -1.0, -2.0, 1.5, low=0.25, high=3),
            only(FLOATS, V((-2.0, -1.0, 0.0, 2.0, math.inf, math.nan)), 3),
            only(FLOATS, V((-2.0, 0.0, math.inf, math.nan)), 0),
        ],
        NUMBERS,
        tolerance=loose(4),
        bad=(
            bad(
                RuntimeError,
                "Integers to negative integer powers are not allowed",
                T((3,), dtype="int32"),
                -1,
            ),
        ),
    ),
    pointwise(
        "pow",
        lambda a, b: np.power(float(a), np.asarray(b, np.float64)),
        [only(FLOATS, 2.0, T((3, 4))), only(FLOATS, 2, T(()))],
        FLOATS,
        variant="number_to_tensor",
        strides=False,
        tolerance=loose(4),
        inplace=False,
        method=None,
    ),
    pointwise(
        "float_power",
        lambda a, b: np.power(np.asarray(a, np.float64), b),
        [*few(0.25, 3, {"low": 0, "high": 3}), *numbers(2, low=1, high=3)],
        ALL,
        "float64",
        out="any",
        tolerance=CLOSE,
        inplace=False,
    ),
    pointwise("maximum", np.maximum, [*tensors(), ODD_PAIRS], tolerance=EXACT, inplace=False),
    pointwise("minimum", np.minimum, [*tensors(), ODD_PAIRS], tolerance=EXACT, inplace=False),
    pointwise("fmax", np.fmax, [*few(), ODD_PAIRS], tolerance=EXACT, inplace=False),
    pointwise("fmin", np.fmin, [*few(), ODD_PAIRS], tolerance=EXACT, inplace=False),
    pointwise("max", np.maximum, few(), variant="of_two", tolerance=EXACT, inplace=False),
    pointwise("min", np.minimum, few(), variant="of_two", tolerance=EXACT, inplace=False),
    pointwise("atan2", as_float(np.arctan2), [*tensors(), ODD_PAIRS], result="float"),
    pointwise("hypot", np.hypot, [*tensors(), ODD_PAIRS], FLOATS),
    pointwise(
        "copysign",
        as_float(np.copysign),
        [*tensors(), *numbers(-2, 3)],
        result="float",
        tolerance=EXACT,
        signed_zero=True,
    ),
    pointwise(
        "nextafter",
        lambda a, b: np.nextafter(a, b),
        [*tensors(), only(("float32",), V(ODD), V(tuple(reversed(ODD))))],
        ("float16", "float32", "float64"),
        tolerance=EXACT,
        native=True,
        unchecked=("bfloat16",),
    ),
    pointwise("logaddexp", np.logaddexp, few(), FLOATS, inplace=False),
    pointwise("logaddexp2", np.logaddexp2, few(), FLOATS, inplace=False),
    pointwise(
        "xlogy",
        as_float(xlogy),
        [*tensors(0.25, 4), only(FLOATS, V((0.0, 0.0, 1.0, 0.0)), V((0.0, math.nan, 2.0, 3.0)))],
        result="float",
    ),
    pointwise("heaviside", heaviside, few(-2, 2), tolerance=EXACT, out="any"),
    pointwise("gcd", np.gcd, few(-90, 90), INTS, tolerance=EXACT),
    pointwise("lcm", np.lcm, few(-9, 9), INTS, tolerance=EXACT),
    # bits
    pointwise("bitwise_and", np.bitwise_and, [*tensors(-99, 99), *BITS], INTS_AND_BOOL),
    pointwise("bitwise_or", np.bitwise_or, [*tensors(-99, 99), *BITS], INTS_AND_BOOL),
    pointwise("bitwise_xor", np.bitwise_xor, [*tensors(-99, 99), *BITS], INTS_AND_BOOL),
    pointwise(
        "bitwise_left_shift",
        shift_left,
        [*tensors(-9, 9, {"low": 0, "high": 5}), *BITS],
        INTS,
    ),
    pointwise(
        "bitwise_right_shift",
        np.right_shift,
        [*tensors(-99, 99, {"low": 0, "high": 5}), *BITS],
        INTS,
    ),
]
