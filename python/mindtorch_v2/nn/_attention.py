"""torch.nn.functional.multi_head_attention_forward."""

import math
import warnings

import mindtorch_v2 as torch
from mindtorch_v2._overridable import make_overridable as _make_overridable


def _linear(input, weight, bias):
    return torch.nn.functional.linear(input, weight, bias)


def _in_projection(query, key, value, weight, bias):
    """q, k, v by one packed weight, with as few products as the inputs allow."""
    width = query.size(-1)
    if key is value and query is key:
        return _linear(query, weight, bias).chunk(3, dim=-1)
    w_q, w_kv = weight.split([width, 2 * width])
    b_q, b_kv = (None, None) if bias is None else bias.split([width, 2 * width])
    if key is value:
        return (_linear(query, w_q, b_q), *_linear(key, w_kv, b_kv).chunk(2, dim=-1))
    w_k, w_v = w_kv.chunk(2)
    b_k, b_v = (None, None) if bias is None else b_kv.chunk(2)
    return _linear(query, w_q, b_q), _linear(key, w_k, b_k), _linear(value, w_v, b_v)


def _canonical_mask(mask, name, other_type, other_name, target_type, check_other=True):
    """mask as numbers to add to the scores: a bool one means -inf where it is true."""
    if mask is None:
        return None
    if mask.dtype != torch.bool and not mask.is_floating_point():
        raise AssertionError(f"only bool and floating types of {name} are supported")
    if check_other and other_type is not None and mask.dtype != other_type:
        warnings.warn(
            f"Support for mismatched {name} and {other_name} "
            "is deprecated. Use same type for both instead.",
            stacklevel=3,
        )
    if mask.is_floating_point():
        return mask
    return torch.zeros_like(mask, dtype=target_type).masked_fill_(mask, float("-inf"))


def _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads):
    """Whether there is a batch dimension."""
    if query.dim() not in (2, 3):
        raise AssertionError(
            f"query should be unbatched 2D or batched 3D tensor but received {query.dim()}-D "
            "query tensor"
        )
    batched = query.dim() == 3
    kind = "batched (3-D)" if batched else "unbatched (2-D)"
    wanted = query.dim()
    if key.dim() != wanted or value.dim() != wanted:
        raise AssertionError(
            f"For {kind} `query`, expected `key` and `value` to be {wanted}-D but found "
            f"{key.dim()}-D and {value.dim()}-D tensors respectively"
        )
    if key_padding_mask is not None and key_padding_mask.dim() != wanted - 1:
        raise AssertionError(
            f"For {kind} `query`, expected `key_padding_mask` to be `None` or {wanted - 1}-D but "
            f"found {key_padding_mask.dim()}-D tensor instead"
        )
    if attn_mask is not None and attn_mask.dim() not in (2, 3):
        raise AssertionError(
            f"For {kind} `query`, expected `attn_mask` to be `None`, 2-D or 3-D but found "
            f"{attn_mask.dim()}-D tensor instead"
        )
    return batched


