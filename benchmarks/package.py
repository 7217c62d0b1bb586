"""The package as a whole: how long its import takes, how large its wheel is."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

from measure import Measured, worker_environment

# Only the import statement is timed: the interpreter's own start is the same for both.
_TIMED_IMPORT = (
    "from time import perf_counter_ns as now; start = now(); import {module}; print(now() - start)"
)


def measure_imports(module_names: list[str], rounds: int) -> list[Measured]:
    """Imports each module in a fresh interpreter, turn by turn."""
    results = [Measured(number=1) for _ in module_names]
    for done in range(rounds + 1):
        for name, result in zip(module_names, results, strict=True):
            if result.error is not None:
                continue
            run = subprocess.run(
                [sys.executable, "-c", _TIMED_IMPORT.format(module=name)],
                capture_output=True,
                text=True,
                env=worker_environment(),
            )
            if run.returncode != 0:
                result.error = run.stderr.strip().splitlines()[-1]
            elif done > 0:  # the first one reads from disk and writes byte code
                result.samples_ns.append(float(run.stdout.split()[-1]))
    return results


def find_wheel(repository: Path) -> Path | None:
    """The newest wheel in dist/."""
    wheels = sorted((repository / "dist").glob("*.whl"), key=lambda path: path.stat().st_mtime)
    return wheels[-1] if wheels else None


def wheel_megabytes(wheel: Path) -> float:
    return wheel.stat().st_size / 1e6


def wheel_requirements(wheel: Path) -> list[str]:
    """What the wheel asks pip for besides NumPy; its size does not count these."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(n for n in archive.namelist() if n.endswith(".dist-info/METADATA"))
        lines = archive.read(name).decode().splitlines()
    wanted = [line.split(":", 1)[1].strip() for line in lines if line.startswith("Requires-Dist:")]
    return [
        need for need in wanted if "extra ==" not in need and not need.lower().startswith("numpy")
    ]
