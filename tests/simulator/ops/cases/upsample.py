"""Resizing of images, with the gradients."""

import functools
import itertools

import numpy as np

from ..case import Case, Floats, In, Ints, Out
from ..slopes import gradient
from ..values import FLOATS, random

LOOSE = {"f32": (1e-4, 1e-4), "f16": (8e-3, 8e-3), "bf16": (6e-2, 6e-2), "f64": (1e-9, 1e-9)}


def cubic(x, a):
    x = np.abs(x)
    near = (a + 2) * x**3 - (a + 3) * x**2 + 1
    far = a * (x**3 - 5 * x**2 + 8 * x - 4)
    return np.where(x < 1, near, np.where(x < 2, far, 0.0))


def triangle(x):
    return np.maximum(0, 1 - np.abs(x))


def matrix(size, to, filter, corners, scale):
    """Rows: the weights of one resized place."""
    if corners:
        step = (size - 1) / (to - 1) if to > 1 else 0.0
    else:
        step = 1 / scale if scale else size / to
    made = np.zeros((to, size))
    for i in range(to):
        if filter == "nearest":
            made[i, min(int(np.float32(i) * np.float32(step)), size - 1)] = 1
        elif filter == "exact":
            made[i, min(int(np.float32((i + 0.5) * float(np.float32(step)))), size - 1)] = 1
        elif filter == "linear":
            source = i * step if corners else max((i + 0.5) * step - 0.5, 0)
            low = int(source)
            for place in (low, low + 1):
                made[i, min(place, size - 1)] += triangle(source - place)
        elif filter == "cubic":
            source = i * step if corners else (i + 0.5) * step - 0.5
            for place in range(int(np.floor(source)) - 1, int(np.floor(source)) + 3):
                made[i, np.clip(place, 0, size - 1)] += cubic(source - place, -0.75)
        else:
            kernel = triangle if filter == "linear smooth" else functools.partial(cubic, a=-0.5)
            places = np.arange(size)
            support = (1 if filter == "linear smooth" else 2) * max(step, 1)
            middle = (i + 0.5) * step
            inside = (places >= int(middle - support + 0.5)) & (
                places < int(middle + support + 0.5)
            )
            weights = kernel((places - middle + 0.5) / max(step, 1)) * inside
            made[i] = weights / weights.sum()
    return made


def resized(x, size, filter, corners=False, scales=None):
    dims = len(size)
    for d in range(dims):
        weights = matrix(x.shape[d + 2], size[d], filter, corners, scales and scales[d])
        x = np.moveaxis(np.tensordot(weights, x, (1, d + 2)), 0, d + 2)
    return x


SHAPES = {1: (2, 3, 5), 2: (2, 2, 4, 3), 3: (1, 2, 3, 2, 4)}
SIZES = {1: [(9,), (3,)], 2: [(7, 6), (2, 5)], 3: [(5, 4, 6), (2, 3, 2)]}


def upsample(op, dims, filter, corners, scaled, backward):
    """corners: whether the op takes alignCorners; scaled: whether it takes scales."""

    def settings():
        for size, aligned in itertools.product(SIZES[dims], (False, True) if corners else (False,)):
            for given in (False, True) if scaled else (False,):
                # Not exactly the ratio of the sizes, as when users give factors.
                scales = [m / n * 1.05 for m, n in zip(size, SHAPES[dims][2:], strict=True)]
                yield size, aligned, scales if given else None

    def arguments_of(aligned, scales):
        numbers = (scales or [0.0] * dims) if scaled is not None else []
        return [*([aligned] if corners else []), *numbers]

    def forward():
        made = []
        for dtype, (size, aligned, scales) in itertools.product((*FLOATS, "f64"), settings()):
            x = random(SHAPES[dims], dtype, 1)
            expected = resized(x.astype(np.float64), size, filter, aligned, scales)
            numbers = arguments_of(aligned, scales)
            arguments = [In(x, dtype), Ints(size), *numbers, Out(expected, dtype, LOOSE[dtype])]
            made.append(Case(op, arguments, f"{dtype} {size} {aligned} {scales}"))
        return made

    def back():
        made = []
        for size, aligned, scales in settings():
            shape = SHAPES[dims]
            grad = random((*shape[:2], *size), "f32", 2)

            def f(x, rest=(size, filter, aligned, scales)):
                return resized(x, *rest)

            out = Out(gradient(f, np.zeros(shape), grad), "f32", LOOSE["f32"])
            lists = [Ints(size), Ints(shape)]
            arguments = [In(grad, "f32"), *lists, *arguments_of(aligned, scales), out]
            made.append(Case(backward, arguments, f"{size} {aligned} {scales}"))
        return made

    return {
        **({op: forward} if op else {}),
        **({backward: back} if backward else {}),
    }


