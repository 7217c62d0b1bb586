"""A Llama layer, and decoding with a cache in a static buffer: launches and graphs of pipelines."""

import os
import subprocess
import sys

import pytest

from tests.npu.test_patterns import make, rms_norm, rotary

HEADS, KEY_HEADS, SIZE, WIDTH, LENGTH = 4, 2, 16, 64, 16
REPLAY = "aclmdlRIExecuteAsync"


class Layer:
    """As transformers writes it, with a cache of its own."""

    def __init__(self, torch, seed, dtype):
        self.torch = torch
        shapes = {
            "q": (HEADS * SIZE, WIDTH),
            "k": (KEY_HEADS * SIZE, WIDTH),
            "v": (KEY_HEADS * SIZE, WIDTH),
            "o": (WIDTH, HEADS * SIZE),
            "gate": (96, WIDTH),
            "up": (96, WIDTH),
            "down": (WIDTH, 96),
            "norm": (WIDTH,),
            "post": (WIDTH,),
        }
        for i, (name, shape) in enumerate(shapes.items()):
            setattr(self, name, make(torch, dtype, *shape, seed=seed * 31 + i) * 0.1)
        zeros = torch.zeros(1, KEY_HEADS, LENGTH, SIZE, dtype=getattr(torch, dtype))
        self.keys, self.values = zeros.npu(), zeros.npu()

    def __call__(self, x, cos, sin, mask=None, place=None):
        torch, functional = self.torch, self.torch.nn.functional
        batch, length, _ = x.shape

        def heads(weight, count):
            return functional.linear(y, weight).view(batch, length, count, SIZE).transpose(1, 2)

        y = rms_norm(torch, x, self.norm)
        q, k, v = heads(self.q, HEADS), heads(self.k, KEY_HEADS), heads(self.v, KEY_HEADS)
        q, k = rotary(torch, q, cos, sin), rotary(torch, k, cos, sin)
        if place is not None:
            self.keys.index_copy_(2, place, k)
            self.values.index_copy_(2, place, v)
            k, v = self.keys, self.values
        attend = functional.scaled_dot_product_attention
        seen = attend(q, k, v, mask, is_causal=mask is None, enable_gqa=True)
        seen = seen.transpose(1, 2).reshape(batch, length, -1).contiguous()
        x = x + functional.linear(seen, self.o)
        y = rms_norm(torch, x, self.post)
        gated = functional.silu(functional.linear(y, self.gate)) * functional.linear(y, self.up)
        return x + functional.linear(gated, self.down)


def launches(simulator):
    return [
        call.function
        for call in simulator.calls()
        if call.kind == "call"
        and call.function.startswith("aclnn")
        and not call.function.endswith("GetWorkspaceSize")
    ]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("is_masked", [False, True])
def test_a_layer_takes_14_launches(torch, simulator, dtype, is_masked):
    layer = Layer(torch, 1, dtype)
    x = make(torch, dtype, 2, 8, WIDTH)
    cos, sin = (make(torch, dtype, 1, 1, 8, SIZE, seed=i) for i in (3, 4))
    mask = torch.ones(1, 1, 8, 8, dtype=torch.bool).tril().npu() if is_masked else None
    with torch.no_grad():
        layer(x, cos, sin, mask)
        simulator.clear_calls()
        expected = layer(x, cos, sin, mask)
        assert len(launches(simulator)) >= 34
        with torch.pipeline() as pipe:
            got = layer(x, cos, sin, mask)
            simulator.clear_calls()
            pipe.flush()
            assert len(launches(simulator)) <= 14
    limit = {"float16": 1e-2, "bfloat16": 8e-2, "float32": 1e-5}[dtype]
    torch.testing.assert_close(got, expected, rtol=limit, atol=limit)


