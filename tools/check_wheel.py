"""Builds a wheel, installs it into an empty environment beside NumPy alone, and uses it there.

    .venv/bin/python tools/check_wheel.py [--python PYTHON]     builds one and checks it
    .venv/bin/python tools/check_wheel.py dist/*.whl            checks these

A wheel is tried with the CPython that its tag names; one for another machine under qemu, with the
CPythons that Debian has for it. Fails when a wheel is too large, has no tag of manylinux.py, or one
that its libraries do not keep by our table or by auditwheel's, when it bundles a library twice or
needs one that it does not bundle (other than the C and C++ runtimes), does not import, computes
1 + 1 wrongly, on the CPU, in a pipeline or on a simulated NPU, or when an example fails.
"""

from __future__ import annotations

import argparse
import os
import platform
import re
import subprocess
import sys
import tempfile
import time
import zipfile
from pathlib import Path
from typing import NamedTuple

import make_wheels
import manylinux

EXAMPLES = make_wheels.ROOT / "examples"
SIZE_LIMIT_BYTES = 15_000_000
SYSTEM_LIBRARIES = re.compile(
    r"(libc|libm|libdl|librt|libpthread|libstdc\+\+|libgcc_s|ld-linux[-.\w]*)\.so(\.\d+)?$"
)

PROGRAM = """
import sys, mindtorch_v2 as torch
assert "torch" not in sys.modules
result = torch.ones(3) + torch.ones(3)
assert result.tolist() == [2.0, 2.0, 2.0], result
product = torch.ones(4, 8) @ torch.ones(8, 2)
assert product.tolist() == [[8.0, 8.0]] * 4, product
assert torch.from_numpy(result.numpy()).sum().item() == 6.0
print("mindtorch_v2", torch.__version__, "from", torch.__file__)
"""

IN_A_PIPELINE = """
import mindtorch_v2 as torch
x = torch.arange(12, dtype=torch.float32).reshape(3, 4)
eager = (x * 2 + 1).relu().sum(dim=1) @ x
with torch.pipeline():
    deferred = (x * 2 + 1).relu().sum(dim=1) @ x
    assert deferred._pending
assert deferred.tolist() == eager.tolist() == [832.0, 976.0, 1120.0, 1264.0], deferred
"""

ON_SIMULATED_NPU = """
import pathlib, mindtorch_v2 as torch
torch.npu.simulator.enable()
x = torch.ones(4, 8).npu()
assert (x @ x.t() + 1).tolist() == [[9.0] * 4] * 4
folder = pathlib.Path(torch._C._npu_simulator_folder())
assert folder == pathlib.Path(torch.__file__).parent / "lib" / "ascend_simulator", folder
from mindtorch_v2.npu.simulator import _library
assert all((folder / f"lib{name}.so").exists() for name in _library.LIBRARIES)
assert (folder / "cann" / "runtime").is_dir()
print("simulated", torch.npu.get_device_name(), "from", folder)
"""


def run(*command: str | Path, **options) -> str:
    print("+", *command, flush=True)
    return subprocess.run(command, check=True, text=True, **options).stdout or ""


def check_contents(wheel: Path) -> None:
    size = wheel.stat().st_size
    print(f"{wheel.name}: {size / 1e6:.1f} MB")
    if size > SIZE_LIMIT_BYTES:
        raise SystemExit(f"the wheel has {size} bytes, more than {SIZE_LIMIT_BYTES}")
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        for info in sorted(archive.infolist(), key=lambda i: -i.compress_size)[:6]:
            print(f"  {info.compress_size / 1e6:6.2f} MB  {info.filename}")
    for wanted in (r"mindtorch_v2/_C\..*\.so$", r"mindtorch_v2/py\.typed$", r".*\.pyi$"):
        if not any(re.match(wanted, name) for name in names):
            raise SystemExit(f"the wheel has no file {wanted}")
    libraries = [name.rsplit("/", 1)[-1] for name in names if ".so" in name]
    if len(set(libraries)) != len(libraries):
        raise SystemExit(f"the wheel holds a library twice: {sorted(libraries)}")


class Tag(NamedTuple):
    python: tuple[int, int]
    manylinux: str
    architecture: str


def tag_of(wheel: Path) -> Tag:
    """What a wheel is for; its name and its metadata must agree."""
    named = re.fullmatch(r".*-(cp(\d)(\d+)-cp\2\3-([a-z0-9_]+?)_(x86_64|aarch64))\.whl", wheel.name)
    if named is None or named[4] not in manylinux.NEWEST:
        raise SystemExit(f"{wheel.name} has no tag of {', '.join(manylinux.NEWEST)}")
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/WHEEL"))
        inside = re.findall(r"^Tag: (.*)$", archive.read(metadata).decode(), re.MULTILINE)
    if inside != [named[1]]:
        raise SystemExit(f"{wheel.name} has the tags {inside} inside")
    return Tag((int(named[2]), int(named[3])), named[4], named[5])


