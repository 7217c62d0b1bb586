"""Makes recordings of what programs ask of a device allocator, and replays them under torch's rules
and ours:

    .venv/bin/python benchmarks/allocator/traces.py [--keep DIR]

The programs are transformers written in terms of buffers: every op allocates its result, and a
buffer is freed when Python drops the last reference, as tensors are. No device is needed.
"""

import argparse
import pathlib
import pickle
import random
import sys
import tempfile

from mindtorch_v2 import memory
from mindtorch_v2._backends.npu.allocator import NpuAllocator

TORCH_RULES = "outgrown_segment_age:0"
OURS = ""
EXPANDABLE = "expandable_segments:True"
BYTES = 2  # a half-precision element


class Recorder:
    """An allocator over endless memory that writes down what it is asked for."""

    def __init__(self):
        self.allocator = NpuAllocator()
        self.next = 1 << 32
        self.allocator._raw_malloc = self._raw_malloc
        self.allocator._raw_free = lambda ptr: None
        self.allocator._mem_get_info = lambda: (1 << 45, 1 << 45)
        self.allocator._sync_device = lambda: None
        self.allocator._record_event = lambda stream: 1
        self.allocator._event_complete = lambda event: True
        self.allocator._configure_history(True, 0, sys.maxsize, [], True)

    def _raw_malloc(self, size):
        address, self.next = self.next, self.next + size
        return address, size

    def buffer(self, *shape, dtype_bytes=BYTES):
        return Buffer(self.allocator, shape, dtype_bytes)

    def dump(self, path):
        with open(path, "wb") as file:
            snapshot = {"segments": [], "device_traces": [self.allocator._trace()]}
            pickle.dump(snapshot, file, protocol=4)


class Buffer:
    __slots__ = ("allocator", "address")

    def __init__(self, allocator, shape, dtype_bytes):
        count = dtype_bytes
        for size in shape:
            count *= size
        self.allocator = allocator
        self.address = allocator.malloc(count)

    def __del__(self):
        self.allocator.free(self.address)


class Model:
    def __init__(self, new, layers=12, width=1024, heads=16, vocabulary=32000):
        self.new, self.layers, self.width = new, layers, width
        self.heads, self.vocabulary = heads, vocabulary
        shapes = [(vocabulary, width)]
        for _ in range(layers):
            shapes += [(3 * width, width), (width, width), (4 * width, width), (width, 4 * width)]
            shapes += [(width,)] * 4
        self.shapes = shapes
        self.weights = [new(*shape) for shape in shapes]

    def attention(self, batch, queries, keys):
        """Buffers of one attention: scores, probabilities, result."""
        scores = self.new(batch, self.heads, queries, keys)
        probabilities = self.new(batch, self.heads, queries, keys)
        result = self.new(batch, queries, self.width)
        del scores
        return probabilities, result


def train(new, steps=8, batch=8, seed=0):
    """Training steps on batches padded to the longest sequence in them."""
    lengths = random.Random(seed)
    model = Model(new, layers=8)
    width = model.width
    moments = [new(*shape, dtype_bytes=4) for shape in model.shapes for _ in range(2)]
    for _ in range(steps):
        length = lengths.randrange(256, 1024, 8)
        saved = []
        hidden = new(batch, length, width)
        for _ in range(model.layers):
            normed = new(batch, length, width)
            qkv = new(batch, length, 3 * width)
            probabilities, mixed = model.attention(batch, length, length)
            projected = new(batch, length, width)
            after = new(batch, length, width)
            wide = new(batch, length, 4 * width)
            activated = new(batch, length, 4 * width)
            narrow = new(batch, length, width)
            saved.append((hidden, normed, qkv, probabilities, mixed, after, wide, activated))
            hidden = new(batch, length, width)
            del projected, narrow
        logits = new(batch * length, model.vocabulary)
        losses = new(batch * length, model.vocabulary, dtype_bytes=4)
        gradient = new(batch * length, model.vocabulary)
        del logits, losses
        gradients = [new(*model.shapes[0])]
        flow = new(batch, length, width)
        del gradient, hidden
        # The loop's own names must not keep buffers that a program would have freed.
        del normed, qkv, probabilities, mixed, after, wide, activated
        while saved:
            layer = saved.pop()
            wide_flow = new(batch, length, 4 * width)
            gradients += [new(width, 4 * width), new(4 * width, width)]
            inner = new(batch, length, 4 * width)
            del wide_flow, inner
            scores = new(batch, model.heads, length, length)
            more = new(batch, model.heads, length, length)
            gradients += [new(width, width), new(3 * width, width)]
            flow = new(batch, length, width)
            del layer, scores, more
        for shape in model.shapes:  # the optimizer, one tensor at a time
            update = new(*shape, dtype_bytes=4)
            del update
        del gradients, flow
    del moments


