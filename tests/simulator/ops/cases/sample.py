"""Images sampled at points: grids, regions, and what boxes have in common."""

import itertools

import numpy as np

from ..case import Bools, Case, Floats, In, Ints, Out
from ..slopes import gradient
from ..values import FLOATS, random

LOOSE = {"f32": (2e-4, 2e-4), "f16": (1e-2, 1e-2), "bf16": (8e-2, 8e-2), "f64": (1e-4, 1e-4)}


def folded(at, size, corners):
    """Reflection at the middles or at the edges of the last places."""
    low, high = (0, size - 1) if corners else (-0.5, size - 0.5)
    if high == low:
        return 0.0
    while not low <= at <= high:
        at = 2 * low - at if at < low else 2 * high - at
    return at


def padded(at, size, padding, corners):
    if padding == 2:
        at = folded(at, size, corners)
    return np.clip(at, 0, size - 1) if padding else at


def cubic(x, a=-0.75):
    x = abs(x)
    if x <= 1:
        return (a + 2) * x**3 - (a + 3) * x**2 + 1
    return a * (x**3 - 5 * x**2 + 8 * x - 4) if x < 2 else 0.0


def axis_weights(grid, size, mode, padding, corners):
    at = (grid + 1) / 2 * (size - 1) if corners else ((grid + 1) * size - 1) / 2
    weights = np.zeros(size)
    if mode == 2:
        places = [(int(np.floor(at)) + k) for k in (-1, 0, 1, 2)]
        taps = [(padded(place, size, padding, corners), cubic(at - place)) for place in places]
    else:
        at = padded(at, size, padding, corners)
        low = int(np.floor(at))
        taps = [(low, 1 - (at - low)), (low + 1, at - low)]
        if mode == 1:
            taps = [(np.round(at), 1)]
    for place, weight in taps:
        if 0 <= place < size:
            weights[int(place)] += weight
    return weights


def sampled(x, grid, mode, padding, corners):
    image, points = x.shape[2:], grid.shape[1:-1]
    out = np.zeros((*x.shape[:2], *points))
    for n, *at in np.ndindex(x.shape[0], *points):
        value = x[n]
        for d, size in reversed(list(enumerate(image))):
            weights = axis_weights(grid[(n, *at)][len(image) - 1 - d], size, mode, padding, corners)
            value = (
                value @ weights if d == len(image) - 1 else np.tensordot(value, weights, (-1, 0))
            )
        out[(n, slice(None), *at)] = value
    return out


SETTINGS = list(itertools.product((0, 1, 2), (0, 1, 2), (False, True)))
SHAPES = {2: ((2, 3, 4, 5), (2, 3, 2, 2)), 3: ((1, 2, 3, 4, 2), (1, 2, 3, 2, 3))}


def grid_sample(op, dims):
    def cases():
        made = []
        for mode, padding, corners in SETTINGS:
            if dims == 3 and mode == 2:
                continue
            for dtype in (*FLOATS, "f64") if padding == 0 else ("f32",):
                x, grid = (
                    random(shape, dtype, seed, low, -low)
                    for shape, seed, low in zip(SHAPES[dims], (1, 2), (-3, -1.6), strict=True)
                )
                out = Out(sampled(x, grid, mode, padding, corners), dtype, LOOSE[dtype])
                arguments = [In(x, dtype), In(grid, dtype), mode, padding, corners, out]
                made.append(Case(op, arguments, f"{dtype} {mode} {padding} {corners}"))
        return made

    return cases


def grid_sample_backward(op, dims):
    def cases():
        made = []
        for mode, padding, corners in SETTINGS:
            if dims == 3 and mode == 2:
                continue
            shape, points = SHAPES[dims]
            x, grid = random(shape, "f32", 1), random(points, "f32", 2, -1.6, 1.6)
            rest = (mode, padding, corners)
            grad = random(sampled(x, grid, *rest).shape, "f32", 3)
            dx = gradient(lambda v, grid=grid, rest=rest: sampled(v, grid, *rest), x, grad)
            dg = gradient(lambda v, x=x, rest=rest: sampled(x, v, *rest), grid, grad)
            tensors = [In(value, "f32") for value in (grad, x, grid)]
            wide = (1e-3, 1e-3)
            for mask in ([True, True], [False, True]):
                outputs = [Out(dx, "f32", wide) if mask[0] else None, Out(dg, "f32", wide)]
                arguments = [*tensors, *rest, Bools(mask), *outputs]
                made.append(Case(op, arguments, f"{rest} {mask}", ("contiguous", "sliced")))
        return made

    return cases


