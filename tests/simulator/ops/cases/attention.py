"""Attention for training."""

import itertools

import numpy as np

from ..case import Case, In, Ints, Out
from ..slopes import gradient
from ..values import FLOATS, random, rounded

B, N, S, T, D = 2, 4, 5, 6, 8
FAR = 2**31 - 1
LOOSE = {"f32": (1e-4, 1e-4), "f16": (5e-3, 5e-3), "bf16": (4e-2, 4e-2)}
TWO = ("contiguous", "transposed")
ONE = ("contiguous",)
LOWER = np.triu(np.ones((2048, 2048), bool), 1)


def laid(x, layout):
    """[B, N, S, D] in another layout."""
    if layout == "BNSD":
        return x
    x = x.transpose(0, 2, 1, 3)
    if layout == "BSND":
        return x
    x = x.reshape(*x.shape[:2], -1)
    return x.transpose(1, 0, 2) if layout == "SBH" else x


def attend(q, k, v, scale, hidden=None, before=0.0, after=0.0, kept=1.0):
    """The result, and the largest score and the sum of exponents of each row."""
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], 1) for x in (k, v))
    scores = (q @ k.swapaxes(-1, -2) + before) * scale + after
    if hidden is not None:
        scores = np.where(hidden, -np.inf, scores)
    top = scores.max(-1, keepdims=True)
    e = np.exp(scores - top)
    total = e.sum(-1, keepdims=True)
    return (e / total * kept) @ v, top, total


def tensors(dtype, kv_heads=N, queries=S, keys=T):
    shapes = [(B, N, queries, D), (B, kv_heads, keys, D), (B, kv_heads, keys, D)]
    return [random(shape, dtype, seed).astype(np.float64) for seed, shape in enumerate(shapes)]


def row_results(top, total):
    return [Out(np.repeat(x, 8, -1), "f32", LOOSE["f32"]) for x in (top, total)]


def training():
    made = []
    triangle = np.triu(np.ones((S, T), bool), 1)
    band = np.triu(np.ones((S, T), bool), 2) | np.tril(np.ones((S, T), bool), -3)
    for dtype in FLOATS:
        for layout in ("BSH", "SBH", "BSND", "BNSD"):
            for name, heads, hidden, mask, sparse in [
                ("plain", N, None, None, 0),
                ("grouped", 2, None, None, 0),
                ("mask", N, triangle, triangle, 1),
                ("causal", N, triangle, LOWER, 2),
                ("right causal", N, np.triu(np.ones((S, T), bool), 2), None, 3),
                ("band", N, band, np.zeros((S, T), bool), 0),
            ]:
                if dtype != "f32" and layout != "BSH":
                    continue
                q, k, v = tensors(dtype, heads)
                result, top, total = attend(q, k, v, 0.5, hidden)
                outputs = [
                    *row_results(top, total),
                    None,
                    Out(laid(result, layout), dtype, LOOSE[dtype]),
                ]
                inputs = [In(laid(x, layout), dtype) for x in (q, k, v)]
                masked = None if mask is None else In(mask, "bool")
                reach = (2, 1) if name == "band" else (FAR, FAR)
                arguments = [
                    *inputs, None, None, None, masked, None, 0.5, 1.0, *reach, N, layout, 0,
                    sparse, *outputs,
                ]  # fmt: skip
                case = Case("aclnnFlashAttentionScore", arguments, f"{dtype} {layout} {name}")
                case.layouts = ONE if name == "causal" else TWO
                made.append(case)
    return made


