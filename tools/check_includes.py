"""Checks that each source includes what it uses: it is compiled alone, as far as its syntax.

    tools/check_includes.py BUILD [JOBS]

BUILD is the folder of a build, whose generated headers are included. Builds compile sources in
groups (cmake/Sources.cmake) and with precompiled headers: there a source may see what others
include. Here it sees what its own #include lines reach. So that this costs little, a few headers
are precompiled, too, but each only for sources that reach it themselves. Prints the compiler's
errors and exits with status 1 if there is any.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections import Counter, defaultdict
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)
SYSTEM_BYTES = 100_000  # what a header of a library counts for, with those that it includes
SHOWN_LINES = 20  # of a source's errors
MOST_PRECOMPILED = 12  # for one set of flags
PRECOMPILING = 2.5  # costs so many times what reading the header does


class Tree:
    """The files of a project, and what each reaches."""

    def __init__(self, roots: list[Path]):
        self.roots = roots
        self.includes = cache(self._includes)
        self.reach = cache(self._reach)

    def find(self, name: str, beside: Path) -> Path | None:
        places = (folder / name for folder in (beside.parent, *self.roots))
        return next((path.resolve() for path in places if path.exists()), None)

    def _includes(self, path: Path) -> tuple[set[Path], set[str]]:
        """The project's headers, and the others by name."""
        own, system = set(), set()
        for quoted, named in INCLUDE.findall(path.read_text(encoding="utf-8")):
            found = self.find(quoted, path) if quoted else None
            if found is None:
                system.add(quoted or named)
            else:
                own.add(found)
        return own, system

    def _reach(self, path: Path) -> tuple[frozenset[Path], frozenset[str]]:
        files, system, waiting = set(), set(), [path]
        while waiting:
            file = waiting.pop()
            if file in files:
                continue
            files.add(file)
            own, others = self.includes(file)
            waiting += own
            system |= others
        return frozenset(files), frozenset(system)

    def bytes(self, header: Path) -> int:
        files, system = self.reach(header)
        return sum(file.stat().st_size for file in files) + SYSTEM_BYTES * len(system)

    def can_be_precompiled(self, header: Path) -> bool:
        """Vector code is read once for each instruction set, and says so to its headers."""
        files, system = self.reach(header)
        is_vector_code = any(name.startswith("hwy/") for name in system)
        return not is_vector_code and not any(file.name.endswith("-inl.h") for file in files)


def flags_of(command: list[str]) -> tuple[str, ...]:
    """What the meaning of a source depends on."""
    kept = []
    for word, value in zip(command, (*command[1:], ""), strict=True):
        if word == "-isystem":
            kept += [word, value]
        elif word.startswith(("-D", "-U", "-I", "-std=", "-m")) and not word.endswith("_EXPORTS"):
            kept.append(word)
    return tuple(kept)


def sources_of(build: Path, tree: Tree) -> dict[tuple[str, tuple[str, ...]], list[Path]]:
    """By compiler and flags; of a group, its sources."""
    found: dict[Path, tuple[str, tuple[str, ...]]] = {}
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        file = Path(entry["directory"], entry["file"]).resolve()
        if file.suffix != ".cpp":
            continue
        words = shlex.split(entry["command"])
        compiler = next(i for i, word in enumerate(words) if re.search(r"(\+\+)(-\d+)?$", word))
        key = words[compiler], flags_of(words[compiler + 1 :])
        names = [name for name, _ in INCLUDE.findall(file.read_text(encoding="utf-8"))]
        grouped = [name for name in names if name.endswith(".cpp")]
        for source in (tree.find(name, file) for name in grouped) if grouped else (file,):
            found.setdefault(source, key)
    result = defaultdict(list)
    for source, key in sorted(found.items()):
        result[key].append(source)
    return result


def choose(tree: Tree, sources: list[Path]) -> dict[Path, Path]:
    """For each source the header that is precompiled for it, where there is one."""
    users = Counter(
        header
        for source in sources
        for header in tree.reach(source)[0]
        if header.suffix == ".h" and tree.can_be_precompiled(header)
    )
    size = {header: tree.bytes(header) for header, count in users.items() if count > PRECOMPILING}
    best: dict[Path, Path] = {}

    def gain(header: Path) -> float:
        saved = (
            max(0, size[header] - size.get(best.get(source), 0))
            for source in sources
            if header in tree.reach(source)[0]
        )
        return sum(saved) - PRECOMPILING * size[header]

    for _ in range(MOST_PRECOMPILED):
        header = max(size, key=gain, default=None)
        if header is None or gain(header) <= 0:
            break
        for source in sources:
            if header in tree.reach(source)[0] and size[header] > size.get(best.get(source), 0):
                best[source] = header
    return best


def run(command: list, folder: Path) -> str:
    """What the compiler says; nothing where all is well."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    return "" if done.returncode == 0 else done.stdout + done.stderr


def check(build: Path, root: Path, jobs: int) -> tuple[int, int]:
    """Prints the errors; how many sources there are, and how many are wrong."""
    tree = Tree([root, build / "generated"])
    count = wrong = 0
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor(jobs) as pool:
        for number, ((compiler, flags), sources) in enumerate(sources_of(build, tree).items()):
            base = [compiler, *flags, "-O0", "-w"]
            chosen = choose(tree, sources)
            precompiled = {}
            for header in sorted(set(chosen.values())):
                shim = Path(scratch, f"{number}-{len(precompiled)}.h")
                shim.write_text(f'#include "{header}"\n', encoding="utf-8")
                precompiled[header] = shim
            made = [
                [*base, "-x", "c++-header", shim, "-o", f"{shim}.gch"]
                for shim in precompiled.values()
            ]
            list(pool.map(lambda command: run(command, build), made))

            def compile_alone(source: Path, base=base, chosen=chosen, shims=precompiled) -> str:
                alone = [*base, "-fsyntax-only", source]
                shim = shims.get(chosen.get(source))
                if shim is not None and not run([*alone, "-include", shim], build):
                    return ""
                return run(alone, build)  # it decides

            for text in pool.map(compile_alone, sources):
                count += 1
                if text:
                    wrong += 1
                    shown = text.splitlines()[:SHOWN_LINES]
                    print(*shown, sep="\n", file=sys.stderr, flush=True)
    return count, wrong


def main(arguments: list[str]) -> int:
    if len(arguments) not in (1, 2):
        print(__doc__.strip(), file=sys.stderr)
        return 2
    build = Path(arguments[0]).resolve()
    jobs = int(arguments[1]) if len(arguments) == 2 else os.cpu_count()
    count, wrong = check(build, Path.cwd(), jobs)
    print(f"[includes] {count} sources, {wrong} that do not compile alone")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
