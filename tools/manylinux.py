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
    if version in ("GLIBC_PRIVATE", "GLIBC_ABI_DT_RELR"):
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


def too_new(tag: str, library: Path) -> list[str]:
    """What a library needs and the tag does not allow: the symbols, with their versions."""
    refused = {version for version in needed_versions(library) if not allows(tag, version)}
    if not refused:
        return []
    text = subprocess.run(
        ["readelf", "--dyn-syms", "--wide", library],
        check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    symbols = re.findall(r"\bUND (\S+)@(\S+)", text)
    named = sorted(f"{name}@{version}" for name, version in symbols if version in refused)
    return named or sorted(refused)


def check(tag: str, folder: Path) -> None:
    """Raises SystemExit, with the symbols, when a library in the folder needs newer ones."""
    libraries = sorted(path for path in folder.rglob("*.so*") if path.is_file())
    found = {library: too_new(tag, library) for library in libraries}
    lines = [
        f"{path.name} needs {', '.join(symbols)}" for path, symbols in found.items() if symbols
    ]
    if lines:
        raise SystemExit("\n".join([f"newer symbols than {tag} allows:", *lines]))


def check_wheel(tag: str, wheel: Path) -> None:
    with tempfile.TemporaryDirectory() as folder, zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
        check(tag, Path(folder))
