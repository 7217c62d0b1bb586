"""Softmax of scores, attention in parts and to places of images, rotary embedding from a table."""

import itertools

import numpy as np

from ..case import Case, In, Ints, Out
from ..slopes import gradient
from ..values import FLOATS, random, rounded
from .attention import LOOSE, B, D, N, S, attend


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def masks():
    """What the caller gives, and what it hides."""
    triangle = np.triu(np.ones((5, 6), bool), 1)
    yield None, False, np.zeros((5, 6), bool)
    yield None, True, triangle
    for shape in [(2, 3, 5, 6), (2, 1, 5, 6), (1, 1, 5, 6)]:
        mask = random(shape, "bool", 2)
        yield mask, False, mask


def scaled():
    made = []
    for dtype in FLOATS:
        for mask, triangle, hidden in masks():
            x = random((2, 3, 5, 6), dtype, 1).astype(np.float64)
            expected = softmax(np.where(hidden, -10000, x * 0.5))
            given = None if mask is None else In(mask, "bool")
            arguments = [In(x, dtype), given, 0.5, triangle, Out(expected, dtype, LOOSE[dtype])]
            name = f"{dtype} {triangle} {np.shape(mask)}"
            made.append(Case("aclnnScaledMaskedSoftmax", arguments, name))
    return made


def scaled_grad():
    made = []
    for dtype in FLOATS:
        for mask, triangle, hidden in masks():
            x = random((2, 3, 5, 6), dtype, 1).astype(np.float64)
            grad = random(x.shape, dtype, 3)
            y = rounded(softmax(np.where(hidden, -10000, x * 0.5)), dtype).astype(np.float64)
            slopes = y * (grad - (grad * y).sum(-1, keepdims=True)) * 0.5
            expected = np.where(hidden, 0, slopes)
            given = None if mask is None else In(mask, "bool")
            tensors = [In(grad, dtype), In(y, dtype), given]
            arguments = [*tensors, 0.5, triangle, Out(expected, dtype, LOOSE[dtype])]
            name = f"{dtype} {triangle} {np.shape(mask)}"
            made.append(Case("aclnnScaledMaskedSoftmaxBackward", arguments, name))
    return made


def biased():
    made = []
    for dtype in FLOATS:
        mask, bias = random((4, 5, 6), dtype, 2), random((3, 5, 6), dtype, 3)
        x = random((2, 4, 3, 5, 6), dtype, 1).astype(np.float64)
        for given, name in [(mask, "mask"), (None, "no mask")]:
            more = 0 if given is None else mask[None, :, None]
            expected = softmax(0.5 * x + more + bias)
            masked = None if given is None else mask
            for shape in [x.shape, (8, 3, 5, 6)]:
                first = None if masked is None else In(masked, dtype)
                out = Out(expected.reshape(shape), dtype, LOOSE[dtype])
                arguments = [In(x.reshape(shape), dtype), first, In(bias, dtype), 0.5, 0, out]
                name = f"{dtype} {name} {shape}"
                made.append(Case("aclnnMaskedSoftmaxWithRelPosBias", arguments, name))
    return made


def ring():
    """Attention to all keys is attention to the first ones and to the others."""
    made = []
    for dtype in FLOATS:
        q = random((B, N, S, D), dtype, 1).astype(np.float64)
        k, v = (random((B, N, 9, D), dtype, seed).astype(np.float64) for seed in (2, 3))
        first = attend(q, k[:, :, :4], v[:, :, :4], 0.5)
        other = attend(q, k[:, :, 4:], v[:, :, 4:], 0.5)
        whole = attend(q, k, v, 0.5)

        def sbh(part, make, kind, *more):
            result, *rows = part
            laid = result.transpose(2, 0, 1, 3).reshape(S, B, -1)
            return [make(laid, kind, *more), *[make(np.repeat(x, 8, -1), "f32") for x in rows]]

        def tnd(part, make, kind, *more):
            result, *rows = (x.transpose(0, 2, 1, 3).reshape(B * S, N, -1) for x in part)
            return [make(result, kind, *more), *[make(np.repeat(x, 8, -1), "f32") for x in rows]]

        for layout, arrange in [("SBH", sbh), ("TND", tnd)]:
            inputs = [*arrange(first, In, dtype), *arrange(other, In, dtype)]
            outputs = arrange(whole, Out, dtype, LOOSE[dtype])
            ends = In(np.array([S, 2 * S]), "i64") if layout == "TND" else None
            arguments = [*inputs, ends, layout, *outputs]
            made.append(Case("aclnnRingAttentionUpdate", arguments, f"{dtype} {layout}"))
    return made


