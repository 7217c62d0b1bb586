"""Normalisation of the last dimensions."""

import numpy as np

from tests.ops.case import FLOATS, OpCase, S, Sample, T, V, bad, only

HALVES = ("float16", "bfloat16")
NEAR = {
    "float16": (2e-3, 4e-3),
    "bfloat16": (1.6e-2, 3e-2),
    "float32": (1e-5, 1e-5),
    "float64": (1e-11, 1e-11),
}


def last_dims(x, normalized_shape):
    return tuple(range(x.ndim - len(normalized_shape), x.ndim))


def layer_norm(input, normalized_shape, weight=None, bias=None, eps=1e-5, cudnn_enable=True):
    axes = last_dims(input, normalized_shape)
    mean = input.mean(axes, keepdims=True)
    rstd = 1 / np.sqrt(input.var(axes, keepdims=True) + eps)
    found = (input - mean) * rstd
    found = found if weight is None else found * weight
    return found if bias is None else found + bias


def rms_norm(input, normalized_shape, weight=None, eps=None, default=0):
    squares = np.square(input).mean(last_dims(input, normalized_shape), keepdims=True)
    found = input / np.sqrt(squares + (default if eps is None else eps))
    return found if weight is None else found * weight


def uneven(*args, **kwargs):
    """A sample whose rows must not have equal elements, which leave nothing but rounding."""
    return Sample(args, kwargs, expandable=False)


X, ROW = T((2, 3)), T((3,))
SHAPES = (
    ((2, 3), (3,)),
    ((3,), (3,)),
    ((2, 3), (2, 3)),
    ((2, 3, 4), (3, 4)),
    ((2, 3, 4), (4,)),
    ((2, 1, 3, 4), (1, 3, 4)),
    ((5, 64), (64,)),
    ((5, 67), (67,)),
    ((2, 3, 515), (515,)),
    ((2, 5001), (5001,)),
    ((0, 3), (3,)),
    ((2, 0), (0,)),
    ((2, 0, 3), (0, 3)),
)
# Whole numbers far from 0: the mean must be exact enough to leave the differences.
SHIFTED = V(((50.0, 51.0, 53.0), (-64.0, -62.0, -60.0)))
LAYER = [
    sample
    for x, row in SHAPES
    for sample in (
        uneven(T(x), row),
        uneven(T(x), row, T(row)),
        uneven(T(x), row, None, T(row)),
        uneven(T(x), list(row), T(row), T(row), 1e-3),
    )
] + [
    uneven(X, (3,), weight=ROW, bias=ROW, eps=1),
    uneven(input=X, normalized_shape=[3]),
    uneven(SHIFTED, (3,)),
    uneven(T((2, 1)), (1,), T((1,)), T((1,))),
    Sample(
        (X, (3,), T((3,), dtype="float32"), T((3,), dtype="float32")),
        only=(*HALVES, "float32"),
        expandable=False,
    ),
    Sample((X, (3,), T((3,), dtype="float32")), only=HALVES, expandable=False),
    Sample((X, (3,), None, T((3,), dtype="float32")), only=HALVES, expandable=False),
]
RMS = [
    sample
    for x, row in SHAPES
    for sample in (
        S(T(x, 1), row),
        S(T(x, 1), row, T(row)),
        S(T(x, 1), list(row), None, 1e-3),
    )
] + [
    S(X, (3,), weight=ROW, eps=1),
    S(input=X, normalized_shape=[3]),
    S(X, (3,), T((3,), dtype="float32")),
    S(X, (3,), T((3,), dtype="int64")),
    S(X, (3,), T((3,), dtype="bool")),
    S(T((2, 1)), (1,), T((1,))),
]
TINY = V(((1e-4, -2e-4, 0.0), (3e-4, 0.0, 1e-4)))

