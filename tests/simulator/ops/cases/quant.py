"""Numbers as int8: to and from. Computed in float32 and in
the order that the ops are documented in, so that rounding agrees."""

import itertools

import numpy as np

from ..case import Case, In, Out
from ..values import FLOATS, random

HALVES = ("f16", "bf16")
CODE = {"f32": 0, "f16": 1, "i8": 2, "i32": 3, "u8": 4, "bf16": 27, "i4": 29}


def f32(values):
    return np.asarray(values, np.float32)


def int8(values):
    return np.clip(np.rint(values), -128, 127)


def packed(scale, offset=None):
    """The matrix unit's scales: 19 bits of a float, bit 46, 9 bits of offset from bit 37 on."""
    words = (f32(scale).view(np.uint32) & 0xFFFFE000).astype(np.uint64) | np.uint64(1 << 46)
    if offset is not None:
        bits = np.clip(offset, -256, 255).astype(np.int64) & 0x1FF
        words = words | (bits.astype(np.uint64) << np.uint64(37))
    return words


def plain(words):
    return (words & np.uint64(0xFFFFFFFF)).astype(np.uint32).view(np.float32)


def ascend_quant(op, axis):
    def cases():
        made = []
        rounding = {"round": np.rint, "floor": np.floor, "ceil": np.ceil, "trunc": np.trunc}
        for dtype, mode, square in itertools.product(FLOATS, rounding, (False, True)):
            for size in (1, 4):
                x = random((3, 4, 5), dtype, 1, -9, 9)
                x = x if axis else x.swapaxes(1, 2)
                scale, offset = random((size,), dtype, 2, 0.5, 9), random((size,), dtype, 3, -9, 9)
                shape = (size, 1) if axis else (size,)
                by = f32(scale).reshape(shape)
                value = f32(x) * (by * by if square else by) + f32(offset).reshape(shape)
                out = Out(np.clip(rounding[mode](value), -128, 127), "i8")
                tensors = [In(x, dtype), In(scale, dtype), In(offset, dtype)]
                arguments = [*tensors, square, mode, 2, *([-2] if axis else []), out]
                made.append(Case(op, arguments, f"{dtype} {mode} {square} {size}"))
        x = random((2, 3), "f32", 1)
        arguments = [In(x, "f32"), In(f32([2]), "f32"), None, False, "round", 2]
        arguments += [*([1] if axis else []), Out(int8(x * 2), "i8")]
        made.append(Case(op, arguments, "without offset"))
        return made

    return cases


def anti_quant():
    made = []
    kinds = (("i8", 99), ("i4", 8))
    for dtype, size, square, (kind, most) in itertools.product(
        HALVES, (1, 4), (False, True), kinds
    ):
        x = random((3, 4), kind, 1, -most, most - 1)
        scale, offset = random((size,), dtype, 2, 0.1, 1), random((size,), dtype, 3)
        expected = (x + f32(offset)) * (f32(scale) ** 2 if square else scale)
        arguments = [In(x, kind), In(scale, dtype), In(offset, dtype), CODE[dtype], square]
        name = f"{dtype} {size} {kind}"
        made.append(Case("aclnnAscendAntiQuant", [*arguments, Out(expected, dtype)], name))
    return made


def whole(values, most):
    return np.clip(np.rint(values), -most - 1, most)


def symmetric(x, most=127):
    scale = np.abs(x).max(-1, keepdims=True) / f32(most)
    with np.errstate(all="ignore"):
        y = np.where(scale == 0, 0, whole(x / scale, most))
    return y, scale[..., 0]


def asymmetric(x, most=127):
    scale = (x.max(-1, keepdims=True) - x.min(-1, keepdims=True)) / f32(2 * most + 1)
    offset = f32(most) - x.max(-1, keepdims=True) / scale
    return whole(x / scale + offset, most), scale[..., 0], offset[..., 0]


def words(numbers):
    """Eight numbers of four bits in each, the first in the lowest ones."""
    nibbles = numbers.astype(np.int64).reshape(*numbers.shape[:-1], -1, 8) & 15
    return (nibbles << (4 * np.arange(8))).sum(-1).astype(np.uint32).view(np.int32)


