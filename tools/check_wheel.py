"""Builds the wheel, installs it into a fresh environment that holds only NumPy, and uses it there.

    .venv/bin/python tools/check_wheel.py [--python PYTHON] [--wheel FILE]

Fails when the wheel is too large, has no manylinux tag or one that its libraries do not keep,
bundles a library twice, needs a library that it does not bundle (other than the C and C++
runtimes), does not import, or computes 1 + 1 wrongly, on the CPU or on a simulated NPU.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import make_wheels

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


ON_SIMULATED_NPU = """
import pathlib, mindtorch_v2 as torch
torch.npu.simulator.enable()
x = torch.ones(4, 8).npu()
assert (x @ x.t() + 1).tolist() == [[9.0] * 4] * 4
folder = pathlib.Path(torch._C._npu_simulator_folder())
assert folder == pathlib.Path(torch.__file__).parent / "lib" / "ascend_simulator", folder
from mindtorch_v2.npu.simulator import _library
assert all((folder / f"lib{name}.so").exists() for name in _library.LIBRARIES)
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


def tagged_glibc(wheel: Path) -> tuple[int, int]:
    """The oldest C library that the wheel's tags name; its name and its metadata must agree."""
    python, abi, platforms = wheel.stem.split("-")[-3:]
    with zipfile.ZipFile(wheel) as archive:
        (metadata,) = (name for name in archive.namelist() if name.endswith(".dist-info/WHEEL"))
        inside = set(re.findall(r"^Tag: (.*)$", archive.read(metadata).decode(), re.MULTILINE))
    tags = {f"{python}-{abi}-{platform}" for platform in platforms.split(".")}
    if inside != tags:
        raise SystemExit(f"{wheel.name} has the tags {sorted(inside)} inside")
    versions = re.findall(r"manylinux_(\d+)_(\d+)_", platforms)
    if len(versions) != len(platforms.split(".")):
        raise SystemExit(f"{wheel.name}: {platforms} are not all manylinux_X_Y tags")
    return min((int(major), int(minor)) for major, minor in versions)


def libraries_of(package: Path) -> list[Path]:
    return [path for path in package.rglob("*.so*") if path.is_file()]


def check_glibc(package: Path, tagged: tuple[int, int]) -> None:
    """No library needs a newer C library than the tags name."""
    for library in libraries_of(package):
        symbols = subprocess.run(
            ["readelf", "--version-info", "--wide", library],
            check=True, capture_output=True, text=True,
        ).stdout  # fmt: skip
        needed = re.findall(r"Name: GLIBC_(\d+)\.(\d+)", symbols)
        newest = max(((int(major), int(minor)) for major, minor in needed), default=(0, 0))
        if newest > tagged:
            raise SystemExit(f"{library.name} needs glibc {newest}, the tag says {tagged}")


def check_linkage(package: Path) -> None:
    """Everything needed is bundled or a C or C++ runtime."""
    libraries = libraries_of(package)
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--python", default=sys.executable, help="the interpreter to build for")
    parser.add_argument("--wheel", type=Path, help="check this wheel instead of building one")
    arguments = parser.parse_args()
    interpreter = make_wheels.resolve(arguments.python)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        wheel = arguments.wheel or make_wheels.build(interpreter)
        check_contents(wheel)
        glibc = tagged_glibc(wheel)
        run(interpreter, "-m", "venv", folder / "venv")
        python = folder / "venv" / "bin" / "python"
        run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel)
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        for program in (PROGRAM, ON_SIMULATED_NPU):
            run(python, "-c", program, cwd=folder, env=environment)
        packages = run(python, "-m", "pip", "list", "--format=freeze", stdout=subprocess.PIPE)
        extra = {line.split("==")[0] for line in packages.split()} - {
            "mindtorch-v2", "mindtorch_v2", "numpy", "pip", "setuptools",
        }  # fmt: skip
        if extra:
            raise SystemExit(f"the wheel pulled in {sorted(extra)}")
        (package,) = (folder / "venv").glob("lib/python*/site-packages/mindtorch_v2")
        check_linkage(package)
        check_glibc(package, glibc)
    print(f"{wheel.name} is good")


if __name__ == "__main__":
    main()