DIM = "Expected normalized_shape to be at least 1-dimensional, i.e., containing at least one"
WEIGHT = r"Expected weight to be of same shape as normalized_shape, but got weight of shape "
BAD = (
    bad(RuntimeError, DIM, X, ()),
    bad(RuntimeError, WEIGHT + r"\[4\] and normalized_shape = \[3\]", X, (3,), T((4,))),
    bad(RuntimeError, WEIGHT + r"\[1, 3\] and normalized_shape = \[3\]", X, (3,), T((1, 3))),
    bad(TypeError, r"argument 'normalized_shape' \(position 2\) must be tuple of ints, not", X, 3),
    bad(TypeError, r"argument 'normalized_shape' \(position 2\) must be tuple of ints", X, (2.0,)),
    bad(TypeError, r"argument 'input' \(position 1\) must be Tensor, not list", [1.0], (3,)),
)
LAYER_BAD = (
    *BAD,
    bad(
        RuntimeError,
        r"Given normalized_shape=\[4\], expected input with shape \[\*, 4\], but got input of "
        r"size\[2, 3\]",
        X,
        (4,),
    ),
    bad(RuntimeError, r"shape \[\*, 1, 2, 3\], but got input of size\[2, 3\]", X, (1, 2, 3)),
    bad(RuntimeError, r"shape \[\*, 1\], but got input of size\[\]", T(()), (1,)),
    bad(
        RuntimeError,
        r"Expected bias to be of same shape as normalized_shape, but got bias of shape \[1\] and "
        r"normalized_shape = \[3\]",
        X,
        (3,),
        None,
        T((1,)),
    ),
    bad(
        RuntimeError,
        "expect parameter to have scalar type of Float",
        X,
        (3,),
        T((3,), dtype="float16"),
    ),
    bad(
        RuntimeError,
        "expect parameter to have scalar type of Float",
        T((2, 3), dtype="float16"),
        (3,),
        T((3,), dtype="float32"),
        T((3,), dtype="float16"),
    ),
    bad(
        RuntimeError,
        "all inputs must share same datatype",
        T((2, 3), dtype="float64"),
        (3,),
        T((3,), dtype="float32"),
    ),
    bad(
        RuntimeError,
        "expected scalar type Half but found Float",
        T((2, 3), dtype="float16"),
        (3,),
        T((3,), dtype="float16"),
        T((3,), dtype="float32"),
    ),
    bad(
        NotImplementedError,
        "\"LayerNormKernelImpl\" not implemented for 'Long'",
        T((2, 3), dtype="int64"),
        (3,),
    ),
    bad(TypeError, "argument 'eps'.* must be float, not NoneType", X, (3,), eps=None),
)
RMS_BAD = (
    *BAD,
    bad(
        RuntimeError,
        r"Given normalized_shape=\[4, 5\], expected input with shape \[\*4, 5\], but got input of "
        r"size\[2, 3\]",
        X,
        (4, 5),
    ),
    bad(ValueError, "Input tensor must have at least 3 dimensions, but got 2", X, (1, 2, 3)),
    bad(ValueError, "Input tensor must have at least 1 dimensions, but got 0", T(()), (1,)),
    bad(
        NotImplementedError,
        "\"rms_norm\" not implemented for 'Long'",
        T((2, 3), dtype="int64"),
        (3,),
    ),
)

CASES = [
    OpCase(
        "layer_norm",
        layer_norm,
        LAYER,
        FLOATS,
        tolerance=NEAR,
        function="nn.functional.layer_norm",
        method=None,
        bad=LAYER_BAD,
    ),
    OpCase(
        "layer_norm",
        layer_norm,
        [
            uneven(X, (3,)),
            uneven(X, (3,), ROW, ROW, 1e-4, False),
            uneven(X, [3], cudnn_enable=True),
        ],
        FLOATS,
        tolerance=NEAR,
        variant="function",
        method=None,
    ),
    OpCase(
        "rms_norm",
        rms_norm,
        RMS,
        FLOATS,
        tolerance=NEAR,
        function="nn.functional.rms_norm",
        method=None,
        bad=RMS_BAD,
    ),
    OpCase(
        "rms_norm",
        rms_norm,
        [S(X, (3,)), S(X, (3,), ROW, 1e-4)],
        FLOATS,
        tolerance=NEAR,
        variant="function",
        method=None,
    ),
    # Without eps, the machine epsilon of the dtype it computes in counts.
    OpCase(
        "rms_norm",
        lambda *args, **kwargs: rms_norm(*args, **kwargs, default=2.0**-23),
        [only((*HALVES, "float32"), TINY, (3,)), only((*HALVES, "float32"), TINY, (3,), ROW)],
        (*HALVES, "float32"),
        tolerance=NEAR,
        variant="epsilon",
        method=None,
        optional=("float64",),
    ),
    OpCase(
        "rms_norm",
        lambda *args, **kwargs: rms_norm(*args, **kwargs, default=2.0**-52),
        [only(("float64",), V(((1e-8, -2e-8, 0.0),)), (3,))],
        ("float64",),
        tolerance=NEAR,
        variant="epsilon64",
        method=None,
        optional=(*HALVES, "float32"),
    ),
]