def generate(new, prompts=3, tokens=160, batch=8, seed=1):
    """Text generation: the caches of keys and values grow by a token a step, by a new buffer."""
    lengths = random.Random(seed)
    model = Model(new)
    width = model.width
    for _ in range(prompts):
        length = lengths.randrange(400, 1200)
        caches = [[new(batch, length, width), new(batch, length, width)] for _ in range(12)]
        for _ in range(tokens):
            length += 1
            hidden = new(batch, 1, width)
            for cache in caches:
                qkv = new(batch, 1, 3 * width)
                for which in range(2):
                    cache[which] = new(batch, length, width)
                probabilities, mixed = model.attention(batch, 1, length)
                wide = new(batch, 1, 4 * width)
                hidden = new(batch, 1, width)
                del qkv, probabilities, mixed, wide
            logits = new(batch, model.vocabulary)
            del logits
        del caches, cache, hidden


def serve(new, requests=60, seed=2):
    """Prompts of any length one after the other, with short answers: what a server sees."""
    lengths = random.Random(seed)
    model = Model(new)
    width = model.width
    for _ in range(requests):
        batch = lengths.choice((1, 2, 4, 8))
        length = int(64 * 2 ** lengths.uniform(0, 5))
        hidden = new(batch, length, width)
        caches = []
        for _ in range(model.layers):
            qkv = new(batch, length, 3 * width)
            probabilities, mixed = model.attention(batch, length, length)
            caches.append((new(batch, length, width), new(batch, length, width)))
            wide = new(batch, length, 4 * width)
            hidden = new(batch, length, width)
            del qkv, probabilities, mixed, wide
        for _ in range(8):
            length += 1
            for layer, _ in enumerate(caches):
                caches[layer] = (new(batch, length, width), new(batch, length, width))
        del caches, hidden


PROGRAMS = {"training step": train, "growing sequences": generate, "serving": serve}


def record(program, path):
    recorder = Recorder()
    program(recorder.buffer)
    recorder.dump(path)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", type=pathlib.Path, help="a folder to leave the recordings in")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or pathlib.Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        print(
            f"{'program':<18} {'allocations':>11} {'in use':>10} {'torch':>10} {'ours':>10}", end=""
        )
        print(f" {'ratio':>6} {'expandable':>10} {'driver calls, torch/ours':>25}")
        for name, program in PROGRAMS.items():
            path = folder / f"{name.replace(' ', '_')}.pickle"
            record(program, path)
            trace = memory.load_trace(path)
            results = dict(memory.replay(trace, [TORCH_RULES, OURS, EXPANDABLE]))
            peaks = [results[conf]["peak_reserved_bytes"] / 2**20 for conf in results]
            calls = [
                results[conf]["device_allocations"] + results[conf]["device_frees"]
                for conf in (TORCH_RULES, OURS)
            ]
            used = results[OURS]["peak_active_bytes"] / 2**20
            print(
                f"{name:<18} {results[OURS]['allocations']:>11} {used:>6.0f} MiB "
                f"{peaks[0]:>6.0f} MiB {peaks[1]:>6.0f} MiB {peaks[1] / peaks[0]:>6.2f} "
                f"{peaks[2]:>6.0f} MiB {f'{calls[0]}/{calls[1]}':>25}"
            )


if __name__ == "__main__":
    main()
