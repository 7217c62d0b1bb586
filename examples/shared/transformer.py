"""The forward pass of a small transformer, in torch's names.

The library is an argument, so that the same lines run in mindtorch_v2 and in torch:
`examples/transformer.py` shows them, `benchmarks/pipeline` times them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Size:
    layers: int = 4
    width: int = 256
    heads: int = 4
    tokens: int = 64
    batch: int = 1
    vocabulary: int = 1024


def layer_weights(torch: Any, size: Size, device: str) -> dict[str, Any]:
    """The weights of one layer. They are drawn on the CPU: the same numbers on every device."""
    width = size.width

    def matrix(rows: int, columns: int) -> Any:
        return (torch.randn(rows, columns) / columns**0.5).to(device)

    def vector(length: int, value: float) -> Any:
        return torch.full((length,), value).to(device)

    return {
        "norm1.weight": vector(width, 1.0),
        "norm1.bias": vector(width, 0.0),
        "qkv.weight": matrix(3 * width, width),
        "qkv.bias": vector(3 * width, 0.0),
        "out.weight": matrix(width, width),
        "out.bias": vector(width, 0.0),
        "norm2.weight": vector(width, 1.0),
        "norm2.bias": vector(width, 0.0),
        "up.weight": matrix(4 * width, width),
        "up.bias": vector(4 * width, 0.0),
        "down.weight": matrix(width, 4 * width),
        "down.bias": vector(width, 0.0),
    }


def attention(torch: Any, x: Any, layer: dict[str, Any], heads: int) -> Any:
    """x plus self-attention of its normalised self: (batch, tokens, width)."""
    F = torch.nn.functional
    batch, tokens, width = x.shape
    normed = F.layer_norm(x, (width,), layer["norm1.weight"], layer["norm1.bias"])
    qkv = F.linear(normed, layer["qkv.weight"], layer["qkv.bias"])
    q, k, v = qkv.view(batch, tokens, 3, heads, width // heads).permute(2, 0, 3, 1, 4).unbind(0)
    mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
    mixed = mixed.transpose(1, 2).reshape(batch, tokens, width)
    return x + F.linear(mixed, layer["out.weight"], layer["out.bias"])


def feed_forward(torch: Any, x: Any, layer: dict[str, Any]) -> Any:
    """x plus two products with a gelu between them, of its normalised self."""
    F = torch.nn.functional
    normed = F.layer_norm(x, x.shape[-1:], layer["norm2.weight"], layer["norm2.bias"])
    hidden = F.gelu(F.linear(normed, layer["up.weight"], layer["up.bias"]))
    return x + F.linear(hidden, layer["down.weight"], layer["down.bias"])


class Transformer:
    """Embedding, layers, a last norm, and scores of the next token by the embedding again."""

    def __init__(self, torch: Any, size: Size, device: str) -> None:
        self.torch = torch
        self.heads = size.heads
        self.embedding = torch.randn(size.vocabulary, size.width).to(device)
        self.positions = (torch.randn(size.tokens, size.width) * 0.1).to(device)
        self.layers = [layer_weights(torch, size, device) for _ in range(size.layers)]

    def forward(self, tokens: Any) -> Any:
        torch, F = self.torch, self.torch.nn.functional
        x = F.embedding(tokens, self.embedding) + self.positions
        for layer in self.layers:
            x = attention(torch, x, layer, self.heads)
            x = feed_forward(torch, x, layer)
        return F.linear(F.layer_norm(x, x.shape[-1:]), self.embedding)
