"""Attention for the prompt and for the tokens that follow, and rotary embedding."""

import numpy as np

from ..case import Case, In, Ints, List, Out, Ref
from ..values import FLOATS, random
from .attention import FAR, LOOSE, LOWER, ONE, TWO, B, D, N, S, T, attend, laid, tensors

HALVES = ("f16", "bf16")
LENGTHS = np.array([4, 6])


def attended(q, k, v, lengths, queries=None, **more):
    """With the lengths of the sequences; queries behind theirs give 0."""
    hidden = np.arange(k.shape[2]) >= lengths[:, None, None, None]
    hidden = hidden | more.pop("hidden", False)
    result, top, total = attend(q, k, v, 0.5, hidden, **more)
    lse = top + np.log(total)
    if queries is not None:
        covered = (np.arange(q.shape[2]) < queries[:, None])[:, None, :, None]
        result, lse = result * covered, lse * covered
    return result, lse


def prompts(op, arrange, own_queries):
    def cases():
        made = []
        for dtype in HALVES:
            for layout in ("BSH", "BNSD", "BSND"):
                q, k, v = tensors(dtype, 2)
                lengths = np.array([4, 5]) if own_queries is None else LENGTHS
                queries = lengths if own_queries is None else own_queries
                result, _ = attended(q, k, v, lengths, queries)
                inputs = [In(laid(x, layout), dtype) for x in (q, k, v)]
                out = Out(laid(result, layout), dtype, LOOSE[dtype])
                sizes = [Ints(queries), Ints(lengths)]
                made.append(
                    Case(op, arrange(inputs, *sizes, layout, out), f"{dtype} {layout}", TWO)
                )
        return made

    return cases


def prompt(inputs, _, lengths, layout, out):
    return [*inputs, None, None, lengths, N, 0.5, FAR, FAR, layout, 2, out]


def prompt_v2(inputs, queries, lengths, layout, out):
    numbers = [N, 0.5, FAR, FAR, layout, 2, 0]
    return [*inputs, None, None, queries, lengths, *[None] * 5, *numbers, out]


def prompt_v3(inputs, queries, lengths, layout, out):
    return [*prompt_v2(inputs, queries, lengths, layout, out)[:-1], 0, out]


def steps(version):
    op = "aclnnIncreFlashAttention" + ("" if version == 1 else f"V{version}")

    def call(q, k, v, lengths, layout, out, table=None, block=0, mask=None, shift=None):
        nothing = [None] * {1: 0, 2: 5, 3: 7, 4: 7}[version]
        table = [] if version < 3 else [table] if version == 3 else [table, None]
        numbers = [N, 0.5, layout, 2] + ([] if version < 3 else [block, 0])
        return [q, k, v, shift, mask, lengths, *nothing, *table, *numbers, out]

    def cases():
        made = []
        for dtype in HALVES:
            q, k, v = tensors(dtype, 2, queries=1)
            result, _ = attended(q, k, v, LENGTHS)
            for layout in ("BSH", "BNSD", "BSND"):
                query = In(laid(q, layout), dtype)
                out = Out(laid(result, layout), dtype, LOOSE[dtype])
                whole = [List([In(laid(x, layout), dtype)]) for x in (k, v)]
                arguments = call(query, *whole, Ints(LENGTHS), layout, out)
                made.append(Case(op, arguments, f"{dtype} {layout}", TWO))
                apart = [
                    List([In(laid(x[i : i + 1], layout), dtype) for i in range(B)]) for x in (k, v)
                ]
                arguments = call(query, *apart, Ints(LENGTHS), layout, out)
                made.append(Case(op, arguments, f"{dtype} {layout} apart", TWO))
            mask, shift = random((B, 1, 1, T), "bool", 4), random((B, N, 1, T), dtype, 5)
            mask[..., 0] = False
            result, _ = attended(q, k, v, LENGTHS, hidden=mask, after=shift)
            out = Out(result, dtype, LOOSE[dtype])
            whole = [List([In(x, dtype)]) for x in (k, v)]
            more = {"mask": In(mask, "bool"), "shift": In(shift, dtype)}
            arguments = call(In(q, dtype), *whole, Ints(LENGTHS), "BNSD", out, **more)
            made.append(Case(op, arguments, f"{dtype} mask", TWO))
            if version >= 3:
                made += paged(dtype, op, call)
        return made

    return cases


def paged(dtype, op, call):
    """A cache in blocks of 4 positions, [blocks, 4, H] or [blocks, heads, 4, D]."""
    made = []
    lengths, table = np.array([7, 4]), np.array([[3, 0], [4, -1]])
    q = random((B, N, 1, D), dtype, 1).astype(np.float64)
    caches = [random((5, 2, 4, D), dtype, seed).astype(np.float64) for seed in (2, 3)]
    k, v = (x[table].transpose(0, 2, 1, 3, 4).reshape(B, 2, 8, D) for x in caches)
    result, _ = attended(q, k, v, lengths)
    for layout in ("BNSD", "BSH"):
        blocks = [List([In(laid(x, layout), dtype)]) for x in caches]
        out = Out(laid(result, layout), dtype, LOOSE[dtype])
        query = In(laid(q, layout), dtype)
        arguments = call(query, *blocks, Ints(lengths), layout, out, In(table, "i32"), 4)
        made.append(Case(op, arguments, f"{dtype} {layout} blocks", TWO))
    return made


