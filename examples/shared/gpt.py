"""A small GPT, in torch's names.

The library is an argument, so that the same lines run in mindtorch_v2 and in torch:
`examples/train_gpt.py` trains one, `tests/training` compares its losses, `benchmarks/training.py`
times a step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Size:
    layers: int
    width: int
    heads: int
    tokens: int
    vocabulary: int
    dropout: float = 0.0


def make(torch: Any, size: Size) -> Any:
    """A module: tokens of shape (batch, tokens) to scores of shape (batch, tokens, vocabulary)."""
    nn, F = torch.nn, torch.nn.functional
    width = size.width

    class Attention(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.qkv = nn.Linear(width, 3 * width)
            self.out = nn.Linear(width, width)

        def forward(self, x: Any) -> Any:
            batch, tokens, _ = x.shape
            heads = self.qkv(x).view(batch, tokens, 3, size.heads, width // size.heads)
            q, k, v = heads.permute(2, 0, 3, 1, 4).unbind(0)
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            return self.out(mixed.transpose(1, 2).reshape(batch, tokens, width))

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
            self.attention = Attention()
            up, down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
            self.feed_forward = nn.Sequential(up, nn.GELU(), down)
            self.dropout = nn.Dropout(size.dropout)

        def forward(self, x: Any) -> Any:
            x = x + self.dropout(self.attention(self.norm1(x)))
            return x + self.dropout(self.feed_forward(self.norm2(x)))

    class GPT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(size.vocabulary, width)
            self.positions = nn.Embedding(size.tokens, width)
            self.blocks = nn.Sequential(*(Block() for _ in range(size.layers)))
            self.norm = nn.LayerNorm(width)
            self.scores = nn.Linear(width, size.vocabulary, bias=False)

        def forward(self, tokens: Any) -> Any:
            positions = torch.arange(tokens.shape[1], device=tokens.device)
            x = self.embedding(tokens) + self.positions(positions)
            return self.scores(self.norm(self.blocks(x)))

    return GPT()
