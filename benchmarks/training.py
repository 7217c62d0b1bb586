"""Times training steps, side by side with torch: eager and in a pipeline, on one thread.

python benchmarks/training.py                  everything; about two minutes
python benchmarks/training.py --filter gpt     the programs whose name matches
python benchmarks/training.py --check          exit with 1 when a threshold is missed

A step is forward, backward and the optimizer's update; in a pipeline it is one window. Libraries
take turns (measure.py). Memory is that of a process of its own per library and mode.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE))
sys.path.append(str(HERE.parent / "examples"))
sys.path.append(str(HERE.parent / "python"))

from measure import Effort, Lane, LibraryProcess, Measured, measure_lanes  # noqa: E402
from progress import Progress  # noqa: E402
from shared import gpt  # noqa: E402

Step = Callable[[], Any]


def step_of(torch: Any, model: Any, optimizer: Any, loss: Callable, *data: Any) -> Step:
    def step() -> Any:
        optimizer.zero_grad()
        value = loss(model, *data)
        value.backward()
        optimizer.step()
        return value

    return step


def classify(torch: Any, model: Any, optimizer: Any, x: Any, classes: int) -> Step:
    y = torch.randint(0, classes, x.shape[:1])
    loss = torch.nn.functional.cross_entropy
    return step_of(torch, model, optimizer, lambda model, x, y: loss(model(x), y), x, y)


def mlp(torch: Any, optimizer: str, widths: tuple[int, ...], batch: int) -> Step:
    nn = torch.nn
    layers = []
    for inputs, outputs in zip(widths, widths[1:], strict=False):
        layers += [nn.Linear(inputs, outputs), nn.ReLU()]
    model = nn.Sequential(*layers[:-1])
    optimizer = getattr(torch.optim, optimizer)(model.parameters(), lr=1e-3)
    return classify(torch, model, optimizer, torch.randn(batch, widths[0]), widths[-1])


def convnet(torch: Any, batch: int = 64) -> Step:
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(32 * 7 * 7, 10),
    )  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    return classify(torch, model, optimizer, torch.randn(batch, 1, 28, 28), 10)


def lstm(torch: Any, width: int = 128, length: int = 64) -> Step:
    model = torch.nn.LSTM(width, width)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    x, y = (torch.randn(length, 32, width) for _ in range(2))
    loss = torch.nn.functional.mse_loss
    return step_of(torch, model, optimizer, lambda model, x, y: loss(model(x)[0], y), x, y)


def small_gpt(torch: Any, layers: int = 4, width: int = 128, tokens: int = 64) -> Step:
    size = gpt.Size(layers=layers, width=width, heads=4, tokens=tokens, vocabulary=256)
    model = gpt.make(torch, size)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    x, y = (torch.randint(0, 256, (8, tokens)) for _ in range(2))

    def loss(model: Any, x: Any, y: Any) -> Any:
        return torch.nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten())

    return step_of(torch, model, optimizer, loss, x, y)


@dataclass(frozen=True)
class Program:
    """The time of a step, as a ratio to torch's: at most these. None: measured, not judged."""

    make: Callable[[Any], Step]
    eager: float | None = None
    pipeline: float | None = None


LARGE, TINY = (784, 512, 512, 10), (16, 32, 4)
PROGRAMS = {
    "mlp, SGD": Program(lambda torch: mlp(torch, "SGD", LARGE, 128), 0.8, 0.7),
    "mlp, AdamW": Program(lambda torch: mlp(torch, "AdamW", LARGE, 128), 0.65, 0.6),
    "tiny mlp, SGD": Program(lambda torch: mlp(torch, "SGD", TINY, 4), 0.25),
    "tiny mlp, AdamW": Program(lambda torch: mlp(torch, "AdamW", TINY, 4), 0.25),
    "gpt, AdamW": Program(small_gpt, 0.85, 0.7),
    "convnet, SGD": Program(convnet, 0.95),
    "lstm, Adam": Program(lstm, 0.9),
}

OPERANDS = "a, b = (torch.ones(16, requires_grad=True) for _ in range(2))"
CHAIN = f"{OPERANDS}\ny = a\nfor _ in range(100):\n    y = y * b\ng = torch.ones(16)"
# What the host pays, on 16 elements: statement, setup, and the ratio at most.
HOST = {
    "a * b": ("a * b", OPERANDS, 0.4),
    "backward of 100 a * b": ("y.backward(g, retain_graph=True)", CHAIN, 0.35),
    "x.sum().backward()": ("a.sum().backward()", OPERANDS, 0.4),
}
STATEMENTS = {"eager": "y = step()", "pipeline": "with torch.pipeline():\n    y = step()"}