def check_linkage(package: Path) -> None:
    """Everything needed is bundled or a C or C++ runtime."""
    libraries = [path for path in package.rglob("*.so*") if path.is_file()]
    bundled = {path.name for path in libraries}
    for library in libraries:
        dynamic = subprocess.run(
            ["readelf", "-d", library], check=True, capture_output=True, text=True
        ).stdout
        for needed in re.findall(r"NEEDED.*\[(.*)\]", dynamic):
            if needed not in bundled and not SYSTEM_LIBRARIES.match(needed):
                raise SystemExit(f"{library.name} needs {needed}, which the wheel does not hold")
        for path in re.findall(r"(?:RPATH|RUNPATH).*\[(.*)\]", dynamic):
            if not all(part.startswith("$ORIGIN") for part in path.split(":")):
                raise SystemExit(f"{library.name} looks for libraries in {path}")


def auditwheel_says(wheel: Path) -> manylinux.Version:
    """The oldest glibc whose tag auditwheel would give."""
    text = run(sys.executable, "-m", "auditwheel", "show", wheel, stdout=subprocess.PIPE)
    tag = re.search(r'platform\s+tag:\s+"(?:manylinux_(\d+)_(\d+)|linux)_', text)
    if tag is None:
        raise SystemExit(f"auditwheel says nothing of a tag:\n{text}")
    return (int(tag[1]), int(tag[2])) if tag[1] else (99, 0)


def check_symbols(wheel: Path, tag: Tag) -> None:
    """No library needs a newer symbol than the tag allows: by our table, and by auditwheel's."""
    manylinux.check_wheel(tag.manylinux, wheel)
    if auditwheel_says(wheel) > manylinux.NEWEST[tag.manylinux]["GLIBC"]:
        raise SystemExit(f"auditwheel would give {wheel.name} a newer tag")


def install(wheel: Path, folder: Path) -> tuple[list[str | Path], Path]:
    """Installs a wheel where nothing else is; returns the interpreter, and where it installed."""
    version = "{}.{}".format(*tag_of(wheel).python)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check"]
    interpreter = make_wheels.resolve(f"python{version}")
    run(interpreter, "-m", "venv", "--without-pip", folder / "venv")
    python = folder / "venv" / "bin" / "python"
    run(*pip, "--python", python, "install", "--quiet", "--no-compile", wheel)
    return [python], folder / "venv" / "lib" / f"python{version}" / "site-packages"


def install_foreign(wheel: Path, folder: Path) -> tuple[list[str | Path], Path]:
    """The same for another machine: an interpreter of Debian, in its emulator."""
    tag = tag_of(wheel)
    version = "{}.{}".format(*tag.python)
    subprocess.run([make_wheels.ROOT / "tools" / f"setup_{tag.architecture}.sh"], check=True)
    root = make_wheels.fetch_python(tag.python, tag.architecture)
    pip = [sys.executable, "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    options = ["--no-compile", "--only-binary=:all:", "--implementation", "cp"]
    options += ["--python-version", version, "--target", folder / "site"]
    for name in (tag.manylinux, "manylinux_2_27", "manylinux2014"):
        options += ["--platform", f"{name}_{tag.architecture}"]
    run(*pip, *options, wheel)
    emulator = make_wheels.ROOT / "build" / "cross" / "bin" / f"qemu-{tag.architecture}"
    program = root / "usr" / "bin" / f"python{version}"
    return [emulator, "-L", root, program], folder / "site"


def use(wheel: Path, folder: Path, foreign: bool) -> None:
    """Installs a wheel and runs programs and examples with it."""
    python, site = (install_foreign if foreign else install)(wheel, folder)
    installed = {path.name.split("-")[0] for path in site.glob("*.dist-info")}
    if installed != {"mindtorch_v2", "numpy"}:
        raise SystemExit(f"the wheel pulled in {sorted(installed)}")
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    if foreign:
        environment["PYTHONPATH"] = str(site)
    for program in (PROGRAM, IN_A_PIPELINE, ON_SIMULATED_NPU):
        run(*python, "-c", program, cwd=folder, env=environment)
    examples = {"tour.py": [], "transformer.py": ["--trace", folder / "trace.json"]}
    for name, arguments in examples.items():
        start = time.monotonic()
        run(
            *python,
            EXAMPLES / name,
            *arguments,
            cwd=folder,
            env=environment,
            stdout=subprocess.PIPE,
        )
        print(f"  examples/{name} in {time.monotonic() - start:.1f} s", flush=True)
    check_linkage(site / "mindtorch_v2")


def check(wheel: Path) -> bool:
    """False: all was checked that can be read, and nothing run."""
    if not wheel.exists():
        raise SystemExit(f"there is no wheel {wheel}")
    tag = tag_of(wheel)
    check_contents(wheel)
    check_symbols(wheel, tag)
    foreign = tag.architecture != platform.machine()
    emulated = (make_wheels.ROOT / "tools" / f"setup_{tag.architecture}.sh").exists()
    if foreign and not (emulated and tag.python in make_wheels.AT_DEBIAN):
        print(f"{wheel.name} keeps its tag", flush=True)
        return False
    with tempfile.TemporaryDirectory() as name:
        use(wheel, Path(name), foreign)
    print(f"{wheel.name} is good", flush=True)
    return True


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable, help="the interpreter to build for")
    parser.add_argument("wheel", type=Path, nargs="*", help="check these instead of building one")
    arguments = parser.parse_args()
    wheels = arguments.wheel or [make_wheels.build(make_wheels.resolve(arguments.python))]
    not_run = [wheel.name for wheel in wheels if not check(wheel.resolve())]
    if not_run:
        print("not run, for want of such a CPython for their machine:", *not_run, sep="\n  ")


if __name__ == "__main__":
    main()
