"""Attention and rotary embedding."""

import numpy as np

from ..case import Case, In, Ints, List, Out, Ref
from ..slopes import gradient
from ..values import FLOATS, random

B, N, S, T, D = 2, 4, 5, 6, 8
FAR = 2**31 - 1
LOOSE = {"f32": (1e-4, 1e-4), "f16": (5e-3, 5e-3), "bf16": (4e-2, 4e-2)}
TWO = ("contiguous", "transposed")


def laid(x, layout):
    """[B, N, S, D] in another layout."""
    if layout == "BNSD":
        return x
    x = x.transpose(0, 2, 1, 3)
    if layout == "BSND":
        return x
    x = x.reshape(*x.shape[:2], -1)
    return x.transpose(1, 0, 2) if layout == "SBH" else x


def attend(q, k, v, scale, hidden=None, shift=0.0):
    k, v = (np.repeat(x, q.shape[1] // x.shape[1], 1) for x in (k, v))
    scores = (q @ k.swapaxes(-1, -2) + shift) * scale
    if hidden is not None:
        scores = np.where(hidden, -np.inf, scores)
    top = scores.max(-1, keepdims=True)
    e = np.exp(scores - top)
    total = e.sum(-1, keepdims=True)
    return e / total @ v, top, total


def tensors(dtype, kv_heads=N, keys=T):
    shapes = [(B, N, S, D), (B, kv_heads, keys, D), (B, kv_heads, keys, D)]
    return [random(shape, dtype, seed).astype(np.float64) for seed, shape in enumerate(shapes)]


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
                ("causal", N, triangle, np.triu(np.ones((2048, 2048), bool), 1), 2),
                ("right causal", N, np.triu(np.ones((S, T), bool), 2), None, 3),
                ("band", N, band, np.zeros((S, T), bool), 0),
            ]:
                if dtype != "f32" and layout != "BSH":
                    continue
                q, k, v = tensors(dtype, heads)
                result, top, total = attend(q, k, v, 0.5, hidden)
                outputs = [
                    Out(np.repeat(top, 8, -1), "f32", LOOSE["f32"]),
                    Out(np.repeat(total, 8, -1), "f32", LOOSE["f32"]),
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
                case.layouts = ("contiguous",) if name == "causal" else TWO
                made.append(case)
    return made


def gradients():
    made = []
    q, k, v = tensors("f32", 2)
    q, k, v = q[:1, :, :3], k[:1, :, :4], v[:1, :, :4]
    grad = random(q.shape, "f32", 9)
    hidden = np.triu(np.ones((3, 4), bool), 1)
    for mask in (None, hidden):
        results = [
            gradient(lambda x, m=mask: attend(x, k, v, 0.5, m)[0], q, grad),
            gradient(lambda x, m=mask: attend(q, x, v, 0.5, m)[0], k, grad),
            gradient(lambda x, m=mask: attend(q, k, x, 0.5, m)[0], v, grad),
        ]
        for layout in ("BSH", "BNSD"):
            inputs = [In(laid(x, layout), "f32") for x in (q, k, v, grad)]
            outputs = [Out(laid(x, layout), "f32", LOOSE["f32"]) for x in results]
            masked = None if mask is None else In(mask, "bool")
            arguments = [
                *inputs, None, None, None, masked, None, None, None, None, None, 0.5, 1.0, FAR,
                FAR, N, layout, 0, 1, *outputs, None,
            ]  # fmt: skip
            name = f"{layout} {mask is not None}"
            made.append(Case("aclnnFlashAttentionScoreGrad", arguments, name, ("contiguous",)))
    return made


def inference(op, listed, arrange):
    def cases():
        made = []
        for dtype in FLOATS:
            for layout in ("BSH", "BNSD", "BSND"):
                q, k, v = tensors(dtype, 2)
                lengths = np.array([4, 6])
                hidden = np.arange(T) >= lengths[:, None, None, None]
                result, top, total = attend(q, k, v, 0.5, hidden)
                query = In(laid(q, layout), dtype)
                cache = [In(laid(x, layout), dtype) for x in (k, v)]
                cache = [List([x]) for x in cache] if listed else cache
                out = Out(laid(result, layout), dtype, LOOSE[dtype])
                lse = Out(top + np.log(total), "f32", LOOSE["f32"])
                arguments = arrange(query, *cache, Ints([4, 6]), layout, out, lse)
                made.append(Case(op, arguments, f"{dtype} {layout}", TWO))
        return made

    return cases


def prompt(q, k, v, lengths, layout, out, _):
    return [q, k, v, None, None, lengths, N, 0.5, FAR, FAR, layout, 2, out]


def prompt_v3(q, k, v, lengths, layout, out, _):
    nothing = [None] * 5
    return [q, k, v, None, None, None, lengths, *nothing, N, 0.5, FAR, FAR, layout, 2, 0, 0, out]


def incremental(q, k, v, lengths, layout, out, _):
    return [q, k, v, None, None, lengths, N, 0.5, layout, 2, out]


def fused(q, k, v, lengths, layout, out, lse):
    nothing = [None] * 10
    tail = [N, 0.5, FAR, FAR, layout, 2, 0, 0, 0, 0, True, out, lse]
    return [q, k, v, None, None, None, lengths, *nothing, *tail]


def prompt_v2(q, k, v, lengths, layout, out, _):
    nothing = [None] * 5
    return [q, k, v, None, None, None, lengths, *nothing, N, 0.5, FAR, FAR, layout, 2, 0, out]


def fused_v2(q, k, v, lengths, layout, out, lse):
    nothing = [None] * 17
    tail = [N, 0.5, FAR, FAR, layout, 2, 0, 0, 0, 0, True, 0, 0, out, lse]
    return [q, k, v, None, None, None, lengths, *nothing, *tail]


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


OPS = {
    "aclnnFlashAttentionScore": training,
    "aclnnFlashAttentionScoreGrad": gradients,
    "aclnnPromptFlashAttention": inference("aclnnPromptFlashAttention", False, prompt),
    "aclnnPromptFlashAttentionV3": inference("aclnnPromptFlashAttentionV3", False, prompt_v3),
    "aclnnIncreFlashAttention": inference("aclnnIncreFlashAttention", True, incremental),
    "aclnnFusedInferAttentionScore": inference("aclnnFusedInferAttentionScore", True, fused),
    "aclnnPromptFlashAttentionV2": inference("aclnnPromptFlashAttentionV2", False, prompt_v2),
    "aclnnFusedInferAttentionScoreV2": inference("aclnnFusedInferAttentionScoreV2", True, fused_v2),
    "aclnnApplyRotaryPosEmb": rotary,
}