@dataclass
class Row:
    """One line of the table: a number of ours and torch's, and the ratio at most."""

    name: str
    mode: str
    ours: float | None
    torch: float | None
    at_most: float | None
    cpu: float | None = None  # the ratio of CPU times: see Note [Busy machines]
    error: str | None = None

    @property
    def ratio(self) -> float | None:
        return self.ours / self.torch if self.ours and self.torch else None

    @property
    def missed(self) -> bool:
        if self.at_most is None:
            return False
        return self.error is not None or (self.ratio is not None and self.ratio > self.at_most)

    def __str__(self) -> str:
        if self.error is not None:
            return f"{self.name:26}{self.mode:9} {self.error[:80]}"
        numbers = (self.ours, self.torch, self.cpu, self.ratio, self.at_most)
        widths = ("10.3f", "10.3f", "7.2f", "7.2f", "9.2f")
        cells = (
            f"{' ' * int(width.split('.')[0])}" if number is None else f"{number:{width}}"
            for number, width in zip(numbers, widths, strict=True)
        )
        verdict = "" if self.at_most is None else "  MISS" if self.missed else "  pass"
        return f"{self.name:26}{self.mode:9}" + "".join(cells) + verdict


def measure_case(
    libraries: dict[str, LibraryProcess],
    setup: str,
    statements: dict[str, str],
    results: dict[str, Measured],
    effort: Effort,
) -> None:
    """One pass: every mode of ours, and eager mode of torch."""
    lanes = [
        Lane(library, results[f"{name} {mode}"], statement)
        for name, library in libraries.items()
        for mode, statement in statements.items()
        if name != "torch" or mode == "eager"
    ]
    measure_lanes(setup, lanes, effort)


def peak_of_a_step(module: str, mode: str) -> float:
    """MB of memory that steps of the GPT need at most, above what the process had before it.

    Code and buffers that a library loads once are loaded by a smaller model first.
    """
    torch = importlib.import_module(module)
    torch.set_num_threads(1)

    def run(step: Step) -> None:
        for _ in range(4):
            with torch.pipeline() if mode == "pipeline" else contextlib.nullcontext():
                step()

    def memory(field: str) -> float:
        status = Path("/proc/self/status").read_text()
        return int(re.search(rf"{field}:\s+(\d+) kB", status)[1]) / 1024

    run(small_gpt(torch, layers=1))
    step = small_gpt(torch)
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    before = memory("VmRSS")
    run(step)
    return memory("VmHWM") - before


def measure_memory(modules: list[str]) -> list[Row]:
    def run(module: str, mode: str) -> float | None:
        if module not in modules:
            return None
        command = [sys.executable, __file__, "--memory-of", module, mode]
        done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        return float(done.stdout)

    torchs = run("torch", "eager")
    return [
        Row("gpt, AdamW: peak, MB", mode, run("mindtorch_v2", mode), torchs, 1.0)
        for mode in STATEMENTS
    ]


def measure_times(modules: list[str], names: list[str], effort: Effort) -> list[Row]:
    results: dict[str, dict[str, Measured]] = {}
    progress = Progress(effort.passes * len(names))
    for _ in range(effort.passes):
        libraries = {module: LibraryProcess(module, 1) for module in modules}
        try:
            for name in names:
                progress.step(name)
                if name in PROGRAMS:
                    setup = f"import training\nstep = training.PROGRAMS[{name!r}].make(torch)"
                    statements = STATEMENTS
                else:
                    statements, setup = {"eager": HOST[name][0]}, HOST[name][1]
                lanes = {
                    f"{module} {mode}": Measured() for module in modules for mode in STATEMENTS
                }
                measured = results.setdefault(name, lanes)
                measure_case(libraries, setup, statements, measured, effort)
        finally:
            for library in libraries.values():
                library.close()
    progress.finish()

    return [row for name in names for row in rows_of(name, results[name])]


def rows_of(name: str, results: dict[str, Measured]) -> list[Row]:
    program = PROGRAMS.get(name)
    limits = vars(program) if program else {"eager": HOST[name][2]}
    label, unit = (name, 1e6) if program else (f"{name}, us", 1e3)
    theirs = results.get("torch eager", Measured())

    def scaled(time_ns: float | None) -> float | None:
        return None if time_ns is None else time_ns / unit

    rows = []
    for mode in STATEMENTS if program else ("eager",):
        ours = results[f"mindtorch_v2 {mode}"]
        cpu = ours.cpu_ns / theirs.cpu_ns if ours.cpu_ns and theirs.cpu_ns else None
        times = scaled(ours.median_ns), scaled(theirs.median_ns)
        rows.append(Row(label, mode, *times, limits.get(mode), cpu, ours.error))
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--filter", metavar="REGEX", default="")
    parser.add_argument("--check", action="store_true", help="exit with 1 at a missed threshold")
    parser.add_argument("--passes", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=9, help="samples of each mode, per pass")
    parser.add_argument("--memory-of", nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.memory_of:
        print(peak_of_a_step(*arguments.memory_of))
        return 0

    wanted = re.compile(arguments.filter)
    names = [name for name in (*PROGRAMS, *HOST) if wanted.search(name)]
    with_torch = importlib.util.find_spec("torch") is not None
    modules = ["mindtorch_v2", *(["torch"] if with_torch else [])]
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    effort = Effort(arguments.passes, arguments.rounds, 3_000_000, 4.0)
    rows = measure_times(modules, names, effort)
    if wanted.search("gpt, AdamW: peak"):
        rows += measure_memory(modules)
    print(f"\n{'ms, one thread':35}{'ours':>10}{'torch':>10}{'cpu':>7}{'ratio':>7}{'at most':>9}")
    print("\n".join(str(row) for row in rows))
    return 1 if arguments.check and any(row.missed for row in rows) else 0


if __name__ == "__main__":
    sys.exit(main())