def small(numbers):
    """The two ways to write them with four bits."""
    return [(29, Out(numbers, "i4")), (3, Out(words(numbers), "i32"))]


def four_bits():
    made = []
    for dtype in HALVES:
        x = random((2, 5, 8), dtype, 1)
        y, scale = symmetric(f32(x), 7)
        for code, out in small(y):
            tail = [out, Out(scale, "f32")]
            made.append(Case("aclnnDynamicQuant", [In(x, dtype), None, *tail], f"{dtype} {code}"))
            arguments = [In(x, dtype), None, None, code, *tail, None]
            made.append(Case("aclnnDynamicQuantV2", arguments, f"{dtype} {code}"))
        y, scale, offset = asymmetric(f32(x), 7)
        for code, out in small(y):
            arguments = [In(x, dtype), None, None, code, out, Out(scale, "f32")]
            arguments.append(Out(offset, "f32"))
            made.append(Case("aclnnDynamicQuantV2", arguments, f"{dtype} {code} range"))
        x, scale = random((5, 8), dtype, 1), random((3, 8), dtype, 2, 1, 5)
        ends, experts = np.array([1, 4, 5]), np.array([0, 1, 1, 1, 2])
        for code, out in small(whole(f32(x) * f32(scale[experts]), 7)):
            arguments = [In(x, dtype), In(scale, dtype), In(ends, "i64"), None, code, out]
            made.append(Case("aclnnGroupQuant", arguments, f"{dtype} {code}"))
        for code, out in small(whole(f32(x) * 2, 7)):
            head = [In(x, dtype), In(f32([2]), dtype), None, False, "round", code]
            made.append(Case("aclnnAscendQuant", [*head, out], f"{dtype} {code}"))
            made.append(Case("aclnnAscendQuantV3", [*head, -1, out], f"{dtype} {code}"))
    return made


def dynamic_quant():
    made = []
    for dtype in HALVES:
        x = random((2, 5, 8), dtype, 1)
        x[1, 2] = 0
        smooth = random((8,), dtype, 2, 0.5, 2)
        for factor in (None, smooth):
            y, scale = symmetric(f32(x) if factor is None else f32(x) * f32(factor))
            given = None if factor is None else In(factor, dtype)
            outputs = [Out(y, "i8"), Out(scale, "f32")]
            arguments = [In(x, dtype), given, *outputs]
            made.append(Case("aclnnDynamicQuant", arguments, f"{dtype} {factor is None}"))
            arguments = [In(x, dtype), given, None, 2, *outputs, None]
            made.append(Case("aclnnDynamicQuantV2", arguments, f"{dtype} {factor is None}"))
        x = random((2, 5, 8), dtype, 1)
        y, scale, offset = asymmetric(f32(x))
        outputs = [Out(y, "i8"), Out(scale, "f32"), Out(offset, "f32")]
        made.append(Case("aclnnDynamicQuantV2", [In(x, dtype), None, None, 2, *outputs], "range"))
        x, smooth = random((6, 8), dtype, 1), random((3, 8), dtype, 2, 0.5, 2)
        ends, experts = np.array([2, 2, 6]), np.array([0, 0, 2, 2, 2, 2])
        y, scale = symmetric(f32(x) * f32(smooth[experts]))
        arguments = [In(x, dtype), In(smooth, dtype), In(ends, "i32"), 2]
        arguments += [Out(y, "i8"), Out(scale, "f32"), None]
        made.append(Case("aclnnDynamicQuantV2", arguments, f"{dtype} groups"))
    return made


def group_quant():
    made = []
    ends, experts = np.array([1, 4, 5]), np.array([0, 1, 1, 1, 2])
    for dtype, shifted in itertools.product(FLOATS, (False, True)):
        x, scale = random((5, 4), dtype, 1), random((3, 4), dtype, 2, 1, 30)
        expected = int8(f32(x) * f32(scale[experts]) + (3 if shifted else 0))
        offset = In(np.array([3]), dtype) if shifted else None
        arguments = [In(x, dtype), In(scale, dtype), In(ends, "i64"), offset, 2]
        made.append(
            Case("aclnnGroupQuant", [*arguments, Out(expected, "i8")], f"{dtype} {shifted}")
        )
    return made


