"""Steps of optimisers, and helpers of language models."""

import itertools
import math

import numpy as np

from ..case import Case, In, Out, Ref, Scalar
from ..values import FLOATS, random


def adamw():
    made = []
    flags = itertools.product((False, True), (False, True))
    for dtype, (amsgrad, maximize) in itertools.product(FLOATS, flags):
        var, m, grad = (random((3, 4), dtype, seed) for seed in (1, 2, 3))
        v, top = random((3, 4), dtype, 4, 0, 2), random((3, 4), dtype, 5, 0, 2)
        g = -grad if maximize else grad
        new_m, new_v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g * g
        new_top = np.maximum(top, new_v)
        root = np.sqrt(new_top if amsgrad else new_v) / math.sqrt(1 - 0.99**3) + 1e-6
        new_var = var * (1 - 0.01 * 0.1) - 0.01 / (1 - 0.9**3) * new_m / root
        refs = [Ref(var, dtype, new_var), Ref(m, dtype, new_m), Ref(v, dtype, new_v)]
        refs.append(Ref(top, dtype, new_top) if amsgrad else None)
        arguments = [*refs, In(grad, dtype), In(np.array([3.0]), "f32")]
        arguments += [0.01, 0.9, 0.99, 0.1, 1e-6, amsgrad, maximize]
        made.append(Case("aclnnApplyAdamWV2", arguments, f"{dtype} {amsgrad} {maximize}"))
    return made


def ema_adam():
    made = []
    for dtype in FLOATS:
        for mode in (0, 1):
            for corrected in (False, True):
                var, m, grad, s = (random((3, 4), dtype, seed) for seed in (1, 2, 3, 4))
                v = random((3, 4), dtype, 5, 0, 2)
                wide = [x.astype(np.float64) for x in (var, m, v, s, grad)]
                new_var, new_m, new_v, new_s, g = wide
                g = g + 0.1 * new_var * (mode == 0)
                new_m, new_v = 0.9 * new_m + 0.1 * g, 0.99 * new_v + 0.01 * g * g
                first, second = (1 - 0.9**3, 1 - 0.99**3) if corrected else (1, 1)
                step = new_m / first / (np.sqrt(new_v / second) + 1e-6)
                step = step + 0.1 * new_var * (mode == 1)
                new_var = new_var - 0.01 * step
                new_s = 0.75 * new_s + 0.25 * new_var
                pairs = zip((var, m, v, s), (new_var, new_m, new_v, new_s), strict=True)
                refs = [Ref(old, dtype, new) for old, new in pairs]
                arguments = [In(grad, dtype), *refs, In(np.array([3]), "i64"), 0.01, 0.75, 0.9]
                arguments += [0.99, 1e-6, mode, corrected, 0.1]
                name = f"{dtype} {mode} {corrected}"
                made.append(Case("aclnnApplyFusedEmaAdam", arguments, name))
    return made


def add_lora():
    made = []
    y, x = random((4, 9), "f16", 1), random((4, 5), "f16", 2)
    a, b = random((3, 2, 2, 5), "f16", 3), random((3, 2, 6, 2), "f16", 4)
    indices = np.array([2, -1, 0, 2])
    for given in (a, None):
        inner = x if given is not None else x[:, :2]
        expected = y.astype(np.float64)
        for i, own in enumerate(indices):
            if own < 0:
                continue
            row = inner[i].astype(np.float64)
            row = a[own, 1] @ row if given is not None else row
            expected[i, 1:7] += 0.5 * (b[own, 1] @ row)
        first = None if given is None else In(a, "f16")
        tensors = [In(y, "f16"), In(inner, "f16"), In(b, "f16"), In(indices, "i32"), first]
        arguments = [*tensors, 1, 0.5, 1, 6, Out(expected, "f16", (1e-2, 1e-2))]
        made.append(Case("aclnnAddLora", arguments, f"{given is None}"))
    return made


def advance():
    tokens, positions, slots = np.arange(4), np.arange(4) + 10, np.arange(4) + 20
    lengths, blocks = np.array([3, 8, 1, 7]), np.arange(12).reshape(4, 3) + 30
    sampled = np.array([[91], [92], [93]])
    new = [np.append(sampled, 3), np.append(lengths[:3], 13), np.append(lengths[:3] + 1, 7)]
    slot = [blocks[i, n // 4] * 4 + n % 4 for i, n in enumerate(lengths[:3])]
    new.append(np.append(slot, 23))
    refs = [
        Ref(old, "i64", value)
        for old, value in zip((tokens, positions, lengths, slots), new, strict=True)
    ]
    refs.insert(1, In(sampled, "i64"))
    return [Case("aclnnAdvanceStep", [*refs, In(blocks, "i64"), 4, 3, 4])]


def sinkhorn():
    made = []
    for dtype in FLOATS:
        for limit in (1e-4, None):
            cost = random((5, 3), dtype, 1)
            p = np.exp(cost.astype(np.float64))
            rows, columns, error = np.ones(5), np.ones(3), 1e9
            while error > 1e-4:
                rows = 1 / (5 * (p @ columns + 1e-8))
                old, columns = columns, 1 / (3 * (rows @ p + 1e-8))
                error = np.abs(old - columns).mean()
            expected = rows[:, None] * p * columns
            number = None if limit is None else Scalar(limit, "f32")
            out = Out(expected, dtype, (2e-2, 2e-3))
            made.append(Case("aclnnSinkhorn", [In(cost, dtype), number, out], f"{dtype} {limit}"))
    return made


OPS = {
    "aclnnApplyAdamWV2": adamw,
    "aclnnApplyFusedEmaAdam": ema_adam,
    "aclnnAddLora": add_lora,
    "aclnnAdvanceStep": advance,
    "aclnnSinkhorn": sinkhorn,
}
