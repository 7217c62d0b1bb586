"""Times programs in eager mode and in pipelines, side by side with torch and torch.compile.

python benchmarks/pipeline/run.py                 everything; about four minutes
python benchmarks/pipeline/run.py --thresholds    and each threshold with its verdict; 1: one missed
python benchmarks/pipeline/run.py --filter 1024   the programs whose place or name matches

Modes of one library share a process and its tensors, libraries do not; all take turns.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(1, str(HERE.parent))

from measure import (  # noqa: E402
    Effort,
    Lane,
    LibraryProcess,
    Measured,
    measure_lanes,
    worker_environment,
)
from programs import NOT_SIMULATED, PROGRAMS, QUEUED_STEPS  # noqa: E402
from progress import Progress  # noqa: E402
from report import machine  # noqa: E402
from thresholds import (  # noqa: E402
    Row,
    format_errors,
    format_overhead,
    format_rows,
    format_thresholds,
    thresholds_of,
)

# Short samples and many turns: a phase of the machine then hits neighbours alike.
SAMPLE_NS = 1_000_000
SIMULATED = {"MINDTORCH_NPU": "sim", "MINDTORCH_SIM_CHECKS": "none"}
SETUP = """
from pipeline.programs import PROGRAMS
function, inputs = PROGRAMS[{program!r}](torch, {device!r}, {small})
if torch.__name__ == "torch":
    compiled = torch.compile(function)
