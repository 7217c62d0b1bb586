"""Products of quantised numbers, alone, of groups, and with activations around them."""

import itertools
import math

import numpy as np

from ..case import Case, In, Ints, List, Out, Ref
from ..values import FLOATS, random
from .quant import HALVES, f32, int8, packed, plain, symmetric


def products(op, scales, outs, turns=((False, False), (True, False), (False, True))):
    """scales: of the columns, as dtypes; outs: dtypes of the result."""

    def cases():
        made = []
        shapes = [((3, 40), (40, 5)), ((2, 3, 40), (40, 5)), ((2, 1, 3, 4), (2, 4, 5))]
        for scale, out, (t1, t2), (left, right) in itertools.product(scales, outs, turns, shapes):
            x1, x2 = random(left, "i8", 1, -127, 127), random(right, "i8", 2, -127, 127)
            bias = random((5,), "i32", 3, -999, 999)
            sums = np.matmul(x1.astype(np.int64), x2.astype(np.int64)) + bias
            by = random((5,), "bf16" if scale == "bf16" else "f32", 4, 0.001, 0.003)
            words = packed(by)
            factor = plain(words) if scale == "u64" else f32(by)
            offset = random((5,), "f32", 5, -9, 9) if out == "i8" else None
            value = f32(sums) * factor
            if out == "i8":
                value = int8(value + offset)
            if out == "i32":
                value = sums
            a = x1.swapaxes(-1, -2) if t1 else x1
            b = x2.swapaxes(-1, -2) if t2 else x2
            tensors = {
                "x1": In(a, "i8"), "x2": In(b, "i8"), "bias": In(bias, "i32"),
                "scale": In(words if scale == "u64" else by, scale),
                "offset": None if offset is None else In(offset, "f32"),
            }  # fmt: skip
            result = Out(value, out)
            name = f"{scale} {out} {t1} {t2} {left}"
            if op == "aclnnQuantMatmulV2":
                order = ["x1", "x2", "bias", "scale"]
                arguments = [*(tensors[key] for key in order), t1, t2, result]
            elif op == "aclnnQuantMatmulV3":
                order = ["x1", "x2", "scale", "offset", "bias"]
                arguments = [*(tensors[key] for key in order), t1, t2, result]
            else:
                first = [tensors[key] for key in ("x1", "x2", "scale", "offset")]
                arguments = [*first, None, tensors["bias"], t1, t2, result]
            made.append(Case(op, arguments, name, ("contiguous", "transposed")))
        return made

    return cases


def one_scale():
    x1, x2 = random((3, 4), "i8", 1, -99, 99), random((4, 5), "i8", 2, -99, 99)
    bias = random((5,), "i32", 3, -99, 99)
    out = Out(f32(x1.astype(np.int64) @ x2.astype(np.int64) + bias) * f32(0.01), "f16")
    return [Case("aclnnQuantMatmul", [In(x1, "i8"), In(x2, "i8"), In(bias, "i32"), 0.01, out])]


def per_token():
    made = []
    for out, bias in itertools.product(HALVES, ("i32", "f32")):
        x1, x2 = random((3, 2000), "i8", 1, -127, 127), random((2000, 5), "i8", 2, -127, 127)
        by, rows = random((5,), "f32", 3, 1e-4, 1e-3), random((3,), "f32", 4, 0.1, 1)
        b = random((5,), bias, 5, -9, 9)
        sums = x1.astype(np.int64) @ x2.astype(np.int64)
        value = f32(sums + b if bias == "i32" else sums) * by * rows[:, None]
        value = value if bias == "i32" else value + b
        tensors = [In(x1, "i8"), In(x2, "i8"), In(by, "f32"), None, In(rows, "f32"), In(b, bias)]
        arguments = [*tensors, False, False, Out(value, out)]
        made.append(Case("aclnnQuantMatmulV4", arguments, f"{out} {bias}"))
    return made


