"""What a profiler costs, against torch's.

    python benchmarks/profiler.py [--rounds 7] [--ops 5000]

Both libraries run in one process and take turns. Prints, for each setting of the profiler, the time
that an op `a + b` of 8 elements takes longer while it is profiled, and the time that the sums of
all events take, per op; the best of all rounds, and their ratio. Exits with 1 where a ratio is
above 1.
"""

import argparse
import os
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "python"))

import mindtorch_v2
import torch

SETTINGS = {
    "times": {},
    "shapes": {"record_shapes": True},
    "memory": {"profile_memory": True},
    "stacks": {"with_stack": True},
    "all": {"record_shapes": True, "profile_memory": True, "with_stack": True},
}


def seconds(call, *args):
    start = time.perf_counter()
    call(*args)
    return time.perf_counter() - start


def run(a, b, count):
    for _ in range(count):
        a + b


def measure(library, settings, count):
    """Nanoseconds per op: without a profiler, with it, and for reading the sums."""
    a, b = library.ones(8), library.ones(8)
    plain = seconds(run, a, b, count)
    activities = [library.profiler.ProfilerActivity.CPU]
    with library.profiler.profile(activities=activities, **settings) as prof:
        profiled = seconds(run, a, b, count)
    reading = seconds(prof.key_averages)
    return [each / count * 1e9 for each in (plain, profiled, reading)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--ops", type=int, default=5000)
    options = parser.parse_args()
    for library in (torch, mindtorch_v2):
        library.set_num_threads(1)
    print(f"{'ns per op':10}{'profiling: torch':>18}{'ours':>8}{'ratio':>7}", end="")
    print(f"{'reading: torch':>18}{'ours':>8}{'ratio':>7}")
    failed = False
    for name, settings in SETTINGS.items():
        best = {}
        for _ in range(options.rounds):
            for library in (torch, mindtorch_v2):
                costs = measure(library, settings, options.ops)
                known = best.get(library, costs)
                best[library] = [min(pair) for pair in zip(costs, known, strict=True)]
        # The best of each: a round that was disturbed counts for nothing.
        theirs, ours = ((on - off, read) for off, on, read in best.values())
        ratios = [mine / other for mine, other in zip(ours, theirs, strict=True)]
        failed |= max(ratios) > 1
        print(f"{name:10}{theirs[0]:18.0f}{ours[0]:8.0f}{ratios[0]:7.2f}", end="")
        print(f"{theirs[1]:18.0f}{ours[1]:8.0f}{ratios[1]:7.2f}")
    return failed


if __name__ == "__main__":
    os.environ.setdefault("KINETO_LOG_LEVEL", "5")
    sys.exit(main())
