"""Convolution and its transpose."""

import itertools

import numpy as np

from tests.ops.case import FLOATS, INTS, OpCase, S, T, bad

NEAR = {
    "float16": (4e-3, 4e-3),
    "bfloat16": (3e-2, 3e-2),
    "float32": (1e-5, 2e-5),
    "float64": (1e-11, 1e-11),
}
TAKEN = (*FLOATS, "int64", "int32", "uint8")
# torch takes them where it has no faster way of its own.
INTEGERS = (*INTS, "bool")


def per_dimension(value, n):
    return (
        list(value) * n
        if isinstance(value, (list, tuple)) and len(value) == 1
        else (list(value) if isinstance(value, (list, tuple)) else [value] * n)
    )


def windows(image, kernel, stride, padding, dilation, out):
    """For each tap of the kernel: its index, and the part of the padded image that it reads."""
    n = len(kernel)
    padded = np.pad(image, [(0, 0)] * (image.ndim - n) + [(p, p) for p in padding])
    for tap in itertools.product(*(range(k) for k in kernel)):
        places = tuple(
            slice(t * d, t * d + s * (o - 1) + 1, s)
            for t, d, s, o in zip(tap, dilation, stride, out, strict=True)
        )
        yield tap, padded[(..., *places)], places, padded


def plain(input, weight, stride, padding, dilation, groups):
    kernel = weight.shape[2:]
    out = [
        (size + 2 * p - d * (k - 1) - 1) // s + 1
        for size, k, s, p, d in zip(input.shape[2:], kernel, stride, padding, dilation, strict=True)
    ]
    batch, filters = input.shape[0], weight.shape[0]
    result = np.zeros((batch, groups, filters // groups, *out), input.dtype)
    weight = weight.reshape(groups, filters // groups, -1, *kernel)
    for tap, part, _, _ in windows(input, kernel, stride, padding, dilation, out):
        part = part.reshape(batch, groups, input.shape[1] // groups, *out)
        result += np.einsum("ngc...,gmc->ngm...", part, weight[(..., *tap)])
    return result.reshape(batch, filters, *out)


def transpose(input, weight, stride, padding, dilation, output_padding, groups):
    kernel = weight.shape[2:]
    small = input.shape[2:]
    full = [
        (size - 1) * s + d * (k - 1) + 1 + extra
        for size, k, s, d, extra in zip(
            small, kernel, stride, dilation, output_padding, strict=True
        )
    ]
    batch, channels = input.shape[:2]
    result = np.zeros((batch, weight.shape[1] * groups, *full), input.dtype)
    input = input.reshape(batch, groups, channels // groups, *small)
    weight = weight.reshape(groups, channels // groups, -1, *kernel)
    zeros = [0] * len(kernel)
    for tap, _, places, _ in windows(result, kernel, stride, zeros, dilation, small):
        part = np.einsum("ngc...,gcm->ngm...", input, weight[(..., *tap)])
        result[(..., *places)] += part.reshape(batch, result.shape[1], *small)
    cut = tuple(slice(p, size - p) for p, size in zip(padding, full, strict=True))
    return result[(..., *cut)]


def convolve(n, input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    settings = [per_dimension(each, n) for each in (stride, padding, dilation, output_padding)]
    stride, padding, dilation, output_padding = settings
    batched = input if input.ndim == n + 2 else input[None]
    if transposed:
        result = transpose(batched, weight, stride, padding, dilation, output_padding, groups)
    else:
        result = plain(batched, weight, stride, padding, dilation, groups)
    if bias is not None:
        result = result + bias.reshape(-1, *[1] * n)
    return result if input.ndim == n + 2 else result[0]


def conv(n):
    def oracle(input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1):
        if padding == "valid":
            padding = 0
        if padding == "same":
            sides = per_dimension(dilation, n)
            total = [d * (k - 1) for d, k in zip(sides, weight.shape[2:], strict=True)]
            leading = [(0, 0)] * (input.ndim - n)
            input = np.pad(input, leading + [(t // 2, t - t // 2) for t in total])
            padding = 0
        return convolve(n, input, weight, bias, stride, padding, dilation, False, 0, groups)

    return oracle


def conv_transpose(n):
    def oracle(
        input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1
    ):
        return convolve(
            n, input, weight, bias, stride, padding, dilation, True, output_padding, groups
        )

    return oracle


def convolution(input, weight, bias, stride, padding, dilation, transposed, output_padding, groups):
    return convolve(
        input.ndim - 2,
        input,
        weight,
        bias,
        stride,
        padding,
        dilation,
        transposed,
        output_padding,
        groups,
    )


def conv_tbc(self, weight, bias, pad=0):
    turned = convolve(
        1,
        self.transpose(1, 2, 0),
        weight.transpose(2, 1, 0),
        bias,
        1,
        pad,
        1,
        False,
        0,
        1,
    )
    return turned.transpose(2, 0, 1)


def t(*shape):
    return T(shape, -2, 2)


BIAS = t(4)
TIME = T((5, 2, 3), -2, 2, fixed=True)
IMAGE, FILTERS = t(2, 3, 7, 6), t(4, 3, 3, 2)
PLAIN = {
    1: [
        S(t(2, 3, 9), t(4, 3, 3)),
        S(t(2, 3, 9), t(4, 3, 3), BIAS, 2, 1, 2),
        S(t(3, 9), t(4, 3, 2), BIAS, padding="same"),
        S(t(2, 4, 9), t(4, 2, 1), BIAS, groups=2),
        S(t(1, 1, 70), t(9, 1, 5)),
        S(t(1, 2, 5), t(2, 2, 2), t(2), 2, 1),
    ],
    2: [
        S(IMAGE, FILTERS),
        S(IMAGE, FILTERS, BIAS),
        S(IMAGE, FILTERS, BIAS, 2),
        S(IMAGE, FILTERS, BIAS, (3, 2), (1, 1)),
        S(IMAGE, FILTERS, BIAS, (1, 2), (2, 0), (2, 3)),
        S(IMAGE, FILTERS, BIAS, padding="same"),
        S(IMAGE, FILTERS, BIAS, padding="same", dilation=(1, 2)),
        S(IMAGE, FILTERS, BIAS, 2, "valid"),
        S(t(3, 7, 6), FILTERS, BIAS, padding=1),
        S(t(2, 6, 5, 5), t(4, 3, 3, 3), BIAS, groups=2, padding=1),
        S(t(2, 6, 5, 5), t(12, 1, 3, 3), groups=6, padding=1, stride=2),
        S(t(2, 3, 9, 41), t(3, 1, 3, 3), t(3), groups=3, padding=1),
        S(t(1, 2, 33, 45), t(4, 1, 5, 3), BIAS, (2, 3), (4, 1), (2, 1), groups=2),
        S(t(1, 1, 130, 90), t(1, 1, 3, 3), t(1), padding=1),
        S(t(2, 5, 6, 6), t(4, 5, 1, 1), BIAS),
        S(t(2, 5, 6, 6), t(4, 5, 1, 1), BIAS, 2),
        S(t(1, 2, 12, 40), t(17, 2, 3, 3), padding=1),
        S(t(0, 3, 7, 6), FILTERS, BIAS),
        S(t(2, 2, 4, 4), t(3, 2, 4, 4)),
        S(t(2, 3, 8, 8), t(4, 3, 4, 4), stride=4),
        S(t(2, 16, 5, 6), t(32, 16, 3, 3), t(32), padding=1),
        S(t(1, 2, 3, 3), t(2, 1, 2, 2), t(2), 2, 1, groups=2),
        S(input=IMAGE, weight=FILTERS, bias=None, stride=[1], padding=[1], dilation=[1]),
    ],
    3: [
        S(t(2, 2, 4, 5, 6), t(4, 2, 2, 3, 2)),
        S(t(2, 2, 4, 5, 6), t(4, 2, 2, 3, 2), BIAS, (2, 1, 2), 1, (1, 2, 1)),
        S(t(2, 4, 5, 6), t(4, 2, 2, 3, 3), BIAS, groups=1, padding="same"),
        S(t(1, 4, 3, 4, 4), t(4, 2, 1, 1, 1), BIAS, groups=2),
        S(t(1, 1, 2, 3, 3), t(1, 1, 2, 2, 1), t(1), padding=1),
        S(t(2, 2, 5, 6, 19), t(2, 1, 3, 3, 3), t(2), groups=2, padding=1, stride=(2, 1, 1)),
    ],
}
TRANSPOSED = {
    1: [
        S(t(2, 3, 6), t(3, 4, 3)),
        S(t(2, 3, 6), t(3, 4, 3), BIAS, 2, 1, 1, dilation=2),
        S(t(3, 6), t(3, 4, 2), BIAS, stride=3),
        S(t(2, 1, 4), t(1, 2, 3), t(2), 2, 1, 1),
    ],
    2: [
        S(t(2, 3, 4, 5), t(3, 4, 3, 2)),
        S(t(2, 3, 4, 5), t(3, 4, 3, 2), BIAS),
        S(t(2, 3, 4, 5), t(3, 4, 3, 2), BIAS, 2, 1, 1),
        S(t(2, 3, 4, 5), t(3, 4, 3, 2), BIAS, (3, 2), (1, 0), (2, 1), 1, (1, 2)),
        S(t(2, 4, 4, 5), t(4, 2, 2, 2), BIAS, 2, groups=2),
        S(t(3, 4, 5), t(3, 4, 2, 2), BIAS, 2),
        S(t(2, 3, 4, 5), t(3, 4, 1, 1), BIAS),
        S(t(2, 3, 4, 5), t(3, 4, 1, 1), stride=3),
        S(t(0, 3, 4, 5), t(3, 4, 3, 2)),
        S(t(1, 2, 3, 2), t(2, 1, 2, 2), t(2), 2, 0, 1, 2),
        S(t(2, 3, 9, 17), t(3, 1, 4, 3), t(3), 2, 1, 1, 3),
    ],
    3: [
        S(t(2, 2, 3, 4, 3), t(2, 4, 2, 3, 2), BIAS),
        S(t(2, 2, 3, 4, 3), t(2, 4, 2, 3, 2), BIAS, 2, (1, 0, 1), (1, 0, 1)),
        S(t(4, 3, 2, 2), t(4, 2, 2, 1, 2), BIAS, 2, groups=2),
        S(t(1, 1, 2, 2, 2), t(1, 1, 2, 1, 2), t(1), 2),
    ],
}

CHANNELS = r"Given groups=1, weight of size \[4, 2, 3, 3\], expected input\[2, 3, 8, 8\] to have 2 "
X, W = t(2, 3, 8, 8), t(4, 3, 3, 3)
BAD = (
    bad(RuntimeError, CHANNELS + "channels, but got 3 channels instead", X, t(4, 2, 3, 3)),
    bad(
        RuntimeError,
        r"Given weight of size \[4, 3, 3, 3\], expected bias to be 1-dimensional with 4 elements, "
        r"but got bias of size \[3\] instead",
        X,
        W,
        t(3),
    ),
    bad(
        RuntimeError,
        r"Expected 3D \(unbatched\) or 4D \(batched\) input to conv2d, but got input of size: "
        r"\[8, 8\]",
        t(8, 8),
        W,
    ),
    bad(
        RuntimeError,
        r"Calculated padded input size per channel: \(8 x 8\). Kernel size: \(9 x 9\). Kernel size "
        "can't be greater than actual input size",
        X,
        t(4, 3, 9, 9),
    ),
    bad(RuntimeError, "non-positive stride is not supported", X, W, None, 0),
    bad(RuntimeError, "negative padding is not supported", X, W, None, 1, -1),
    bad(RuntimeError, "dilation should be greater than zero", X, W, None, 1, 0, -1),
    bad(RuntimeError, "non-positive dilation is not supported", X, W, None, 1, 0, 0),
    bad(RuntimeError, "non-positive groups is not supported", X, W, groups=0),
    bad(
        RuntimeError,
        r"Given groups=8, expected weight to be at least 8 at dimension 0, but got weight of size "
        r"\[4, 3, 3, 3\] instead",
        X,
        W,
        groups=8,
    ),
    bad(
        RuntimeError,
        "expected stride to be a single integer value or a list of 2 values to match the "
        r"convolution dimensions, but got stride=\[1, 1, 1\]",
        X,
        W,
        None,
        (1, 1, 1),
    ),
    bad(RuntimeError, "padding='same' is not supported for strided", X, W, None, 2, "same"),
    bad(RuntimeError, "Invalid padding string: 'full'", X, W, None, 1, "full"),
    bad(
        RuntimeError,
        "expected scalar type Double but found Float",
        T((2, 3, 8, 8), dtype="float64"),
        W,
    ),
    bad(
        RuntimeError,
        r"Input type \(float\) and bias type \(double\) should be the same",
        X,
        W,
        T((4,), dtype="float64"),
    ),
    bad(
        RuntimeError,
        "Only zero batch or zero channel inputs are supported, but got input shape: ",
        t(2, 3, 0, 8),
        W,
        None,
        1,
        2,
    ),
    bad(TypeError, r"conv2d\(\) received an invalid combination of arguments", X, W, None, 1.5),
)
TRANSPOSED_BAD = (
    bad(
        RuntimeError,
        r"Given transposed=1, weight of size \[4, 3, 3, 3\], expected input\[2, 3, 8, 8\] to have "
        "4 channels, but got 3 channels instead",
        X,
        W,
    ),
    bad(
        RuntimeError,
        "output padding must be smaller than either stride or dilation, but got "
        "output_padding_height: 1 output_padding_width: 1 stride_height: 1 stride_width: 1 "
        "dilation_height: 1 dilation_width: 1",
        X,
        t(3, 4, 3, 3),
        None,
        1,
        0,
        1,
    ),
    bad(RuntimeError, "negative output_padding is not supported", X, t(3, 4, 3, 3), None, 2, 0, -1),
)

CASES = [
    *(
        OpCase(
            f"conv{n}d",
            conv(n),
            PLAIN[n],
            TAKEN,
            tolerance=NEAR,
            function=f"nn.functional.conv{n}d",
            method=None,
            strides=n != 3,
            optional=INTEGERS,
            bad=BAD if n == 2 else (),
        )
        for n in (1, 2, 3)
    ),
    *(
        OpCase(
            f"conv_transpose{n}d",
            conv_transpose(n),
            TRANSPOSED[n],
            TAKEN,
            tolerance=NEAR,
            function=f"nn.functional.conv_transpose{n}d",
            method=None,
            strides=n != 3,
            optional=(*INTEGERS, "float16") if n == 3 else INTEGERS,
            bad=TRANSPOSED_BAD if n == 2 else (),
        )
        for n in (1, 2, 3)
    ),
    OpCase(
        "convolution",
        convolution,
        [
            S(IMAGE, FILTERS, BIAS, [1], [0], [1], False, [0], 1),
            S(IMAGE, t(3, 4, 2, 2), None, [2, 1], [0, 1], [1, 1], True, [1, 0], 1),
        ],
        FLOATS,
        tolerance=NEAR,
        method=None,
        optional=INTEGERS,
    ),
    OpCase(
        "conv_tbc",
        conv_tbc,
        [
            S(TIME, T((2, 3, 4), -2, 2, fixed=True), T((4,), fixed=True)),
            S(TIME, T((3, 3, 4), -2, 2, fixed=True), T((4,), fixed=True), 1),
        ],
        ("float32", "float64"),
        tolerance=NEAR,
        method=None,
        strides=False,
        optional=("float16", "bfloat16", *INTEGERS),
        bad=(
            bad(RuntimeError, "Input must have 3 dims: time", t(5, 2), t(2, 3, 4), BIAS),
            bad(RuntimeError, "is not == dim 1 in the weight", t(5, 2, 3), t(2, 2, 4), BIAS),
        ),
    ),
]
