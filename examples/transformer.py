"""A transformer's forward pass on an NPU, op by op and in a pipeline.

Shows for both how long a pass takes and how much memory it needs, then the table of the device's
memory, and writes a trace of two passes for ui.perfetto.dev.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import pathlib
import statistics
import time
from collections.abc import Callable, Iterator

import mindtorch_v2 as torch
from shared.npu import choose as choose_npu
from shared.transformer import Size, Transformer

SIZE = Size(layers=4, width=128, heads=4, tokens=32, vocabulary=256)
PASSES = 9
PROGRAM = 1000  # its number in the trace; the simulator numbers host and devices from 0


class Timeline:
    """Spans of the program, and the calls and tasks of the device where it is simulated."""

    def __init__(self) -> None:
        name = {"ph": "M", "name": "process_name", "pid": PROGRAM, "args": {"name": "program"}}
        self.events: list[dict] = [name]
        self.start_ns = time.perf_counter_ns()
        if torch.npu.simulator.is_enabled():
            torch.npu.simulator.set(log=True)
            torch.npu.synchronize()
            # The log's clock runs from another moment.
            logged_ns = torch.npu.simulator.calls()[-1].time_ns
            self.start_ns = time.perf_counter_ns() - logged_ns

    @contextlib.contextmanager
    def span(self, name: str) -> Iterator[None]:
        begin_us = (time.perf_counter_ns() - self.start_ns) / 1000
        yield
        end_us = (time.perf_counter_ns() - self.start_ns) / 1000
        span = {"ph": "X", "name": name, "pid": PROGRAM, "tid": 0}
        self.events.append({**span, "ts": begin_us, "dur": end_us - begin_us})

    def write(self, path: pathlib.Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        if torch.npu.simulator.is_enabled():
            torch.npu.simulator.trace(path)
            self.events += json.loads(path.read_text())["traceEvents"]
            torch.npu.simulator.set(log=False)
        path.write_text(json.dumps({"traceEvents": self.events}))


def measure(one_pass: Callable[[], torch.Tensor]) -> tuple[torch.Tensor, float, int]:
    """The result, the time in ms, and the peak of memory above what was in use, in bytes."""
    torch.npu.synchronize()
    torch.npu.reset_peak_memory_stats()
    before = torch.npu.memory_allocated()
    start = time.perf_counter()
    result = one_pass()
    torch.npu.synchronize()
    elapsed_ms = (time.perf_counter() - start) * 1000
    return result.cpu(), elapsed_ms, torch.npu.max_memory_allocated() - before


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--trace", type=pathlib.Path, default="transformer_trace.json")
    path = parser.parse_args().trace
    there_is_one, remark = choose_npu()
    print(f"A transformer's forward pass, eager and in a pipeline\n{remark}".rstrip())
    if not there_is_one:
        return

    torch.manual_seed(0)
    model = Transformer(torch, SIZE, "npu")
    tokens = torch.randint(0, SIZE.vocabulary, (SIZE.batch, SIZE.tokens)).npu()
    print(
        f"{SIZE.layers} layers of width {SIZE.width}, {SIZE.tokens} tokens, on "
        f"{torch.npu.get_device_name()}; weights: {torch.npu.memory_allocated() / 1024:.0f} KiB\n"
    )

    def eager() -> torch.Tensor:
        return model.forward(tokens)

    def pipeline() -> torch.Tensor:
        with torch.pipeline():
            return model.forward(tokens)

    modes = {"eager": eager, "pipeline": pipeline}
    for one_pass in modes.values():
        one_pass()  # what is prepared once is prepared now
    runs = {name: [] for name in modes}
    for _ in range(PASSES):
        for name, one_pass in modes.items():
            runs[name].append(measure(one_pass))
    print(f"{'':10}{'a pass':>12}{'peak memory above the weights':>33}")
    for name, measured in runs.items():
        _, times_ms, peaks = zip(*measured, strict=True)
        time_ms = statistics.median(times_ms)
        print(f"{name:10}{time_ms:9.2f} ms{max(peaks) / 1024:29.0f} KiB")
    scores = {name: measured[-1][0] for name, measured in runs.items()}
    difference = (scores["eager"] - scores["pipeline"]).abs().max().item()
    print(f"largest difference between the two results: {difference:g}\n")
    print(torch.npu.memory_summary(abbreviated=True))

    timeline = Timeline()
    for name, one_pass in modes.items():
        with timeline.span(name):
            one_pass()
            torch.npu.synchronize()
    timeline.write(path)
    print(f"\nTrace of a pass of each: {path.resolve()}, for ui.perfetto.dev.")


if __name__ == "__main__":
    main()
