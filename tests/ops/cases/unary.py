"""Pointwise ops of one tensor: sign, rounding, exponentials, trigonometry, bits."""

import math
import statistics

import numpy as np

from tests.ops.case import (
    ALL,
    CLOSE,
    EXACT,
    FLOATS,
    INTS_AND_BOOL,
    NUMBERS,
    OpCase,
    S,
    T,
    V,
    bad,
    float_special,
    loose,
    only,
)

SHAPES = ((3, 4), (5,), (), (0,), (2, 0, 3), (2, 3, 4), (37, 29), (1, 6, 1))


def over(low=-4.0, high=4.0, *special, **spec):
    """The usual shapes with values in a range, and one sample of odd values."""
    samples = [S(T(shape, low, high, **spec)) for shape in SHAPES]
    return [*samples, float_special(*special)]


EXTREMES = [
    only(("int8",), V((-128, 127, -1, 0, 1))),
    only(("int32",), V((-(2**31), 2**31 - 1, 0))),
    only(("int64",), V((-(2**63), 2**63 - 1, 0))),
    only(("uint8",), V((0, 255, 1))),
]


def pointwise(name, oracle, samples, dtypes=ALL, result="float", **more):
    defaults = {"inplace": True, "out": "cast"}
    return OpCase(name, oracle, samples, dtypes, result, **{**defaults, **more})


def exact(name, oracle, dtypes, samples=None, **more):
    samples = samples or over() + EXTREMES
    more = {"tolerance": EXACT, "result": "same", "signed_zero": True, "out": "any", **more}
    return pointwise(name, oracle, samples, dtypes, **more)


def predicate(name, oracle, dtypes=ALL, samples=None, **more):
    more = {"inplace": False, "tolerance": EXACT, "result": "bool", "out": "any", **more}
    return pointwise(name, oracle, samples or over() + EXTREMES, dtypes, **more)


def each(function):
    return np.vectorize(function, otypes=[np.float64])


def lgamma(x):
    def one(value):
        if math.isinf(value) or (value <= 0 and value == math.floor(value)):
            return math.inf
        return math.lgamma(value)

    return each(one)(x)


def digamma(x):
    """Recurrence up to 10, then the asymptotic series; reflection below zero."""

    def one(value):
        if value == 0:
            return -math.copysign(math.inf, value)
        if math.isnan(value) or value == -math.inf or (value < 0 and value == math.floor(value)):
            return math.nan
        if value == math.inf:
            return math.inf
        if value < 0:
            return one(1 - value) - math.pi / math.tan(math.pi * value)
        total = 0.0
        while value < 10:
            total -= 1 / value
            value += 1
        square = 1 / (value * value)
        series = square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240
                 - square * (1 / 132 - square * 691 / 32760)))))  # fmt: skip
        return total + math.log(value) - 0.5 / value - series

    return each(one)(x)


def erfinv(x):
    def one(value):
        if abs(value) == 1:
            return math.copysign(math.inf, value)
        if not abs(value) < 1:
            return math.nan
        if value == 0:
            return value
        guess = statistics.NormalDist().inv_cdf((value + 1) / 2) / math.sqrt(2)
        for _ in range(2):
            slope = 2 / math.sqrt(math.pi) * math.exp(-guess * guess)
            guess -= (math.erf(guess) - value) / slope
        return guess

    return each(one)(x)


def logit(x, eps=None):
    if eps is not None:
        x = np.clip(x, eps, 1 - eps)
    return np.log(x / (1 - x))


def round_decimals(x, decimals=0):
    return np.round(x * 10.0**decimals) / 10.0**decimals


def nan_to_num(x, nan=0.0, posinf=None, neginf=None):
    if x.dtype.kind != "f":
        return x
    return np.nan_to_num(x, nan=nan, posinf=posinf, neginf=neginf)


def sign(x):
    """Unlike NumPy's, the sign of NaN is 0, and bool is taken."""
    return x if x.dtype == bool else np.nan_to_num(np.sign(x))


def frac(x):
    return np.copysign(x - np.trunc(x), x)


WHOLE = [S(T(shape, -9, 9, grid=0.25)) for shape in SHAPES] + [float_special(3.5, -3.5, 7.25)]
ODD = only(FLOATS, V((math.nan, math.inf, -math.inf, 1.0, -2.0)))
LARGE = only(("float32", "float64"), V((1e3, -1e4, 123456.75, -3e5, 1e-20, -1e-7)))

SIGNS = [S(T(shape)) for shape in SHAPES] + [only(FLOATS, V((0.0, -0.0, math.inf, -math.inf)))]
NO_BOOL = (
    bad(RuntimeError, "Negation, the `-` operator, on a bool tensor", T((3,), dtype="bool")),
)

