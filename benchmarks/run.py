"""Times mindtorch_v2, side by side with torch where that is installed.

python benchmarks/run.py                    everything; a few minutes
python benchmarks/run.py --thresholds       only what has a threshold
python benchmarks/run.py --everyday         powers and index ops, in every dtype and dim
python benchmarks/run.py --filter softmax   what the name or family matches
python benchmarks/run.py --quick            fewer and shorter samples, for a first look
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import os
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.append(str(HERE.parent / "python"))  # the source tree's package, when none is installed

from cases import ALL_CASES, EVERYDAY_CASES, THRESHOLD_CASES, Case  # noqa: E402
from cases.ops import op_cases  # noqa: E402
from cases.thresholds import IMPORT_RATIO_AT_MOST, WHEEL_MEGABYTES_AT_MOST  # noqa: E402
from measure import Effort, LibraryProcess, Measured, WorkerError, measure  # noqa: E402
from package import find_wheel, measure_imports, wheel_megabytes, wheel_requirements  # noqa: E402
from plot import write_plot  # noqa: E402
from progress import Progress  # noqa: E402
from report import (  # noqa: E402
    Row,
    format_errors,
    format_summary,
    format_table,
    machine,
    read_ratios,
    write_csv,
    write_json,
)

FULL = Effort(passes=3, rounds=7, sample_ns=3_000_000, case_seconds=2.0)
QUICK = Effort(passes=1, rounds=5, sample_ns=1_000_000, case_seconds=1.0)
IMPORT_ROUNDS = 7
IMPORT_NAME = "import"
WHEEL_NAME = "wheel"


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--filter", metavar="REGEX", help="only cases whose name or family matches")
    parser.add_argument(
        "--thresholds", action="store_true", help="only cases that have a threshold"
    )
    parser.add_argument("--everyday", action="store_true", help="only powers and index ops")
    parser.add_argument("--ops", action="store_true", help="one call of every op case of tests/ops")
    parser.add_argument("--quick", action="store_true", help="fewer and shorter samples")
    parser.add_argument("--threads", choices=("1", "2", "both"), default="both")
    parser.add_argument("--repeat", type=int, metavar="N", help="rounds per case and pass")
    parser.add_argument("--list", action="store_true", help="print the cases and stop")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the JSON here as well")
    parser.add_argument("--compare", type=Path, metavar="FILE", help="show the ratios of that JSON")
    parser.add_argument(
        "--check", action="store_true", help="exit with 1 when a threshold is missed"
    )
    parser.add_argument("--wheel", type=Path, help="the wheel to weigh (default: newest in dist/)")
    parser.add_argument(
        "--reference", default="torch", help="the module to compare with; 'none' for our times only"
    )
    parser.add_argument("--module", default="mindtorch_v2", help="the module to measure")
    arguments = parser.parse_args()
    if arguments.repeat is not None and arguments.repeat < 1:
        parser.error("--repeat must be at least 1")
    return arguments


def effort_for(arguments: argparse.Namespace) -> Effort:
    effort = QUICK if arguments.quick else FULL
    if arguments.repeat is None:
        return effort
    # Asked for by number: no limit on time.
    return Effort(effort.passes, arguments.repeat, effort.sample_ns, float("inf"))


def select(arguments: argparse.Namespace) -> tuple[list[tuple[Case, int]], bool, bool]:
    """The cases with their thread counts, and whether to measure import and wheel."""
    wanted = re.compile(arguments.filter or "", re.IGNORECASE)

    def matches(name: str, family: str) -> bool:
        return bool(wanted.search(name) or wanted.search(family))

    pool = THRESHOLD_CASES if arguments.thresholds else ALL_CASES
    pool = EVERYDAY_CASES if arguments.everyday else pool
    pool = op_cases() if arguments.ops else pool
    counts = (1, 2) if arguments.threads == "both" else (int(arguments.threads),)
    chosen = [
        (case, threads)
        for threads in counts
        for case in pool
        if threads in case.threads and matches(case.name, case.family)
    ]
    return chosen, matches(IMPORT_NAME, "package"), matches(WHEEL_NAME, "package")


def is_installed(module_name: str) -> bool:
    return module_name != "none" and importlib.util.find_spec(module_name) is not None


def make_row(name: str, family: str, threads: int, threshold: float | None, results: list) -> Row:
    ours, reference = results[0], results[1] if len(results) > 1 else Measured()
    return Row(
        name=name,
        family=family,
        threads=threads,
        ours=ours.median_ns,
        reference=reference.median_ns,
        threshold=threshold,
        ours_error=ours.error,
        reference_error=reference.error,
        ours_best=ours.best_ns,
        reference_best=reference.best_ns,
        ours_cpu=ours.cpu_ns,
        reference_cpu=reference.cpu_ns,
        ours_spread=ours.spread,
        reference_spread=reference.spread,
        rounds=len(ours.samples_ns),
    )


def measure_cases(
    chosen: list[tuple[Case, int]], modules: list[str], effort: Effort, progress: Progress
) -> tuple[list[Row], dict[str, str]]:
    """Runs the chosen cases; also gives the versions of the libraries."""
    results = [[Measured() for _ in modules] for _ in chosen]
    versions: dict[str, str] = {}
    for _ in range(effort.passes):
        for threads in sorted({threads for _, threads in chosen}):
            libraries = [LibraryProcess(module, threads) for module in modules]
            try:
                for library in libraries:
                    versions[library.module_name] = library.description["version"]
                for (case, count), measured in zip(chosen, results, strict=True):
                    if count == threads:
                        progress.step(f"{case.name} [{threads} thread{'s' * (threads > 1)}]")
                        measure(case, libraries, measured, effort)
            finally:
                for library in libraries:
                    library.close()
    rows = [
        make_row(case.name, case.family, threads, case.threshold(threads), measured)
        for (case, threads), measured in zip(chosen, results, strict=True)
    ]
    return rows, versions


def weigh_wheel(wheel: Path | None) -> Row | None:
    wheel = wheel or find_wheel(HERE.parent)
    if wheel is None:
        print("no wheel in dist/ (`make wheel` builds one): its size is not checked")
        return None
    needs = wheel_requirements(wheel)
    if needs:
        print(f"the wheel's size leaves out what it asks pip for: {', '.join(needs)}")
    return Row(
        name=WHEEL_NAME,
        family="package",
        threads=0,
        ours=wheel_megabytes(wheel),
        reference=None,
        threshold=WHEEL_MEGABYTES_AT_MOST,
        unit="MB",
    )


def main() -> int:
    arguments = parse_arguments()
    chosen, with_import, with_wheel = select(arguments)
    if arguments.list:
        for case, threads in chosen:
            limit = case.threshold(threads)
            print(f"{case.family:10} {threads}  {'' if limit is None else limit!s:5} {case.name}")
        return 0
    if not chosen and not with_import and not with_wheel:
        print("no case matches", file=sys.stderr)
        return 2
    if not is_installed(arguments.module):
        print(f"{arguments.module} cannot be found: build it first", file=sys.stderr)
        return 2

    modules = [arguments.module]
    if is_installed(arguments.reference):
        modules.append(arguments.reference)
    cores = len(os.sched_getaffinity(0))
    if cores < 2 and any(threads == 2 for _, threads in chosen):
        print("one core only: the cases on two threads are left out")
        chosen = [(case, threads) for case, threads in chosen if threads == 1]

    load_before = os.getloadavg()[0]
    if load_before > cores / 2:
        print(f"the machine is busy (load {load_before:.1f} on {cores} cores): expect noise")
    effort = effort_for(arguments)
    progress = Progress(len(chosen) * effort.passes + with_import)
    try:
        rows, versions = measure_cases(chosen, modules, effort, progress)
    except WorkerError as error:
        progress.finish()
        print(f"cannot start: {error}", file=sys.stderr)
        return 2
    if with_import:
        progress.step("import")
        imports = measure_imports(modules, IMPORT_ROUNDS)
        rows.append(make_row(IMPORT_NAME, "package", 0, IMPORT_RATIO_AT_MOST, imports))
    progress.finish()
    wheel_row = weigh_wheel(arguments.wheel) if with_wheel else None
    if wheel_row is not None:
        rows.append(wheel_row)

    names = (arguments.module, modules[1] if len(modules) > 1 else arguments.reference)
    about = {
        "when": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
        "machine": machine(),
        "load": [load_before, os.getloadavg()[0]],
        "versions": versions,
        "effort": vars(effort) | {"case_seconds": min(effort.case_seconds, 1e9)},
    }
    report(rows, names, about, arguments)
    if len(modules) == 1:
        print(
            f"Ratios need {arguments.reference}, which is not installed: these are our own times."
        )
    return 1 if arguments.check and any(row.verdict in ("MISS", "ERROR") for row in rows) else 0


def report(
    rows: list[Row], names: tuple[str, str], about: dict, arguments: argparse.Namespace
) -> None:
    about_machine = about["machine"]
    versions = ", ".join(f"{name} {version}" for name, version in about["versions"].items())
    title = f"{versions or names[0]}; {about_machine['cpu']}, Python {about_machine['python']}"
    baseline = read_ratios(arguments.compare) if arguments.compare else {}
    print(f"\n{title}\n")
    print(format_table(rows, names, baseline))
    errors = format_errors(rows, names)
    if errors:
        print(f"\nCould not be run:\n{errors}")
    if any(row.ratio is not None for row in rows):
        print(f"\n{format_summary(rows)}")

    folder = HERE / "results"
    write_json(folder / "latest.json", rows, about)
    write_csv(folder / "latest.csv", rows)
    written = ["latest.json", "latest.csv"]
    if arguments.json:
        write_json(arguments.json, rows, about)
    pictures = {
        "thresholds.png": [row for row in rows if row.threshold is not None],
        "families.png": [row for row in rows if row.threshold is None],
    }
    for name, subset in pictures.items():
        if not any(row.ratio is not None for row in subset):
            continue
        problem = write_plot(folder / name, subset, title)
        if problem is None:
            written.append(name)
        else:
            print(problem)
            break
    shown = os.path.relpath(folder)
    print(f"Written to {shown}: {', '.join(written)}.")


if __name__ == "__main__":
    sys.exit(main())
