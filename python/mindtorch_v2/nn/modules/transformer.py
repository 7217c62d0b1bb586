"""Transformers as modules."""

import copy

import mindtorch_v2 as torch
from mindtorch_v2.nn import functional as F
from mindtorch_v2.nn import init
from mindtorch_v2.nn.modules.attention import MultiheadAttention
from mindtorch_v2.nn.modules.container import ModuleList
from mindtorch_v2.nn.modules.dropout import Dropout
from mindtorch_v2.nn.modules.linear import Linear
from mindtorch_v2.nn.modules.module import Module
from mindtorch_v2.nn.modules.normalization import LayerNorm

__all__ = [
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]


def _causal_mask(size, device=None, dtype=None):
    mask = torch.full((size, size), float("-inf"), device=device, dtype=dtype)
    return mask.triu(1)


def _is_causal(mask, is_causal, size):
    """Whether the mask is the causal one; found out if is_causal does not say."""
    if is_causal is not None or mask is None:
        return bool(is_causal)
    if mask.dim() != 2 or tuple(mask.shape) != (size, size) or not mask.is_floating_point():
        return False
    return bool((mask == _causal_mask(size, mask.device, mask.dtype)).all())


def _sequence_length(src, batch_first):
    return src.size(0) if src.dim() == 2 else src.size(1 if batch_first else 0)


def _get_clones(layer, count):
    return ModuleList([copy.deepcopy(layer) for _ in range(count)])


def _get_activation_fn(activation):
    if not isinstance(activation, str):
        return activation
    if activation not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {activation}")
    return getattr(F, activation)


class Transformer(Module):
    """An encoder and a decoder.

    >>> model = torch.nn.Transformer(8, 2, 1, 1, 16)
    >>> model(torch.ones(5, 3, 8), torch.ones(4, 3, 8)).shape
    torch.Size([4, 3, 8])
    """

    def __init__(
        self,
        d_model=512,
        nhead=8,
        num_encoder_layers=6,
        num_decoder_layers=6,
        dim_feedforward=2048,
        dropout=0.1,
        activation=F.relu,
        custom_encoder=None,
        custom_decoder=None,
        layer_norm_eps=1e-5,
        batch_first=False,
        norm_first=False,
        bias=True,
        device=None,
        dtype=None,
    ):
        super().__init__()
        where = {"device": device, "dtype": dtype}
        shared = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps)
        flags = (batch_first, norm_first, bias)
        if custom_encoder is not None:
            self.encoder = custom_encoder
        else:
            layer = TransformerEncoderLayer(*shared, *flags, **where)
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **where)
            self.encoder = TransformerEncoder(layer, num_encoder_layers, norm)
        if custom_decoder is not None:
            self.decoder = custom_decoder
        else:
            layer = TransformerDecoderLayer(*shared, *flags, **where)
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **where)
            self.decoder = TransformerDecoder(layer, num_decoder_layers, norm)
        self._reset_parameters()
        self.d_model, self.nhead, self.batch_first = d_model, nhead, batch_first

    def forward(
        self,
        src,
        tgt,
        src_mask=None,
        tgt_mask=None,
        memory_mask=None,
        src_key_padding_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        src_is_causal=None,
        tgt_is_causal=None,
        memory_is_causal=False,
    ):
        if src.dim() == 3 and src.size(0 if self.batch_first else 1) != tgt.size(
            0 if self.batch_first else 1
        ):
            raise RuntimeError("the batch number of src and tgt must be equal")
        if src.size(-1) != self.d_model or tgt.size(-1) != self.d_model:
            raise RuntimeError("the feature number of src and tgt must be equal to d_model")
        memory = self.encoder(
            src,
            mask=src_mask,
            src_key_padding_mask=src_key_padding_mask,
            is_causal=src_is_causal,
        )
        return self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )

    @staticmethod
    def generate_square_subsequent_mask(sz, device=None, dtype=None):
        """The mask that hides what comes later: -inf above the diagonal, else 0.

        >>> torch.nn.Transformer.generate_square_subsequent_mask(2)
        tensor([[0., -inf],
                [0., 0.]])
        """
        return _causal_mask(sz, device, dtype)

    def _reset_parameters(self):
        for parameter in self.parameters():
            if parameter.dim() > 1:
                init.xavier_uniform_(parameter)


