"""Every op against torch: thousands of short cases, and a picture of all ratios.

python benchmarks/sweep [--threads N] [--filter REGEX] [--csv FILE] [--picture FILE]
python benchmarks/sweep --read one.csv many.csv --picture FILE    draws what was measured before

The libraries take turns, a process each; of several samples the best counts. Cases above 1.1 are
measured a second time, at the end, and the best of both times counts for both libraries. Prints,
per family, how many cases there are, the geometric mean of the ratios to torch's time, and how many
are above 1.1 and 1.5; then the worst cases. --check exits with 1 when a bar is missed.
"""

from __future__ import annotations

import argparse
import csv
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
sys.path.append(str(HERE.parent.parent / "python"))

from measure import PAUSE_SECONDS, LibraryProcess, WorkerError  # noqa: E402
from progress import Progress  # noqa: E402

from sweep import arrays, intel, layers, pointwise, products  # noqa: E402
from sweep.case import SweepCase  # noqa: E402
from sweep.picture import write_picture  # noqa: E402

SAMPLE_NS = 2_000_000
AGAIN_ROUNDS = 3
HEAD = "import importlib; F = importlib.import_module(torch.__name__ + '.nn.functional')\n"
CASE_COLUMNS = ["family", "case", "dtype", "layout", "elements"]
COLUMNS = [*CASE_COLUMNS, "threads", "ours_ns", "torch_ns"]
MEAN_AT_MOST, SHARE_ABOVE, LIMIT, CEILING = 0.30, 0.01, 1.1, 1.5

# What keeps both libraries, and the products each uses, from AVX-512.
AVX2_ONLY = {
    "MINDTORCH_CPU_CAPABILITY": "avx2",
    "OPENBLAS_CORETYPE": "Haswell",
    "ATEN_CPU_CAPABILITY": "avx2",
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    "MKL_ENABLE_INSTRUCTIONS": "AVX2",
}

Row = dict[str, str]


def all_cases() -> list[SweepCase]:
    found = [*pointwise.cases(), *arrays.cases(), *products.cases(), *layers.cases()]
    return list({case.title + case.setup: case for case in found}.values())


def columns_of(case: SweepCase) -> tuple[str, ...]:
    return case.family, case.name, case.dtype, case.layout, str(case.elements)


def best_of(
    case: SweepCase, libraries: list[LibraryProcess], rounds: int, clock: str
) -> list[float | None]:
    """The best time of each library, in ns; None for one that cannot run the case."""
    best: list[float | None] = []
    for library in libraries:
        try:
            answer = library.ask(
                "prepare",
                setup=HEAD + case.setup,
                statements=[case.statement],
                sample_ns=SAMPLE_NS,
            )
            error = answer["statements"][0].get("error")
        except WorkerError as failure:
            error = str(failure)
        if error and library is libraries[0]:
            print(f"{case.title}: {error}", file=sys.stderr)
        best.append(None if error else math.inf)
    if None in best:
        return best
    for turn in range(rounds):
        order = range(len(libraries)) if turn % 2 == 0 else reversed(range(len(libraries)))
        for which in order:
            if libraries[which].threads > 1:
                time.sleep(PAUSE_SECONDS)
            for _ in range(2):
                sample = libraries[which].ask("sample", which=0)
                best[which] = min(best[which], sample[clock])
    return best


def measure_pass(
    cases: list[SweepCase],
    libraries: list[LibraryProcess],
    rounds: int,
    clock: str,
    deadline: float,
) -> dict[SweepCase, list[float]]:
    """The times of every case that both libraries can run, or of those that are done in time."""
    progress = Progress(len(cases))
    times = {}
    for case in cases:
        if time.monotonic() > deadline:
            break
        progress.step(case.title)
        try:
            best = best_of(case, libraries, rounds, clock)
        except WorkerError as error:
            print(f"{case.title}: {error}", file=sys.stderr)
            continue
        if None not in best:
            times[case] = best
    progress.finish()
    return times


def measure(
    cases: list[SweepCase], options: argparse.Namespace, rival: dict[str, str]
) -> list[Row]:
    """Every case, and those above the limit a second time: other load only ever adds time."""
    threads = options.threads
    libraries = [LibraryProcess("mindtorch_v2", threads), LibraryProcess("torch", threads, rival)]
    deadline = time.monotonic() + options.seconds
    clock = "cpu_ns" if options.cpu_time else "call_ns"
    times = measure_pass(cases, libraries, options.rounds, clock, deadline)
    slow = [case for case, (ours, torchs) in times.items() if ours > LIMIT * torchs]
    for case, again in measure_pass(slow, libraries, AGAIN_ROUNDS, clock, deadline).items():
        times[case] = [min(pair) for pair in zip(times[case], again, strict=True)]
    for library in libraries:
        library.close()
    return [
        dict(zip(COLUMNS, [*columns_of(case), *map(str, (threads, *best))], strict=True))
        for case, best in times.items()
    ]


