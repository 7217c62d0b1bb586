"""Ops on single elements that came after CANN 8.1."""

import numpy as np

from ..case import Case, In, Out, Scalar
from ..values import COMPLEX, FLOATS, INTEGERS, random
from .activation import sigmoid


def shift(op, way, scalar):
    def cases():
        made = []
        for dtype in (*INTEGERS, "u16", "u32", "u64"):
            x = random((3, 4), dtype, 1)
            bits = random((1, 4), dtype, 2, 0, 7)
            by = bits.flat[0] if scalar else bits
            given = Scalar(int(by), "i64") if scalar else In(bits, dtype)
            out = Out(way(x, x.dtype.type(by) if scalar else bits), dtype)
            made.append(Case(op, [In(x, dtype), given, out], dtype))
        return made

    return cases


def shift_too_far(op, expected):
    def cases():
        x = np.array([5, -5, 5, -5], np.int32)
        bits = np.array([64, 64, -1, -1], np.int32)
        return [Case(op, [In(x, "i32"), In(bits, "i32"), Out(np.array(expected), "i32")])]

    return cases


def fast_gelu():
    made = []
    for dtype in FLOATS:
        x = random((4, 3), dtype, 1)
        expected = x.astype(np.float64) * sigmoid(1.702 * x.astype(np.float64))
        made.append(Case("aclnnFastGelu", [In(x, dtype), Out(expected, dtype)], dtype))
    return made


def fast_gelu_backward():
    made = []
    for dtype in FLOATS:
        x, grad = random((4, 3), dtype, 1), random((4, 3), dtype, 2)
        wide = x.astype(np.float64)
        step = 1e-6
        gelu = lambda v: v * sigmoid(1.702 * v)  # noqa: E731
        slope = (gelu(wide + step) - gelu(wide - step)) / (2 * step)
        out = Out(grad * slope, dtype)
        made.append(Case("aclnnFastGeluBackward", [In(grad, dtype), In(x, dtype), out], dtype))
    return made


def hardswish_backward():
    made = []
    for dtype in FLOATS:
        x = random((4, 5), dtype, 1, -5, 5)
        x.flat[:3] = [-3, 3, 0]
        grad = random((4, 5), dtype, 2)
        slope = np.where(x <= -3, 0, np.where(x < 3, x / 3 + 0.5, 1))
        out = Out(grad * slope, dtype)
        made.append(Case("aclnnHardswishBackwardV2", [In(grad, dtype), In(x, dtype), out], dtype))
    return made


def angle():
    made = []
    for dtype in ("f32", "f16", *INTEGERS, "bool", "c64"):
        x = random((3, 4), dtype, 1)
        if dtype == "f32":
            x.flat[:2] = [np.nan, 0]
        expected = np.angle(x) if dtype in COMPLEX else np.where(x < 0, np.pi, x * 0.0)
        result = "f16" if dtype == "f16" else "f32"
        made.append(Case("aclnnAngleV2", [In(x, dtype), Out(expected, result)], dtype))
    return made


def add_to_number():
    made = []
    for dtype in (*FLOATS, *INTEGERS, "f64"):
        x = random((3, 4), dtype, 1)
        out = Out(np.asarray(2 + 3 * x.astype(np.float64)), dtype)
        if dtype in INTEGERS:
            out = Out(x.dtype.type(2) + x.dtype.type(3) * x, dtype)
        arguments = [Scalar(2, "i64"), In(x, dtype), Scalar(3, "i64"), out]
        made.append(Case("aclnnAddV3", arguments, dtype))
    return made


def masked_scale():
    made = []
    for dtype in FLOATS:
        for kind in ("u8", "i8", "f32"):
            x = random((3, 4), dtype, 1)
            mask = random((3, 4), "bool", 2).astype(np.float32)
            out = Out(x * mask * 1.25, dtype)
            arguments = [In(x, dtype), In(mask, kind), 1.25, out]
            made.append(Case("aclnnMaskedScale", arguments, f"{dtype} {kind}"))
    return made


def kl_div_target():
    made = []
    for dtype in FLOATS:
        for reduction, scale in [(0, 1), (1, 1 / 12), (2, 1), (3, 1 / 3)]:
            for log in (False, True):
                x = random((3, 4), dtype, 1)
                target = random((3, 4), dtype, 2, -1 if log else 0.2, 1)
                if not log:
                    target.flat[0] = 0
                grad = random((3, 4) if reduction == 0 else (), dtype, 3)
                wide = target.astype(np.float64)
                with np.errstate(divide="ignore"):
                    slope = np.exp(wide) * (wide - x + 1) if log else np.log(wide) - x + 1
                slope = slope if log else np.where(wide > 0, slope, 0)
                arguments = [In(grad, dtype), In(x, dtype), In(target, dtype), reduction, log]
                arguments.append(Out(grad * slope * scale, dtype))
                name = f"{dtype} {reduction} {log}"
                made.append(Case("aclnnKlDivTargetBackward", arguments, name))
    return made


def log_space():
    made = []
    for dtype in (*FLOATS, "i32", "i64"):
        for steps in (0, 1, 2, 5):
            expected = np.logspace(0, 3, steps, base=2.0)
            if dtype in INTEGERS:
                expected = np.trunc(expected + 1e-9)
            arguments = [Scalar(0.0, "f32"), Scalar(3.0, "f32"), steps, 2.0, Out(expected, dtype)]
            made.append(Case("aclnnLogSpace", arguments, f"{dtype} {steps}"))
    return made


OPS = {
    "aclnnLeftShift": shift("aclnnLeftShift", np.left_shift, False),
    "aclnnLeftShift far": shift_too_far("aclnnLeftShift", [0, 0, 0, 0]),
    "aclnnLeftShifts": shift("aclnnLeftShifts", np.left_shift, True),
    "aclnnRightShift": shift("aclnnRightShift", np.right_shift, False),
    "aclnnRightShift far": shift_too_far("aclnnRightShift", [0, -1, 0, -1]),
    "aclnnFastGelu": fast_gelu,
    "aclnnFastGeluBackward": fast_gelu_backward,
    "aclnnHardswishBackwardV2": hardswish_backward,
    "aclnnAngleV2": angle,
    "aclnnAddV3": add_to_number,
    "aclnnMaskedScale": masked_scale,
    "aclnnKlDivTargetBackward": kl_div_target,
    "aclnnLogSpace": log_space,
}