def affine():
    made = []
    for corners, image in itertools.product((False, True), ((3, 4), (1, 5), (2, 3, 4))):
        dims = len(image)
        axes = [
            (np.linspace(-1, 1, n) if n > 1 else np.zeros(1))
            if corners
            else (2 * np.arange(n) + 1) / n - 1
            for n in image
        ]
        places = np.stack([*np.meshgrid(*axes, indexing="ij")[::-1], np.ones(image)], -1)
        for dtype in FLOATS:
            theta = random((2, dims, dims + 1), dtype, 1)
            expected = np.einsum("nij,...j->n...i", theta.astype(np.float64), places)
            arguments = [In(theta, dtype), Ints([2, 7, *image]), corners]
            arguments.append(Out(expected, dtype, LOOSE[dtype]))
            made.append(Case("aclnnAffineGrid", arguments, f"{dtype} {corners} {image}"))
    return made


def point(x, row, column):
    """Four weighted neighbours of one point of every channel."""
    height, width = x.shape[1:]
    if row < -1 or row > height or column < -1 or column > width:
        return np.zeros((x.shape[0], 4))
    row, column = np.clip(row, 0, height - 1), np.clip(column, 0, width - 1)
    top, left = int(row), int(column)
    v, h = row - top, column - left
    bottom, right = min(top + 1, height - 1), min(left + 1, width - 1)
    return np.stack(
        [
            x[:, top, left] * (1 - v) * (1 - h), x[:, top, right] * (1 - v) * h,
            x[:, bottom, left] * v * (1 - h), x[:, bottom, right] * v * h,
        ], -1,
    )  # fmt: skip


def roi_align(x, boxes, size, scale, ratio, aligned, largest=False):
    """boxes: [image, x1, y1, x2, y2]."""
    shift = 0.5 if aligned else 0.0
    out = np.zeros((len(boxes), x.shape[1], *size))
    for r, (image, *box) in enumerate(boxes):
        left, top, right, bottom = (value * scale - shift for value in box)
        height, width = bottom - top, right - left
        if not aligned:
            height, width = max(height, 1.0), max(width, 1.0)
        cell = (height / size[0], width / size[1])
        rows, columns = ratio or int(np.ceil(cell[0])), ratio or int(np.ceil(cell[1]))
        for i, j in np.ndindex(*size):
            parts = [
                point(
                    x[int(image)],
                    top + (i + (a + 0.5) / rows) * cell[0],
                    left + (j + (b + 0.5) / columns) * cell[1],
                )
                for a, b in np.ndindex(rows, columns)
            ]
            if largest:
                out[r, :, i, j] = np.max(parts, (0, 2))
            else:
                out[r, :, i, j] = np.mean(np.sum(parts, -1), 0)
    return out


BOXES = np.array([[0, 1, 2, 9, 11], [1, 0, 0, 3, 2], [1, 5, 4, 30, 30], [0, 4, 4, 4.5, 4.5]])


def regions():
    made = []
    for dtype, ratio, aligned in itertools.product(("f32", "f16"), (0, 2), (False, True)):
        x = random((2, 3, 6, 7), dtype, 1)
        out = roi_align(x, BOXES, (2, 3), 0.5, ratio, aligned)
        arguments = [In(x, dtype), In(BOXES, dtype), 2, 3, 0.5, ratio, aligned]
        arguments.append(Out(out, dtype, LOOSE[dtype]))
        made.append(Case("aclnnRoiAlignV2", arguments, f"{dtype} {ratio} {aligned}"))
    for mode, ratio in itertools.product(("avg", "max"), (0, 2)):
        x = random((2, 3, 6, 7), "f32", 1)
        out = Out(
            roi_align(x, BOXES, (2, 3), 0.5, ratio, False, mode == "max"), "f32", LOOSE["f32"]
        )
        tensors = [In(x, "f32"), In(BOXES[:, 1:], "f32"), In(BOXES[:, 0], "i64")]
        made.append(
            Case("aclnnRoiAlign", [*tensors, mode, 2, 3, ratio, 0.5, out], f"{mode} {ratio}")
        )
    return made


