"""Normalisation of sums, with what follows it, and in the steps that several devices share."""

import itertools

import numpy as np

from ..case import Case, In, Out, Ref
from ..slopes import gradient
from ..values import FLOATS, random
from .norm import EPS, LOOSE, batch, grouped, normal, rms, statistics

HALVES = ("f16", "bf16")


def add_layer_norm():
    made = []
    for dtype, biased, more in itertools.product(FLOATS, (False, True), (False, True)):
        a, b = (random((2, 3, 8), dtype, seed).astype(np.float64) for seed in (1, 2))
        w, shift, bias = (random((8,), dtype, seed) for seed in (3, 4, 5))
        total = a + b + (bias if biased else 0)
        mean, rstd = statistics(total, -1)
        outputs = [
            Out(normal(total, -1, w, shift), dtype, LOOSE[dtype]), Out(mean, "f32"),
            Out(rstd, "f32", LOOSE["f32"]), Out(total, dtype, LOOSE[dtype]) if more else None,
        ]  # fmt: skip
        tensors = [In(value, dtype) for value in (a, b, w, shift)]
        arguments = [*tensors, In(bias, dtype) if biased else None, EPS, more, *outputs]
        made.append(Case("aclnnAddLayerNorm", arguments, f"{dtype} {biased} {more}"))
    return made


def add_layer_norm_grad():
    made = []
    for dtype, direct in itertools.product(("f32", "f16"), (False, True)):
        a, b = (random((2, 3, 4), dtype, seed).astype(np.float64) for seed in (1, 2))
        w, grad, more = (random(shape, dtype, 3) for shape in ((4,), (2, 3, 4), (2, 3, 4)))
        mean, rstd = statistics(a + b, -1)
        dx = gradient(lambda value, w=w: normal(value, -1, w), a + b, grad)
        dx = dx + more if direct else dx
        dw = (grad * normal(a + b, -1)).sum((0, 1))
        outputs = [
            Out(dx, dtype, LOOSE[dtype]), Out(dw, "f32", LOOSE[dtype]),
            Out(grad.astype(np.float64).sum((0, 1)), "f32"),
        ]  # fmt: skip
        tensors = [In(grad, dtype), In(a, dtype), In(b, dtype), In(rstd, "f32"), In(mean, "f32")]
        tensors += [In(w, dtype), In(more, dtype) if direct else None]
        made.append(Case("aclnnAddLayerNormGrad", [*tensors, *outputs], f"{dtype} {direct}"))
    return made


def deep_norm():
    made = []
    for dtype in FLOATS:
        x, gx = (random((2, 3, 8), dtype, seed).astype(np.float64) for seed in (1, 2))
        w, shift = random((8,), dtype, 3), random((8,), dtype, 4)
        total = 0.5 * x + gx
        mean, rstd = statistics(total, -1)
        outputs = [
            Out(mean, "f32"), Out(rstd, "f32", LOOSE["f32"]),
            Out(normal(total, -1, w, shift), dtype, LOOSE[dtype]),
        ]  # fmt: skip
        tensors = [In(value, dtype) for value in (x, gx, shift, w)]
        made.append(Case("aclnnDeepNorm", [*tensors, 0.5, EPS, *outputs], dtype))
    return made


def deep_norm_grad():
    x, gx = (random((2, 3, 4), "f32", seed).astype(np.float64) for seed in (1, 2))
    w, grad = random((4,), "f32", 3), random((2, 3, 4), "f32", 4)
    total = 0.5 * x + gx
    mean, rstd = statistics(total, -1)
    dgx = gradient(lambda value: normal(value, -1, w), total, grad)
    values = (0.5 * dgx, dgx, grad.sum((0, 1)), (grad * normal(total, -1)).sum((0, 1)))
    outputs = [Out(value, "f32", LOOSE["f32"]) for value in values]
    tensors = [In(value, "f32") for value in (grad, x, gx, w, mean, rstd)]
    return [Case("aclnnDeepNormGrad", [*tensors, 0.5, *outputs])]


def int8(values):
    return np.clip(np.rint(values), -128, 127)


def rms_norm_quant():
    made = []
    for dtype, divides, second in itertools.product(HALVES, (False, True), (False, True)):
        a, b = random((4, 8), dtype, 1), random((4, 8), dtype, 2)
        w, s1, s2 = random((8,), dtype, 3), *(random((8,), "f32", n, 0.1, 3) for n in (4, 5))
        z1 = random((8,), "i32", 6, -9, 9)
        total = a.astype(np.float64) + b
        y = rms(total, w)
        first = int8((y / s1 if divides else y * s1) + z1)
        other = int8(y / s2 if divides else y * s2)
        tensors = [In(a, dtype), In(b, dtype), In(w, dtype), In(s1, "f32")]
        tensors += [In(s2, "f32") if second else None, In(z1, "i32"), None]
        outputs = [Out(first, "i8"), Out(other, "i8") if second else None, Out(total, dtype)]
        arguments = [*tensors, -1, EPS, divides, *outputs]
        made.append(Case("aclnnAddRmsNormQuant", arguments, f"{dtype} {divides} {second}"))
    return made


