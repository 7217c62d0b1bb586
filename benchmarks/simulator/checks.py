"""What the simulator's checks cost: the op tests with all of them against none, in turn.

.venv/bin/python benchmarks/simulator/checks.py
"""

import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROUNDS = 3
AT_MOST = 2.0


def seconds(checks):
    tests = "tests/simulator/ops/test_cases.py"
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", tests]
    environment = {**os.environ, "MINDTORCH_SIM_CHECKS": checks}
    start = time.perf_counter()
    subprocess.run(command, cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


def main():
    times = {"all": [], "none": []}
    for _ in range(ROUNDS):
        for checks, samples in times.items():
            samples.append(seconds(checks))
    medians = {checks: statistics.median(samples) for checks, samples in times.items()}
    ratio = medians["all"] / medians["none"]
    print(f"all checks {medians['all']:.1f} s, none {medians['none']:.1f} s: {ratio:.2f}", end="")
    print(f", at most {AT_MOST:.1f}: {'pass' if ratio <= AT_MOST else 'MISS'}")


if __name__ == "__main__":
    main()
