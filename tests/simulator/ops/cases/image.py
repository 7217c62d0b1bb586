"""Padding, convolution and patches, with their gradients."""

import itertools

import numpy as np

from ..case import Bools, Case, In, Ints, Out, Scalar
from ..slopes import gradient
from ..values import COMPLEX, FLOATS, REAL, random

MOVED = (*REAL, *COMPLEX, "u16", "u32", "u64")
LOOSE = {"f32": (1e-4, 1e-4), "f16": (8e-3, 8e-3), "bf16": (6e-2, 6e-2)}


def padded(op, mode, shape, padding):
    width = [(0, 0)] * (len(shape) - len(padding) // 2)
    pairs = [padding[i : i + 2] for i in range(0, len(padding), 2)][::-1]
    width += [tuple(pair) for pair in pairs]

    def f(x):
        return np.pad(x, width, mode)

    def forward():
        made = []
        for dtype in MOVED:
            x = random(shape, dtype, 1)
            arguments = [In(x, dtype), Ints(padding), Out(f(x), dtype)]
            made.append(Case(op, arguments, dtype))
        return made

    def backward():
        x = random(shape, "f32", 1)
        grad = random(f(x).shape, "c64", 2)
        real, imaginary = gradient(f, x, grad.real), gradient(f, x, grad.imag)
        made = []
        for dtype, g, expected in [
            ("f32", grad.real, real), ("c64", grad, real + 1j * imaginary),
        ]:  # fmt: skip
            arguments = [
                In(g, dtype),
                In(x, dtype),
                Ints(padding),
                Out(expected, dtype, LOOSE["f32"]),
            ]
            made.append(Case(f"{op}Backward", arguments, dtype))
        return made

    return {op: forward, f"{op}Backward": backward}


def pad_no_images():
    made = []
    for dims in (1, 2, 3):
        x = np.zeros((0, 2, *[3] * dims))
        padding = [1, 2] * dims
        out = Out(np.zeros((0, 2, *[6] * dims)), "f32")
        op = f"aclnnReflectionPad{dims}d"
        if dims < 3:
            made.append(Case(op, [In(x, "f32"), Ints(padding), out]))
        x = random((0, *[3] * dims), "f32")
        out = Out(np.zeros((0, *[6] * dims)), "f32")
        made.append(Case(op, [In(x, "f32"), Ints(padding), out]))
    return made


def constant():
    made = []
    for dtype in MOVED:
        x = random((3, 4), dtype, 1)
        expected = np.pad(x, [(2, 0), (1, 3)], constant_values=5)
        arguments = [In(x, dtype), Ints([1, 3, 2, 0]), Scalar(5, "f32"), Out(expected, dtype)]
        made.append(Case("aclnnConstantPadNd", arguments, dtype))
        arguments = [In(x, dtype), Ints([-1, -2]), Scalar(5, "f32"), Out(x[:, 1:2], dtype)]
        made.append(Case("aclnnConstantPadNd", arguments, f"{dtype} cut"))
    return made


def convolve(x, w, b, stride, padding, dilation, groups):
    """Any number of dims, by the definition."""
    dims = x.ndim - 2
    x = np.pad(x, [(0, 0), (0, 0), *[(p, p) for p in padding]])
    reach = [d * (k - 1) + 1 for d, k in zip(dilation, w.shape[2:], strict=True)]
    size = [(x.shape[i + 2] - reach[i]) // stride[i] + 1 for i in range(dims)]
    out = np.zeros((x.shape[0], w.shape[0], *size))
    per, made = x.shape[1] // groups, w.shape[0] // groups
    for place in np.ndindex(*size):
        window = tuple(
            slice(place[i] * stride[i], place[i] * stride[i] + reach[i], dilation[i])
            for i in range(dims)
        )
        for group in range(groups):
            part = x[(slice(None), slice(group * per, (group + 1) * per), *window)]
            kernels = w[group * made : (group + 1) * made]
            axes = list(range(1, dims + 2))
            value = np.tensordot(part, kernels, (axes, axes))
            out[(slice(None), slice(group * made, (group + 1) * made), *place)] = value
    return out if b is None else out + b.reshape(1, -1, *[1] * dims)


SETTINGS = [
    ((2, 4, 7), (6, 2, 3), [2], [1], [1], 2),
    ((2, 3, 5, 6), (4, 3, 3, 2), [1, 2], [1, 0], [1, 1], 1),
    ((1, 4, 6, 5), (4, 1, 2, 3), [1, 1], [0, 1], [2, 1], 4),
    ((1, 2, 3, 4, 3), (3, 2, 2, 2, 2), [1, 1, 1], [0, 1, 0], [1, 1, 1], 1),
]


def convolution():
    made = []
    for dtype in FLOATS:
        for shape, kernel, stride, padding, dilation, groups in SETTINGS:
            x, w, b = (
                random(shape, dtype, 1),
                random(kernel, dtype, 2),
                random(kernel[:1], dtype, 3),
            )
            for bias in (None, b):
                expected = convolve(x, w, bias, stride, padding, dilation, groups)
                lists = [Ints(stride), Ints(padding), Ints(dilation)]
                arguments = [
                    In(x, dtype), In(w, dtype), None if bias is None else In(b, dtype), *lists,
                    False, Ints([0] * len(stride)), groups, Out(expected, dtype, LOOSE[dtype]), 0,
                ]  # fmt: skip
                case = Case("aclnnConvolution", arguments, f"{dtype} {shape}")
                case.layouts = ("contiguous", "sliced")
                made.append(case)
    return made


def two_sided():
    """A padding of its own before and behind each dim."""
    made = []
    for shape, kernel, pads in [
        ((2, 3, 7), (4, 3, 3), [2, 0]),
        ((1, 2, 4, 5), (3, 2, 3, 2), [1, 2, 0, 3]),
    ]:
        x, w = random(shape, "f32", 1), random(kernel, "f32", 2)
        dims = len(shape) - 2
        sides = [tuple(pads[2 * d : 2 * d + 2]) for d in range(dims)]
        ones, none = [1] * dims, [0] * dims

        def f(value, w, sides=sides, ones=ones, none=none):
            value = np.pad(value, [(0, 0), (0, 0), *sides])
            return convolve(value, w, None, ones, none, ones, 1)

        expected = f(x, w)
        lists = [Ints(ones), Ints(pads), Ints(ones)]
        out = Out(expected, "f32", LOOSE["f32"])
        arguments = [In(x, "f32"), In(w, "f32"), None, *lists, False, Ints(none), 1, out, 0]
        made.append(Case("aclnnConvolution", arguments, f"{shape}", ("contiguous",)))
        grad = random(expected.shape, "f32", 3)
        slopes = [
            gradient(lambda v, w=w, f=f: f(v, w), x, grad),
            gradient(lambda v, x=x, f=f: f(x, v), w, grad),
        ]
        outs = [Out(value, "f32", LOOSE["f32"]) for value in slopes]
        arguments = [
            In(grad, "f32"), In(x, "f32"), In(w, "f32"), None, *lists, False, Ints(none), 1,
            Bools([True, True, False]), 0, *outs, None,
        ]  # fmt: skip
        made.append(Case("aclnnConvolutionBackward", arguments, f"{shape}", ("contiguous",)))
    return made


def transposed():
    """The gradient of the plain one."""
    made = []
    for shape, kernel, stride, padding, dilation, groups in SETTINGS[:3]:
        w = random(kernel, "f32", 2)

        def f(value, w=w, rest=(stride, padding, dilation, groups)):
            return convolve(value, w, None, *rest)

        image = np.zeros(shape)
        x = random(f(image).shape, "f32", 1)
        expected = gradient(f, image, x)
        rest = [
            shape[i + 2]
            - (
                (x.shape[i + 2] - 1) * stride[i]
                - 2 * padding[i]
                + dilation[i] * (kernel[i + 2] - 1)
                + 1
            )
            for i in range(len(stride))
        ]
        arguments = [
            In(x, "f32"), In(w, "f32"), None, Ints(stride), Ints(padding), Ints(dilation), True,
            Ints(rest), groups, Out(expected, "f32", LOOSE["f32"]), 0,
        ]  # fmt: skip
        made.append(Case("aclnnConvolution", arguments, f"{shape}", ("contiguous", "offset")))
    return made


def convolution_backward():
    made = []
    for dtype, setting in itertools.product(FLOATS, SETTINGS[:3]):
        shape, kernel, stride, padding, dilation, groups = setting
        x, w = random(shape, dtype, 1), random(kernel, dtype, 2)
        rest = (stride, padding, dilation, groups)
        grad = random(convolve(x, w, None, *rest).shape, dtype, 3)
        dx = gradient(lambda v, w=w, rest=rest: convolve(v, w, None, *rest), x, grad)
        dw = gradient(lambda v, x=x, rest=rest: convolve(x, v, None, *rest), w, grad)
        db = grad.sum((0, *range(2, grad.ndim)))
        outputs = [Out(value, dtype, LOOSE[dtype]) for value in (dx, dw, db)]
        arguments = [
            In(grad, dtype), In(x, dtype), In(w, dtype), Ints(kernel[:1]), Ints(stride),
            Ints(padding), Ints(dilation), False, Ints([0] * len(stride)), groups,
            Bools([True] * 3), 0, *outputs,
        ]  # fmt: skip
        made.append(
            Case("aclnnConvolutionBackward", arguments, f"{dtype} {shape}", ("contiguous",))
        )
    return made


def depthwise():
    x, w = random((2, 3, 5, 5), "f32", 1), random((3, 1, 3, 3), "f32", 2)
    expected = convolve(x, w, None, [1, 1], [1, 1], [1, 1], 3)
    arguments = [
        In(x, "f32"), In(w, "f32"), Ints([3, 3]), None, Ints([1, 1]), Ints([1, 1]), Ints([1, 1]),
        Out(expected, "f32", LOOSE["f32"]), 0,
    ]  # fmt: skip
    return [Case("aclnnConvDepthwise2d", arguments)]


def columns(x):
    """3 x 2 windows, dilated by (1, 2), padded by (1, 0), every (2, 1)."""
    x = np.pad(x, [(0, 0), (0, 0), (1, 1), (0, 0)])
    height, width = (x.shape[2] - 3) // 2 + 1, x.shape[3] - 2
    made = np.zeros((*x.shape[:2], 6, height, width), x.dtype)
    for tap in range(6):
        row, column = tap // 2, tap % 2 * 2
        stop = row + 2 * (height - 1) + 1
        made[:, :, tap] = x[:, :, row:stop:2, column : column + width]
    return made.reshape(x.shape[0], -1, height * width)


def im2col():
    made = []
    lists = [Ints([3, 2]), Ints([1, 2]), Ints([1, 0]), Ints([2, 1])]
    for dtype in (*MOVED, "c32"):
        x = random((2, 3, 5, 6), dtype, 1)
        made.append(Case("aclnnIm2col", [In(x, dtype), *lists, Out(columns(x), dtype)], dtype))
    x = random((1, 2, 5, 6), "f32", 1)
    grad = random(columns(x).shape, "f32", 2)
    out = Out(gradient(columns, x, grad), "f32", LOOSE["f32"])
    made.append(Case("aclnnIm2colBackward", [In(grad, "f32"), Ints([5, 6]), *lists, out]))
    return made


def over_time(x, w, b, pad):
    """Time first, then batch, then channels."""
    out = convolve(x.transpose(1, 2, 0), w.transpose(2, 1, 0), b, [1], [pad], [1], 1)
    return out.transpose(2, 0, 1)


def conv_tbc():
    made = []
    for dtype in FLOATS:
        x, w = random((6, 2, 3), dtype, 1), random((3, 3, 4), dtype, 2)
        b = random((4,), dtype, 3)
        out = Out(over_time(x, w, b, 1), dtype, LOOSE[dtype])
        arguments = [In(x, dtype), In(w, dtype), In(b, dtype), 1, out, 0]
        made.append(Case("aclnnConvTbc", arguments, dtype))
    x, w, b = (random(shape, "f32", 1) for shape in ((6, 2, 3), (3, 3, 4), (4,)))
    grad = random((6, 2, 4), "f32", 2)
    dx = gradient(lambda value: over_time(value, w, b, 1), x, grad)
    dw = gradient(lambda value: over_time(x, value, b, 1), w, grad)
    outputs = [Out(value, "f32", LOOSE["f32"]) for value in (dx, dw, grad.sum((0, 1)))]
    tensors = [In(value, "f32") for value in (grad, x, w, b)]
    made.append(Case("aclnnConvTbcBackward", [*tensors, 1, 0, *outputs], "backward"))
    return made


def shuffle():
    made = []
    for dtype in (*FLOATS, "i8", "i64", "bool", "c64"):
        for shape in ((2, 6, 3), (2, 6, 2, 3), (0, 6, 3)):
            x = random(shape, dtype, 1)
            rest = shape[2:]
            expected = x.reshape(shape[0], 3, 2, *rest).swapaxes(1, 2).reshape(shape)
            arguments = [In(x, dtype), 3, Out(expected, dtype)]
            made.append(Case("aclnnChannelShuffle", arguments, f"{dtype} {shape}"))
    return made


OPS = {
    **padded("aclnnCircularPad3d", "wrap", (1, 2, 3, 4, 5), [2, 1, 0, 3, 1, 2]),
    "aclnnConstantPadNd": constant,
    **padded("aclnnReflectionPad1d", "reflect", (2, 3, 5), [2, 1]),
    "aclnnReflectionPad of no images": pad_no_images,
    **padded("aclnnReflectionPad2d", "reflect", (1, 2, 4, 5), [2, 1, 0, 3]),
    **padded("aclnnReflectionPad3d", "reflect", (1, 1, 3, 3, 4), [2, 1, 0, 2, 1, 1]),
    **padded("aclnnReplicationPad1d", "edge", (2, 3, 5), [2, 1]),
    **padded("aclnnReplicationPad2d", "edge", (1, 2, 4, 5), [2, 7, 0, 3]),
    **padded("aclnnReplicationPad3d", "edge", (1, 1, 2, 3, 2), [2, 1, 0, 2, 1, 1]),
    **padded("aclnnCircularPad2d", "wrap", (1, 2, 4, 5), [2, 1, 0, 3]),
    "aclnnConvolution": convolution,
    "aclnnConvolution two-sided": two_sided,
    "aclnnConvolution transposed": transposed,
    "aclnnConvolutionBackward": convolution_backward,
    "aclnnConvDepthwise2d": depthwise,
    "aclnnIm2col": im2col,
    "aclnnConvTbc": conv_tbc,
    "aclnnChannelShuffle": shuffle,
}
