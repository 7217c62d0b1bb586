"""The symbol versions that a manylinux tag allows, and those that a library needs.

A library that is linked with the GNU C library, libstdc++ or libgcc says which version of them each
of its symbols came with. A system has all versions up to one: that of its glibc (manylinux_2_28:
2.28), and that of the GCC of its time (8). https://github.com/pypa/auditwheel has the tables of all
tags; a test compares this part with them.
"""

from __future__ import annotations

import re
import subprocess
import tempfile
import zipfile
from pathlib import Path
from typing import NamedTuple

Version = tuple[int, ...]

# What the wheels are made for: RHEL 8 and 9, openEuler 20.03 and 22.03, EulerOS, Debian 10, Ubuntu
# 18.10, and what is newer.
TAG = "manylinux_2_28"
NEWEST: dict[str, dict[str, Version]] = {
    "manylinux_2_28": {
        "GLIBC": (2, 28),
        "GLIBCXX": (3, 4, 24),
        "CXXABI": (1, 3, 11),
        "GCC": (7, 0, 0),
    },
}


def parse(version: str) -> tuple[str, Version] | None:
    """GLIBC_2.28: ("GLIBC", (2, 28)). None where no number follows, as in GLIBC_PRIVATE."""
    match = re.fullmatch(r"([A-Z]+)_(\d+(?:\.\d+)*)", version)
    return (match[1], tuple(map(int, match[2].split(".")))) if match else None


def allows(tag: str, version: str) -> bool:
    """True for versions of libraries that the tag says nothing about, too."""
    parsed = parse(version)
    if version == "GLIBC_PRIVATE" or version.startswith("GLIBC_ABI_"):
        return False
    if parsed is None or parsed[0] not in NEWEST[tag]:
        return True
    return parsed[1] <= NEWEST[tag][parsed[0]]


def needed_versions(library: Path) -> set[str]:
    """The versions of other libraries' symbols without which the loader refuses a library."""
    text = subprocess.run(
        ["readelf", "--version-info", "--wide", library],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    _, _, needs = text.partition("Version needs section")
    return set(re.findall(r"Name: (\S+)", needs))


class Symbol(NamedTuple):
    name: str
    version: str  # empty: none
    kind: str  # FUNC, IFUNC, OBJECT, TLS or NOTYPE
    size: int
    is_weak: bool
    is_defined: bool


def symbols_of(library: Path) -> list[Symbol]:
    """What a library defines, and what it needs of others."""
    text = subprocess.run(
        ["readelf", "--dyn-syms", "--wide", library],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    found = []
    for line in text.splitlines():
        fields = line.split()  # number, value, size, kind, binding, visibility, section, name
        if len(fields) < 8 or not fields[0][:-1].isdigit():
            continue
        name, _, version = fields[7].replace("@@", "@").partition("@")
        size = int(fields[2], 0)
        found.append(
            Symbol(name, version, fields[3], size, fields[4] == "WEAK", fields[6] != "UND")
        )
    return found


def too_new(tag: str, library: Path) -> list[str]:
    """What a library needs and the tag does not allow: the symbols, with their versions."""
    refused = {version for version in needed_versions(library) if not allows(tag, version)}
    if not refused:
        return []
    needed = [symbol for symbol in symbols_of(library) if symbol.version in refused]
    named = sorted(f"{each.name}@{each.version}" for each in needed if not each.is_defined)
    return named or sorted(refused)


def unknown(libraries: list[Path]) -> dict[Path, list[str]]:
    """By library, what it needs of nobody: a symbol without a version that none of them has.

    Python's are those of the program that loads a module. What the libraries that one links with
    lack becomes such a symbol, unless the linker was told to refuse it.
    """
    symbols = {library: symbols_of(library) for library in libraries}
    defined = {each.name for table in symbols.values() for each in table if each.is_defined}
    return {
        library: [
            each.name
            for each in table
            if not each.is_weak and not each.version
            and each.name not in defined and not re.match(r"_?Py", each.name)
        ]
        for library, table in symbols.items()
    }  # fmt: skip


def check(tag: str, folder: Path) -> None:
    """Raises SystemExit, with the symbols, when a library in the folder needs newer ones."""
    libraries = sorted(path for path in folder.rglob("*.so*") if path.is_file())
    lost = unknown(libraries)
    found = {library: too_new(tag, library) + lost[library] for library in libraries}
    lines = [
        f"{path.name} needs {', '.join(symbols)}" for path, symbols in found.items() if symbols
    ]
    if lines:
        raise SystemExit("\n".join([f"newer symbols than {tag} allows:", *lines]))


def check_wheel(tag: str, wheel: Path) -> None:
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
        check(tag, Path(folder))