def gradients():
    made = []
    hidden = np.triu(np.ones((3, 4), bool), 1)
    for dtype, mask in itertools.product(FLOATS, (None, hidden)):
        q, k, v = tensors(dtype, 2)
        q, k, v = q[:1, :, :3], k[:1, :, :4], v[:1, :, :4]
        grad = random(q.shape, dtype, 9)
        results = [
            gradient(lambda x, k=k, v=v, m=mask: attend(x, k, v, 0.5, m)[0], q, grad),
            gradient(lambda x, q=q, v=v, m=mask: attend(q, x, v, 0.5, m)[0], k, grad),
            gradient(lambda x, q=q, k=k, m=mask: attend(q, k, x, 0.5, m)[0], v, grad),
        ]
        for layout in ("BSH", "BNSD"):
            inputs = [In(laid(x, layout), dtype) for x in (q, k, v, grad)]
            outputs = [Out(laid(x, layout), dtype, LOOSE[dtype]) for x in results]
            masked = None if mask is None else In(mask, "bool")
            arguments = [
                *inputs, None, None, None, masked, None, None, None, None, None, 0.5, 1.0, FAR,
                FAR, N, layout, 0, 1, *outputs, None,
            ]  # fmt: skip
            name = f"{dtype} {layout} {mask is not None}"
            made.append(Case("aclnnFlashAttentionScoreGrad", arguments, name, ("contiguous",)))
    return made


def first_version(tensors, extras, scale, keep, reach, layout, sparse):
    """The arguments of aclnnFlashAttentionScore(Grad) before the outputs."""
    shift, drop, mask, prefix = extras
    numbers = [scale, keep, *reach, N, layout, 0, sparse]
    return [*tensors, shift, drop, None, mask, *prefix, *numbers]


def with_shift():
    made = []
    q, k, v = tensors("f32")
    for shape in [(B, N, S, T), (1, N, S, T), (B, N, 1, T)]:
        shift = random(shape, "f32", 5)
        result, top, total = attend(q, k, v, 0.5, before=shift)
        extras = (In(shift, "f32"), None, None, [None])
        inputs = [In(laid(x, "BSH"), "f32") for x in (q, k, v)]
        arguments = first_version(inputs, extras, 0.5, 1.0, (FAR, FAR), "BSH", 0)
        arguments += [*row_results(top, total), None, Out(laid(result, "BSH"), "f32", LOOSE["f32"])]
        made.append(Case("aclnnFlashAttentionScore", arguments, f"shift {shape}", TWO))
    return made


def with_dropout():
    q, k, v = tensors("f32")
    bits = np.random.default_rng(3).random(B * N * S * T) < 0.75
    packed = np.packbits(bits, bitorder="little")
    kept = bits.reshape(B, N, S, T) / 0.75
    result, top, total = attend(q, k, v, 0.5, kept=kept)
    inputs = [In(x, "f32") for x in (q, k, v)]
    extras = (None, In(packed, "u8"), None, [None])
    arguments = first_version(inputs, extras, 0.5, 0.75, (FAR, FAR), "BNSD", 0)
    arguments += [*row_results(top, total), None, Out(result, "f32", LOOSE["f32"])]
    grad = random(q.shape, "f32", 9)
    slopes = [
        gradient(lambda x: attend(x, k, v, 0.5, kept=kept)[0], q, grad),
        gradient(lambda x: attend(q, x, v, 0.5, kept=kept)[0], k, grad),
        gradient(lambda x: attend(q, k, x, 0.5, kept=kept)[0], v, grad),
    ]
    back = [*inputs, In(grad, "f32"), None, In(packed, "u8"), None, None, None, None, None, None]
    back += [None, 0.5, 0.75, FAR, FAR, N, "BNSD", 0, 0]
    back += [Out(x, "f32", LOOSE["f32"]) for x in slopes] + [None]
    return [
        Case("aclnnFlashAttentionScore", arguments, "dropout", TWO),
        Case("aclnnFlashAttentionScoreGrad", back, "dropout", TWO),
    ]


def with_prefix():
    """Some first keys are seen by all queries."""
    made = []
    q, k, v = tensors("f32", queries=T)
    lengths = np.array([3, 1])
    causal = np.triu(np.ones((T, T), bool), 1)
    hidden = causal & (np.arange(T) >= lengths[:, None, None, None])
    result, top, total = attend(q, k, v, 0.5, hidden)
    for sparse, mask in [(5, hidden), (6, np.zeros((3072, 2048), bool))]:
        inputs = [In(x, "f32") for x in (q, k, v)]
        extras = (None, None, In(mask, "bool"), [Ints(lengths)])
        arguments = first_version(inputs, extras, 0.5, 1.0, (FAR, FAR), "BNSD", sparse)
        arguments += [*row_results(top, total), None, Out(result, "f32", LOOSE["f32"])]
        made.append(Case("aclnnFlashAttentionScore", arguments, f"{sparse}", ONE))
    return made