def regions_backward():
    made = []
    for ratio, aligned in itertools.product((0, 2), (False, True)):
        shape = (2, 2, 6, 7)
        grad = random((4, 2, 2, 3), "f32", 2)

        def f(x, ratio=ratio, aligned=aligned):
            return roi_align(x, BOXES, (2, 3), 0.5, ratio, aligned)

        out = Out(gradient(f, np.zeros(shape), grad), "f32", LOOSE["f32"])
        arguments = [In(grad, "f32"), In(BOXES, "f32"), Ints(shape), 2, 3, 0.5, ratio, aligned, out]
        made.append(Case("aclnnRoiAlignV2Backward", arguments, f"{ratio} {aligned}"))
    return made


def area(box):
    return (box[2] - box[0]) * (box[3] - box[1])


def common(a, b):
    sides = [min(a[2 + d], b[2 + d]) - max(a[d], b[d]) for d in (0, 1)]
    return max(sides[0], 0) * max(sides[1], 0)


def corners(number, seed):
    boxes = random((number, 4), "f32", seed, 0, 4)
    boxes[:, 2:] += boxes[:, :2] + 0.5
    return boxes


def overlap():
    made = []
    for mode, aligned in itertools.product(("iou", "iof"), (False, True)):
        a, b = corners(5, 1), corners(5, 2)
        pairs = [(i, i) for i in range(5)] if aligned else list(np.ndindex(5, 5))
        values = []
        for i, j in pairs:
            both = common(a[i], b[j])
            whole = area(b[j]) if mode == "iof" else area(a[i]) + area(b[j]) - both
            values.append(both / (whole + 0.5))
        expected = np.array(values).reshape(5, 1 if aligned else 5)
        arguments = [In(a, "f32"), In(b, "f32"), mode, 0.5, aligned, Out(expected, "f32")]
        made.append(Case("aclnnIou", arguments, f"{mode} {aligned}"))
    return made


def suppression():
    made = []
    for centre, most in itertools.product((0, 1), (2, 100)):
        boxes = np.stack([corners(8, 1), corners(8, 2)])
        scores = random((2, 3, 8), "f32", 3, 0, 1)
        rows = []
        for n, c in np.ndindex(2, 3):
            kept = []
            for i in np.argsort(-scores[n, c], kind="stable"):
                shared = [common(boxes[n, i], boxes[n, k]) for k in kept]
                united = [area(boxes[n, i]) + area(boxes[n, k]) for k in kept]
                apart = all(s <= 0.3 * (u - s) for s, u in zip(shared, united, strict=True))
                if scores[n, c, i] > 0.2 and apart and len(kept) < most:
                    kept.append(i)
            rows += [[n, c, i] for i in kept]
        given = boxes
        if centre:
            sides = boxes[..., 2:] - boxes[..., :2]
            given = np.concatenate([boxes[..., :2] + sides / 2, sides], -1)
        out = Out(np.array(rows), "i32", None, (48, 3))
        numbers = [Ints([most]), Floats([0.3]), Floats([0.2]), centre]
        arguments = [In(given, "f32"), In(scores, "f32"), *numbers, out]
        layouts = ("contiguous", "offset")
        made.append(Case("aclnnNonMaxSuppression", arguments, f"{centre} {most}", layouts))
    return made


OPS = {
    "aclnnGridSampler2D": grid_sample("aclnnGridSampler2D", 2),
    "aclnnGridSampler3D": grid_sample("aclnnGridSampler3D", 3),
    "aclnnGridSampler2DBackward": grid_sample_backward("aclnnGridSampler2DBackward", 2),
    "aclnnGridSampler3DBackward": grid_sample_backward("aclnnGridSampler3DBackward", 3),
    "aclnnAffineGrid": affine,
    "aclnnRoiAlign": regions,
    "aclnnRoiAlignV2Backward": regions_backward,
    "aclnnIou": overlap,
    "aclnnNonMaxSuppression": suppression,
}
