"""torch.nn.attention.flex_attention: attention whose scores a function of the program changes.

The function is called once, on all scores, with indices that broadcast to them: it may do whatever
works for one score and for many, as arithmetic and look-ups in tensors do.
"""

import math
import typing

import mindtorch_v2 as torch
from mindtorch_v2.nn.attention.block_mask import (
    DEFAULT_BLOCK_SIZE as _DEFAULT_SPARSE_BLOCK_SIZE,
)
from mindtorch_v2.nn.attention.block_mask import (
    BlockMask,
    and_masks,
    create_block_mask,
    create_mask,
    noop_mask,
    or_masks,
    places,
)

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "FlexKernelOptions",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]


class AuxRequest(typing.NamedTuple):
    """What flex_attention is to give besides its result."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(typing.NamedTuple):
    """What flex_attention gives besides its result; None for what was not asked for."""

    lse: typing.Any = None
    max_scores: typing.Any = None


class FlexKernelOptions(typing.TypedDict, total=False):
    """Settings of torch's kernels for GPUs; any are taken, and change nothing."""


def _check(query, key, value, enable_gqa):
    for name, tensor in (("query", query), ("key", key), ("value", value)):
        if tensor.dim() != 4:
            raise ValueError(f"Expected {name} to be a 4D tensor, but got {tensor.dim()}D.")
    if query.dtype != key.dtype or query.dtype != value.dtype:
        raise ValueError(
            "Expected query, key, and value to have the same dtype, "
            f"but got query.dtype: {query.dtype}, key.dtype: {key.dtype}, "
            f"and value.dtype: {value.dtype} instead."
        )
    heads, of_keys = query.size(1), key.size(1)
    if not enable_gqa and heads != of_keys:
        raise ValueError(
            "Expect query and key/value to have the same number of heads but got "
            f"Hq={heads} and Hkv={of_keys}. Try setting enable_gqa=True for GQA."
        )
    if heads % of_keys:
        raise ValueError(
            "Expect number of query heads to be a multiple of kv heads for GQA "
            f"but got Hq={heads} and Hkv={of_keys}."
        )


def flex_attention(
    query,
    key,
    value,
    score_mod=None,
    block_mask=None,
    scale=None,
    enable_gqa=False,
    return_lse=False,
    kernel_options=None,
    *,
    return_aux=None,
):
    """softmax(score_mod(query @ key.T * scale)) @ value, of the scores that block_mask leaves; 0
    where it leaves none. score_mod(score, b, h, q_idx, kv_idx) gives the score that is to be used.

    >>> from mindtorch_v2.nn.attention.flex_attention import flex_attention
    >>> x = torch.ones(1, 1, 2, 4)
    >>> flex_attention(x, x, x, lambda score, b, h, q_idx, kv_idx: score - (q_idx - kv_idx).abs())
    tensor([[[[1., 1., 1., 1.],
              [1., 1., 1., 1.]]]])
    """
    _check(query, key, value, enable_gqa)
    batch, heads, length, width = query.shape
    repeats = heads // key.size(1)
    if repeats > 1:
        key, value = (t.repeat_interleave(repeats, dim=1) for t in (key, value))
    scale = 1 / math.sqrt(width) if scale is None else scale
    exact = torch.float64 if query.dtype == torch.float64 else torch.float32
    scores = (query @ key.transpose(-2, -1)).to(exact) * scale
    where = list(places(batch, heads, length, key.size(2), query.device))
    if score_mod is not None:
        scores = score_mod(scores, *where)
    if block_mask is not None:
        wanted = block_mask.mask_mod(*where)
        scores = scores.masked_fill(~wanted, -math.inf)
    scores = scores.expand(batch, heads, length, key.size(2))
    weights = torch.softmax(scores, dim=-1)
    none = (scores == -math.inf).all(-1, keepdim=True)
    result = weights.masked_fill(none, 0).to(value.dtype) @ value
    if return_aux is not None:
        return result, AuxOutput(
            torch.logsumexp(scores, dim=-1) if return_aux.lse else None,
            scores.amax(-1) if return_aux.max_scores else None,
        )
    return (result, torch.logsumexp(scores, dim=-1)) if return_lse else result
