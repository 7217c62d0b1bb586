"""Checks that every folder includes only folders below it.

    tools/check_layers.py [root]

Reads the #include lines of mindtorch/, bindings/ and simulator/, compares ranks and the order of
subfolders, looks for what one file alone may say, and checks that every folder of more than three
sources has a README, which in mindtorch/ and bindings/ has at most 30 lines. Prints one line per
violation and exits with status 1 if there is any.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

# A folder may include itself and folders of lower rank. The longest matching prefix counts.
RANKS = {
    "mindtorch/base": 0,
    "mindtorch/driver": 1,
    "mindtorch/profiler": 1,
    "mindtorch/runtime": 2,
    "mindtorch/tensor": 3,
    "mindtorch/ops": 4,
    "mindtorch/backends/cpu": 5,
    "mindtorch/backends/ascend": 5,
    "mindtorch/backends/cuda": 5,
    "mindtorch/dispatch": 5,
    "mindtorch/functional": 6,
    "mindtorch/autograd": 7,
    "mindtorch/batching": 7,
    "mindtorch/autocast": 8,
    "mindtorch/library": 9,  # library.cpp, the only file that knows every folder
    "mindtorch/mindtorch": 9,  # mindtorch.h, the one header for users
    "bindings": 10,
}

# Subfolders of a folder, lowest first: each includes only itself and those before it. Files of the
# folder itself come last.
SUBFOLDERS = {"mindtorch/dispatch": ("trace", "plan", "execute", "record", "eager")}

# The simulator shares the declarations of the vendor's ABI with the library, and one instruction.
SIMULATOR = "simulator"
SIMULATOR_MAY_INCLUDE = {
    "mindtorch/backends/ascend/acl_abi.h",
    "mindtorch/base/cpu_relax.h",
}

# What one file does for all others: the words that only it may contain.
ONLY_IN = {
    "__builtin_ia32_pause": "mindtorch/base/cpu_relax.h",
    "PyFrame_GetBack": "bindings/interpreter/frames.h",
    "PyEval_SaveThread": "bindings/interpreter/gil.h",
    "gil_scoped_release": "bindings/interpreter/gil.h",
}

SOURCE_SUFFIXES = {".h", ".cpp", ".inc"}
INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"')

# Folders of sources, whose folders have READMEs.
TOPS = ("mindtorch", "bindings", SIMULATOR, "python", "tests", "tools", "benchmarks", "examples")
README_SUFFIXES = SOURCE_SUFFIXES | {".py", ".sh"}
FEW_SOURCES = 3  # which need no README
README_LINES = 30


def folder_of(path: str) -> str | None:
    """The ranked folder that holds `path`, or None."""
    stem = path.rsplit(".", 1)[0]
    matches = [name for name in RANKS if stem == name or path.startswith(name + "/")]
    return max(matches, key=len, default=None)


def subfolder_of(path: str, folder: str) -> int:
    """The place of the file's subfolder among those of `folder`; last if it is in none."""
    names = SUBFOLDERS[folder]
    name = path[len(folder) + 1 :].split("/", 1)[0]
    return names.index(name) if name in names else len(names)


def is_ours(include: str) -> bool:
    return include.split("/", 1)[0] in {"mindtorch", "bindings", SIMULATOR, "tests"}


def check_include(file: str, include: str, root: Path) -> str | None:
    """What is wrong with `include` in `file`, or None."""
    if not is_ours(include):
        if (root / file).parent.joinpath(include).exists():
            return f'write "{Path(file).parent.as_posix()}/{include}": paths start at the root'
        return None
    if file.startswith(SIMULATOR + "/"):
        if include.startswith(SIMULATOR + "/") or include in SIMULATOR_MAY_INCLUDE:
            return None
        return f"{SIMULATOR}/ may include only {', '.join(sorted(SIMULATOR_MAY_INCLUDE))}"
    source, target = folder_of(file), folder_of(include)
    if source is None:
        return f"{file} is in no ranked folder; add its folder to RANKS in tools/check_layers.py"
    if target is None:
        return f"{include} is in no folder that {source} may include"
    if source == target and source in SUBFOLDERS:
        if subfolder_of(include, source) > subfolder_of(file, source):
            return f"a subfolder above; the order is {', '.join(SUBFOLDERS[source])}"
        return None
    if source == target or RANKS[target] < RANKS[source]:
        return None
    relation = "beside" if RANKS[target] == RANKS[source] else "above"
    return f"{target} (rank {RANKS[target]}) lies {relation} {source} (rank {RANKS[source]})"


def check_sources(root: Path) -> list[str]:
    problems = []
    for top in ("mindtorch", "bindings", SIMULATOR):
        for path in sorted((root / top).rglob("*")):
            if path.suffix not in SOURCE_SUFFIXES or not path.is_file():
                continue
            file = path.relative_to(root).as_posix()
            if top != SIMULATOR and folder_of(file) is None:
                problems.append(
                    f"{file}: in no ranked folder; add its folder to RANKS in tools/check_layers.py"
                )
                continue
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
                for word, place in ONLY_IN.items():
                    if word in line and file != place:
                        problems.append(f"{file}:{number}: {word} belongs into {place}; use that")
                if match := INCLUDE.match(line):
                    if problem := check_include(file, match[1], root):
                        problems.append(f'{file}:{number}: includes "{match[1]}": {problem}')
    return problems


def has_many_sources(folder: Path) -> bool:
    sources = (path for path in folder.iterdir() if path.suffix in README_SUFFIXES)
    return sum(1 for path in sources if path.is_file()) > FEW_SOURCES


def check_readmes(root: Path) -> list[str]:
    problems = []
    for top in TOPS:
        for folder in sorted(
            path for path in (root / top, *(root / top).rglob("*")) if path.is_dir()
        ):
            name, readme = folder.relative_to(root).as_posix(), folder / "README.md"
            if not readme.exists():
                if name in RANKS or has_many_sources(folder):
                    problems.append(f"{name}: README.md is missing; say what the folder is for")
            elif top in {"mindtorch", "bindings"}:
                count = len(readme.read_text(encoding="utf-8").splitlines())
                if count > README_LINES:
                    problems.append(f"{name}/README.md: {count} lines, at most {README_LINES}")
    return problems


def main(arguments: list[str]) -> int:
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    problems = check_sources(root) + check_readmes(root)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