CASES = [
    # sign and rounding
    exact("abs", np.abs, NUMBERS),
    exact("absolute", np.abs, NUMBERS, inplace=True),
    exact("neg", np.negative, NUMBERS, bad=NO_BOOL),
    exact("negative", np.negative, NUMBERS),
    exact("positive", lambda x: x, NUMBERS, inplace=False, out="", view=False),
    exact("sign", sign, ALL, signed_zero=False),
    exact("sgn", sign, ALL, signed_zero=False),
    pointwise("square", np.square, over(-3, 3), ALL, "number", tolerance=EXACT),
    exact("ceil", np.ceil, NUMBERS, WHOLE),
    exact("floor", np.floor, NUMBERS, WHOLE),
    exact("round", np.round, NUMBERS, WHOLE),
    exact("trunc", np.trunc, NUMBERS, WHOLE),
    exact("fix", np.trunc, NUMBERS, WHOLE),
    exact("frac", frac, FLOATS, [s for s in WHOLE if not s.only], signed_zero=False),
    pointwise(
        "round",
        round_decimals,
        [
            S(T((3, 4), -90, 90, grid=0.125), decimals=1),
            S(T((3, 4), -90, 90, grid=0.125), decimals=2),
            S(T((7,), -9000, 9000), decimals=-2),
            S(T((3, 4), grid=0.25), decimals=0),
        ],
        FLOATS,
        "same",
        variant="decimals",
        optional=INTS_AND_BOOL,
        tolerance=loose(2),
        out="any",
    ),
    pointwise("reciprocal", lambda x: 1 / x, over(0.25, 4, 3.0), tolerance=CLOSE),
    pointwise(
        "nan_to_num",
        nan_to_num,
        [
            S(T((3, 4)), nan=1.0, posinf=50.0, neginf=-60.0),
            only(
                FLOATS,
                V((math.nan, math.inf, -math.inf, 1.5)),
                nan=2.5,
                posinf=100.0,
                neginf=-100.0,
            ),
            S(T((0,)), nan=1.0),
        ],
        ALL,
        "same",
        tolerance=EXACT,
        out="any",
    ),
    # exponentials and powers
    pointwise("sqrt", np.sqrt, over(0, 9), signed_zero=True),
    pointwise("rsqrt", lambda x: 1 / np.sqrt(x), over(0.25, 9)),
    pointwise("exp", np.exp, over(-6, 6, -90, 80)),
    pointwise("exp2", np.exp2, over(-6, 6, -130, 120)),
    pointwise("expm1", np.expm1, over(-4, 4, 1e-4, -1e-6), signed_zero=True),
    pointwise("log", np.log, over(0.0625, 9, 1e-4, 3e4)),
    pointwise("log2", np.log2, over(0.0625, 9, 1e-4, 3e4)),
    pointwise("log10", np.log10, over(0.0625, 9, 1e-4, 3e4)),
    pointwise("log1p", np.log1p, over(-0.9, 9, 1e-4, -1e-4, -1.0), signed_zero=True),
    pointwise("erf", each(math.erf), over(-3, 3, 1e-4, 6)),
    pointwise("erfc", each(math.erfc), over(-3, 3, 1e-4, 6), tolerance=loose(4)),
    pointwise("erfinv", erfinv, over(-0.97, 0.97, 1, -1, 2), tolerance=loose(4)),
    pointwise("lgamma", lgamma, over(0.3, 9, 1, 2, 20), tolerance=loose(8)),
    pointwise("digamma", digamma, over(0.3, 9, 1, 20), tolerance=loose(8)),
    pointwise(
        "logit",
        logit,
        [
            *over(0.0625, 0.4, 0, 1, 2),
            only(FLOATS, T((4, 5), -0.5, 1.5), eps=0.0625),
            only(FLOATS, T((7,), -0.5, 1.5), 0.25),
        ],
        tolerance=loose(4),
    ),
    pointwise("sinc", np.sinc, over(-3, 3, 1e-4)),
    # trigonometry
    pointwise("sin", np.sin, [*over(), LARGE], signed_zero=True),
    pointwise("cos", np.cos, [*over(), LARGE]),
    pointwise("tan", np.tan, over(-1.4, 1.4, 1e-4), tolerance=loose(4)),
    pointwise("asin", np.arcsin, over(-1, 1, 1, -1, 2)),
    pointwise("acos", np.arccos, over(-1, 1, 1, -1, 2)),
    pointwise("atan", np.arctan, over(-9, 9, 1e4), signed_zero=True),
    pointwise("sinh", np.sinh, over(-4, 4, 9), tolerance=loose(2)),
    pointwise("cosh", np.cosh, over(-4, 4, 9), tolerance=loose(2)),
    pointwise("tanh", np.tanh, over(-4, 4, 9, -20, 1e-4), signed_zero=True),
    pointwise("asinh", np.arcsinh, over(-9, 9, 1e-3)),
    pointwise("acosh", np.arccosh, over(1, 9, 1)),
    pointwise("atanh", np.arctanh, over(-0.95, 0.95, 1, -1, 2), tolerance=loose(2)),
    pointwise("arcsin", np.arcsin, over(-1, 1)),
    pointwise("arccos", np.arccos, over(-1, 1)),
    pointwise("arctan", np.arctan, over()),
    pointwise("deg2rad", np.deg2rad, over(-180, 180)),
    pointwise("rad2deg", np.rad2deg, over(-4, 4)),
    # bits and logic
    exact("bitwise_not", np.invert, INTS_AND_BOOL, [s for s in over() if not s.only] + EXTREMES),
    pointwise("logical_not", np.logical_not, over(-1, 1), ALL, "bool", tolerance=EXACT),
    predicate("isnan", np.isnan, out="", samples=over()),
    predicate("isinf", np.isinf, out="", samples=over()),
    predicate("isfinite", np.isfinite, out="", samples=over()),
    predicate("isposinf", np.isposinf, samples=[*over(), ODD]),
    predicate("isneginf", np.isneginf, samples=[*over(), ODD]),
    predicate("signbit", np.signbit, samples=[*SIGNS, *EXTREMES]),
]