def multi_head_attention_forward(
    query,
    key,
    value,
    embed_dim_to_check,
    num_heads,
    in_proj_weight,
    in_proj_bias,
    bias_k,
    bias_v,
    add_zero_attn,
    dropout_p,
    out_proj_weight,
    out_proj_bias,
    training=True,
    key_padding_mask=None,
    need_weights=True,
    attn_mask=None,
    use_separate_proj_weight=False,
    q_proj_weight=None,
    k_proj_weight=None,
    v_proj_weight=None,
    static_k=None,
    static_v=None,
    average_attn_weights=True,
    is_causal=False,
):
    """What nn.MultiheadAttention computes from its weights: (output, attention or None). Inputs
    are (L, N, E) or (L, E).
    """
    batched = _check_shapes(query, key, value, key_padding_mask, attn_mask, num_heads)
    same_key_value, same_all = key is value, key is value and query is key
    if not batched:
        query = query.unsqueeze(1)
        key = query if same_all else key.unsqueeze(1)
        value = key if same_key_value else value.unsqueeze(1)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    length, batch, width = query.shape
    source = key.size(0)
    mask_type = None if attn_mask is None else attn_mask.dtype
    key_padding_mask = _canonical_mask(
        key_padding_mask, "key_padding_mask", mask_type, "attn_mask", query.dtype
    )
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "Need attn_mask if specifying the is_causal hint. "
            "You may use the Transformer module method "
            "`generate_square_subsequent_mask` to create this mask."
        )
    use_causal = is_causal and key_padding_mask is None and not need_weights
    if use_causal:
        attn_mask = None
    else:
        attn_mask = _canonical_mask(attn_mask, "attn_mask", None, "", query.dtype, False)
        is_causal = is_causal and key_padding_mask is None
    if width != embed_dim_to_check:
        raise AssertionError(
            f"was expecting embedding dimension of {embed_dim_to_check}, but got {width}"
        )
    head = width // num_heads
    if head * num_heads != width:
        raise AssertionError(f"embed_dim {width} not divisible by num_heads {num_heads}")
    if use_separate_proj_weight:
        if key.shape[:2] != value.shape[:2]:
            raise AssertionError(
                f"key's sequence and batch dims {key.shape[:2]} do not match value's "
                f"{value.shape[:2]}"
            )
        biases = (None,) * 3 if in_proj_bias is None else in_proj_bias.chunk(3)
        q = _linear(query, q_proj_weight, biases[0])
        k = _linear(key, k_proj_weight, biases[1])
        v = _linear(value, v_proj_weight, biases[2])
    else:
        if key.shape != value.shape:
            raise AssertionError(f"key shape {key.shape} does not match value shape {value.shape}")
        q, k, v = _in_projection(query, key, value, in_proj_weight, in_proj_bias)
    attn_mask = _checked_mask(attn_mask, length, source, batch * num_heads)

    pad = torch.nn.functional.pad
    if bias_k is not None and bias_v is not None:
        k = torch.cat([k, bias_k.repeat(1, batch, 1)])
        v = torch.cat([v, bias_v.repeat(1, batch, 1)])
        attn_mask = None if attn_mask is None else pad(attn_mask, (0, 1))
        key_padding_mask = None if key_padding_mask is None else pad(key_padding_mask, (0, 1))
    # (L, N, E) -> (N * heads, L, head)
    q = q.reshape(length, batch * num_heads, head).transpose(0, 1)
    k = _heads(k, static_k, batch * num_heads, head, "static_k")
    v = _heads(v, static_v, batch * num_heads, head, "static_v")
    if add_zero_attn:
        zeros = k.new_zeros(batch * num_heads, 1, head)
        k, v = torch.cat([k, zeros], dim=1), torch.cat([v, zeros], dim=1)
        attn_mask = None if attn_mask is None else pad(attn_mask, (0, 1))
        key_padding_mask = None if key_padding_mask is None else pad(key_padding_mask, (0, 1))
    source = k.size(1)
    if key_padding_mask is not None:
        if tuple(key_padding_mask.shape) != (batch, source):
            raise AssertionError(
                f"expecting key_padding_mask shape of {(batch, source)}, but got "
                f"{key_padding_mask.shape}"
            )
        rows = key_padding_mask.view(batch, 1, 1, source).expand(-1, num_heads, -1, -1)
        rows = rows.reshape(batch * num_heads, 1, source)
        attn_mask = rows if attn_mask is None else attn_mask + rows
    dropout_p = dropout_p if training else 0.0
    if need_weights:
        scores = torch.bmm(q * math.sqrt(1.0 / head), k.transpose(-2, -1))
        scores = scores if attn_mask is None else scores + attn_mask
        weights = scores.softmax(-1)
        if dropout_p > 0.0:
            weights = torch.dropout(weights, dropout_p, True)
        result = torch.bmm(weights, v).transpose(0, 1)
        weights = weights.view(batch, num_heads, length, source)
        weights = weights.mean(dim=1) if average_attn_weights else weights
    else:
        if attn_mask is not None:
            if attn_mask.size(0) == 1 and attn_mask.dim() == 3:
                attn_mask = attn_mask.unsqueeze(0)
            else:
                attn_mask = attn_mask.view(batch, num_heads, -1, source)
        result = torch.nn.functional.scaled_dot_product_attention(
            q.view(batch, num_heads, length, head),
            k.view(batch, num_heads, source, head),
            v.view(batch, num_heads, source, head),
            attn_mask,
            dropout_p,
            use_causal,
        )
        result, weights = result.permute(2, 0, 1, 3), None
    result = _linear(result.reshape(length * batch, width), out_proj_weight, out_proj_bias)
    result = result.view(length, batch, result.size(1))
    if not batched:
        result = result.squeeze(1)
        weights = None if weights is None else weights.squeeze(0)
    return result, weights


def _checked_mask(mask, length, source, rows):
    if mask is None:
        return None
    if mask.dim() == 2:
        if tuple(mask.shape) != (length, source):
            raise RuntimeError(
                f"The shape of the 2D attn_mask is {mask.shape}, but should be {(length, source)}."
            )
        return mask.unsqueeze(0)
    if tuple(mask.shape) != (rows, length, source):
        raise RuntimeError(
            f"The shape of the 3D attn_mask is {mask.shape}, but should be "
            f"{(rows, length, source)}."
        )
    return mask


def _heads(projected, static, rows, head, name):
    if static is None:
        return projected.reshape(projected.size(0), rows, head).transpose(0, 1)
    if static.size(0) != rows:
        raise AssertionError(f"expecting {name}.size(0) of {rows}, but got {static.size(0)}")
    if static.size(2) != head:
        raise AssertionError(f"expecting {name}.size(2) of {head}, but got {static.size(2)}")
    return static


_make_overridable(globals())