def rms_norm_dynamic_quant():
    made = []
    for dtype, number in itertools.product(HALVES, (0, 1, 2)):
        a, b = random((2, 4, 8), dtype, 1), random((2, 4, 8), dtype, 2)
        w, *smooth = random((8,), dtype, 3), *(random((8,), dtype, n, 0.5, 2) for n in (4, 5))
        total = a.astype(np.float64) + b
        y = rms(total, w)
        lines, whole = [], []
        for k in range(2):
            value = y * smooth[k] if k < number else y
            lines.append(np.abs(value).max(-1) / 127)
            whole.append(int8(value / lines[k][..., None]))
        given = [In(smooth[k], dtype) if k < number else None for k in range(2)]
        both = number == 2
        outputs = [
            Out(whole[0], "i8"), Out(whole[1], "i8") if both else None, Out(total, dtype),
            Out(lines[0], "f32", LOOSE["f32"]),
            Out(lines[1], "f32", LOOSE["f32"]) if both else None,
        ]  # fmt: skip
        arguments = [In(a, dtype), In(b, dtype), In(w, dtype), *given, EPS, *outputs]
        made.append(Case("aclnnAddRmsNormDynamicQuant", arguments, f"{dtype} {number}"))
    return made


def swish(x, scale=1.0):
    return x / (1 + np.exp(-scale * x))


def group_norm_silu():
    made = []
    for dtype, active in itertools.product(FLOATS, (False, True)):
        x = random((2, 4, 3, 2), dtype, 1).astype(np.float64)
        w, b = random((4,), dtype, 2), random((4,), dtype, 3)
        mean, rstd = (value[..., 0] for value in statistics(x.reshape(2, 2, -1), -1))
        y = grouped(x, w, b)
        tensors = [In(x, dtype), In(w, dtype), In(b, dtype)]
        more = [Out(mean, dtype), Out(rstd, dtype)]
        out = Out(swish(y) if active else y, dtype)
        arguments = [*tensors, 2, EPS, active, out, *more]
        made.append(Case("aclnnGroupNormSiluV2", arguments, f"{dtype} {active}"))
        if active:
            arguments = [*tensors, 2, EPS, out, *more]
            made.append(Case("aclnnGroupNormSilu", arguments, dtype))
        out = Out(swish(y, 1.5) if active else y, dtype)
        arguments = [*tensors, 2, "NCHW", EPS, active, 1.5, out, *more]
        made.append(Case("aclnnGroupNormSwish", arguments, f"{dtype} {active}"))
    return made


def group_norm_swish_grad():
    x = random((2, 4, 3), "f32", 1).astype(np.float64)
    w, b, grad = random((4,), "f32", 2), random((4,), "f32", 3), random((2, 4, 3), "f32", 4)
    mean, rstd = (value[..., 0] for value in statistics(x.reshape(2, 2, -1), -1))
    dx = gradient(lambda value: swish(grouped(value, w, b), 1.5), x, grad)
    dw = gradient(lambda value: swish(grouped(x, value, b), 1.5), w, grad)
    db = gradient(lambda value: swish(grouped(x, w, value), 1.5), b, grad)
    tensors = [In(value, "f32") for value in (grad, mean, rstd, x, w, b)]
    made = []
    for wanted in (True, False):
        outputs = [Out(value, "f32", LOOSE["f32"]) for value in (dx, dw, db)]
        outputs = outputs if wanted else [outputs[0], None, None]
        arguments = [*tensors, 2, "NCHW", 1.5, wanted, wanted, *outputs]
        made.append(Case("aclnnGroupNormSwishGrad", arguments, f"{wanted}"))
    return made


def instance_norm():
    made = []
    for dtype, last in itertools.product(("f32", "f16"), (False, True)):
        x = random((2, 3, 4, 5), dtype, 1).astype(np.float64)
        axes, size = ((1, 2), 5) if last else ((2, 3), 3)
        w, b = random((size,), dtype, 2), random((size,), dtype, 3)
        shape = (1, 1, 1, -1) if last else (1, -1, 1, 1)
        outputs = [
            Out(normal(x, axes, w.reshape(shape), b.reshape(shape)), dtype, LOOSE[dtype]),
            Out(x.mean(axes, keepdims=True), dtype), Out(x.var(axes, keepdims=True), dtype),
        ]  # fmt: skip
        tensors = [In(x, dtype), In(w, dtype), In(b, dtype)]
        arguments = [*tensors, "NHWC" if last else "NCHW", EPS, *outputs]
        made.append(Case("aclnnInstanceNorm", arguments, f"{dtype} {last}"))
    return made