"""
STATEMENTS = {
    "eager": "y = function(*inputs)",
    "pipeline": "with torch.pipeline():\n    y = function(*inputs)",
    "torch": "y = function(*inputs)",
    "compile": "y = compiled(*inputs)",
}


@dataclass(frozen=True)
class Place:
    """Where programs run, and how."""

    name: str
    device: str
    environment: dict[str, str]
    small: bool = False  # plain loops: sizes that they can do

    def has(self, program: str) -> bool:
        if self.small and program in NOT_SIMULATED:
            return False
        return self.device == "npu" or program not in QUEUED_STEPS

    def lanes(self, with_torch: bool) -> tuple[str, ...]:
        torchs = ("torch", "compile") if with_torch and self.device == "cpu" else ()
        return ("eager", "pipeline", *torchs)

    def statement(self, lane: str) -> str:
        wait = "\ntorch.npu.synchronize()" if self.device == "npu" else ""
        return STATEMENTS[lane] + wait


PLACES = (
    Place("cpu", "cpu", {}),
    Place("npu", "npu", SIMULATED, small=True),
    # What the host pays: ops are queued and ordered as ever, and compute nothing.
    Place("npu, host only", "npu", {**SIMULATED, "MINDTORCH_SIM_COMPUTE": "0"}),
)


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--thresholds", action="store_true", help="judge; exit with 1 when one is missed"
    )
    parser.add_argument("--filter", metavar="REGEX", default="", help="of 'place: program'")
    parser.add_argument("--rounds", type=int, default=101, help="samples of each mode")
    parser.add_argument("--seconds", type=float, default=5.0, help="for a program, at most")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--no-torch", action="store_true", help="our own modes only")
    parser.add_argument("--output", type=Path, metavar="FOLDER", default=HERE.parent / "results")
    return parser.parse_args()


def measure_place(
    place: Place, programs: list[str], with_torch: bool, threads: int, effort: Effort, step: Any
) -> list[Row]:
    ours = LibraryProcess("mindtorch_v2", threads, place.environment)
    processes = {"eager": ours, "pipeline": ours}
    if "torch" in place.lanes(with_torch):
        processes["torch"] = processes["compile"] = LibraryProcess("torch", threads)
    rows = []
    try:
        for program in programs:
            step(f"{place.name}: {program}")
            row = Row(place.name, program, {lane: Measured() for lane in processes})
            lanes = [
                Lane(process, row.lanes[lane], place.statement(lane))
                for lane, process in processes.items()
            ]
            setup = SETUP.format(program=program, device=place.device, small=place.small)
            measure_lanes(setup, lanes, effort)
            rows.append(row)
    finally:
        for process in dict.fromkeys(processes.values()):
            process.close()
    return rows


def measure_overhead(place: Place, rounds: int) -> dict[str, Any]:
    command = [sys.executable, str(HERE / "overhead.py"), place.device, str(rounds)]
    environment = {**worker_environment(), **place.environment}
    done = subprocess.run(command, env=environment, check=True, stdout=subprocess.PIPE, text=True)
    return json.loads(done.stdout)


def write_results(
    path: Path, about: dict, rows: list[Row], overhead: dict, thresholds: list | None
) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    results = [
        {
            "place": row.place,
            "program": row.program,
            "ratios": {lane: row.ratio(lane) for lane in row.lanes if lane != "pipeline"},
            "lanes": {lane: vars(measured) for lane, measured in row.lanes.items()},
        }
        for row in rows
    ]
    judged = [vars(threshold) | {"verdict": threshold.verdict} for threshold in thresholds or ()]
    content = {"about": about, "results": results, "overhead": overhead, "thresholds": judged}
    path.write_text(json.dumps(content, indent=1) + "\n")


def main() -> int:
    arguments = parse_arguments()
    wanted = re.compile(arguments.filter, re.IGNORECASE)
    chosen = [
        (place, name)
        for place in PLACES
        for name in PROGRAMS
        if wanted.search(f"{place.name}: {name}") and place.has(name)
    ]
    with_overhead = [p for p in (PLACES[0], PLACES[2]) if wanted.search(f"{p.name}: overhead")]
    if not chosen and not with_overhead:
        print("no program matches", file=sys.stderr)
        return 2
    with_torch = not arguments.no_torch and importlib.util.find_spec("torch") is not None
    load = os.getloadavg()[0]
    effort = Effort(1, arguments.rounds, SAMPLE_NS, arguments.seconds)
    progress = Progress(len(chosen) + len(with_overhead))
    overhead = {}
    for place in with_overhead:
        progress.step(f"{place.name}: overhead")
        overhead[place.name] = measure_overhead(place, arguments.rounds)
    rows: list[Row] = []
    for place in PLACES:
        programs = [name for where, name in chosen if where is place]
        if programs:
            rows += measure_place(
                place, programs, with_torch, arguments.threads, effort, progress.step
            )
    progress.finish()

    about = {
        "when": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "machine": machine(),
        "load": [load, os.getloadavg()[0]],
        "threads": arguments.threads,
    }
    tables = [format_rows(rows)] if rows else []
    if overhead:
        tables.append(format_overhead(overhead))
    thresholds = thresholds_of(rows, overhead, with_torch) if arguments.thresholds else None
    if thresholds is not None:
        tables.append(format_thresholds(thresholds))
    title = f"{about['machine']['cpu']}, {arguments.threads} thread(s), load {load:.1f}"
    text = f"{title}\n\n" + "\n\n".join(tables)
    print(text)
    print("\nTimes: medians. Ratios: the pipeline's time over the other's, medians over rounds;")
    print(
        "best: of the fastest samples; cpu: of the CPU time; host: of the calling thread's. Where"
    )
    print("they differ, others kept the machine busy, or the host waited for a device.")
    if errors := format_errors(rows):
        print(f"Could not be run:\n{errors}")
    folder = arguments.output
    write_results(folder / "pipeline.json", about, rows, overhead, thresholds)
    (folder / "pipeline.md").write_text(text + "\n")
    print(f"Written to {os.path.relpath(folder)}: pipeline.json, pipeline.md.")
    if thresholds is None:
        return 0
    missed = sum(not threshold.holds for threshold in thresholds)
    print(f"{len(thresholds) - missed} of {len(thresholds)} thresholds held.")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