class Decoder:
    """Four layers, and a token's place and embedding in buffers that stay."""

    def __init__(self, torch, dtype="float16"):
        self.torch = torch
        self.layers = [Layer(torch, i, dtype) for i in range(4)]
        self.embedding = make(torch, dtype, 32, WIDTH, seed=50)
        self.angles = make(torch, dtype, LENGTH, SIZE, seed=51)
        self.token = torch.tensor([[3]]).npu()
        self.place = torch.tensor([0]).npu()
        self.places = torch.arange(LENGTH).npu()

    def step(self, after_layer=lambda index: None):
        x = self.embedding[self.token]
        angles = self.angles.index_select(0, self.place)[None, None]
        cos, sin = angles.cos(), angles.sin()
        mask = (self.places <= self.place)[None, None, None]
        for i, layer in enumerate(self.layers):
            x = layer(x, cos, sin, mask, self.place)
            after_layer(i)
        scores = x[:, -1] @ self.embedding.t()
        self.token.copy_(scores.argmax(-1, keepdim=True))
        self.place.add_(1)
        return scores


@pytest.mark.parametrize("group", [1, 2, 4])
def test_decode_steps_replay_a_graph_for_each_group_of_layers(torch, simulator, group):
    eager, decoder = Decoder(torch), Decoder(torch)
    made = []
    with torch.no_grad():
        expected = [eager.step().cpu() for _ in range(10)]
        for step in range(10):
            torch.npu.synchronize()
            simulator.clear_calls()
            with torch.pipeline(max_ops=512) as pipe:
                scores = decoder.step(lambda i: pipe.flush() if i % group == group - 1 else None)
                pipe.flush()
                made.append(pipe._plans_made())
            calls = [call.function for call in simulator.calls() if call.kind == "call"]
            torch.testing.assert_close(scores.cpu(), expected[step], rtol=2e-2, atol=2e-2)
            if step >= 5:  # one for each group; the last ops are in the next trace
                assert launches(simulator) == []
                assert calls.count(REPLAY) == 4 // group + 1
    assert made[-1] == made[0]
    assert torch.equal(decoder.place.cpu(), torch.tensor([10]))
    for ours, theirs in zip(decoder.layers, eager.layers, strict=True):  # the cache has grown
        assert (ours.keys[0, 0, :10].abs().sum(-1) > 0).all() and not ours.keys[0, 0, 10:].any()
        torch.testing.assert_close(ours.keys, theirs.keys, rtol=2e-2, atol=2e-2)


def test_windows_of_the_default_size_are_replayed(torch, simulator):
    decoder = Decoder(torch)
    with torch.no_grad():
        for _ in range(8):
            simulator.clear_calls()
            with torch.pipeline():
                decoder.step()
            names = launches(simulator)
    assert names == []


def test_results_that_are_kept_have_memory_of_their_own(torch):
    """A graph writes where it wrote before only if nobody has that memory any more."""
    eager, decoder = Decoder(torch), Decoder(torch)
    kept, expected = [], []
    with torch.no_grad():
        for step in range(12):
            expected.append(eager.step().clone())
            with torch.pipeline(max_ops=512):
                scores = decoder.step()
            if step % 3:
                kept.append((step, scores))
            del scores
    assert len({scores.data_ptr() for _, scores in kept}) == len(kept)
    for step, scores in kept:
        torch.testing.assert_close(scores, expected[step], rtol=2e-2, atol=2e-2)


def test_patterns_can_be_turned_off():
    program = """
import mindtorch_v2 as torch
simulator = torch.npu.simulator
simulator.set(log=True)
x, w = torch.randn(4, 8).npu(), torch.randn(8).npu()
with torch.pipeline():
    y = w * (x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6))
print(any(call.function == "aclnnRmsNorm" for call in simulator.calls()))
"""
    for value, expected in (("0", "False"), ("1", "True")):
        environment = {**os.environ, "MINDTORCH_NPU": "sim", "MINDTORCH_NPU_PATTERNS": value}
        result = subprocess.run(
            [sys.executable, "-c", program],
            env=environment,
            capture_output=True,
            text=True,
            check=True,
        )
        assert result.stdout.strip() == expected
