"""What is timed: programs of several ops, written once for every library, mode and device.

A program is a function from the library, a device and a scale to (function, inputs); the workers
time `function(*inputs)`. `small` is for NPUs that are simulated and compute: their loops are plain.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

BENCHMARKS = Path(__file__).resolve().parents[1]
sys.path += [str(BENCHMARKS), str(BENCHMARKS.parent / "examples")]

import training  # noqa: E402
from shared.transformer import (  # noqa: E402
    Size,
    Transformer,
    attention,
    feed_forward,
    layer_weights,
)

Program = tuple[Callable[..., Any], tuple[Any, ...]]


def chain_of_15(torch: Any, device: str, numel: int) -> Program:
    """Five times `mul, add, relu`, with numbers: one tensor read, one written."""

    def chain(x):
        for _ in range(5):
            x = x * 1.01
            x = x + 0.5
            x = x.relu()
        return x

    return chain, (torch.rand(numel).to(device),)


def light_48(torch: Any, device: str, numel: int = 1024) -> Program:
    """24 times `add, mul` with another tensor; values stay below 1 / (1 - y)."""

    def chain(x, y):
        for _ in range(24):
            x = x + y
            x = x * y
        return x

    return chain, tuple((torch.rand(numel) * 0.9).to(device) for _ in range(2))


def short_block(torch: Any, device: str, ops: int) -> Program:
    """A few ops on next to nothing: what a block costs beside its kernels."""
    lines = ("x = a + b", "x = x * c", "x = x - a", "x = x * b", "x = x + c")
    body = "\n    ".join(lines[i % len(lines)] if i else lines[0] for i in range(ops))
    names: dict[str, Any] = {}
    exec(f"def chain(a, b, c):\n    {body}\n    return x", names)
    return names["chain"], tuple(torch.rand(16).to(device) for _ in range(3))


def transformer_size(small: bool) -> Size:
    return Size(width=64, heads=2, tokens=16, vocabulary=64) if small else Size()


def _activations(torch: Any, device: str, size: Size) -> Any:
    return torch.randn(size.batch, size.tokens, size.width).to(device)


def norm_mlp_residual(torch: Any, device: str, small: bool) -> Program:
    size = transformer_size(small)
    layer = layer_weights(torch, size, device)
    return lambda x: feed_forward(torch, x, layer), (_activations(torch, device, size),)


def attention_block(torch: Any, device: str, small: bool) -> Program:
    size = transformer_size(small)
    layer = layer_weights(torch, size, device)
    return lambda x: attention(torch, x, layer, size.heads), (_activations(torch, device, size),)


def transformer(torch: Any, device: str, small: bool) -> Program:
    size = transformer_size(small)
    tokens = torch.randint(0, size.vocabulary, (size.batch, size.tokens)).to(device)
    return Transformer(torch, size, device).forward, (tokens,)


def small_mlp(torch: Any, device: str, small: bool) -> Program:
    """16 rows through 64, 128, 128 and 10 units."""
    widths = (64, 128, 128, 10)
    layers = [
        ((torch.randn(a, b) / a**0.5).to(device), torch.zeros(b).to(device))
        for a, b in zip(widths, widths[1:], strict=False)
    ]

    def mlp(x):
        for weight, bias in layers[:-1]:
            x = (x @ weight + bias).relu()
        weight, bias = layers[-1]
        return (x @ weight + bias).softmax(-1)

    return mlp, (torch.randn(16, widths[0]).to(device),)


def matmul_chain(torch: Any, device: str, small: bool) -> Program:
    """Eight products, with a relu after each: next to nothing to gain, so nothing may be lost."""
    width = 32 if small else 256
    weights = [(torch.randn(width, width) / width**0.5).to(device) for _ in range(8)]

    def chain(x):
        for weight in weights:
            x = (x @ weight).relu()
        return x

    return chain, (torch.randn(width, width).to(device),)


def growing_cache(torch: Any, device: str, small: bool) -> Program:
    """A step of decoding: keys grow by a row each time, so that no two steps look alike."""
    width = 64
    weight = (torch.randn(width, width) / width**0.5).to(device)
    keys = [torch.randn(1, width).to(device)]

    def step(x):
        cache = torch.cat([keys[0], x @ weight])
        keys[0] = cache if len(cache) < 512 else cache[:1].clone()
        scores = ((x @ cache.t()) * width**-0.5).softmax(-1)
        return ((scores @ cache) @ weight).relu() + x

    return step, (torch.randn(1, width).to(device),)


def static_cache(torch: Any, device: str, small: bool) -> Program:
    """A step of decoding: each layer writes a row of its cache, whose size stays."""
    size = transformer_size(small)
    width = size.width
    layers = [layer_weights(torch, size, device) for _ in range(size.layers)]
    caches = [torch.zeros(2, size.tokens, width).to(device) for _ in layers]
    position = torch.zeros(1, dtype=torch.int64).to(device)

    def step(x):
        for layer, cache in zip(layers, caches, strict=True):
            qkv = torch.nn.functional.linear(x, layer["qkv.weight"], layer["qkv.bias"])
            q, row = qkv[:, :width], qkv[:, width:].reshape(2, 1, width)
            cache.index_copy_(1, position, row)
            weights = ((q @ cache[0].t()) * width**-0.5).softmax(-1)
            x = x + torch.nn.functional.linear(
                weights @ cache[1], layer["out.weight"], layer["out.bias"]
            )
            x = feed_forward(torch, x, layer)
        position.add_(1).remainder_(size.tokens)
        return x

    return step, (torch.randn(1, width).to(device),)


def training_step(make: Callable[[Any, bool], Callable]) -> Callable[[Any, str, bool], Program]:
    def program(torch: Any, device: str, small: bool) -> Program:
        with torch.device(device):
            return make(torch, small), ()

    return program


def demo_step(torch: Any, device: str, small: bool) -> Program:
    """Of `make demo`, on the NPU: with its batches, dropout, clipping and schedule."""
    import train_gpt

    trainer = train_gpt.Trainer(train_gpt.Text(train_gpt.DOCS), steps=1 << 20)

    def step() -> Any:
        trainer.learn()
        return trainer.losses[-1]

    return step, ()


def _block(ops: int) -> Callable[[Any, str, bool], Program]:
    return lambda torch, device, small: short_block(torch, device, ops)


def _sized(numel: int) -> Callable[[Any, str, bool], Program]:
    return lambda torch, device, small: chain_of_15(torch, device, numel)


PROGRAMS: dict[str, Callable[[Any, str, bool], Program]] = {
    **{f"{ops} pointwise, 16": _block(ops) for ops in (1, 2, 3, 5, 8, 10)},
    "15 pointwise, 1024": _sized(1024),
    "15 pointwise, 4096": _sized(4096),
    "15 pointwise, 1M": _sized(1 << 20),
    "15 pointwise, 16M": _sized(1 << 24),
    "48 light ops, 1024": lambda torch, device, small: light_48(torch, device),
    "norm-mlp-residual": norm_mlp_residual,
    "attention block": attention_block,
    "4-layer transformer": transformer,
    "small MLP": small_mlp,
    "matmul chain": matmul_chain,
    "growing cache, 64": growing_cache,
    "static cache": static_cache,
    "mlp step": training_step(
        lambda torch, small: (
            training.mlp(torch, "SGD", training.TINY, 4)
            if small
            else training.mlp(torch, "SGD", training.LARGE, 128)
        )
    ),
    "convnet step": training_step(
        lambda torch, small: training.convnet(torch, batch=1 if small else 64)
    ),
    "lstm step": training_step(
        lambda torch, small: training.lstm(torch, 8, 8) if small else training.lstm(torch)
    ),
    "gpt step": training_step(
        lambda torch, small: (
            training.small_gpt(torch, width=16, tokens=8) if small else training.small_gpt(torch)
        )
    ),
    "demo step": demo_step,
}
# Too much for plain loops; what the host pays is the same as for the smaller ones.
NOT_SIMULATED = {"15 pointwise, 16M"}
# Where the host queues steps: on the CPU ../training.py times them.
QUEUED_STEPS = {f"{name} step" for name in ("mlp", "convnet", "lstm", "gpt", "demo")}