def positions(kind, slope, queries, keys, starts=(0, 0)):
    """Slopes of the distance between positions, [..., N, queries, keys]."""
    gap = np.abs(np.arange(queries)[:, None] + starts[0] - np.arange(keys) - starts[1])
    return -slope[..., None, None] * (np.sqrt(gap) if kind == 3 else gap)


def second_version():
    made = []
    q, k, v = tensors("f32")
    grad = random(q.shape, "f32", 9)
    for kind, shape in [(0, (B, N, S, T)), (1, (B, N, S, T)), (2, (N,)), (3, (B, N))]:
        shift = random(shape, "f32", 5, 0.1, 0.9)
        starts = (3, 1)
        if kind < 2:
            added = {"after": shift} if kind == 0 else {"before": shift}
        else:
            added = {"after": positions(kind, shift, S, T, starts)}
        result, top, total = attend(q, k, v, 0.5, **added)
        inputs = [In(x, "f32") for x in (q, k, v)]
        prefix = [None, Ints([starts[0]]), Ints([starts[1]])]
        extras = (In(shift, "f32"), None, None, prefix)
        arguments = first_version(inputs, extras, 0.5, 1.0, (FAR, FAR), "BNSD", 0)
        arguments += [kind, *row_results(top, total), None, Out(result, "f32", LOOSE["f32"])]
        made.append(Case("aclnnFlashAttentionScoreV2", arguments, f"{kind}", TWO))

        slopes = gradient(lambda x, a=added: attend(x, k, v, 0.5, **a)[0], q, grad)
        slopes = [slopes, gradient(lambda x, a=added: attend(q, x, v, 0.5, **a)[0], k, grad)]
        slopes.append(gradient(lambda x, a=added: attend(q, k, x, 0.5, **a)[0], v, grad))
        outputs = [Out(x, "f32", LOOSE["f32"]) for x in slopes]
        where = "after" if kind == 0 else "before"
        of_shift = None
        if kind < 2:
            of_shift = gradient(lambda x, w=where: attend(q, k, v, 0.5, **{w: x})[0], shift, grad)
            of_shift = Out(of_shift, "f32", LOOSE["f32"])
        given = [In(np.repeat(x, 8, -1), "f32") for x in (top, total)]
        back = [*inputs, In(grad, "f32"), In(shift, "f32"), None, None, None, *given, None]
        back += [In(result, "f32"), *prefix, 0.5, 1.0, FAR, FAR, N, "BNSD", 0, 0, kind]
        made.append(
            Case("aclnnFlashAttentionScoreGradV2", [*back, *outputs, of_shift], f"{kind}", TWO)
        )
    return made


def second_version_of_16_bits():
    made = []
    for dtype, kind in itertools.product(("f16", "bf16"), (0, 1)):
        q, k, v = tensors(dtype)
        shift = random((B, N, S, T), dtype, 5)
        added = {"before" if kind else "after": shift}
        result, top, total = attend(q, k, v, 0.5, **added)
        extras = (In(shift, dtype), None, None, [None, None, None])
        inputs = [In(x, dtype) for x in (q, k, v)]
        arguments = first_version(inputs, extras, 0.5, 1.0, (FAR, FAR), "BNSD", 0)
        arguments += [kind, *row_results(top, total), None, Out(result, dtype, LOOSE[dtype])]
        made.append(Case("aclnnFlashAttentionScoreV2", arguments, f"{dtype} {kind}", TWO))
    return made


QUERY_ENDS, KEY_ENDS = [3, 3, 8], [4, 5, 11]


