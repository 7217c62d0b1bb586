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


def nll(op, shape):
    def cases():
        made = []
        for dtype in FLOATS:
            for reduction in (0, 1, 2):
                x, weight = random(shape, dtype, 1), random((4,), dtype, 2, 0.5, 2)
                classes = shape[:1] + shape[2:]
                y = np.random.default_rng(0).integers(0, 4, classes)
                y.reshape(-1)[0] = -100
                safe = np.where(y < 0, 0, y)
                own = np.where(y < 0, 0, weight[safe])
                each = -own * np.take_along_axis(x, np.expand_dims(safe, 1), 1).squeeze(1)
                total = own.sum()
                value = [each, each.sum() / total, each.sum()][reduction]
                outputs = [Out(value, dtype, LOOSE[dtype]), Out(total, dtype, LOOSE[dtype])]
                tensors = [In(x, dtype), In(y, "i64"), In(weight, dtype)]
                made.append(Case(op, [*tensors, reduction, -100, *outputs], f"{dtype} {reduction}"))
        return made

    return cases


def nll_backward(op, shape):
    def cases():
        made = []
        for reduction in (0, 1, 2):
            x, weight = random(shape, "f32", 1), random((4,), "f32", 2, 0.5, 2)
            y = np.random.default_rng(0).integers(0, 4, shape[:1] + shape[2:])
            own = weight[y]
            grad = random(y.shape if reduction == 0 else (), "f32", 3)
            total = own.sum()

            def value(x, y=y, own=own, total=total, reduction=reduction):
                each = -own * np.take_along_axis(x, np.expand_dims(y, 1), 1).squeeze(1)
                return [each, each.sum() / total, each.sum()][reduction]

            out = Out(gradient(value, x, grad), "f32", LOOSE["f32"])
            tensors = [In(grad, "f32"), In(x, "f32"), In(y, "i64"), In(weight, "f32")]
            arguments = [*tensors, reduction, -100, In(total, "f32"), out]
            made.append(Case(op, arguments, f"{reduction}"))
        return made

    return cases


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
    "aclnnSoftMarginLoss": loss("aclnnSoftMarginLoss", soft_margin),
    "aclnnSoftMarginLossBackward": backward("aclnnSoftMarginLossBackward", soft_margin),
    "aclnnNLLLoss": nll("aclnnNLLLoss", (5, 4)),
    "aclnnNLLLossBackward": nll_backward("aclnnNLLLossBackward", (5, 4)),
    "aclnnNLLLoss2d": nll("aclnnNLLLoss2d", (2, 4, 3, 2)),
    "aclnnNLLLoss2dBackward": nll_backward("aclnnNLLLoss2dBackward", (2, 4, 3, 2)),
}