def quantised_result():
    made = []
    for t1, t2, biased in itertools.product((False, True), (False, True), (False, True)):
        x1, x2 = random((2, 3, 4), "f16", 1), random((2, 4, 5), "f16", 2)
        scale, offset = random((5,), "f32", 3, 1, 5), random((5,), "i32", 4, -20, 20)
        bias = random((5,), "f16", 5)
        words = packed(scale, offset)
        value = np.matmul(x1.astype(np.float64), x2) + (bias if biased else 0)
        out = Out(int8(f32(value) * plain(words) + f32(offset)), "i8")
        a, b = (x.swapaxes(-1, -2) if t else x for x, t in ((x1, t1), (x2, t2)))
        tensors = [
            In(a, "f16"),
            In(b, "f16"),
            In(words, "u64"),
            In(bias, "f16") if biased else None,
        ]
        made.append(Case("aclnnBatchMatmulQuant", [*tensors, t1, t2, out], f"{t1} {t2} {biased}"))
    return made


def quantised_input():
    made = []
    for mode, given, turned in itertools.product(
        ("pertoken", "pertensor"), (False, True), (False, True)
    ):
        if mode == "pertensor" and not given:
            continue
        x, w = random((3, 8), "f16", 1), random((8, 5), "i8", 2, -99, 99)
        by, smooth = random((5,), "f32", 3, 0.01, 0.1), random((8,), "f16", 4, 0.5, 2)
        bias = random((5,), "i32", 5, -99, 99)
        scale = random((3 if mode == "pertoken" else 1,), "f32", 6, 0.05, 0.1)
        value = f32(x) * f32(smooth)
        if given:
            whole, rows = int8(value / scale.reshape(-1, 1)), scale.reshape(-1, 1)
        else:
            whole, rows = symmetric(value)
            rows = rows[:, None]
        sums = whole.astype(np.int64) @ w.astype(np.int64) + bias
        tensors = [
            In(x, "f16"), In(w.T if turned else w, "i8"), In(by, "f32"), In(bias, "i32"),
            In(scale, "f32") if given else None, None, In(smooth, "f16"),
        ]  # fmt: skip
        out = Out(f32(sums) * by * rows, "f16")
        name = f"{mode} {given} {turned}"
        made.append(Case("aclnnQuantMatmulDequant", [*tensors, mode, turned, out], name))
    return made


def weight_quant_first():
    made = []
    for t1, t2 in itertools.product((False, True), (False, True)):
        x, w = random((3, 4), "f16", 1), random((4, 5), "i8", 2, -9, 9)
        offset, scale = random((5,), "f16", 3), random((5,), "f16", 4, 0.1, 1)
        bias = random((5,), "f32", 5)
        expected = x.astype(np.float64) @ ((w + offset) * scale) + bias
        a, b = (value.T if turned else value for value, turned in ((x, t1), (w, t2)))
        tensors = [In(a, "f16"), In(b, "i8"), None, None, None, In(offset, "f16"), In(scale, "f16")]
        out = Out(expected, "f16", (2e-2, 2e-1))
        arguments = [*tensors, In(bias, "f32"), t1, t2, 1.0, 0.0, out]
        made.append(Case("aclnnWeightQuantBatchMatmul", arguments, f"{t1} {t2}"))
    return made


def weight_quant_to_int8():
    made = []
    for words in (False, True):
        x, w = random((3, 4), "f16", 1), random((4, 5), "i8", 2, -9, 9)
        scale = random((5,), "f16", 3, 0.1, 1)
        by, at = random((5,), "f32", 4, 0.5, 2), random((5,), "i32", 5, -9, 9)
        value = f32(x.astype(np.float64) @ (w * f32(scale)))
        factor = plain(packed(by)) if words else by
        out = Out(int8(value * factor + f32(at)), "i8")
        quant = [In(packed(by, at), "u64"), None] if words else [In(by, "f32"), In(at, "f32")]
        tensors = [In(x, "f16"), In(w, "i8"), In(scale, "f16"), None, *quant, None]
        made.append(Case("aclnnWeightQuantBatchMatmulV2", [*tensors, 0, out], f"{words}"))
    return made


def silu(x):
    return x / (1 + np.exp(-x))


def gated(x, left):
    a, b = np.split(x, 2, -1)
    return f32(silu(a) * b if left else a * silu(b))