def rotated(x, cos, sin, neox):
    """x[tokens, heads, size], cos and sin [tokens, 1, half]."""
    half = cos.shape[-1]
    a, b = (x[..., :half], x[..., half : 2 * half]) if neox else (
        x[..., 0 : 2 * half : 2], x[..., 1 : 2 * half : 2]
    )  # fmt: skip
    result = x.copy()
    first, second = a * cos - b * sin, b * cos + a * sin
    if neox:
        result[..., :half], result[..., half : 2 * half] = first, second
    else:
        result[..., 0 : 2 * half : 2], result[..., 1 : 2 * half : 2] = first, second
    return result


def turned(x, mode):
    """What the cosine and the sine multiply: halves, neighbours, quarters, neighbours as halves."""
    if mode == 0:
        a, b = np.split(x, 2, -1)
        return x, np.concatenate([-b, a], -1)
    if mode == 2:
        a, b, c, d = np.split(x, 4, -1)
        return x, np.concatenate([-b, a, -d, c], -1)
    a, b = x[..., ::2], x[..., 1::2]
    if mode == 1:
        return x, np.stack([-b, a], -1).reshape(x.shape)
    return np.concatenate([a, b], -1), np.concatenate([-b, a], -1)


def embedding():
    made = []
    shapes = [(1, 1, 1, 8), (2, 3, 5, 8), (1, 3, 1, 8), (2, 1, 5, 8), (1, 1, 5, 8), (2, 1, 1, 8)]
    for dtype, mode, shape in itertools.product(FLOATS, range(4), shapes):
        x = random((2, 3, 5, 8), dtype, 1).astype(np.float64)
        cos, sin = (random(shape, dtype, seed, -1, 1).astype(np.float64) for seed in (2, 3))
        own, other = turned(x, mode)
        out = Out(own * cos + other * sin, dtype, LOOSE[dtype])
        arguments = [In(x, dtype), In(cos, dtype), In(sin, dtype), mode, out]
        made.append(Case("aclnnRotaryPositionEmbedding", arguments, f"{dtype} {mode} {shape}"))
    return made


def rope():
    made = []
    for dtype, neox, section, index in itertools.product(
        FLOATS, (False, True), (None, [1, 2, 1]), ("i32", "i64")
    ):
        q, k = (random((5, heads, 12), dtype, heads).astype(np.float64) for heads in (4, 2))
        cache = random((7, 8), dtype, 3).astype(np.float64)
        if section is None:
            positions = np.array([6, 0, 2, 2, 5])
            cos, sin = cache[positions, :4], cache[positions, 4:]
        else:
            positions = np.array([[6, 0, 2, 2, 5], [1, 1, 3, 4, 6], [0, 5, 6, 1, 2]])
            own = np.repeat(np.arange(3), section)  # which positions each column takes
            cos = np.stack([cache[positions[own[i]], i] for i in range(4)], 1)
            sin = np.stack([cache[positions[own[i]], 4 + i] for i in range(4)], 1)
        results = [rotated(x, cos[:, None], sin[:, None], neox) for x in (q, k)]
        flat = [x.reshape(5, -1) for x in (q, k, *results)]
        inputs = [In(positions, index), In(flat[0], dtype), In(flat[1], dtype), In(cache, dtype)]
        outputs = [Out(x, dtype, LOOSE[dtype]) for x in flat[2:]]
        sections = None if section is None else Ints(section)
        arguments = [*inputs, sections, 12, neox, *outputs]
        name = f"{dtype} {neox} {section} {index}"
        made.append(Case("aclnnRopeWithSinCosCache", arguments, name))
    return made


