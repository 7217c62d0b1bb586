"""Builds wheels into dist/, each with the manylinux tag that its libraries allow.

    .venv/bin/python tools/make_wheels.py               for the interpreter of .venv
    .venv/bin/python tools/make_wheels.py python3.12    for another one
    .venv/bin/python tools/make_wheels.py --all         for every CPython from 3.10 to 3.13 here

Interpreters are looked for in PATH and among pyenv's. One that is not .venv's gets an environment
of its own under build/, with what pyproject.toml asks for. After `make build` with the preset
`release` the compiler cache has all objects but those of the Python module for another interpreter.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
VERSIONS = ((3, 10), (3, 11), (3, 12), (3, 13))
ASK = (
    "import os, sys, sysconfig; "
    "header = os.path.join(sysconfig.get_path('include'), 'Python.h'); "
    "good = sys.implementation.name == 'cpython' and os.path.exists(header); "
    "print(*sys.version_info[:2]) if good else sys.exit(1)"
)


def run(*command: str | Path, **options) -> None:
    print("+", *command, flush=True)
    subprocess.run(command, check=True, **options)


def version_of(python: str | Path) -> tuple[int, int] | None:
    """None: not a CPython, or one without the headers that a module needs."""
    try:
        answer = subprocess.run([python, "-c", ASK], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    major, minor = answer.stdout.split()
    return int(major), int(minor)


def find_python(version: tuple[int, int]) -> str | None:
    """An interpreter of a version; .venv's own before all others."""
    name = "python{}.{}".format(*version)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv"))
    candidates = [sys.executable, shutil.which(name)]
    candidates += sorted(pyenv.glob(f"versions/*/bin/{name}"), reverse=True)
    # pyenv's own commands in PATH fail for versions that are installed but not chosen.
    return next(
        (str(python) for python in candidates if python and version_of(python) == version), None
    )


def resolve(python: str) -> str:
    """The interpreter that a name or a path stands for."""
    if version_of(python) is not None:
        return python
    named = re.fullmatch(r"python(\d+)\.(\d+)", python)
    found = find_python((int(named[1]), int(named[2]))) if named else None
    if found is None:
        raise SystemExit(f"{python} is not a CPython with its headers (python3-dev)")
    return found


def build_environment(python: str, version: tuple[int, int]) -> Path:
    """The interpreter of an environment with the build backend and what it needs."""
    if version == sys.version_info[:2]:
        return Path(sys.executable)
    wanted = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    folder = ROOT / "build" / "wheel-environments" / "{}.{}".format(*version)
    stamp = folder / "installed"
    if not stamp.exists() or stamp.read_text() != "\n".join(wanted):
        run(python, "-m", "venv", "--clear", "--without-pip", folder)
        pip = [sys.executable, "-m", "pip", "--python", folder / "bin" / "python"]
        run(*pip, "install", "--quiet", "--disable-pip-version-check", *wanted)
        stamp.write_text("\n".join(wanted))
    return folder / "bin" / "python"


def build(python: str) -> Path:
    """The wheel for an interpreter; one that resolve() gave."""
    version = version_of(python)
    start = time.monotonic()
    raw = ROOT / "build" / "wheels" / "cp{}{}".format(*version)
    shutil.rmtree(raw, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "--python", build_environment(python, version), "wheel"]
    # With other flags than those of the release build, or another name of the compiler than the one
    # that CMake takes first, the compiler cache has nothing.
    options = ["--no-build-isolation", "--no-deps", "-C", "cmake.define.MINDTORCH_WERROR=ON"]
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # with .venv's
    environment = {"CXX": shutil.which("c++") or "", **os.environ, "PATH": programs}
    run(*pip, "--quiet", "--disable-pip-version-check", *options, "-w", raw, ROOT, env=environment)
    (untagged,) = raw.glob("*.whl")
    name = "-".join(untagged.name.split("-")[:4])  # up to the platform
    for old in DIST.glob(f"{name}-*.whl"):
        old.unlink()
    # The libraries are in the wheel already: this looks at the symbols that they need, and sets the
    # tag of the oldest system that has them all.
    repair = [sys.executable, "-m", "auditwheel", "repair", "--plat", "auto", "-w", DIST]
    # Compressed in haste here, and well below.
    run(*repair, "--strip", "--zip-compression-level", "1", untagged, env=environment)
    (wheel,) = DIST.glob(f"{name}-*.whl")
    run(sys.executable, ROOT / "tools" / "recompress_wheel.py", wheel)
    size = wheel.stat().st_size / 1e6
    print(
        f"{wheel.relative_to(ROOT)}: {size:.1f} MB in {time.monotonic() - start:.0f} s", flush=True
    )
    return wheel


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("python", nargs="*", default=[sys.executable])
    parser.add_argument("--all", action="store_true", help="for every CPython from 3.10 to 3.13")
    arguments = parser.parse_args()
    if not arguments.all:
        for python in arguments.python:
            build(resolve(python))
        return
    found = {version: find_python(version) for version in VERSIONS}
    for python in found.values():
        if python is not None:
            build(python)
    missing = ["{}.{}".format(*version) for version, python in found.items() if python is None]
    if missing:
        raise SystemExit(f"no wheel for CPython {', '.join(missing)}: no interpreter found here")


if __name__ == "__main__":
    main()