def swiglu_quant():
    made = []
    for dtype, left, dynamic in itertools.product(FLOATS, (False, True), (False, True)):
        x = random((6, 8), dtype, 1)
        ends, experts = np.array([2, 6]), np.array([0, 0, 1, 1, 1, 1])
        smooth, offset = random((2, 4), "f32", 2, 1, 4), random((2, 4), "f32", 3, -9, 9)
        value = gated(f32(x), left) * smooth[experts]
        y, scale = symmetric(value) if dynamic else (int8(value + offset[experts]), np.zeros(6))
        tensors = [
            In(x, dtype), In(smooth, "f32"), None if dynamic else In(offset, "f32"),
            In(ends, "i32"),
        ]  # fmt: skip
        arguments = [*tensors, left, "dynamic" if dynamic else "static"]
        outputs = [Out(y, "i8"), Out(scale, "f32")]
        made.append(Case("aclnnSwiGluQuant", [*arguments, *outputs], f"{dtype} {left} {dynamic}"))
    return made


def dequant_swiglu_quant():
    made = []
    for left, dynamic, bias in itertools.product((False, True), (False, True), ("i32", "f32")):
        x, w = random((6, 8), "i32", 1, -99, 99), random((8,), "f32", 2, 0.01, 0.05)
        rows, b = random((6,), "f32", 3, 0.5, 1), random((8,), bias, 4, -9, 9)
        smooth = random((4,), "f32", 5, 1, 4)
        value = f32(x + b if bias == "i32" else x) * (w * rows[:, None])
        value = gated(value if bias == "i32" else value + b, left) * smooth
        y, scale = symmetric(value) if dynamic else (int8(value), np.zeros(6))
        tensors = [In(x, "i32"), In(w, "f32"), In(rows, "f32"), In(b, bias), In(smooth, "f32")]
        arguments = [*tensors, None, None, left, "dynamic" if dynamic else "static"]
        outputs = [Out(y, "i8"), Out(scale, "f32")]
        name = f"{left} {dynamic} {bias}"
        made.append(Case("aclnnDequantSwigluQuant", [*arguments, *outputs], name))
    return made


def grouped_swiglu():
    ends, experts = np.array([2, 2, 6]), np.array([0, 0, 2, 2, 2, 2])
    x, w = random((6, 5), "i8", 1, -99, 99), random((3, 5, 8), "i8", 2, -99, 99)
    by, rows = random((3, 8), "f32", 3, 1e-3, 1e-2), random((6,), "f32", 4, 0.1, 1)
    sums = np.einsum("mk,mkn->mn", x.astype(np.int64), w[experts].astype(np.int64))
    y, scale = symmetric(gated(f32(sums) * by[experts] * rows[:, None], True))
    tensors = [
        In(x, "i8"),
        In(w, "i8"),
        None,
        None,
        In(by, "f32"),
        In(rows, "f32"),
        In(ends, "i64"),
    ]
    outputs = [Out(y, "i8"), Out(scale, "f32"), None]
    return [Case("aclnnGroupedMatmulSwigluQuant", [*tensors, *outputs])]


def gelu(x):
    return 0.5 * x * (1 + np.vectorize(math.erf)(x / np.sqrt(2)))


ACTIVATIONS = {
    "gelu": gelu, "fastgelu": lambda x: x / (1 + np.exp(-1.702 * x)),
    "relu": lambda x: np.maximum(x, 0), "silu": silu,
    "geglu": lambda x: np.split(x, 2, -1)[0] * gelu(np.split(x, 2, -1)[1]),
    "swiglu": lambda x: np.split(x, 2, -1)[0] * silu(np.split(x, 2, -1)[1]),
    "reglu": lambda x: np.split(x, 2, -1)[0] * np.maximum(np.split(x, 2, -1)[1], 0),
}  # fmt: skip


