"""torch_npu.npu_fusion_attention, over scaled_dot_product_attention."""

import math

import mindtorch_v2 as torch

_ALL = 2147483647
# What sparse_mode says of the mask.
_AS_GIVEN, _ALL_GIVEN, _LEFT_UP_CAUSAL, _RIGHT_DOWN_CAUSAL, _BAND = range(5)


def _as_heads(tensor, layout, heads):
    """(batch, heads, length, width) of a tensor in a layout."""
    if layout == "BNSD":
        return tensor
    if layout == "BSND":
        return tensor.transpose(1, 2)
    if layout == "SBH":
        tensor = tensor.transpose(0, 1)
    return tensor.unflatten(-1, (heads, -1)).transpose(1, 2)


def _as_layout(tensor, layout):
    """The other way round."""
    if layout == "BNSD":
        return tensor
    tensor = tensor.transpose(1, 2)
    if layout == "BSND":
        return tensor
    tensor = tensor.flatten(2)
    return tensor.transpose(0, 1) if layout == "SBH" else tensor


def _hidden(mask, mode, length, source, before, after, device):
    """True where a score does not count; None: nowhere."""
    if mode in (_AS_GIVEN, _ALL_GIVEN):
        hidden = None if mask is None else mask.to(torch.bool)
        if mode == _ALL_GIVEN or (before >= length and after >= source):
            return hidden
    rows = torch.arange(length, device=device).unsqueeze(1)
    columns = torch.arange(source, device=device)
    if mode == _LEFT_UP_CAUSAL:
        return columns > rows
    if mode in (_RIGHT_DOWN_CAUSAL, _BAND):  # the last query sees the last key
        rows = rows + (source - length)
    if mode == _RIGHT_DOWN_CAUSAL:
        return columns > rows
    if mode not in (_AS_GIVEN, _BAND):
        raise NotImplementedError(f"npu_fusion_attention: sparse_mode {mode} is not there")
    band = (columns > rows + after) | (columns < rows - before)
    return band if mode == _BAND or hidden is None else hidden & band


def _attend(query, key, value, pse, hidden, scale, dropout):
    mask = pse
    if hidden is not None:
        shift = torch.zeros_like(hidden, dtype=query.dtype) if pse is None else pse
        mask = shift.masked_fill(hidden, -math.inf)
    return torch.nn.functional.scaled_dot_product_attention(
        query, key, value, mask, dropout, scale=scale, enable_gqa=query.size(1) != key.size(1)
    )


def npu_fusion_attention(
    query,
    key,
    value,
    head_num,
    input_layout,
    pse=None,
    padding_mask=None,
    atten_mask=None,
    scale=1.0,
    keep_prob=1.0,
    pre_tockens=_ALL,
    next_tockens=_ALL,
    inner_precise=0,
    prefix=None,
    actual_seq_qlen=None,
    actual_seq_kvlen=None,
    sparse_mode=_AS_GIVEN,
    gen_mask_parallel=True,
    sync=False,
):
    """softmax(query @ key.T * scale + pse) @ value, with dropout, in torch_npu's layouts: BSH, SBH,
    BSND, BNSD, and TND, where actual_seq_qlen and actual_seq_kvlen say where each sequence ends.
    atten_mask is true where a score does not count. Gives a tuple that begins with the result; what
    torch_npu's backward pass needs besides is None.

    >>> from mindtorch_v2 import torch_npu
    >>> x = torch.ones(1, 2, 1, 4)
    >>> torch_npu.npu_fusion_attention(x, x, x, 1, "BSND")[0].shape
    torch.Size([1, 2, 1, 4])
    """
    if prefix is not None or padding_mask is not None:
        raise NotImplementedError("npu_fusion_attention: prefix and padding_mask are not there")
    dropout = 1 - keep_prob

    def attend(q, k, v):
        hidden = _hidden(
            atten_mask, sparse_mode, q.size(2), k.size(2), pre_tockens, next_tockens, q.device
        )
        return _attend(q, k, v, pse, hidden, scale, dropout)

    if input_layout == "TND":
        result = _by_sequence(attend, query, key, value, actual_seq_qlen, actual_seq_kvlen)
    elif input_layout in ("BSH", "SBH", "BSND", "BNSD"):
        keys = key.size(-1) * head_num // query.size(-1)  # as many heads as fit their width
        q = _as_heads(query, input_layout, head_num)
        k, v = (_as_heads(t, input_layout, keys) for t in (key, value))
        result = _as_layout(attend(q, k, v), input_layout)
    else:
        raise RuntimeError(f"npu_fusion_attention: unknown input_layout {input_layout!r}")
    return result, None, None, None, 0, 0, 0


def _by_sequence(attend, query, key, value, query_ends, key_ends):
    parts, start, key_start = [], 0, 0
    for end, key_end in zip(query_ends, key_ends, strict=True):
        q = query[start:end]
        k, v = key[key_start:key_end], value[key_start:key_end]
        parts.append(attend(*(t.transpose(0, 1).unsqueeze(0) for t in (q, k, v))))
        start, key_start = end, key_end
    return torch.cat([part.squeeze(0).transpose(0, 1) for part in parts])
