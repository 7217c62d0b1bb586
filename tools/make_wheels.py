"""Builds wheels into dist/, for the systems of one manylinux tag (manylinux.py).

    .venv/bin/python tools/make_wheels.py               for the interpreter of .venv
    .venv/bin/python tools/make_wheels.py python3.12    for another one
    .venv/bin/python tools/make_wheels.py --all         for every CPython from 3.10 to 3.14
    ... --architecture aarch64                          cross-compiled; run setup_aarch64.sh first

Of the interpreter that a wheel is for, the headers are used and nothing else: that of .venv builds
them all. Interpreters are looked for in PATH and among pyenv's, and fetched from Debian where they
are in neither (setup_python.sh). Headers of one version are the same on both architectures, but for
lines of pyconfig.h that no module sees. The compiler cache has all objects of the second wheel but
those of the Python module.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import manylinux

ROOT = Path(__file__).resolve().parent.parent
DIST = ROOT / "dist"
VERSIONS = ((3, 10), (3, 11), (3, 12), (3, 13), (3, 14))
AT_DEBIAN = ((3, 11), (3, 13), (3, 14))  # setup_python.sh
ARCHITECTURES = {"x86_64": "amd64", "aarch64": "arm64"}  # and Debian's names of them
UNPACKED = ROOT / "build" / "debian" / "usr" / "include"  # where setup.sh could not install
ASK = (
    "import sys, sysconfig; "
    "sys.implementation.name == 'cpython' or sys.exit(1); "
    "print(*sys.version_info[:2], sysconfig.get_path('include'))"
)


def run(*command: str | Path, **options) -> None:
    print("+", *command, flush=True)
    subprocess.run(command, check=True, **options)


def ask(python: str | Path) -> tuple[tuple[int, int], Path] | None:
    """Version and headers. None: not a CPython, or one without the headers that a module needs."""
    try:
        answer = subprocess.run([python, "-c", ASK], capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    major, minor, own = answer.stdout.strip().split(" ", 2)
    for headers in (Path(own), UNPACKED / f"python{major}.{minor}"):
        if (headers / "Python.h").exists():
            return (int(major), int(minor)), headers
    return None


def version_of(python: str | Path) -> tuple[int, int] | None:
    answer = ask(python)
    return answer[0] if answer else None


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


def fetch_python(version: tuple[int, int], architecture: str) -> Path:
    """The folder of a CPython that setup_python.sh unpacks."""
    names = "{}.{}".format(*version), ARCHITECTURES[architecture]
    subprocess.run([ROOT / "tools" / "setup_python.sh", *names], check=True)
    return ROOT / "build" / "pythons" / "-".join(names)


def resolve(python: str) -> str:
    """The interpreter that a name or a path stands for."""
    if version_of(python) is not None:
        return python
    named = re.fullmatch(r"python(\d+)\.(\d+)", python)
    version = (int(named[1]), int(named[2])) if named else None
    found = find_python(version) if version else None
    if found is None and version in VERSIONS:
        try:
            found = str(fetch_python(version, platform.machine()) / "usr" / "bin" / python)
        except (OSError, subprocess.CalledProcessError):
            found = None
    if found is None:
        raise SystemExit(f"{python} is not a CPython with its headers (python3-dev)")
    return found


def headers_of(python: str, architecture: str) -> Path:
    version, headers = ask(python)
    if headers.is_relative_to(ROOT / "build" / "pythons"):
        root = fetch_python(version, architecture)
        headers = root / "usr" / "include" / "python{}.{}".format(*version)
    return headers


def build(python: str, architecture: str = platform.machine()) -> Path:
    """The wheel for an interpreter; one that resolve() gave."""
    start = time.monotonic()
    tag = "cp{}{}".format(*version_of(python))
    raw = ROOT / "build" / "wheels" / f"{tag}-{architecture}"
    shutil.rmtree(raw, ignore_errors=True)
    defines = {
        "MINDTORCH_WERROR": "ON",
        "MINDTORCH_OLD_LIBRARIES": "ON",
        "MINDTORCH_PYTHON_HEADERS": headers_of(python, architecture),
    }
    if architecture != platform.machine():
        defines["CMAKE_TOOLCHAIN_FILE"] = ROOT / "cmake" / f"{architecture}.cmake"
    options = ["--no-build-isolation", "--no-deps"]
    options += ["-C", f"build-dir=build/wheel-{tag}-{architecture}"]  # as deep as build/release
    for key, value in defines.items():
        options += ["-C", f"cmake.define.{key}={value}"]
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"  # with .venv's
    # With another name of the compiler than the one that CMake takes first, the compiler cache has
    # nothing.
    environment = {"CXX": shutil.which("c++") or "", **os.environ, "PATH": programs}
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check"]
    run(*pip, *options, "-w", raw, ROOT, env=environment)
    (wheel,) = raw.glob("*.whl")
    manylinux.check_wheel(manylinux.TAG, wheel)
    tags = ["--python-tag", tag, "--abi-tag", tag]
    tags += ["--platform-tag", f"{manylinux.TAG}_{architecture}"]
    run(sys.executable, "-m", "wheel", "tags", "--remove", *tags, wheel)
    (wheel,) = raw.glob("*.whl")
    run(sys.executable, ROOT / "tools" / "recompress_wheel.py", wheel)
    DIST.mkdir(exist_ok=True)
    for old in DIST.glob(f"mindtorch_v2-*-{tag}-*{architecture}.whl"):
        old.unlink()
    wheel = wheel.rename(DIST / wheel.name)
    size = wheel.stat().st_size / 1e6
    print(
        f"{wheel.relative_to(ROOT)}: {size:.1f} MB in {time.monotonic() - start:.0f} s", flush=True
    )
    return wheel


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("python", nargs="*", default=[sys.executable])
    parser.add_argument("--all", action="store_true", help="for every CPython from 3.10 to 3.14")
    parser.add_argument("--architecture", choices=ARCHITECTURES, default=platform.machine())
    arguments = parser.parse_args()
    pythons = arguments.python
    if arguments.all:
        pythons = ["python{}.{}".format(*version) for version in VERSIONS]
    missing = []
    for python in pythons:
        try:
            found = resolve(python)
        except SystemExit as error:
            missing.append(str(error))
            continue
        build(found, arguments.architecture)
    if missing:
        raise SystemExit("\n".join(missing))


if __name__ == "__main__":
    main()