class TransformerEncoder(Module):
    """Copies of an encoder layer, one after the other.

    >>> layer = torch.nn.TransformerEncoderLayer(8, 2, 16)
    >>> torch.nn.TransformerEncoder(layer, 2)(torch.ones(5, 3, 8)).shape
    torch.Size([5, 3, 8])
    """

    __constants__ = ["norm"]

    def __init__(
        self, encoder_layer, num_layers, norm=None, enable_nested_tensor=True, mask_check=True
    ):
        super().__init__()
        self.layers = _get_clones(encoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm
        self.enable_nested_tensor, self.mask_check = enable_nested_tensor, mask_check

    def forward(self, src, mask=None, src_key_padding_mask=None, is_causal=None):
        output = src
        first = self.layers[0] if len(self.layers) else None
        batch_first = getattr(getattr(first, "self_attn", None), "batch_first", False)
        is_causal = _is_causal(mask, is_causal, _sequence_length(src, batch_first))
        for layer in self.layers:
            output = layer(
                output,
                src_mask=mask,
                is_causal=is_causal,
                src_key_padding_mask=src_key_padding_mask,
            )
        return output if self.norm is None else self.norm(output)


class TransformerDecoder(Module):
    """Copies of a decoder layer, one after the other.

    >>> layer = torch.nn.TransformerDecoderLayer(8, 2, 16)
    >>> torch.nn.TransformerDecoder(layer, 2)(torch.ones(4, 3, 8), torch.ones(5, 3, 8)).shape
    torch.Size([4, 3, 8])
    """

    __constants__ = ["norm"]

    def __init__(self, decoder_layer, num_layers, norm=None):
        super().__init__()
        self.layers = _get_clones(decoder_layer, num_layers)
        self.num_layers, self.norm = num_layers, norm

    def forward(
        self,
        tgt,
        memory,
        tgt_mask=None,
        memory_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        tgt_is_causal=None,
        memory_is_causal=False,
    ):
        output = tgt
        first = self.layers[0] if len(self.layers) else None
        batch_first = getattr(getattr(first, "self_attn", None), "batch_first", False)
        tgt_is_causal = _is_causal(tgt_mask, tgt_is_causal, _sequence_length(tgt, batch_first))
        for layer in self.layers:
            output = layer(
                output,
                memory,
                tgt_mask=tgt_mask,
                memory_mask=memory_mask,
                tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask,
                tgt_is_causal=tgt_is_causal,
                memory_is_causal=memory_is_causal,
            )
        return output if self.norm is None else self.norm(output)


class _Layer(Module):
    """Attention, then two linear layers; each is added to what came in, and normalized."""

    __constants__ = ["norm_first"]

    def _attend(self, attention, dropout, query, memory, mask, padding, is_causal):
        result = attention(
            query,
            memory,
            memory,
            attn_mask=mask,
            key_padding_mask=padding,
            is_causal=is_causal,
            need_weights=False,
        )[0]
        return dropout(result)

    def _ff_block(self, x, dropout):
        return dropout(self.linear2(self.dropout(self.activation(self.linear1(x)))))

    def __setstate__(self, state):
        super().__setstate__(state)
        self.__dict__.setdefault("activation", F.relu)


class TransformerEncoderLayer(_Layer):
    """Self attention and two linear layers.

    >>> torch.nn.TransformerEncoderLayer(8, 2, 16)(torch.ones(5, 3, 8)).shape
    torch.Size([5, 3, 8])
    """

    def __init__(
        self,
        d_model,
        nhead,
        dim_feedforward=2048,
        dropout=0.1,
        activation=F.relu,
        layer_norm_eps=1e-5,
        batch_first=False,
        norm_first=False,
        bias=True,
        device=None,
        dtype=None,
    ):
        super().__init__()
        where = {"bias": bias, "device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, batch_first=batch_first, **where
        )
        self.linear1 = Linear(d_model, dim_feedforward, **where)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **where)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, **where)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, **where)
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)
        self.activation = _get_activation_fn(activation)

    def forward(self, src, src_mask=None, src_key_padding_mask=None, is_causal=False):
        def attend(x):
            return self._attend(
                self.self_attn, self.dropout1, x, x, src_mask, src_key_padding_mask, is_causal
            )

        if self.norm_first:
            x = src + attend(self.norm1(src))
            return x + self._ff_block(self.norm2(x), self.dropout2)
        x = self.norm1(src + attend(src))
        return self.norm2(x + self._ff_block(x, self.dropout2))


class TransformerDecoderLayer(_Layer):
    """Self attention, attention to a memory, and two linear layers.

    >>> layer = torch.nn.TransformerDecoderLayer(8, 2, 16)
    >>> layer(torch.ones(4, 3, 8), torch.ones(5, 3, 8)).shape
    torch.Size([4, 3, 8])
    """

    def __init__(
        self,
        d_model,
        nhead,
        dim_feedforward=2048,
        dropout=0.1,
        activation=F.relu,
        layer_norm_eps=1e-5,
        batch_first=False,
        norm_first=False,
        bias=True,
        device=None,
        dtype=None,
    ):
        super().__init__()
        where = {"bias": bias, "device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, batch_first=batch_first, **where
        )
        self.multihead_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, batch_first=batch_first, **where
        )
        self.linear1 = Linear(d_model, dim_feedforward, **where)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, **where)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, **where)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, **where)
        self.norm3 = LayerNorm(d_model, eps=layer_norm_eps, **where)
        self.dropout1, self.dropout2 = Dropout(dropout), Dropout(dropout)
        self.dropout3 = Dropout(dropout)
        self.activation = _get_activation_fn(activation)

    def forward(
        self,
        tgt,
        memory,
        tgt_mask=None,
        memory_mask=None,
        tgt_key_padding_mask=None,
        memory_key_padding_mask=None,
        tgt_is_causal=False,
        memory_is_causal=False,
    ):
        def look_back(x):
            return self._attend(
                self.self_attn, self.dropout1, x, x, tgt_mask, tgt_key_padding_mask, tgt_is_causal
            )

        def look_at_memory(x):
            return self._attend(
                self.multihead_attn,
                self.dropout2,
                x,
                memory,
                memory_mask,
                memory_key_padding_mask,
                memory_is_causal,
            )

        if self.norm_first:
            x = tgt + look_back(self.norm1(tgt))
            x = x + look_at_memory(self.norm2(x))
            return x + self._ff_block(self.norm3(x), self.dropout3)
        x = self.norm1(tgt + look_back(tgt))
        x = self.norm2(x + look_at_memory(x))
        return self.norm3(x + self._ff_block(x, self.dropout3))
