"""Small networks: a transformer with rotary positions and a cache, one with learned positions, a
convolutional one."""

import math

import torch
from torch import nn
from torch.nn import functional as F

VOCABULARY = 64


class RotaryBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before, self.between = nn.RMSNorm(width), nn.RMSNorm(width)
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate = nn.Linear(width, 2 * width, bias=False)
        self.up = nn.Linear(width, 2 * width, bias=False)
        self.down = nn.Linear(2 * width, width, bias=False)

    def _heads(self, x):
        return x.view(*x.shape[:2], self.heads, -1).transpose(1, 2)

    def forward(self, x, cos, sin, past=None):
        q, k, v = map(self._heads, self.qkv(self.before(x)).chunk(3, dim=-1))
        q, k = rotated(q, cos, sin), rotated(k, cos, sin)
        if past is not None:
            k, v = torch.cat([past[0], k], dim=2), torch.cat([past[1], v], dim=2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=past is None)
        x = x + self.out(y.transpose(1, 2).reshape(x.shape))
        z = self.between(x)
        return x + self.down(F.silu(self.gate(z)) * self.up(z)), (k, v)


def rotated(x, cos, sin):
    left, right = x.chunk(2, dim=-1)
    return x * cos + torch.cat([-right, left], dim=-1) * sin


class Rotary(nn.Module):
    def __init__(self, width=32, heads=4, layers=2):
        super().__init__()
        self.size = width // heads
        self.tokens = nn.Embedding(VOCABULARY, width)
        self.blocks = nn.ModuleList(RotaryBlock(width, heads) for _ in range(layers))
        self.last = nn.RMSNorm(width)
        self.head = nn.Linear(width, VOCABULARY, bias=False)

    def forward(self, ids, past=None):
        start = 0 if past is None else past[0][0].shape[2]
        positions = torch.arange(start, start + ids.shape[1], device=ids.device)
        steps = torch.arange(0, self.size, 2, device=ids.device).float() / self.size
        angles = torch.outer(positions.float(), torch.exp(-math.log(10000.0) * steps))
        angles = torch.cat([angles, angles], dim=-1)
        x, kept = self.tokens(ids), []
        for i, block in enumerate(self.blocks):
            x, state = block(x, angles.cos(), angles.sin(), past and past[i])
            kept.append(state)
        return self.head(self.last(x)), kept

    @torch.no_grad()
    def generate(self, ids, count):
        logits, past = self(ids)
        for _ in range(count):
            token = logits[:, -1:].argmax(-1)
            ids = torch.cat([ids, token], dim=1)
            logits, past = self(token, past)
        return ids


class Learned(nn.Module):
    """Learned positions, layer norms, dropout that is off, torch's own encoder layers."""

    def __init__(self, width=32, heads=4, layers=2, length=16):
        super().__init__()
        self.tokens, self.places = nn.Embedding(VOCABULARY, width), nn.Embedding(length, width)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(
                width, heads, 4 * width, dropout=0.0, activation="gelu", batch_first=True
            )
            for _ in range(layers)
        )
        self.head = nn.Linear(width, VOCABULARY)

    def forward(self, ids):
        length = ids.shape[1]
        mask = torch.full((length, length), float("-inf"), device=ids.device).triu(1)
        x = self.tokens(ids) + self.places(torch.arange(length, device=ids.device))
        for block in self.blocks:
            x = block(x, src_mask=mask)
        return self.head(x), None


def convolutional():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.BatchNorm2d(8),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 8, 3, groups=2),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(8, 4),
    )
