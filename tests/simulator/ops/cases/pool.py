"""Pooling of images of 1, 2 and 3 dims, with its gradients and its way back."""

import functools
import itertools

import numpy as np

from ..case import Case, In, Ints, Out
from ..slopes import gradient
from ..values import FLOATS, INTEGERS, random

LOOSE = {"f32": (1e-4, 1e-4), "f16": (8e-3, 8e-3), "bf16": (6e-2, 6e-2), "f64": (1e-9, 1e-9)}


def strided(size, kernel, stride, padding, dilation=1, ceil=False):
    """For each window along one dim: its places, padding among them."""
    span = size + 2 * padding - dilation * (kernel - 1) - 1
    number = (-(-span // stride) if ceil else span // stride) + 1
    if ceil and (number - 1) * stride >= size + padding:
        number -= 1
    return [[i * stride - padding + k * dilation for k in range(kernel)] for i in range(number)]


def adaptive(size, out):
    return [range(i * size // out, -(-(i + 1) * size // out)) for i in range(out)]


def pooled(x, axes, reduce):
    """reduce(elements of each window on the last dim, their flat places) over every window."""
    image = x.shape[-len(axes) :]
    sizes = [len(axis) for axis in axes]
    out = [None] * int(np.prod(sizes))
    for i, place in enumerate(np.ndindex(*sizes)):
        taps = itertools.product(*(axes[d][at] for d, at in enumerate(place)))
        inside = [tap for tap in taps if all(0 <= t < n for t, n in zip(tap, image, strict=True))]
        flat = np.array([np.ravel_multi_index(tap, image) for tap in inside])
        lead = x.shape[: x.ndim - len(axes)]
        out[i] = reduce(x.reshape(*lead, int(np.prod(image)))[..., flat], flat)
    return np.stack(out, -1).reshape(*x.shape[: x.ndim - len(axes)], *sizes)


def largest(x, axes):
    return pooled(x, axes, lambda values, _: values.max(-1))


def where_largest(x, axes):
    return pooled(x, axes, lambda values, flat: flat[values.argmax(-1)])


def scattered(grad, indices, shape, dims):
    lead = shape[: len(shape) - dims]
    out = np.zeros((int(np.prod(lead)), int(np.prod(shape[len(shape) - dims :]))))
    rows = np.arange(out.shape[0]).repeat(int(np.prod(grad.shape[len(lead) :])))
    np.add.at(out, (rows, indices.reshape(-1)), grad.reshape(-1))
    return out.reshape(shape)


WINDOWS = [
    # shape, kernel, stride, padding, dilation, ceil
    ((2, 3, 6, 7), [3, 3], [2, 2], [1, 1], [1, 1], False),
    ((3, 6, 7), [3, 2], [2, 1], [0, 1], [2, 1], True),
    ((1, 2, 5, 5), [2], [], [0], [1], True),
    ((0, 3, 6, 7), [3, 3], [2, 2], [1, 1], [1, 1], False),
]
WINDOWS_3D = [
    ((2, 2, 4, 5, 3), [2, 3, 2], [2, 2, 1], [1, 1, 0], [1, 1, 1], False),
    ((2, 4, 5, 4), [2], [3], [0], [1], True),
]


def axes_of(shape, dims, kernel, stride, padding, dilation, ceil):
    def each(values):
        return list(values) * dims if len(values) == 1 else values

    image = shape[-dims:]
    lists = [each(values) for values in (kernel, stride or kernel, padding, dilation)]
    return [strided(n, *settings, ceil) for n, *settings in zip(image, *lists, strict=True)]


def max_pool(op, dims, settings):
    def cases():
        made = []
        for dtype in FLOATS:
            for shape, kernel, stride, padding, dilation, ceil in settings:
                axes = axes_of(shape, dims, kernel, stride, padding, dilation, ceil)
                x = random(shape, dtype, 1, -99, 99)
                indices = where_largest(x, axes)
                lists = [Ints(values) for values in (kernel, stride, padding, dilation)]
                outputs = [Out(largest(x, axes), dtype), Out(indices, "i32")]
                case = Case(op, [In(x, dtype), *lists, ceil, *outputs], f"{dtype} {shape}")
                made.append(case)
                grad = random(indices.shape, dtype, 2)
                out = Out(scattered(grad, indices, shape, dims), dtype, LOOSE[dtype])
                arguments = [In(grad, dtype), In(x, dtype), In(indices, "i32"), *lists, ceil, out]
                made.append(Case(f"{op}Backward", arguments, f"{dtype} {shape}"))
        return made

    return cases


def max_pool_mask():
    """One bit for each tap and window, in rows of whole blocks."""
    made = []
    for dtype in FLOATS:
        for shape, kernel, stride, padding, dilation, ceil in WINDOWS[:2]:
            axes = axes_of(shape, 2, kernel, stride, padding, dilation, ceil)
            x = random(shape, dtype, 1, -99, 99)
            indices, sizes = where_largest(x, axes), [len(axis) for axis in axes]
            number, taps = int(np.prod(sizes)), int(np.prod(kernel))
            mask = np.zeros((*shape[:-2], taps, (-(-number // 16) + 1) * 32), np.uint8)
            for place in np.ndindex(*indices.shape):
                row, column = divmod(indices[place], shape[-1])
                i, j = place[-2:]
                tap = axes[0][i].index(row) * kernel[1] + axes[1][j].index(column)
                at = i * sizes[1] + j
                mask[(*place[:-2], tap, at // 8)] |= 1 << at % 8
            mask = mask.view(np.int8)
            lists = [Ints(values) for values in (kernel, stride, padding, dilation)]
            outputs = [Out(largest(x, axes), dtype), Out(mask, "i8")]
            arguments = [In(x, dtype), *lists, ceil, *outputs]
            made.append(Case("aclnnMaxPool2dWithMask", arguments, f"{dtype} {shape}"))
            grad = random(indices.shape, dtype, 2)
            out = Out(scattered(grad, indices, shape, 2), dtype, LOOSE[dtype])
            arguments = [In(grad, dtype), In(x, dtype), In(mask, "i8"), *lists, ceil, out]
            made.append(Case("aclnnMaxPool2dWithMaskBackward", arguments, f"{dtype} {shape}"))
    return made


def plain_max_pool():
    made = []
    for dtype in (*FLOATS, *INTEGERS, "u16"):
        x = random((2, 3, 5, 6), dtype, 1, -99, 99)
        # Rows have one place of padding before them, columns one after.
        rows = [[i * 2 - 1 + k for k in range(3)] for i in range(2)]
        columns = [[i * 2 + k for k in range(2)] for i in range(3)]
        out = Out(largest(x, [rows, columns]), dtype)
        lists = [Ints([3, 2]), Ints([2, 2]), 0, Ints([1, 0, 0, 1]), Ints([1, 1])]
        made.append(Case("aclnnMaxPool", [In(x, dtype), *lists, 0, out], dtype))
    x = random((2, 3, 7), "f32", 1)
    out = Out(largest(x, [strided(7, 2, 2, 0, 1, True)]), "f32")
    lists = [Ints([2]), Ints([2]), 0, Ints([0]), Ints([1])]
    made.append(Case("aclnnMaxPool", [In(x, "f32"), *lists, 1, out], "1d ceil"))
    return made


def adaptive_axes(shape, size):
    return [adaptive(n, m) for n, m in zip(shape[-len(size) :], size, strict=True)]


ADAPTIVE = [((2, 3, 5, 7), [3, 2]), ((3, 4, 4), [1, 4]), ((1, 2, 3, 2), [5, 4])]
ADAPTIVE_3D = [((2, 2, 3, 5, 4), [2, 2, 3]), ((2, 3, 4, 4), [1, 2, 5])]


def adaptive_max(op, settings):
    def cases():
        made = []
        for dtype in (*FLOATS, "f64"):
            for shape, size in settings:
                axes, x = adaptive_axes(shape, size), random(shape, dtype, 1, -99, 99)
                outputs = [Out(largest(x, axes), dtype), Out(where_largest(x, axes), "i64")]
                arguments = [In(x, dtype), Ints(size), *outputs]
                made.append(Case(op, arguments, f"{dtype} {shape}"))
        return made

    return cases


def adaptive_max_backward(op, shapes, rank):
    def cases():
        made = []
        for dtype in FLOATS:
            for shape, size in shapes:
                x = random(shape, dtype, 1, -99, 99)
                indices = where_largest(x, adaptive_axes(shape, size))
                grad = random(indices.shape, dtype, 2)
                out = Out(scattered(grad, indices, shape, rank), dtype, LOOSE[dtype])
                arguments = [In(grad, dtype), In(x, dtype), In(indices, "i32"), out]
                made.append(Case(op, arguments, f"{dtype} {shape}"))
        return made

    return cases


def mean(x, axes, divisor=0, include=True, limits=None):
    """limits: (size, padding) of each dim; what lies beyond the padding never counts."""
    if divisor:
        return pooled(x, axes, lambda values, _: values.sum(-1)) / divisor
    if not include:
        return pooled(x, axes, lambda values, _: values.mean(-1))
    total = pooled(x, axes, lambda values, _: values.sum(-1))
    counts = [
        np.array([sum(at < size + padding for at in window) for window in axis])
        for axis, (size, padding) in zip(axes, limits, strict=True)
    ]
    return total / functools.reduce(np.multiply, np.ix_(*counts))


AVERAGES = [
    # divisor, count padding, ceil
    (0, True, False), (0, False, False), (0, True, True), (5, True, True),
]  # fmt: skip


def average(op, shape, kernel, stride, padding, cube):
    dims = len(kernel)

    def settings(divisor, include, ceil):
        axes = axes_of(shape, dims, kernel, stride, padding, [1] * dims, ceil)
        limits = list(zip(shape[-dims:], padding, strict=True))
        return lambda x: mean(x, axes, divisor, include, limits)

    lists = [Ints(kernel), Ints(stride), Ints(padding)]

    def forward():
        made = []
        for dtype, (divisor, include, ceil) in itertools.product(FLOATS, AVERAGES):
            x = random(shape, dtype, 1)
            expected = settings(divisor, include, ceil)(x.astype(np.float64))
            arguments = [In(x, dtype), *lists, ceil, include, divisor, *cube]
            out = Out(expected, dtype, LOOSE[dtype])
            made.append(Case(op, [*arguments, out], f"{dtype} {divisor} {include} {ceil}"))
        return made

    def backward():
        made = []
        for dtype, (divisor, include, ceil) in itertools.product(FLOATS, AVERAGES):
            f = settings(divisor, include, ceil)
            x = random(shape, dtype, 1)
            grad = random(f(x).shape, dtype, 2)
            out = Out(gradient(f, x, grad), dtype, LOOSE[dtype])
            arguments = [In(grad, dtype), In(x, dtype), *lists, ceil, include, divisor, *cube, out]
            made.append(Case(f"{op}Backward", arguments, f"{dtype} {divisor} {include} {ceil}"))
        return made

    return {op: forward, f"{op}Backward": backward}


def adaptive_average(op, settings):
    def forward():
        made = []
        for dtype, (shape, size) in itertools.product(FLOATS, settings):
            x = random(shape, dtype, 1)
            expected = mean(x.astype(np.float64), adaptive_axes(shape, size), include=False)
            arguments = [In(x, dtype), Ints(size), Out(expected, dtype, LOOSE[dtype])]
            made.append(Case(op, arguments, f"{dtype} {shape}"))
        return made

    def backward():
        made = []
        for dtype, (shape, size) in itertools.product(FLOATS, settings):
            axes, x = adaptive_axes(shape, size), random(shape, dtype, 1)
            grad = random((*shape[: -len(size)], *size), dtype, 2)
            f = gradient(lambda value, axes=axes: mean(value, axes, include=False), x, grad)
            arguments = [In(grad, dtype), In(x, dtype), Out(f, dtype, LOOSE[dtype])]
            made.append(Case(f"{op}Backward", arguments, f"{dtype} {shape}"))
        return made

    return {op: forward, f"{op}Backward": backward}


def over_all(op, reduce):
    def cases():
        made = []
        for dtype, shape in itertools.product((*FLOATS, "f64"), [(2, 3, 4, 5), (2, 3, 4, 2, 3)]):
            x = random(shape, dtype, 1)
            axes = tuple(range(2, len(shape)))
            expected = reduce(x.astype(np.float64), axis=axes, keepdims=True)
            made.append(Case(op, [In(x, dtype), Out(expected, dtype)], f"{dtype} {shape}"))
        return made

    return cases


def unpool(op, shape, size, more):
    dims = len(size)

    def cases():
        made = []
        area, lead = int(np.prod(size)), shape[:-dims]
        generator = np.random.default_rng(0)
        rows = [
            generator.permutation(area)[: int(np.prod(shape[-dims:]))] for _ in np.ndindex(lead)
        ]
        indices = np.array(rows).reshape(shape)
        for dtype in (*FLOATS, "i32", "i8"):
            x = random(shape, dtype, 1)
            large = (*lead, *size)
            lists = [In(indices, "i64"), Ints(size), *more]
            out = Out(scattered(x, indices, large, dims), dtype)
            made.append(Case(op, [In(x, dtype), *lists, out], dtype))
            grad = random(large, dtype, 2)
            flat = indices.reshape(*lead, -1)
            expected = np.take_along_axis(grad.reshape(*lead, -1), flat, -1).reshape(shape)
            out = Out(expected, dtype)
            made.append(Case(f"{op}Backward", [In(grad, dtype), In(x, dtype), *lists, out], dtype))
        return made

    return cases


OPS = {
    "aclnnMaxPool2dWithIndices": max_pool("aclnnMaxPool2dWithIndices", 2, WINDOWS),
    "aclnnMaxPool3dWithArgmax": max_pool("aclnnMaxPool3dWithArgmax", 3, WINDOWS_3D),
    "aclnnMaxPool2dWithMask": max_pool_mask,
    "aclnnMaxPool": plain_max_pool,
    "aclnnAdaptiveMaxPool2d": adaptive_max("aclnnAdaptiveMaxPool2d", ADAPTIVE),
    "aclnnAdaptiveMaxPool3d": adaptive_max("aclnnAdaptiveMaxPool3d", ADAPTIVE_3D),
    "aclnnAdaptiveMaxPool2dBackward": adaptive_max_backward(
        "aclnnAdaptiveMaxPool2dBackward", ADAPTIVE, 2
    ),
    "aclnnAdaptiveMaxPool3dBackward": adaptive_max_backward(
        "aclnnAdaptiveMaxPool3dBackward", ADAPTIVE_3D, 3
    ),
    **average("aclnnAvgPool2d", (2, 3, 5, 7), [3, 2], [2, 2], [1, 1], [0]),
    **average("aclnnAvgPool3d", (1, 2, 4, 5, 3), [3, 2, 2], [2, 2, 1], [1, 0, 1], []),
    **adaptive_average("aclnnAdaptiveAvgPool2d", ADAPTIVE),
    **adaptive_average("aclnnAdaptiveAvgPool3d", ADAPTIVE_3D),
    "aclnnGlobalAveragePool": over_all("aclnnGlobalAveragePool", np.mean),
    "aclnnGlobalMaxPool": over_all("aclnnGlobalMaxPool", np.max),
    "aclnnMaxUnpool2d": unpool("aclnnMaxUnpool2d", (2, 3, 2, 3), (4, 5), []),
    "aclnnMaxUnpool3d": unpool(
        "aclnnMaxUnpool3d", (2, 1, 2, 2, 3), (4, 3, 5), [Ints([1, 1, 1]), Ints([0, 0, 0])]
    ),
}
