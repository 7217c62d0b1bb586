"""Runs a program with a wheel from dist/, or with an installed mindtorch_v2; builds nothing.

    python3 tools/prebuilt.py tools/demo.py      as `make demo PREBUILT=1` does

A wheel is installed into build/prebuilt, an environment that also sees the packages of python3.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / "build" / "prebuilt"
WHEEL = re.compile(
    r"mindtorch_v2-(?P<version>[^-]+)(-\d[^-]*)?-(?P<python>[^-]+)-(?P<abi>[^-]+)-(?P<platform>[^-]+)\.whl"
)


def fail(text: str) -> None:
    sys.exit(f"[demo] error: {text}")


def say(text: str) -> None:
    print(f"[demo] {text}", flush=True)


def fits_python(python: str, abi: str) -> bool:
    own = sys.version_info[:2]
    # A CPython without the global lock has an ABI of its own, cp313t, and no stable one.
    threads = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
    for tag in python.split("."):
        named = re.fullmatch(r"cp3(\d+)", tag)
        if named and sys.implementation.name == "cpython":
            stable = "abi3" in abi.split(".") and own[1] >= int(named[1]) and not threads
            if stable or (own == (3, int(named[1])) and tag + threads in abi.split(".")):
                return True
    return False


def fits_platform(tags: str) -> bool:
    """Whether this machine and its C library are what a wheel is for."""
    try:
        have = re.findall(r"\d+", os.confstr("CS_GNU_LIBC_VERSION") or "")
    except (OSError, ValueError):  # another C library
        have = []
    for tag in tags.split("."):
        named = re.fullmatch(r"(?:linux|manylinux_(\d+)_(\d+))_(.+)", tag)
        if named and named[3] == platform.machine():
            if named[1] is None or (int(named[1]), int(named[2])) <= tuple(map(int, have[:2])):
                return True
    return False


def fits(wheel: Path) -> bool:
    tags = WHEEL.fullmatch(wheel.name)
    return (
        bool(tags) and fits_python(tags["python"], tags["abi"]) and fits_platform(tags["platform"])
    )


def newest(wheels: list[Path]) -> Path | None:
    return max(filter(fits, wheels), key=lambda wheel: wheel.stat().st_mtime, default=None)


def can_import(python: str | Path, *names: str) -> bool:
    """Outside the checkout, whose own package may not be built."""
    command = [python, "-c", "import " + ", ".join(names)]
    return subprocess.run(command, cwd="/", capture_output=True).returncode == 0


def run_quietly(*command: str | Path) -> bool:
    """Shows what a command prints only if it fails."""
    done = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    if done.returncode:
        print("\n".join(done.stdout.splitlines()[-15:]), file=sys.stderr)
    return done.returncode == 0


def install(wheel: Path) -> Path:
    """An environment with the wheel and what the demo needs."""
    python = ENVIRONMENT / "bin" / "python"
    stamp = ENVIRONMENT / ".wheel"
    status = wheel.stat()
    wanted = f"{wheel.name} {status.st_size} {status.st_mtime_ns} {sys.executable} {ENVIRONMENT}"
    if stamp.exists() and stamp.read_text() == wanted:
        return python
    say(f"installing {wheel.relative_to(ROOT)} into {ENVIRONMENT.relative_to(ROOT)}")
    shutil.rmtree(ENVIRONMENT, ignore_errors=True)  # also one that was not finished
    # Without pip: installing it would take longer than all the rest, and python3 may have one.
    make = [sys.executable, "-m", "venv", "--system-site-packages", "--without-pip"]
    if not run_quietly(*make, str(ENVIRONMENT)):
        fail("Python's venv module is missing: apt-get install python3-venv")
    requirements = [str(wheel)]
    if not can_import(python, "matplotlib"):
        requirements += re.findall(r"^matplotlib.*", (ROOT / "requirements.txt").read_text(), re.M)
    offline = []
    if len(requirements) > 1 or not can_import(python, "numpy"):
        check = [python, ROOT / "tools" / "check_network.py"]
        network = subprocess.run(check, capture_output=True, text=True)
        if network.returncode:
            if not can_import(python, "numpy"):
                fail(network.stderr.strip())
            requirements, offline = requirements[:1], ["--no-index"]
    if not (
        can_import(python, "pip")
        or (can_import(python, "ensurepip") and run_quietly(python, "-m", "ensurepip"))
        or run_quietly(python, ROOT / "tools" / "bootstrap_pip.py")
    ):
        fail("pip could not be fetched from PyPI: apt-get install python3-venv")
    pip = [python, "-m", "pip", "install", "--quiet", "--no-input", "--disable-pip-version-check"]
    pip += ["--no-compile", "--retries", "2"]
    # Where python3 has the same version already, pip would leave it at that. The second time the
    # wheel is there, and pip looks at what it needs.
    own = [*pip, "--no-index", "--no-deps", "--force-reinstall", str(wheel)]
    if not run_quietly(*own) or not run_quietly(*pip, *offline, *requirements):
        fail(f"pip could not install {wheel.relative_to(ROOT)}")
    stamp.write_text(wanted)
    return python


def choose() -> Path:
    """The interpreter to run with."""
    name = "{}.{}".format(*sys.version_info[:2])
    wheels = sorted((ROOT / "dist").glob("mindtorch_v2-*.whl"))
    wheel = newest(wheels)
    if wheel is not None:
        return install(wheel)
    if can_import(sys.executable, "mindtorch_v2"):
        say(f"using the mindtorch_v2 that is installed for {sys.executable}")
        return Path(sys.executable)
    if wheels:
        names = ", ".join(wheel.name for wheel in wheels)
        fail(
            f"no wheel in dist/ is for Python {name} on this {platform.machine()} machine: {names}"
        )
    fail(
        f"there is no wheel in dist/, and mindtorch_v2 is not installed for Python {name}: "
        "`make wheel` builds one, and `make demo` does without"
    )
    raise AssertionError


def main() -> None:
    if sys.version_info < (3, 10):  # noqa: UP036
        fail(f"Python 3.10 or newer is needed, and {sys.executable} is {platform.python_version()}")
    base = os.path.realpath(sys.executable)
    if Path(sys.prefix) == ENVIRONMENT and base != sys.executable:
        os.execv(base, [base, *sys.argv])  # it may be about to be removed
    python = choose()
    os.execv(python, [str(python), *sys.argv[1:]])


if __name__ == "__main__":
    main()
