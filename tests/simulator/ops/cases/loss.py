"""Losses and their gradients."""

import numpy as np

from ..case import Case, In, Out
from ..slopes import gradient
from ..values import FLOATS, random

LOOSE = {"f32": (1e-4, 1e-4), "f16": (4e-3, 4e-3), "bf16": (3e-2, 3e-2)}


def reduced(values, reduction):
    return [lambda: values, values.mean, values.sum][reduction]()


def loss(op, f, more=(), low=-3.0, high=3.0, reductions=(0, 1, 2)):
    def cases():
        made = []
        for dtype in FLOATS:
            for reduction in reductions:
                x, y = random((3, 4), dtype, 1, low, high), random((3, 4), dtype, 2, low, high)
                values = reduced(f(x.astype(np.float64), y.astype(np.float64)), reduction)
                out = Out(values, dtype, LOOSE[dtype])
                before = more if op.startswith("aclnnBinary") else ()
                after = () if op.startswith("aclnnBinary") else more
                arguments = [In(x, dtype), In(y, dtype), *before, reduction, *after, out]
                made.append(Case(op, arguments, f"{dtype} {reduction}"))
        return made

    return cases


def backward(op, f, more=(), low=-3.0, high=3.0):
    def cases():
        made = []
        for dtype in FLOATS:
            for reduction in (0, 1, 2):
                x, y = random((3, 4), dtype, 1, low, high), random((3, 4), dtype, 2, low, high)
                grad = random((3, 4) if reduction == 0 else (), dtype, 3)

                def total(value, y=y, reduction=reduction):
                    return reduced(f(value, y.astype(np.float64)), reduction)

                out = Out(gradient(total, x, grad), dtype, LOOSE[dtype])
                before = more if op.startswith("aclnnBinary") else ()
                after = () if op.startswith("aclnnBinary") else more
                tensors = [In(grad, dtype), In(x, dtype), In(y, dtype)]
                arguments = [*tensors, *before, reduction, *after, out]
                made.append(Case(op, arguments, f"{dtype} {reduction}"))
        return made

    return cases


def broadcast(op, f, back):
    """A row of targets for every row."""

    def cases():
        x, y, grad = random((3, 4), "f32", 1), random((4,), "f32", 2), random((3, 4), "f32", 3)
        made = []
        for reduction in (0, 1, 2):
            value = reduced(f(x.astype(np.float64), y), reduction)
            made.append(Case(op, [In(x, "f32"), In(y, "f32"), reduction, Out(value, "f32")]))
        slopes = gradient(lambda z: f(z, y), x, grad)
        tensors = [In(grad, "f32"), In(x, "f32"), In(y, "f32")]
        made.append(Case(back, [*tensors, 0, Out(slopes, "f32", LOOSE["f32"])]))
        whole = [random((3, 4), "i64", seed) for seed in (1, 2)]
        if op == "aclnnL1Loss":
            pair = [In(part, "i64") for part in whole]
            made.append(Case(op, [*pair, 0, Out(f(*whole), "i64")], "integers"))
        empty = np.zeros((0, 4))
        arguments = [In(empty, "f32"), In(empty, "f32"), 0, Out(empty, "f32")]
        made.append(Case(op, arguments, "empty"))
        return made

    return cases


def weighted_bce():
    """Weights for elements, and for the positive class of logits."""
    made = []
    for dtype in FLOATS:
        for reduction in (0, 1, 2):
            x, y = random((3, 4), dtype, 1), random((3, 4), dtype, 2, 0.1, 0.9)
            weight, positive = random((4,), dtype, 3, 0.5, 2), random((4,), dtype, 4, 0.5, 2)
            grad = random((3, 4) if reduction == 0 else (), dtype, 5)
            wide_x, wide_y = x.astype(np.float64), y.astype(np.float64)

            def total(x, y, weight=weight, positive=positive, reduction=reduction):
                log_sigmoid, rest = -np.log1p(np.exp(-x)), -np.log1p(np.exp(x))
                return reduced(-weight * (positive * y * log_sigmoid + (1 - y) * rest), reduction)

            name = f"{dtype} {reduction}"
            more = [In(weight, dtype), In(positive, dtype), reduction]
            pair = [In(x, dtype), In(y, dtype)]
            value = Out(total(wide_x, wide_y), dtype, LOOSE[dtype])
            op = "aclnnBinaryCrossEntropyWithLogits"
            made.append(Case(op, [*pair, *more, value], name))
            of_x = gradient(lambda z, y=wide_y, f=total: f(z, y), x, grad)
            of_y = gradient(lambda z, x=wide_x, f=total: f(x, z), y, grad)
            for ending, slopes in [("Backward", of_x), ("TargetBackward", of_y)]:
                out = Out(slopes, dtype, LOOSE[dtype])
                made.append(Case(op + ending, [In(grad, dtype), *pair, *more, out], name))
    return made


def mse(x, y):
    return (x - y) ** 2


def l1(x, y):
    return np.abs(x - y)


def smooth(x, y):
    d = np.abs(x - y)
    return np.where(d < 0.5, d * d, d - 0.25)


def kl(x, y):
    return y * (np.log(y) - x)


def bce(x, y):
    return -(y * np.log(x) + (1 - y) * np.log(1 - x))


def bce_logits(x, y):
    return (1 - y) * x + np.log1p(np.exp(-x))


def soft_margin(x, y):
    return np.log1p(np.exp(-y * x))


UNIT = {"low": 0.1, "high": 0.9}
OPS = {
    "aclnnMseLoss": loss("aclnnMseLoss", mse),
    "aclnnMseLossOut": loss("aclnnMseLossOut", mse, reductions=(0,)),
    "aclnnMseLossBackward": backward("aclnnMseLossBackward", mse),
    "aclnnL1Loss": loss("aclnnL1Loss", l1),
    "aclnnL1LossBackward": backward("aclnnL1LossBackward", l1),
    "aclnnSmoothL1Loss": loss("aclnnSmoothL1Loss", smooth, [0.5]),
    "aclnnSmoothL1LossBackward": backward("aclnnSmoothL1LossBackward", smooth, [0.5]),
    "aclnnKlDiv": loss("aclnnKlDiv", kl, [False], **UNIT),
    "aclnnKlDivBackward": backward("aclnnKlDivBackward", kl, [False], **UNIT),
    "aclnnBinaryCrossEntropy": loss("aclnnBinaryCrossEntropy", bce, [None], **UNIT),
    "aclnnBinaryCrossEntropyBackward": backward(
        "aclnnBinaryCrossEntropyBackward", bce, [None], **UNIT
    ),
    "aclnnBinaryCrossEntropyWithLogits": loss(
        "aclnnBinaryCrossEntropyWithLogits", bce_logits, [None, None], **UNIT
    ),
    "aclnnBinaryCrossEntropyWithLogitsBackward": backward(
        "aclnnBinaryCrossEntropyWithLogitsBackward", bce_logits, [None, None], **UNIT
    ),
    "aclnnMseLoss broadcast": broadcast("aclnnMseLoss", mse, "aclnnMseLossBackward"),
    "aclnnL1Loss broadcast": broadcast("aclnnL1Loss", l1, "aclnnL1LossBackward"),
    "aclnnBinaryCrossEntropyWithLogits weights": weighted_bce,
    "aclnnSoftMarginLoss": loss("aclnnSoftMarginLoss", soft_margin),
    "aclnnSoftMarginLossBackward": backward("aclnnSoftMarginLossBackward", soft_margin),
}