def feed_forward(op):
    def cases():
        made = []
        wide = {"f16": (2e-2, 1e-1), "bf16": (6e-2, 6e-1)}
        for dtype, (name, activation) in itertools.product(HALVES, ACTIVATIONS.items()):
            inner = 3 if name.endswith("glu") and name not in ("gelu", "fastgelu") else 6
            for experts in (0, 3):
                lead = (experts,) if experts else ()
                x = random((6, 4), dtype, 1)
                w1, w2 = random((*lead, 4, 6), dtype, 2), random((*lead, inner, 5), dtype, 3)
                b1, b2 = random((*lead, 6), dtype, 4), random((*lead, 5), dtype, 5)
                rows = np.array([0, 0, 2, 2, 2, 2])
                own = [value.astype(np.float64) for value in (w1, b1, w2, b2)]
                if experts:
                    own = [value[rows] for value in own]
                    hidden = activation(np.einsum("mk,mkn->mn", x, own[0]) + own[1])
                    expected = np.einsum("mk,mkn->mn", hidden, own[2]) + own[3]
                else:
                    expected = activation(x @ own[0] + own[1]) @ own[2] + own[3]
                by_ends = op != "aclnnFFN" and dtype == "f16"
                tokens = [2, 2, 6] if by_ends else [2, 0, 4]
                if op == "aclnnFFNV3":
                    given = In(np.array(tokens), "i64") if experts else None
                else:
                    given = Ints(tokens if experts else [])  # none are those of no experts
                arguments = [
                    In(x, dtype), In(w1, dtype), In(w2, dtype), given, In(b1, dtype),
                    In(b2, dtype), *[None] * 8, name, 0, *([] if op == "aclnnFFN" else [by_ends]),
                    Out(expected, dtype, wide[dtype]),
                ]  # fmt: skip
                made.append(Case(op, arguments, f"{dtype} {name} {experts}"))
        return made

    return cases


def bias_grad():
    made = []
    for dtype in FLOATS:
        g, ends = random((6, 4), dtype, 1), np.array([2, 2, 6])
        sums = np.stack([g[a:z].sum(0) for a, z in ((0, 2), (2, 2), (2, 6))])
        out = Out(sums, dtype, (3e-2, 3e-2) if dtype == "bf16" else None)
        op = "aclnnGroupedBiasAddGrad"
        made.append(Case(op, [In(g, dtype), In(ends, "i32"), out], dtype))
        for kind, index in ((0, ends), (1, np.array([2, 0, 4]))):
            arguments = [In(g, dtype), In(index, "i64"), kind, out]
            made.append(Case(f"{op}V2", arguments, f"{dtype} {kind}"))
        g = random((3, 5, 4), dtype, 1)
        out = Out(g.astype(np.float64).sum(1), dtype, (3e-2, 3e-2) if dtype == "bf16" else None)
        made.append(Case(op, [In(g, dtype), None, out], f"{dtype} dense"))
    return made


def grouped_arguments(op, ends, lists, token, out):
    """lists: x, weight, bias, scale, offset, scale and offset of the weights; None: left out."""
    made = [None if each is None else List(each) for each in lists]
    if op == "aclnnGroupedMatmulV4":
        return [
            *made, None if token is None else List([token]), In(ends, "i64"), None, None, None, 3,
            0, 0, 0, List([out]), None, None,
        ]  # fmt: skip
    if op == "aclnnGroupedMatmulV3":
        return [*made, In(ends, "i64"), 3, 0, List([out])]
    return [*made, Ints(ends), 3, *([0] if op == "aclnnGroupedMatmulV2" else []), List([out])]


GROUPED = ("aclnnGroupedMatmul", *(f"aclnnGroupedMatmulV{k}" for k in (2, 3, 4)))


def grouped_quant():
    """int8 times int8, the scales stacked or apart, packed or not."""
    made = []
    ends, experts = np.array([2, 2, 6]), np.array([0, 0, 2, 2, 2, 2])
    for op, stacked, words, out in itertools.product(GROUPED, (False, True), (False, True), HALVES):
        x, w = random((6, 40), "i8", 1, -99, 99), random((3, 40, 5), "i8", 2, -99, 99)
        b, by = random((3, 5), "i32", 3, -99, 99), random((3, 5), "f32", 4, 1e-3, 1e-2)
        rows = random((6,), "f32", 5, 0.1, 1) if op.endswith("V4") else None
        sums = np.einsum("mk,mkn->mn", x.astype(np.int64), w[experts].astype(np.int64))
        factor = plain(packed(by)) if words else by
        value = f32(sums + b[experts]) * factor[experts]
        value = value if rows is None else value * rows[:, None]

        def lines(values, dtype, stacked=stacked):
            return [In(values, dtype)] if stacked else [In(each, dtype) for each in values]

        scale = lines(packed(by) if words else by, "u64" if words else "f32")
        lists = [[In(x, "i8")], lines(w, "i8"), lines(b, "i32"), scale, None, None, None]
        token = None if rows is None else In(rows, "f32")
        arguments = grouped_arguments(op, ends, lists, token, Out(value, out))
        made.append(Case(op, arguments, f"{stacked} {words} {out}"))
    return made


