"""Prints where the time of a build went, by folder of the sources.

It reads ninja's log, which keeps the last run of every command, and counts seconds of wall time:
two jobs of ten seconds at once are twenty seconds. What came from the compiler cache took next to
none; with CCACHE_DISABLE=1 in an empty build folder, this is what a newcomer waits for.

    .venv/bin/python tools/build_times.py                 the folders
    .venv/bin/python tools/build_times.py --files 20      the 20 slowest commands
    .venv/bin/python tools/build_times.py --total         one line
"""

from __future__ import annotations

import argparse
import os
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
DEPTH = 4  # mindtorch/backends/cpu/tiles


def read_log(log: Path) -> dict[tuple[str, int, int], list[str]]:
    """The outputs of every command, under its hash, start and end (ms); the last run of each."""
    last = {}
    for line in log.read_text().splitlines():
        if not line.startswith("#"):
            start, end, _, output, command = line.split("\t")
            last[output] = (command, int(start), int(end))
    commands = defaultdict(list)
    for output, command in last.items():
        commands[command].append(output)
    return commands


def sources_of(build: Path, output: str) -> list[str]:
    """The sources in an object, relative to the project; of a group, those that it includes."""
    source = re.sub(r"CMakeFiles/[^/]+\.dir/", "", output).removesuffix(".o")
    source = os.path.normpath(source.replace("__/", "../"))  # as CMake writes a step up
    group = build / source
    if "groups/" in source and group.exists():
        included = re.findall(r'^#include "(.*\.cpp)"$', group.read_text(), re.MULTILINE)
        # Those that were generated are named relative to another folder.
        return [name for name in included if (ROOT / name).exists()] or included
    return [source]


def kind_of(build: Path, output: str) -> str:
    """The folder of an object's sources, or what else was made."""
    if output.endswith(".gch"):
        return "(precompiled headers)"
    if re.search(r"\.(so|a)(\.\d+)*$", output) or "." not in Path(output).name:
        return "(linking)"
    if not output.endswith(".o"):
        return "(generated files)"
    folders = [os.path.dirname(source) for source in sources_of(build, output)]
    common = os.path.commonpath(folders) if all(folders) else ""
    return "/".join(Path(common).parts[:DEPTH]) or "(generated sources)"


def table(build: Path) -> list[tuple[str, float, int]]:
    """Folder, seconds and number of commands; the slowest folder first."""
    times = defaultdict(list)
    for (_, start, end), outputs in read_log(build / ".ninja_log").items():
        times[kind_of(build, outputs[0])].append((end - start) / 1000)
    rows = [(kind, sum(seconds), len(seconds)) for kind, seconds in times.items()]
    return sorted(rows, key=lambda row: (-row[1], row[0]))


def slowest(build: Path, count: int) -> list[tuple[str, float]]:
    commands = read_log(build / ".ninja_log").items()
    rows = [(outputs[0], (end - start) / 1000) for (_, start, end), outputs in commands]
    return sorted(rows, key=lambda row: (-row[1], row[0]))[:count]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("build", nargs="?", type=Path, default=ROOT / "build" / "release")
    parser.add_argument("--files", type=int, metavar="N", help="the N slowest commands instead")
    parser.add_argument("--total", action="store_true", help="the last line alone")
    arguments = parser.parse_args()
    if not (arguments.build / ".ninja_log").exists():
        raise SystemExit(f"{arguments.build} holds no ninja build (.ninja_log)")
    if arguments.files:
        for output, seconds in slowest(arguments.build, arguments.files):
            print(f"{seconds:8.1f} s  {output}")
        return
    rows = table(arguments.build)
    if not arguments.total:
        for kind, seconds, count in rows:
            print(f"{seconds:8.1f} s  {count:4}  {kind}")
    total, count = sum(row[1] for row in rows), sum(row[2] for row in rows)
    print(f"{total:8.1f} s  {count:4}  in all ({arguments.build.name}; seconds of one job)")


if __name__ == "__main__":
    main()