SHAPES = np.array([[4, 5], [2, 3]])
STARTS = np.array([0, 20])


def sampled(value, location, weight):
    """value[b, positions, heads, size], location[b, queries, heads, levels, points, (x, y)]."""
    batch, _, heads, size = value.shape
    queries, levels, points = location.shape[1], location.shape[3], location.shape[4]
    result = np.zeros((batch, queries, heads, size), value.dtype)
    for b, q, h, level, point in itertools.product(
        *map(range, (batch, queries, heads, levels, points))
    ):
        height, width = SHAPES[level]
        image = value[b, STARTS[level] : STARTS[level] + height * width, h]
        image = np.pad(image.reshape(height, width, size), [(9, 9), (9, 9), (0, 0)])
        x, y = location[b, q, h, level, point] * (width, height) - 0.5 + 9
        left, top = int(np.floor(x)), int(np.floor(y))
        a, c = x - left, y - top
        pixels = image[top : top + 2, left : left + 2]
        rows = pixels[:, 0] * (1 - a) + pixels[:, 1] * a
        result[b, q, h] += weight[b, q, h, level, point] * (rows[0] * (1 - c) + rows[1] * c)
    return result.reshape(batch, queries, -1)


def deformable_values(dtype):
    value = random((2, 26, 2, 3), dtype, 1).astype(np.float64)
    location = random((2, 2, 2, 2, 2, 2), dtype, 2, -0.1, 1.1).astype(np.float64)
    return value, location, random((2, 2, 2, 2, 2), dtype, 3, 0.1, 0.9).astype(np.float64)


def deformable():
    made = []
    for dtype, index in (("f32", "i32"), ("f32", "i64"), ("f16", "i64")):
        values = deformable_values(dtype)
        inputs = [In(values[0], dtype), In(SHAPES, index), In(STARTS, index)]
        inputs += [In(each, dtype) for each in values[1:]]
        out = Out(sampled(*values), dtype, LOOSE[dtype])
        name = f"{dtype} {index}"
        made.append(Case("aclnnMultiScaleDeformableAttnFunction", [*inputs, out], name))
    for dtype, tolerance in (("f32", 1e-3), ("bf16", 3e-2)):
        value, location, weight = deformable_values(dtype)
        inputs = [In(value, dtype), In(SHAPES, index), In(STARTS, index)]
        inputs += [In(location, dtype), In(weight, dtype)]
        grad = random((2, 2, 6), dtype, 4)
        slopes = [
            gradient(lambda x, y=location, w=weight: sampled(x, y, w), value, grad),
            gradient(lambda x, v=value, w=weight: sampled(v, x, w), location, grad),
            gradient(lambda x, v=value, y=location: sampled(v, y, x), weight, grad),
        ]
        outputs = [Out(x, dtype, (tolerance, tolerance)) for x in slopes]
        arguments = [*inputs, In(grad, dtype), *outputs]
        made.append(Case("aclnnMultiScaleDeformableAttentionGrad", arguments, dtype))
    return made


OPS = {
    "aclnnScaledMaskedSoftmax": scaled,
    "aclnnScaledMaskedSoftmaxBackward": scaled_grad,
    "aclnnMaskedSoftmaxWithRelPosBias": biased,
    "aclnnRingAttentionUpdate": ring,
    "aclnnRopeWithSinCosCache": rope,
    "aclnnRotaryPositionEmbedding": embedding,
    "aclnnMultiScaleDeformableAttnFunction": deformable,
}