def grouped_weight_quant():
    made = []
    ends, experts = np.array([2, 2, 6]), np.array([0, 0, 2, 2, 2, 2])
    for op, dtype, shifted in itertools.product(GROUPED, HALVES, (False, True)):
        x, w = random((6, 4), dtype, 1), random((3, 4, 5), "i8", 2, -9, 9)
        b, by = random((3, 5), dtype, 3), random((3, 5), dtype, 4, 0.1, 1)
        at = random((3, 5), dtype, 5)
        real = (w + (at if shifted else 0 * at)[:, None]) * by.astype(np.float64)[:, None]
        value = np.einsum("mk,mkn->mn", x, real[experts]) + b[experts]
        lists = [[In(x, dtype)], [In(w, "i8")], [In(b, dtype)], None, None, [In(by, dtype)]]
        lists.append([In(at, dtype)] if shifted else None)
        out = Out(value, dtype, (2e-2, 2e-1))
        arguments = grouped_arguments(op, ends, lists, None, out)
        made.append(Case(op, arguments, f"{dtype} {shifted}"))
    return made


def int4():
    """Eight numbers in each int32, the first in the lowest bits."""
    numbers = random((6, 16), "i32", 1, -8, 7)
    nibbles = (numbers & 15).reshape(6, 2, 8).astype(np.uint64)
    words = (nibbles << (4 * np.arange(8, dtype=np.uint64))).sum(-1).astype(np.uint32)
    words = words.view(np.int32)
    made = [Case("aclnnConvertWeightToINT4Pack", [In(numbers, "i32"), Out(words, "i32")])]
    for dtype in HALVES:
        x, by = random((3, 6), dtype, 2), random((16,), dtype, 3, 0.1, 1)
        out = Out(x.astype(np.float64) @ (numbers * by), dtype, (2e-2, 2e-1))
        arguments = [In(x, dtype), In(words, "i32"), In(by, dtype), *[None] * 4, 0, out]
        # A transposed view is one of words along the rows.
        layouts = ("contiguous", "sliced", "offset")
        made.append(Case("aclnnWeightQuantBatchMatmulV2", arguments, dtype, layouts))
    return made


def grouped_add():
    made = []
    for dtype in HALVES:
        x, w = random((6, 3), dtype, 1), random((6, 4), dtype, 2)
        start = random((2, 3, 4), "f32", 3)
        parts = [x[a:z].T.astype(np.float64) @ w[a:z] for a, z in ((0, 2), (2, 6))]
        y = Ref(start, "f32", start + np.stack(parts))
        arguments = [In(x, dtype), In(w, dtype), In(np.array([2, 6]), "i64"), y, True, False, 2]
        made.append(Case("aclnnGroupedMatmulAdd", arguments, dtype))
    return made


OPS = {
    "aclnnQuantMatmul": one_scale,
    "aclnnQuantMatmulV2": products("aclnnQuantMatmulV2", ["u64"], ["f16"]),
    "aclnnQuantMatmulV3": products(
        "aclnnQuantMatmulV3", ["u64", "f32", "bf16"], ["f16", "bf16", "i8", "i32"]
    ),
    "aclnnQuantMatmulV4": products("aclnnQuantMatmulV4", ["u64", "f32"], ["f16", "i8"]),
    "aclnnQuantMatmulV4 per token": per_token,
    "aclnnBatchMatmulQuant": quantised_result,
    "aclnnQuantMatmulDequant": quantised_input,
    "aclnnWeightQuantBatchMatmul": weight_quant_first,
    "aclnnWeightQuantBatchMatmulV2 to int8": weight_quant_to_int8,
    "aclnnSwiGluQuant": swiglu_quant,
    "aclnnDequantSwigluQuant": dequant_swiglu_quant,
    "aclnnGroupedMatmulSwigluQuant": grouped_swiglu,
    "aclnnFFN": feed_forward("aclnnFFN"),
    "aclnnFFNV2": feed_forward("aclnnFFNV2"),
    "aclnnFFNV3": feed_forward("aclnnFFNV3"),
    "aclnnGroupedBiasAddGrad": bias_grad,
    "aclnnGroupedMatmulAdd": grouped_add,
    "aclnnGroupedMatmul of int8": grouped_quant,
    "aclnnGroupedMatmul with int8 weights": grouped_weight_quant,
    "aclnnConvertWeightToINT4Pack": int4,
}
