"""Softmax and its logarithm."""

import math

import numpy as np

from tests.ops.case import ALL, FLOATS, Dtype, OpCase, S, T, V, bad, only


def log_softmax(x, dim, dtype=None):
    x = x.astype(np.float64)
    axis = dim if x.ndim else None
    top = x.max(axis=axis, keepdims=True, initial=-np.inf)
    shifted = x - top
    return shifted - np.log(np.exp(shifted).sum(axis=axis, keepdims=True))


def softmax(x, dim, dtype=None):
    return np.exp(log_softmax(x, dim))


SAMPLES = [
    S(T((3, 4)), 0),
    S(T((3, 4)), 1),
    S(T((2, 3, 4)), -2),
    S(T((2, 3, 4)), dim=-1),
    S(T((31, 67)), 1),
    S(T((31, 67)), 0),
    S(T((5,)), 0),
    S(T(()), 0),
    S(T((0, 3)), 1),
    S(T((2, 0)), 0),
    S(T((3, 1)), 1),
    only(FLOATS, V(((1000.0, 999.0, -1000.0), (0.0, -math.inf, 1.0))), 1),
    only(FLOATS, V(((1.0, math.nan), (2.0, 3.0))), 1),
    only(FLOATS, V(((-math.inf, -math.inf), (math.inf, 1.0))), 1),
]
DTYPES = [S(T((3, 4)), 1, dtype=Dtype("float64")), S(T((3, 4)), dim=0, dtype=Dtype("float64"))]
NEAR = {
    "float16": (2e-3, 1e-3),
    "bfloat16": (1e-2, 8e-3),
    "float32": (4e-6, 4e-6),
    "float64": (1e-12, 1e-12),
}
BAD = (
    bad(IndexError, r"Dimension out of range \(expected to be in range of \[-2, 1\]", T((3, 4)), 2),
)

CASES = [
    case
    for name, oracle in (("softmax", softmax), ("log_softmax", log_softmax))
    for case in (
        OpCase(name, oracle, SAMPLES, FLOATS, tolerance=NEAR, bad=BAD),
        OpCase(name, oracle, DTYPES, ALL, "float64", NEAR, variant="dtype"),
        OpCase(
            name,
            oracle,
            SAMPLES[:4],
            FLOATS,
            tolerance=NEAR,
            variant="functional",
            function=f"nn.functional.{name}",
            method=None,
        ),
    )
]