def quantize():
    made = []
    limits = {"i8": (-128, 127), "u8": (0, 255), "i32": (-(2**31), 2**31 - 1)}
    for dtype, to, size in itertools.product(FLOATS, limits, (1, 3)):
        x = random((2, 3, 4), dtype, 1, -30, 30)
        scale, zero = random((size,), "f32", 2, 0.1, 1), random((size,), "i32", 3, -3, 9)
        expected = np.rint(f32(x) / scale.reshape(-1, 1)) + zero.reshape(-1, 1)
        tensors = [In(x, dtype), In(scale, "f32"), In(zero, "i32")]
        out = Out(np.clip(expected, *limits[to]), to)
        made.append(Case("aclnnQuantize", [*tensors, CODE[to], 1, out], f"{dtype} {to} {size}"))
    return made


def dequant_bias():
    made = []
    for dtype, rows, bias in itertools.product(HALVES, (False, True), (None, "i32", "f32", "f16")):
        x, w = random((3, 4), "i32", 1, -999, 999), random((4,), "f32", 2, 0.01, 0.1)
        a, b = random((3,), "f32", 3, 0.1, 1), random((4,), bias or "i32", 4, -9, 9)
        value = f32(x + b) if bias == "i32" else f32(x)
        value = value * w * (a[:, None] if rows else 1)
        value = value + b if bias and bias != "i32" else value
        given = [In(a, "f32") if rows else None, In(b, bias) if bias else None]
        arguments = [In(x, "i32"), In(w, "f32"), *given, CODE[dtype], Out(value, dtype)]
        made.append(Case("aclnnDequantBias", arguments, f"{dtype} {rows} {bias}"))
    return made


def pack():
    made = []
    scale, offset = random((5,), "f32", 1, 0.001, 3), np.array([-300, -4, 0, 7, 300])
    out = Out(packed(scale), "u64")
    made.append(Case("aclnnTransQuantParamV2", [In(scale, "f32"), None, out]))
    out = Out(packed(scale, offset), "u64")
    arguments = [In(scale, "f32"), In(offset, "f32"), out]
    made.append(Case("aclnnTransQuantParamV2", arguments, "offset"))
    return made


def fake_quant():
    made = []
    for dtype in FLOATS:
        x = random((2, 3, 4), dtype, 1, -9, 9)
        scale, zero = random((3,), "f32", 2, 0.05, 0.2), random((3,), "i32", 3, -5, 5)

        def pretend(s, at, x=x):
            whole = np.rint(f32(x) * (f32(1) / s)) + at
            return (np.clip(whole, -32, 31) - at) * s, (whole >= -32) & (whole <= 31)

        value, mask = pretend(scale.reshape(-1, 1), zero.reshape(-1, 1))
        tensors = [In(x, dtype), In(scale, "f32"), In(zero, "i32")]
        outputs = [Out(value, dtype), Out(mask, "bool")]
        arguments = [*tensors, 1, -32, 31, *outputs]
        made.append(Case("aclnnFakeQuantPerChannelAffineCachemask", arguments, dtype))
        for enabled in (1.0, 0.0):
            value, mask = pretend(scale[0], zero[0]) if enabled else (x, np.ones(x.shape))
            tensors = [In(x, dtype), In(scale[:1], "f32"), In(zero[:1], "i32")]
            arguments = [*tensors, enabled, -32, 31, Out(value, dtype), Out(mask, "bool")]
            name = f"{dtype} {enabled}"
            made.append(Case("aclnnFakeQuantPerTensorAffineCachemask", arguments, name))
    return made


OPS = {
    "aclnnAscendQuant": ascend_quant("aclnnAscendQuant", False),
    "aclnnAscendQuantV3": ascend_quant("aclnnAscendQuantV3", True),
    "aclnnAscendAntiQuant": anti_quant,
    "aclnnDynamicQuant": dynamic_quant,
    "aclnnGroupQuant": group_quant,
    "four bits": four_bits,
    "aclnnQuantize": quantize,
    "aclnnDequantBias": dequant_bias,
    "aclnnTransQuantParamV2": pack,
    "aclnnFakeQuant": fake_quant,
}
