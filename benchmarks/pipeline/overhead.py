"""What a trace costs beside its kernels: to record an op, and to plan what was never seen.

Run by run.py in a process of its own: `python overhead.py DEVICE ROUNDS`; prints JSON.
"""

from __future__ import annotations

import gc
import json
import random
import statistics
import sys
from collections.abc import Callable, Iterator
from time import perf_counter_ns
from typing import Any

import mindtorch_v2 as torch
from programs import Program, Size, Transformer, light_48

OPS = 48  # ops recorded in a row
TRACES = 20  # in one sample
VARIANTS = 15  # traces never seen before, of each kind
RECORDED = {
    "a + b, 1024": "a + b",
    "a * 2, 1024": "a * 2",
    "a.relu(), 1024": "a.relu()",
    "m @ m, 32x32": "m @ m",
    "m.sum(-1), 32x32": "m.sum(-1)",
    "m.softmax(-1), 32x32": "m.softmax(-1)",
}
# For chains whose order of ops no other has.
STEPS: tuple[Callable[[Any, Any], Any], ...] = (
    lambda x, y: x * 1.01,
    lambda x, y: x + 0.5,
    lambda x, y: x.relu(),
    lambda x, y: x - y,
    lambda x, y: x.abs(),
    lambda x, y: x.maximum(y),
    lambda x, y: x.sigmoid(),
    lambda x, y: x * y,
)


def synchronize(device: str) -> None:
    if device == "npu":
        torch.npu.synchronize()


def unrolled(expression: str, device: str) -> Callable[[], None]:
    """A function that evaluates it OPS times, as a program without a loop would."""
    names = {"a": torch.rand(1024).to(device), "b": torch.rand(1024).to(device)}
    names["m"] = torch.rand(32, 32).to(device)
    lines = "".join(f"    y = {expression}\n" for _ in range(OPS))
    exec(f"def run(a=a, b=b, m=m):\n{lines}", names)
    return names["run"]


def record_cost(expression: str, device: str, rounds: int) -> tuple[float, float]:
    """Nanoseconds to record the op, and to call it in eager mode: medians of turns."""
    run = unrolled(expression, device)
    recorded, called = [], []
    for _ in range(rounds):
        total_ns = 0
        for _ in range(TRACES):
            with torch.pipeline():
                start_ns = perf_counter_ns()
                run()
                total_ns += perf_counter_ns() - start_ns
            synchronize(device)
        recorded.append(total_ns / TRACES / OPS)
        total_ns = 0
        for _ in range(TRACES):
            start_ns = perf_counter_ns()
            run()
            total_ns += perf_counter_ns() - start_ns
            synchronize(device)
        called.append(total_ns / TRACES / OPS)
    return statistics.median(recorded), statistics.median(called)


def empty_block_ns(rounds: int) -> float:
    """Nanoseconds to make, enter and leave a block without ops: the median."""
    blocks = range(1000)
    samples = []
    for _ in range(rounds):
        start_ns = perf_counter_ns()
        for _ in blocks:
            with torch.pipeline():
                pass
        samples.append((perf_counter_ns() - start_ns) / len(blocks))
    return statistics.median(samples)


def chain_in_order(order: list[int], device: str) -> Program:
    def chain(x, y):
        for number in order:
            x = STEPS[number](x, y)
        return x

    return chain, tuple(torch.rand(1024).to(device) for _ in range(2))


def never_seen(device: str) -> Iterator[tuple[str, Program]]:
    """Programs whose ops or shapes no program before had, by kind."""
    for variant in range(VARIANTS):
        order = random.Random(variant).choices(range(len(STEPS)), k=15)
        yield "15 pointwise ops", chain_in_order(order, device)
        yield "48 light ops", light_48(torch, device, 1024 + 8 * variant)
        size = Size(width=32 + 4 * variant, heads=2, tokens=16 + variant, vocabulary=64)
        tokens = torch.randint(0, size.vocabulary, (size.batch, size.tokens)).to(device)
        yield "4-layer transformer", (Transformer(torch, size, device).forward, (tokens,))


def over_tenth_ms(program: Program, device: str) -> tuple[float, float]:
    """How much longer the first run takes than the tenth, and the second: what repeats may be
    prepared better.
    """
    function, inputs = program
    times_ms = []
    for _ in range(10):
        synchronize(device)
        start_ns = perf_counter_ns()
        with torch.pipeline():
            y = function(*inputs)
        synchronize(device)
        times_ms.append((perf_counter_ns() - start_ns) / 1e6)
        del y
    return times_ms[0] - times_ms[-1], times_ms[1] - times_ms[-1]


def main() -> None:
    device, rounds = sys.argv[1], int(sys.argv[2])
    torch.set_num_threads(1)
    torch.manual_seed(0)
    gc.disable()
    starts: dict[str, list[tuple[float, float]]] = {}
    with torch.pipeline():  # what the process does once
        torch.rand(8).to(device) @ torch.rand(8, 8).to(device)
    for kind, program in never_seen(device):
        starts.setdefault(kind, []).append(over_tenth_ms(program, device))
    record = {name: record_cost(text, device, rounds) for name, text in RECORDED.items()}
    found = {
        "empty_block_ns": empty_block_ns(rounds),
        "over_tenth_ms": starts,
        "record_and_eager_ns": record,
    }
    print(json.dumps(found))


if __name__ == "__main__":
    main()