def read_rows(path: Path) -> list[Row]:
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def ratio(row: Row) -> float:
    return float(row["ours_ns"]) / float(row["torch_ns"])


def geometric_mean(rows: list[Row]) -> float:
    return math.exp(sum(math.log(ratio(row)) for row in rows) / len(rows))


def report(rows: list[Row], worst: int) -> bool:
    """Prints the tables; whether every bar holds."""
    good = True
    for threads in sorted({row["threads"] for row in rows}, key=int):
        chosen = [row for row in rows if row["threads"] == threads]
        print(f"\n{threads} thread{'' if threads == '1' else 's'}")
        print(f"{'family':12}{'cases':>7}{'mean':>7}{'> 1.1':>7}{'> 1.5':>7}{'worst':>8}")
        families = sorted({row["family"] for row in chosen})
        for family in [*families, "all"]:
            of_family = [row for row in chosen if family in (row["family"], "all")]
            above = sum(ratio(row) > LIMIT for row in of_family)
            far = sum(ratio(row) > CEILING for row in of_family)
            mean, top = geometric_mean(of_family), max(map(ratio, of_family))
            print(f"{family:12}{len(of_family):7}{mean:7.2f}{above:7}{far:7}{top:8.2f}")
        good &= geometric_mean(chosen) <= MEAN_AT_MOST and far == 0
        good &= above <= SHARE_ABOVE * len(chosen)
        print()
        for row in sorted(chosen, key=ratio, reverse=True)[:worst]:
            if ratio(row) <= LIMIT:
                break
            what = f"{row['case']}, {row['dtype']} {row['layout']} {row['elements']}"
            ours, torchs = float(row["ours_ns"]) / 1000, float(row["torch_ns"]) / 1000
            print(f"  {ratio(row):6.2f}  {what:72}{ours:10.1f} us{torchs:10.1f} us")
    return good


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--rounds", type=int, default=2, help="turns of each library")
    parser.add_argument("--filter", default="", help="regular expression for 'family case, dtype'")
    parser.add_argument("--again", type=Path, help="only what is slower than torch in this --csv")
    parser.add_argument("--part", default="1/1", help="2/3: the second third of the cases")
    parser.add_argument("--seconds", type=float, default=math.inf, help="stop after this time")
    parser.add_argument("--cpu-time", action="store_true", help="of one thread, on a busy machine")
    parser.add_argument("--csv", type=Path, help="write every case to this file")
    parser.add_argument("--read", type=Path, nargs="*", help="files of --csv, instead of measuring")
    parser.add_argument("--picture", type=Path, help="write a picture of the ratios")
    parser.add_argument("--worst", type=int, default=60, help="how many cases are listed")
    parser.add_argument("--check", action="store_true", help="exit with 1 when a bar is missed")
    parser.add_argument("--avx2", action="store_true", help="both libraries without AVX-512")
    parser.add_argument("--intel", action="store_true", help="torch's MKL as on Intel processors")
    options = parser.parse_args()
    if options.avx2:
        ask = "import mindtorch_v2 as m; print(*m._C._cpu_compiled_capabilities())"
        answer = subprocess.run([sys.executable, "-c", ask], stdout=subprocess.PIPE, text=True)
        if "AVX2" not in answer.stdout.split():
            parser.error("this build has no AVX2 code: build with -DMINDTORCH_CPU_TARGETS=all")
        os.environ.update(AVX2_ONLY)
    rows: list[Row] = []
    if options.read:
        for path in options.read:
            rows += read_rows(path)
    else:
        os.environ.setdefault("OMP_NUM_THREADS", str(options.threads))
        wanted = re.compile(options.filter)
        cases = [case for case in all_cases() if wanted.search(f"{case.family} {case.title}")]
        if options.again:
            slow = [row for row in read_rows(options.again) if ratio(row) > 1]
            again = {tuple(row[column] for column in CASE_COLUMNS) for row in slow}
            cases = [case for case in cases if columns_of(case) in again]
        part, parts = map(int, options.part.split("/"))
        with tempfile.TemporaryDirectory() as folder:
            rival = intel.environment(Path(folder)) if options.intel else {}
            rows = measure(cases[part - 1 :: parts], options, rival)
    if not rows:
        sys.exit("no case was measured")
    if options.csv:
        with options.csv.open("w", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS)
            writer.writeheader()
            writer.writerows(rows)
    if options.picture:
        problem = write_picture(options.picture, rows)
        if problem:
            print(problem, file=sys.stderr)
    good = report(rows, options.worst)
    return 1 if options.check and not good else 0


if __name__ == "__main__":
    sys.exit(main())
