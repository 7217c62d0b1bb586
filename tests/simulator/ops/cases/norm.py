"""Normalisation and its gradients."""

import numpy as np

from ..case import Bools, Case, In, Ints, Out, Ref
from ..slopes import gradient
from ..values import FLOATS, random, rounded

EPS = 1e-5
# Of means and deviations that are rounded themselves.
SLOPES = {"f32": (1e-4, 1e-4), "f16": (2e-2, 2e-2), "bf16": (1e-1, 1e-1)}
LOOSE = {"f32": (1e-4, 1e-4), "f16": (4e-3, 4e-3), "bf16": (3e-2, 3e-2)}


def statistics(x, axis):
    mean = x.mean(axis, keepdims=True)
    return mean, 1 / np.sqrt(x.var(axis, keepdims=True) + EPS)


def normal(x, axis, weight=1.0, bias=0.0):
    mean, rstd = statistics(x, axis)
    return (x - mean) * rstd * weight + bias


def layer_norm():
    made = []
    for dtype in FLOATS:
        for affine in (False, True):
            x = random((2, 3, 8), dtype, 1).astype(np.float64)
            w, b = random((8,), dtype, 2), random((8,), dtype, 3)
            mean, rstd = statistics(x, -1)
            expected = normal(x, -1, *((w, b) if affine else ()))
            tensors = [In(w, dtype), In(b, dtype)] if affine else [None, None]
            outputs = [Out(expected, dtype), Out(mean, "f32"), Out(rstd, "f32")]
            arguments = [In(x, dtype), Ints([8]), *tensors, EPS, *outputs]
            made.append(Case("aclnnLayerNorm", arguments, f"{dtype} {affine}"))
            made.append(Case("aclnnLayerNormWithImplMode", [*arguments, 0], f"{dtype} {affine}"))
    return made


def layer_norm_backward():
    made = []
    for dtype in FLOATS:
        x = random((2, 3, 4), dtype, 1).astype(np.float64)
        w, grad = random((4,), dtype, 2), random((2, 3, 4), dtype, 3)
        mean, rstd = statistics(x, -1)
        dx = gradient(lambda value, w=w: normal(value, -1, w), x, grad)
        dw = (grad * normal(x, -1)).sum((0, 1))
        outputs = [Out(value, dtype, LOOSE[dtype]) for value in (dx, dw, grad.sum((0, 1)))]
        arguments = [
            In(grad, dtype), In(x, dtype), Ints([4]), In(mean, "f32"), In(rstd, "f32"),
            In(w, dtype), None, Bools([True] * 3), *outputs,
        ]  # fmt: skip
        made.append(Case("aclnnLayerNormBackward", arguments, dtype))
    return made


def rms(x, w):
    return x / np.sqrt((x * x).mean(-1, keepdims=True) + EPS) * w


def rms_norm():
    made = []
    for dtype in FLOATS:
        x, w = random((2, 3, 8), dtype, 1).astype(np.float64), random((8,), dtype, 2)
        rstd = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + EPS)
        for op, factor in [("aclnnRmsNorm", w), ("aclnnGemmaRmsNorm", 1 + w.astype(np.float64))]:
            outputs = [Out(rms(x, factor), dtype), Out(rstd, "f32")]
            made.append(Case(op, [In(x, dtype), In(w, dtype), EPS, *outputs], dtype))
    return made


def add_rms_norm():
    made = []
    for dtype in FLOATS:
        a, b = random((2, 8), dtype, 1), random((2, 8), dtype, 3)
        w, x = random((8,), dtype, 2), (a.astype(np.float64) + b)
        rstd = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + EPS)
        outputs = [Out(rms(x, w), dtype), Out(rstd, "f32"), Out(x, dtype)]
        arguments = [In(a, dtype), In(b, dtype), In(w, dtype), EPS, *outputs]
        made.append(Case("aclnnAddRmsNorm", arguments, dtype))
    return made


def rms_norm_grad():
    made = []
    for dtype in FLOATS:
        x, w = random((3, 4), dtype, 1).astype(np.float64), random((4,), dtype, 2)
        grad = random((3, 4), dtype, 3)
        rstd = 1 / np.sqrt((x * x).mean(-1, keepdims=True) + EPS)
        dx = gradient(lambda value, w=w: rms(value, w), x, grad)
        dw = (grad * x * rstd).sum(0)
        outputs = [Out(dx, dtype, LOOSE[dtype]), Out(dw, dtype, LOOSE[dtype])]
        arguments = [In(grad, dtype), In(x, dtype), In(rstd, "f32"), In(w, dtype), *outputs]
        made.append(Case("aclnnRmsNormGrad", arguments, dtype))
    return made


def grouped(x, w=None, b=None, groups=2):
    n, c = x.shape[:2]
    y = normal(x.reshape(n, groups, -1), -1).reshape(x.shape)
    shape = (1, c) + (1,) * (x.ndim - 2)
    return y if w is None else y * w.reshape(shape) + b.reshape(shape)