def fused(version):
    op = "aclnnFusedInferAttentionScore" + ("" if version == 1 else f"V{version}")

    def call(tensors, mask, lengths, layout, outputs, sparse=0, kv_heads=2, rope=(None, None)):
        nothing = [None] * (10 if version == 1 else 17)
        rope = [*rope, None] if version == 3 else []
        numbers = [N, 0.5, FAR, FAR, layout, kv_heads, sparse, 0, 0, 0, True]
        numbers += [] if version == 1 else [0, 0]
        return [*tensors, None, mask, *lengths, *nothing, *rope, *numbers, *outputs]

    def cases():
        made = []
        for dtype in HALVES:
            q, k, v = tensors(dtype, 2)
            queries = np.array([5, 3])
            for layout in ("BSH", "BNSD", "BSND", "BNSD_BSND"):
                result, lse = attended(q, k, v, LENGTHS, queries)
                given, back = (layout.split("_") * 2)[:2]
                caches = [List([In(laid(x, given), dtype)]) for x in (k, v)]
                outputs = [
                    Out(laid(result, back), dtype, LOOSE[dtype]),
                    Out(lse, "f32", LOOSE["f32"]),
                ]
                inputs = [In(laid(q, given), dtype), *caches]
                sizes = [Ints(queries), Ints(LENGTHS)]
                arguments = call(inputs, None, sizes, layout, outputs)
                made.append(Case(op, arguments, f"{dtype} {layout}", TWO))
            right = np.triu(np.ones((S, T), bool), 1 + T - S)
            result, top, total = attend(q, k, v, 0.5, right)
            lse = top + np.log(total)
            outputs = [Out(result, dtype, LOOSE[dtype]), Out(lse, "f32", LOOSE["f32"])]
            inputs = [In(q, dtype), List([In(k, dtype)]), List([In(v, dtype)])]
            arguments = call(inputs, In(LOWER, "bool"), [None, None], "BNSD", outputs, 3)
            made.append(Case(op, arguments, f"{dtype} causal", ONE))
            made.append(packed(dtype, op, call))
            if version == 3:
                made.append(with_rope(dtype, op, call))
        return made

    return cases


def packed(dtype, op, call):
    """Sequences one after the other."""
    q = random((5, N, D), dtype, 1).astype(np.float64)
    k, v = (random((7, 2, D), dtype, seed).astype(np.float64) for seed in (2, 3))
    results, lses = [], []
    for rows, columns in [(slice(0, 2), slice(0, 4)), (slice(2, 5), slice(4, 7))]:
        parts = [q[rows], k[columns], v[columns]]
        result, top, total = attend(*[x.transpose(1, 0, 2)[None] for x in parts], 0.5)
        results.append(result[0].transpose(1, 0, 2))
        lses.append((top + np.log(total))[0].transpose(1, 0, 2))
    outputs = [
        Out(np.concatenate(results), dtype, LOOSE[dtype]),
        Out(np.concatenate(lses), "f32", LOOSE["f32"]),
    ]
    inputs = [In(q, dtype), List([In(k, dtype)]), List([In(v, dtype)])]
    arguments = call(inputs, None, [Ints([2, 5]), Ints([4, 7])], "TND", outputs)
    return Case(op, arguments, f"{dtype} packed", TWO)


def with_rope(dtype, op, call):
    """More of query and key in tensors of their own."""
    q, k, v = tensors(dtype, 2)
    more_q = random((B, N, S, 4), dtype, 6).astype(np.float64)
    more_k = random((B, 2, T, 4), dtype, 7).astype(np.float64)
    whole = [np.concatenate(pair, -1) for pair in ((q, more_q), (k, more_k))]
    result, top, total = attend(*whole, v, 0.5)
    lse = Out(top + np.log(total), "f32", LOOSE["f32"])
    inputs = [In(q, dtype), List([In(k, dtype)]), List([In(v, dtype)])]
    rope = (In(more_q, dtype), In(more_k, dtype))
    outputs = [Out(result, dtype, LOOSE[dtype]), lse]
    arguments = call(inputs, None, [None, None], "BNSD", outputs, rope=rope)
    return Case(op, arguments, f"{dtype} rope", TWO)


def rotary():
    made = []
    for dtype in FLOATS:
        q, k = random((2, 3, 4, 8), dtype, 1), random((2, 3, 2, 8), dtype, 2)
        cos, sin = random((2, 3, 1, 8), dtype, 3), random((2, 3, 1, 8), dtype, 4)

        def turn(x, cos=cos, sin=sin):
            a, b = np.split(x, 2, -1)
            return x * cos + np.concatenate([-b, a], -1) * sin

        refs = [Ref(x, dtype, turn(x.astype(np.float64)), LOOSE[dtype]) for x in (q, k)]
        arguments = [*refs, In(cos, dtype), In(sin, dtype), 1]
        made.append(Case("aclnnApplyRotaryPosEmb", arguments, dtype))
    return made


QUERIES = np.array([3, 5])
OPS = {
    "aclnnPromptFlashAttention": prompts("aclnnPromptFlashAttention", prompt, None),
    "aclnnPromptFlashAttentionV2": prompts("aclnnPromptFlashAttentionV2", prompt_v2, QUERIES),
    "aclnnPromptFlashAttentionV3": prompts("aclnnPromptFlashAttentionV3", prompt_v3, QUERIES),
    "aclnnIncreFlashAttention": steps(1),
    "aclnnIncreFlashAttentionV2": steps(2),
    "aclnnIncreFlashAttentionV3": steps(3),
    "aclnnIncreFlashAttentionV4": steps(4),
    "aclnnFusedInferAttentionScore": fused(1),
    "aclnnFusedInferAttentionScoreV2": fused(2),
    "aclnnFusedInferAttentionScoreV3": fused(3),
    "aclnnApplyRotaryPosEmb": rotary,
}