def resize():
    made = []
    for dtype, (mode, filter) in itertools.product(
        FLOATS, [("nearest", "nearest"), ("bilinear", "linear")]
    ):
        x = random((2, 3, 4, 3), dtype, 1)
        expected = resized(x.astype(np.float64), (8, 4), filter, False, [2.0, 1.5])
        arguments = [In(x, dtype), Floats([1, 1, 2, 1.5]), mode]
        arguments.append(Out(expected, dtype, LOOSE[dtype]))
        made.append(Case("aclnnResize", arguments, f"{dtype} {mode}"))
    return made


def nearest_bytes():
    x = random((2, 3, 4, 3), "u8", 1, 0, 255)
    out = Out(resized(x.astype(np.float64), (7, 6), "nearest"), "u8")
    return [Case("aclnnUpsampleNearest2d", [In(x, "u8"), Ints([7, 6]), out], "u8")]


def exact_places():
    """In float32: the middle of the 28th of 55 lies just before the 17th of 32."""
    x = np.arange(32.0).reshape(1, 1, 32)
    middles = (np.arange(55, dtype=np.float32) + np.float32(0.5)) * np.float32(32 / 55)
    assert middles[27] < 16 and int(27.5 * (32 / 55)) == 16
    arguments = [In(x, "f32"), Ints([55]), 0.0, Out(x[..., middles.astype(int)], "f32")]
    return [Case("aclnnUpsampleNearestExact1d", arguments)]


# op, dims, filter, takes alignCorners, takes scales (None: none at all), its gradient
TABLE = [
    ("UpsampleNearest1d", 1, "nearest", False, None, None),
    ("UpsampleNearest1dV2", 1, "nearest", False, True, "UpsampleNearest1dBackward"),
    ("UpsampleNearest2d", 2, "nearest", False, None, None),
    ("UpsampleNearest2dV2", 2, "nearest", False, True, "UpsampleNearest2dBackward"),
    ("UpsampleNearest3d", 3, "nearest", False, True, "UpsampleNearest3dBackward"),
    ("UpsampleNearestExact1d", 1, "exact", False, True, "UpsampleNearestExact1dBackward"),
    ("UpsampleNearestExact2d", 2, "exact", False, True, "UpsampleNearestExact2dBackward"),
    ("UpsampleNearestExact3d", 3, "exact", False, True, "UpsampleNearestExact3dBackward"),
    ("UpsampleLinear1d", 1, "linear", True, True, "UpsampleLinear1dBackward"),
    ("UpsampleBilinear2d", 2, "linear", True, True, "UpsampleBilinear2dBackward"),
    ("", 2, "linear", True, True, "UpsampleBilinear2dBackwardV2"),
    ("UpsampleTrilinear3d", 3, "linear", True, True, "UpsampleTrilinear3dBackward"),
    ("UpsampleBicubic2d", 2, "cubic", True, True, "UpsampleBicubic2dBackward"),
    ("UpsampleBilinear2dAA", 2, "linear smooth", True, True, "UpsampleBilinear2dAABackward"),
    ("UpsampleBicubic2dAA", 2, "cubic smooth", True, True, "UpsampleBicubic2dAAGrad"),
]

OPS = {"aclnnResize": resize, "aclnnUpsampleNearest2d bytes": nearest_bytes}
OPS["aclnnUpsampleNearestExact1d places"] = exact_places
for name, dims, filter, corners, scaled, backward in TABLE:
    names = [each and f"aclnn{each}" for each in (name, backward)]
    OPS.update(upsample(names[0], dims, filter, corners, scaled, names[1]))
