"""Builds and runs the allocator's benchmarks, and prints ratios with their thresholds:

.venv/bin/python benchmarks/allocator/run.py
"""

import json
import pathlib
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
BUILD = ROOT / "build" / "bench"
ROUNDS = 5


def build():
    configure = ["cmake", "--preset", "release", "-B", BUILD, "-DMINDTORCH_BENCHMARKS=ON"]
    configure += ["-DMINDTORCH_PYTHON=OFF", "-DMINDTORCH_TESTS=OFF"]
    subprocess.run(configure, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    subprocess.run(["cmake", "--build", BUILD, "--target", "mindtorch_benchmarks"], check=True)
    return next(BUILD.rglob("mindtorch_benchmarks"))


def measure(program):
    """{name: CPU time a pair, ns}: median of ROUNDS rounds, all benchmarks in turn."""
    samples = {}
    for number in range(ROUNDS):
        print(f"\rround {number + 1} of {ROUNDS}", end="", file=sys.stderr)
        command = [program, "--benchmark_format=json", "--benchmark_min_time=0.2"]
        command.append("--benchmark_filter=pair")
        output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        for run in json.loads(output)["benchmarks"]:
            samples.setdefault(run["name"], []).append(run["cpu_time"])
    print(file=sys.stderr)
    return {name: statistics.median(runs) for name, runs in samples.items()}


def main():
    times = measure(build())
    for name, time in times.items():
        print(f"{name:<45} {time:8.1f} ns")
    rows = [
        ("cached pair / glibc's malloc + free of 64 bytes", 3.0)
        + (times["cached_pair/small/10"] / times["glibc_pair"],)
    ]
    for name in ("cached_pair/small", "cached_pair/large", "searching_pair/small"):
        flat = times[f"{name}/100000"] / times[f"{name}/10"]
        rows.append((f"{name}: 100,000 cached blocks / 10", 1.2, flat))
    one, eight = (times[f"pair_on_own_stream/real_time/threads:{n}"] for n in (1, 8))
    # CPU time: a thread that waits for another's lock spins, one that waits for a core does not.
    slowdown = eight / one
    rows.append(("8 threads on 8 streams / 1 thread, CPU time a pair", 1.2, slowdown))
    print()
    for text, at_most, ratio in rows:
        verdict = "pass" if ratio <= at_most else "MISS"
        print(f"{text:<60} {ratio:5.2f}  at most {at_most:.1f}  {verdict}")


if __name__ == "__main__":
    main()