def packed_parts(f, q, k, v):
    """f of each sequence of [T, N, D], results one after the other."""
    results, first, first_key = [], 0, 0
    for number, (end, end_key) in enumerate(zip(QUERY_ENDS, KEY_ENDS, strict=True)):
        parts = [q[first:end], k[first_key:end_key], v[first_key:end_key]]
        results.append(f(number, *[part.transpose(1, 0, 2)[None] for part in parts]))
        first, first_key = end, end_key
    return [
        np.concatenate([part[0].transpose(1, 0, 2) for part in parts])
        for parts in zip(*results, strict=True)
    ]


def packed(version):
    """Sequences of different length, one of them empty."""

    def cases():
        made = []
        ends = [Ints(QUERY_ENDS), Ints(KEY_ENDS)]
        for dtype in FLOATS:
            for name, sparse, kind in [("plain", 0, 1), ("causal", 2, 1), ("right", 3, 2)]:
                q = random((8, N, D), dtype, 1).astype(np.float64)
                k, v = (random((11, 2, D), dtype, x).astype(np.float64) for x in (2, 3))
                slope = random((N,), "f32", 4, 0.1, 0.9)
                shifted = version == 2 and kind == 2

                def one(_, q, k, v, sparse=sparse, slope=slope, shifted=shifted):
                    rows, columns = q.shape[2], k.shape[2]
                    diagonal = {0: columns, 2: 1, 3: 1 + columns - rows}[sparse]
                    hidden = np.triu(np.ones((rows, columns), bool), diagonal)
                    after = positions(2, slope, rows, columns) if shifted else 0.0
                    if rows == 0:
                        return q, *[np.zeros((1, N, 0, 1))] * 2
                    return attend(q, k, v, 0.5, hidden, after=after)

                result, top, total = packed_parts(one, q, k, v)
                inputs = [In(x, dtype) for x in (q, k, v)]
                mask = In(LOWER, "bool") if sparse else None
                shift = In(slope, "f32") if shifted else None
                starts, which = ([None, None], [kind]) if version == 2 else ([], [])
                numbers = [0.5, 1.0, FAR, FAR, N, "TND", 0, sparse, *which]
                middle = [shift, None, None, mask, None, *ends, *starts, *numbers]
                outputs = [*row_results(top, total), None, Out(result, dtype, LOOSE[dtype])]
                ending = "V2" if version == 2 else ""
                op = f"aclnnFlashAttentionVarLenScore{ending}"
                made.append(Case(op, [*inputs, *middle, *outputs], f"{dtype} {name}", ONE))
                if dtype != "f32":
                    continue
                grad = random(q.shape, dtype, 9)
                whole = {"q": q, "k": k, "v": v}

                def result_of(x, which, whole=whole, one=one):
                    return packed_parts(one, **{**whole, which: x})[0]

                slopes = [
                    gradient(lambda x, w=w, f=result_of: f(x, w), x, grad) for w, x in whole.items()
                ]
                given = [In(np.repeat(x, 8, -1), "f32") for x in (top, total)]
                middle[4:4] = [*given, None, In(rounded(result, dtype), dtype)]
                outputs = [Out(x, dtype, LOOSE[dtype]) for x in slopes] + [None]
                op = f"aclnnFlashAttentionUnpaddingScoreGrad{ending}"
                made.append(Case(op, [*inputs, In(grad, dtype), *middle, *outputs], name, ONE))
        return made

    return cases


OPS = {
    "aclnnFlashAttentionScore": training,
    "aclnnFlashAttentionScore shift": with_shift,
    "aclnnFlashAttentionScore dropout": with_dropout,
    "aclnnFlashAttentionScore prefix": with_prefix,
    "aclnnFlashAttentionScoreV2": second_version,
    "aclnnFlashAttentionScoreV2 of 16 bits": second_version_of_16_bits,
    "aclnnFlashAttentionScoreGrad": gradients,
    "aclnnFlashAttentionVarLenScore": packed(1),
    "aclnnFlashAttentionVarLenScoreV2": packed(2),
}
