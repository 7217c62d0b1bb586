"""Activations. Most are found in nn.functional only, as in torch."""

import math

import numpy as np

from tests.ops.case import (
    ALL,
    CLOSE,
    EXACT,
    FLOATS,
    INTS,
    NUMBERS,
    OpCase,
    S,
    T,
    bad,
    float_special,
    loose,
)
from tests.ops.cases.unary import SHAPES, each


def over(*extra, low=-6.0, high=6.0, **kwargs):
    return [*[S(T(shape, low, high), **kwargs) for shape in SHAPES], float_special(), *extra]


def sigmoid(x):
    return np.where(x >= 0, 1 / (1 + np.exp(-np.abs(x))), 1 - 1 / (1 + np.exp(-np.abs(x))))


def softplus(x, beta=1.0, threshold=20.0):
    return np.where(x * beta > threshold, x, np.logaddexp(0, x * beta) / beta)


def gelu(x, approximate="none"):
    if approximate == "tanh":
        return 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    return 0.5 * x * each(lambda v: math.erfc(-v))(x / math.sqrt(2))


def elu(x, alpha=1.0):
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def selu(x):
    return 1.0507009873554805 * elu(x, 1.6732632423543772)


def relu(x):
    return np.maximum(x, np.zeros_like(x))


def leaky_relu(x, slope=0.01):
    return np.where(x > 0, x, slope * x)


def hardsigmoid(x):
    return np.clip(x + 3, 0, 6) / 6


def hardtanh(x, low=-1.0, high=1.0):
    return np.clip(x, low, high)


def hardshrink(x, lambd=0.5):
    return np.where(np.abs(x) <= lambd, 0.0, x)


def softshrink(x, lambd=0.5):
    return np.where(x > lambd, x - lambd, np.where(x < -lambd, x + lambd, x * 0))


def prelu(x, weight):
    if weight.size > 1:
        weight = weight.reshape(-1, *([1] * (x.ndim - 2)))
    return np.where(x > 0, x, weight * x)


def smooth(**kwargs):
    """Without infinities, where the answer depends on how the formula is written."""
    return [s for s in over(**kwargs) if not s.only]


def functional(name, oracle, samples, dtypes=FLOATS, **more):
    return OpCase(
        name, oracle, samples, dtypes, function=f"nn.functional.{name}", method=None, **more
    )


NEAR = {
    "float16": (2e-3, 1e-3),
    "bfloat16": (1e-2, 1e-2),
    "float32": (4e-6, 2e-6),
    "float64": (1e-11, 1e-12),
}

CASES = [
    OpCase("sigmoid", sigmoid, over(), result="float", inplace=True, out="cast", tolerance=NEAR),
    OpCase("relu", relu, over(), NUMBERS, tolerance=EXACT, inplace=True),
    functional("relu", relu, over(), NUMBERS, tolerance=EXACT, variant="functional"),
    functional("gelu", gelu, smooth(), tolerance=NEAR),
    functional("gelu", gelu, smooth(approximate="tanh"), variant="tanh", tolerance=NEAR),
    functional("silu", lambda x: x * sigmoid(x), smooth(), tolerance=NEAR),
    functional("mish", lambda x: x * np.tanh(softplus(x)), smooth(), tolerance=NEAR),
    functional("elu", elu, over(S(T((3, 4)), alpha=0.5), S(T((3, 4)), 2.0)), tolerance=NEAR),
    functional("selu", selu, over(), tolerance=NEAR),
    functional(
        "celu",
        lambda x, alpha=1.0: np.where(x > 0, x, alpha * np.expm1(x / alpha)),
        over(S(T((3, 4)), alpha=2.0)),
        tolerance=NEAR,
    ),
    functional("leaky_relu", leaky_relu, over(S(T((3, 4)), 0.25)), tolerance=CLOSE),
    functional(
        "softplus", softplus, over(S(T((3, 4)), 2, 4), S(T((3, 4), 18, 24))), tolerance=NEAR
    ),
    functional("hardsigmoid", hardsigmoid, over(), tolerance=NEAR),
    functional("hardswish", lambda x: x * hardsigmoid(x), over(), tolerance=NEAR),
    functional(
        "hardtanh",
        hardtanh,
        over(S(T((3, 4)), -2.0, 0.5)),
        tolerance=EXACT,
        unchecked=INTS,
        optional=("uint8",),
    ),
    functional(
        "relu6", lambda x: np.clip(x, 0, 6), over(S(T((5,), 0, 9))), tolerance=EXACT, unchecked=ALL
    ),
    functional("logsigmoid", lambda x: -np.logaddexp(0, -x), over(), strides=False, tolerance=NEAR),
    functional("hardshrink", hardshrink, over(S(T((3, 4)), 1.5)), tolerance=EXACT),
    functional("softshrink", softshrink, over(S(T((3, 4)), 1.5)), tolerance=CLOSE),
    functional("tanhshrink", lambda x: x - np.tanh(x), over(), tolerance=NEAR, unchecked=ALL),
    functional("softsign", lambda x: x / (1 + np.abs(x)), over(), tolerance=NEAR, unchecked=ALL),
    functional(
        "threshold",
        lambda x, threshold, value: np.where(x <= threshold, value, x),
        [S(T((3, 4)), 1, 3), S(T((0,)), 1, 3), S(T(()), 1, 3), S(T((2, 3, 4)), 0, 0)],
        NUMBERS,
        tolerance=EXACT,
    ),
    functional(
        "prelu",
        prelu,
        [
            S(T((3, 4)), T((1,), 0.1, 0.5)),
            S(T((2, 3, 4)), T((3,), 0.1, 0.5)),
            S(T((2, 3)), T((3,), 0.1, 0.5)),
            S(T((5,)), T((1,), 0.1, 0.5)),
        ],
        tolerance=loose(2),
        bad=(
            bad(
                RuntimeError,
                "Mismatch of parameter numbers and input channel size",
                T((2, 3)),
                T((4,)),
            ),
        ),
    ),
]
