"""Cross entropy of a shared vocabulary: the parts of one device."""

import numpy as np

from ..case import Case, In, Out
from ..values import random

HALVES = ("f16", "bf16")
ROWS, WORDS, HIDDEN, FIRST, LAST = 11, 6, 4, 3, 8


def parts(dtype):
    x, w = random((ROWS, HIDDEN), dtype, 1), random((WORDS, HIDDEN), dtype, 2)
    target = np.random.default_rng(3).integers(0, 12, ROWS)
    logits = x.astype(np.float64) @ w.astype(np.float64).T
    elsewhere = (target < FIRST) | (target > LAST)
    own = np.where(elsewhere, 0, target - FIRST)
    bits = np.append(elsewhere, np.ones(-ROWS % 8, bool))
    return x, w, target, logits, elsewhere, own, np.packbits(bits)


def max_sum():
    made = []
    for dtype in HALVES:
        for index in ("i32", "i64"):
            for wanted in (False, True):
                x, w, target, logits, elsewhere, own, mask = parts(dtype)
                top = logits.max(1)
                predicted = np.where(elsewhere, 0, logits[np.arange(ROWS), own] - top)
                outputs = [Out(top, "f32"), Out(np.exp(logits - top[:, None]).sum(1), "f32")]
                outputs += [Out(predicted, "f32"), Out(mask, "u8"), Out(own, index)]
                outputs.append(Out(logits, dtype) if wanted else None)
                inputs = [In(x, dtype), In(w, dtype), In(target, index), FIRST, LAST]
                name = f"{dtype} {index} {wanted}"
                made.append(Case("aclnnFusedLinearOnlineMaxSum", [*inputs, *outputs], name))
    return made


def loss():
    made = []
    for dtype in ("f32", *HALVES):
        top, predicted = random((5,), "f32", 1), random((5,), "f32", 2)
        total = np.abs(random((5,), "f32", 3)) + 1
        logits = random((5, 7), dtype, 4)
        softmax = np.exp(logits - top[:, None]) / total[:, None]
        for wanted in (False, True):
            inputs = [In(top, "f32"), In(total, "f32"), In(predicted, "f32"), 0.0, None, None]
            inputs.append(In(logits, dtype) if wanted else None)
            outputs = [Out(np.log(total) - predicted, "f32")]
            outputs.append(Out(softmax, "f32") if wanted else None)
            name = f"{dtype} {wanted}"
            made.append(Case("aclnnFusedCrossEntropyLossWithMaxSum", [*inputs, *outputs], name))
    return made


def grad():
    made = []
    for dtype in HALVES:
        for kept in (False, True):
            x, w, _, logits, elsewhere, own, mask = parts(dtype)
            by = random((ROWS,), "f32", 5)
            top, total = logits.max(1), np.exp(logits - logits.max(1)[:, None]).sum(1)
            softmax = np.exp(logits - top[:, None]) / total[:, None]
            slope = softmax.copy()
            slope[np.arange(ROWS), own] -= 1 - elsewhere
            slope *= by[:, None]
            inputs = [
                In(by, "f32"),
                In(x, dtype),
                In(w, dtype),
                In(mask, "u8"),
                In(own, "i32"),
                0.0,
            ]
            given = [None, None, In(softmax, "f32")]
            inputs += given if kept else [In(top, "f32"), In(total, "f32"), None]
            outputs = [Out(slope @ w, dtype), Out(slope.T @ x, dtype)]
            name = f"{dtype} {kept}"
            made.append(Case("aclnnFusedLinearCrossEntropyLossGrad", [*inputs, *outputs], name))
    return made


OPS = {
    "aclnnFusedLinearOnlineMaxSum": max_sum,
    "aclnnFusedCrossEntropyLossWithMaxSum": loss,
    "aclnnFusedLinearCrossEntropyLossGrad": grad,
}
