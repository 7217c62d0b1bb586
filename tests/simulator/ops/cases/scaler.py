"""Gradient scaling, and optimisers of one tensor."""

import numpy as np

from ..case import Case, In, List, Out, Ref
from ..values import FLOATS, random


def one(value, dtype="f32"):
    return In(np.array([value], np.float32), dtype)


def unscale():
    made = []
    for dtype in FLOATS:
        for bad in (None, np.inf, np.nan):
            for found in (0.0, 1.0):
                grads = [random(shape, dtype, i) for i, shape in enumerate([(3, 4), (2,), (5, 1)])]
                if bad is not None:
                    grads[1][0] = bad
                members = List([Ref(g, dtype, g.astype(np.float64) * 0.5) for g in grads])
                expected = 1.0 if bad is not None else found
                before, after = np.array([found]), np.array([expected])
                arguments = [members, Ref(before, "f32", after), one(0.5)]
                name = f"{dtype} {bad} {found}"
                made.append(Case("aclnnForeachNonFiniteCheckAndUnscale", arguments, name))
    return made


def update_scale():
    made = []
    for scale, tracker, found, expected in [
        (8.0, 1, 0.0, (8.0, 2)),
        (8.0, 2, 0.0, (16.0, 0)),
        (8.0, 2, 1.0, (4.0, 0)),
        (3e38, 2, 0.0, (3e38, 0)),
    ]:
        arguments = [one(scale), In(np.array([tracker]), "i32"), one(found), 2.0, 0.5, 3]
        arguments += [Out(np.array([expected[0]]), "f32"), Out(np.array([expected[1]]), "i32")]
        made.append(Case("aclnnAmpUpdateScale", arguments, f"{scale} {tracker} {found}"))
    return made


def moments(dtype):
    """var, m, v, grad, and the last three as wide numbers."""
    values = [random((3, 4), dtype, i) for i in range(4)]
    values[2] = np.abs(values[2])
    return values, [value.astype(np.float64) for value in values]


def adam():
    made = []
    for dtype in FLOATS:
        for nesterov in (False, True):
            (var, m, v, grad), (x, mean, square, g) = moments(dtype)
            mean = 0.75 * mean + 0.25 * g
            square = 0.5 * square + 0.5 * g * g
            towards = 0.75 * mean + 0.25 * g if nesterov else mean
            step = 0.125 * np.sqrt(1 - 0.25) / (1 - 0.5)
            x = x - step * towards / (np.sqrt(square) + 0.25)
            arguments = [Ref(var, dtype, x), Ref(m, dtype, mean), Ref(v, dtype, square)]
            arguments += [one(n, dtype) for n in (0.5, 0.25, 0.125, 0.75, 0.5, 0.25)]
            arguments += [In(grad, dtype), False, nesterov]
            made.append(Case("aclnnApplyAdam", arguments, f"{dtype} {nesterov}"))
    return made


def adam_w():
    made = []
    for dtype in FLOATS:
        for amsgrad in (False, True):
            for maximize in (False, True):
                (var, m, v, grad), (x, mean, square, g) = moments(dtype)
                g = -g if maximize else g
                mean = 0.75 * mean + 0.25 * g
                square = 0.5 * square + 0.5 * g * g
                largest = np.abs(random((3, 4), dtype, 5))
                spread = np.maximum(largest, square) if amsgrad else square
                x = x * (1 - 0.125 * 0.5)
                root = np.sqrt(spread / (1 - 0.25 * 0.5))
                x = x - 0.125 * mean / (1 - 0.5 * 0.75) / (root + 0.25)
                arguments = [Ref(var, dtype, x), Ref(m, dtype, mean), Ref(v, dtype, square)]
                arguments += [one(n, dtype) for n in (0.5, 0.25, 0.125, 0.5, 0.75, 0.5, 0.25)]
                arguments += [In(grad, dtype), In(largest, dtype) if amsgrad else None]
                arguments += [amsgrad, maximize]
                name = f"{dtype} {amsgrad} {maximize}"
                made.append(Case("aclnnApplyAdamW", arguments, name))
    return made


OPS = {
    "aclnnForeachNonFiniteCheckAndUnscale": unscale,
    "aclnnAmpUpdateScale": update_scale,
    "aclnnApplyAdam": adam,
    "aclnnApplyAdamW": adam_w,
}
