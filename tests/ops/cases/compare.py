"""Comparison and logic of two tensors; whole-tensor and tolerance comparisons."""

import math

import numpy as np

from tests.ops.case import ALL, EXACT, FLOATS, OpCase, S, T, V, bad, only
from tests.ops.cases.binary import (
    BROADCAST,
    FEW_PAIRS,
    ODD_PAIRS,
    PAIRS,
    numbers,
    tensors,
    with_floats,
)


def comparison(name, oracle, pairs=PAIRS, **more):
    samples = [*tensors(-2, 2, pairs=pairs, grid=1), *numbers(1, 0), *with_floats(0.5), ODD_PAIRS]
    settings = {"inplace": True, "out": "cast", "tolerance": EXACT, "bad": (BROADCAST,), **more}
    return OpCase(name, oracle, samples, ALL, "bool", **settings)


def logic(name, oracle):
    samples = [*tensors(-1, 1, grid=1), ODD_PAIRS]
    return OpCase(name, oracle, samples, ALL, "bool", EXACT, inplace=True, out="cast")


def isclose(a, b, rtol=1e-5, atol=1e-8, equal_nan=False):
    return np.isclose(a, b, rtol, atol, equal_nan)


CLOSE_CALLS = [
    S(T((3, 4), grid=1), T((3, 4), grid=1)),
    S(T((3, 4), grid=1), T((4,), grid=1), rtol=0.5, atol=0.25),
    only(FLOATS, V((1.0, math.nan, math.inf, -math.inf)), V((1.0, math.nan, math.inf, math.inf))),
    only(FLOATS, V((1.0, math.nan)), V((1.0, math.nan)), equal_nan=True),
    S(T((0,)), T((0,))),
]

CASES = [
    comparison("eq", np.equal),
    comparison("ne", np.not_equal),
    comparison("lt", np.less),
    comparison("le", np.less_equal),
    comparison("gt", np.greater),
    comparison("ge", np.greater_equal),
    comparison("not_equal", np.not_equal, FEW_PAIRS),
    comparison("less", np.less, FEW_PAIRS),
    comparison("less_equal", np.less_equal, FEW_PAIRS),
    comparison("greater", np.greater, FEW_PAIRS),
    comparison("greater_equal", np.greater_equal, FEW_PAIRS),
    logic("logical_and", np.logical_and),
    logic("logical_or", np.logical_or),
    logic("logical_xor", np.logical_xor),
    OpCase(
        "isclose",
        isclose,
        CLOSE_CALLS,
        ALL,
        "bool",
        EXACT,
        meta=False,
        bad=(bad(RuntimeError, "Float did not match Double", T((3,)), T((3,), dtype="float64")),),
    ),
]