def group_norm():
    made = []
    for dtype in FLOATS:
        x = random((2, 4, 3), dtype, 1).astype(np.float64)
        w, b = random((4,), dtype, 2), random((4,), dtype, 3)
        mean, rstd = statistics(x.reshape(2, 2, -1), -1)
        outputs = [Out(grouped(x, w, b), dtype), Out(mean[..., 0], dtype), Out(rstd[..., 0], dtype)]
        arguments = [In(x, dtype), In(w, dtype), In(b, dtype), 2, 4, 3, 2, EPS, *outputs]
        made.append(Case("aclnnGroupNorm", arguments, dtype))
    return made


def group_norm_backward():
    made = []
    for dtype in FLOATS:
        x = random((2, 4, 3), dtype, 1).astype(np.float64)
        w, grad = random((4,), dtype, 2), random((2, 4, 3), dtype, 3)
        mean, rstd = (rounded(v[..., 0], dtype) for v in statistics(x.reshape(2, 2, -1), -1))
        dx = gradient(lambda value, w=w: grouped(value, w, 0 * w), x, grad)
        dw = (grad * grouped(x)).sum((0, 2))
        outputs = [Out(value, dtype, SLOPES[dtype]) for value in (dx, dw, grad.sum((0, 2)))]
        tensors = [In(value, dtype) for value in (grad, x, mean, rstd, w)]
        arguments = [*tensors, 2, 4, 3, 2, Bools([True] * 3), *outputs]
        made.append(Case("aclnnGroupNormBackward", arguments, dtype))
    return made


def batch(x, w, b):
    shape = (1, -1) + (1,) * (x.ndim - 2)
    axes = (0, *range(2, x.ndim))
    return normal(x, axes, w.reshape(shape), b.reshape(shape))


def batch_norm():
    made = []
    for dtype in FLOATS:
        x = random((3, 4, 2, 5), dtype, 1).astype(np.float64)
        w, b = random((4,), dtype, 2), random((4,), dtype, 3)
        old_mean, old_var = random((4,), "f32", 4), random((4,), "f32", 5, 0.5, 2)
        mean, rstd = (value.reshape(-1) for value in statistics(x, (0, 2, 3)))
        new_mean = 0.9 * old_mean + 0.1 * mean
        new_var = 0.9 * old_var + 0.1 * x.var((0, 2, 3), ddof=1)
        running = [Ref(old_mean, "f32", new_mean), Ref(old_var, "f32", new_var)]
        outputs = [Out(batch(x, w, b), dtype), Out(mean, "f32"), Out(rstd, "f32")]
        arguments = [In(x, dtype), In(w, dtype), In(b, dtype), *running, True, 0.1, EPS, *outputs]
        made.append(Case("aclnnBatchNorm", arguments, f"{dtype} training"))
        shape = (1, 4, 1, 1)
        y = (x - old_mean.reshape(shape)) / np.sqrt(old_var.reshape(shape) + EPS)
        y = y * w.reshape(shape) + b.reshape(shape)
        running = [In(old_mean, "f32"), In(old_var, "f32")]
        arguments = [In(x, dtype), In(w, dtype), In(b, dtype), *running, False, 0.1, EPS]
        arguments += [Out(y, dtype), None, None]
        made.append(Case("aclnnBatchNorm", arguments, f"{dtype} evaluation"))
    return made


def batch_norm_backward():
    made = []
    for dtype in FLOATS:
        x = random((3, 2, 4), dtype, 1).astype(np.float64)
        w, grad = random((2,), "f32", 2), random((3, 2, 4), dtype, 3)
        mean, rstd = (value.reshape(-1) for value in statistics(x, (0, 2)))
        dx = gradient(lambda value, w=w: batch(value, w, 0 * w), x, grad)
        dw = (grad * normal(x, (0, 2))).sum((0, 2))
        outputs = [Out(dx, dtype, LOOSE[dtype])]
        outputs += [Out(value, "f32", LOOSE["f32"]) for value in (dw, grad.sum((0, 2)))]
        arguments = [
            In(grad, dtype), In(x, dtype), In(w, "f32"), None, None, In(mean, "f32"),
            In(rstd, "f32"), True, EPS, Bools([True] * 3), *outputs,
        ]  # fmt: skip
        made.append(Case("aclnnBatchNormBackward", arguments, dtype))
    return made


OPS = {
    "aclnnLayerNorm": layer_norm,
    "aclnnLayerNormBackward": layer_norm_backward,
    "aclnnRmsNorm": rms_norm,
    "aclnnAddRmsNorm": add_rms_norm,
    "aclnnRmsNormGrad": rms_norm_grad,
    "aclnnGroupNorm": group_norm,
    "aclnnGroupNormBackward": group_norm_backward,
    "aclnnBatchNorm": batch_norm,
    "aclnnBatchNormBackward": batch_norm_backward,
}