def per_channel(x):
    return (value.reshape(-1) for value in statistics(x, (0, *range(2, x.ndim))))


def batch_steps():
    made = []
    for dtype in FLOATS:
        x = random((3, 4, 2, 5), dtype, 1).astype(np.float64)
        w, b = random((4,), dtype, 2), random((4,), dtype, 3)
        mean, rstd = per_channel(x)
        arguments = [In(x, dtype), EPS, Out(mean, "f32"), Out(rstd, "f32", LOOSE["f32"])]
        made.append(Case("aclnnBatchNormStats", arguments, dtype))
        tensors = [In(x, dtype), In(w, dtype), In(b, dtype), In(mean, "f32"), In(rstd, "f32")]
        arguments = [*tensors, EPS, Out(batch(x, w, b), dtype, LOOSE[dtype])]
        made.append(Case("aclnnBatchNormElemt", arguments, dtype))
    return made


def batch_gather():
    """Two devices with batches of other sizes find what one with both would."""
    made = []
    for dtype in ("f32", "i32"):
        x = random((5, 4, 6), "f32", 1).astype(np.float64)
        parts = [list(per_channel(part)) for part in (x[:2], x[2:])]
        means, rstds = (np.stack([part[k] for part in parts]) for k in (0, 1))
        mean, rstd = per_channel(x)
        old_mean, old_var = random((4,), "f32", 2), random((4,), "f32", 3, 0.5, 2)
        running = [
            Ref(old_mean, "f32", 0.9 * old_mean + 0.1 * mean, LOOSE["f32"]),
            Ref(old_var, "f32", 0.9 * old_var + 0.1 * x.var((0, 2), ddof=1), LOOSE["f32"]),
        ]  # fmt: skip
        arguments = [
            In(x, "f32"), In(means, "f32"), In(rstds, "f32"), *running, 0.1, EPS,
            In(np.array([12, 18]), dtype), Out(mean, "f32", LOOSE["f32"]),
            Out(rstd, "f32", LOOSE["f32"]),
        ]  # fmt: skip
        made.append(Case("aclnnBatchNormGatherStatsWithCounts", arguments, dtype))
    return made


def batch_backward_steps():
    x = random((5, 4, 6), "f32", 1).astype(np.float64)
    w, grad = random((4,), "f32", 2), random((5, 4, 6), "f32", 3)
    mean, rstd = per_channel(x)
    total = grad.sum((0, 2))
    dot = (grad * (x - mean.reshape(1, -1, 1))).sum((0, 2))
    made = []
    for flags in ((True, True, True), (True, False, False), (False, True, True)):
        values = [total, dot, dot * rstd, total]
        wanted = (flags[0], flags[0], flags[1], flags[2])
        outputs = [
            Out(value, "f32", LOOSE["f32"]) if keep else None
            for value, keep in zip(values, wanted, strict=True)
        ]
        tensors = [In(value, "f32") for value in (grad, x, mean, rstd, w)]
        arguments = [*tensors, *flags, *outputs]
        made.append(Case("aclnnBatchNormReduceBackward", arguments, f"{flags}"))
    dx = gradient(lambda value: batch(value, w, 0 * w), x, grad)
    tensors = [In(value, "f32") for value in (grad, x, mean, rstd, w, total, dot)]
    arguments = [*tensors, In(np.array([12, 18]), "i32"), Out(dx, "f32", LOOSE["f32"])]
    made.append(Case("aclnnBatchNormElemtBackward", arguments))
    return made


OPS = {
    "aclnnAddLayerNorm": add_layer_norm,
    "aclnnAddLayerNormGrad": add_layer_norm_grad,
    "aclnnDeepNorm": deep_norm,
    "aclnnDeepNormGrad": deep_norm_grad,
    "aclnnAddRmsNormQuant": rms_norm_quant,
    "aclnnAddRmsNormDynamicQuant": rms_norm_dynamic_quant,
    "aclnnGroupNormSilu": group_norm_silu,
    "aclnnGroupNormSwishGrad": group_norm_swish_grad,
    "aclnnInstanceNorm": instance_norm,
    "aclnnBatchNormStats": batch_steps,
    "aclnnBatchNormGatherStatsWithCounts": batch_gather,
    "aclnnBatchNormReduceBackward": batch_backward_steps,
}
