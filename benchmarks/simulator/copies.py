"""What strided copies and small products of the simulator cost, as multiples of a plain copy:

    .venv/bin/python benchmarks/simulator/copies.py
    .venv/bin/python benchmarks/simulator/copies.py --against FOLDER   # libraries of another build

Copies are compared with aclrtMemcpyAsync of the same bytes, in the same process; with --against,
both builds take turns and the last column is the other one's time over ours.
"""

import argparse
import ctypes
import json
import math
import os
import pathlib
import statistics
import subprocess
import sys
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from tests.simulator.ops import acl  # noqa: E402

ROUNDS = 5
BATCHES = 20
D2D = 3
# name: dtype, shape, strides of the target, strides of the source (None: contiguous)
COPIES = {
    "f32 [1024, 1024], transposed": ("f32", (1024, 1024), None, (1, 1024)),
    "f16 [1024, 1024], transposed": ("f16", (1024, 1024), None, (1, 1024)),
    "f32 [1024, 1024], every other one": ("f32", (1024, 1024), None, (2048, 2)),
    "f32 [1024, 1024] into a wider matrix": ("f32", (1024, 1024), (1536, 1), None),
    "f32 [16384, 64], rows of a wider one": ("f32", (16384, 64), None, (192, 1)),
    "f32 [524288, 2], pairs": ("f32", (524288, 2), None, (4, 1)),
    "f16 [8, 128, 32, 32], heads exchanged": (
        "f16", (8, 128, 32, 32), None, (131072, 32, 4096, 1),
    ),
    "f32 [1024, 1024], one row for all": ("f32", (1024, 1024), None, (0, 1)),
    "f32 [1024, 1024], one column for all": ("f32", (1024, 1024), None, (1, 0)),
}  # fmt: skip
PRODUCTS = [(16, 16, 16), (64, 64, 64), (128, 128, 128), (1, 1024, 1024), (256, 256, 256)]


def dense(shape):
    strides = [1] * len(shape)
    for i in range(len(shape) - 1, 0, -1):
        strides[i - 1] = strides[i] * shape[i]
    return strides


def seconds(device, launch):
    """Of one call at its best, with as many in a row as take a while: other programs may run."""
    count = 1
    spent = []
    while len(spent) < BATCHES:
        start = time.perf_counter()
        for _ in range(count):
            launch()
        device.synchronize()
        total = time.perf_counter() - start
        if total > 0.001:
            spent.append(total / count)
        else:
            count *= 2
    return min(spent)


class Op:
    def __init__(self, device, name, arguments):
        size, self.executor = acl.phase_one(name, arguments)
        acl.check("aclSetAclOpExecutorRepeatable", self.executor)
        self.call = (name, device.malloc(size), size, self.executor, device.stream)

    def __call__(self):
        acl.phase_two(*self.call)


class Move:
    def __init__(self, device, to, source, size):
        count = ctypes.c_size_t(size)
        self.call = ("aclrtMemcpyAsync", to, count, source, count, D2D, device.stream)

    def __call__(self):
        acl.check(*self.call)


def memory(device, size):
    pointer, count = device.malloc(size), ctypes.c_size_t(size)
    acl.check("aclrtMemset", pointer, count, 0, count)
    return pointer


def tensor(device, dtype, shape, strides):
    strides = strides or dense(shape)
    storage = 1 + sum((size - 1) * stride for size, stride in zip(shape, strides, strict=True))
    pointer = memory(device, storage * acl.NUMPY[dtype]().itemsize)
    return acl.create_tensor(shape, dtype, strides, 0, storage, pointer)


def measure():
    """{name: seconds} of everything, by the libraries of MINDTORCH_SIM_LIBRARY_DIR."""
    device = acl.Device()
    times = {}
    for name, (dtype, shape, to, source) in COPIES.items():
        tensors = [tensor(device, dtype, shape, strides) for strides in (to, source)]
        times[name] = seconds(device, Op(device, "aclnnInplaceCopy", tensors))
        count = math.prod(shape) * acl.NUMPY[dtype]().itemsize
        plain = [memory(device, count) for _ in range(2)]
        times[f"plain {name}"] = seconds(device, Move(device, *plain, count))
    for m, k, n in PRODUCTS:
        tensors = [tensor(device, "f32", shape, None) for shape in ((m, k), (k, n), (m, n))]
        times[f"product {m} x {k} x {n}"] = seconds(device, Op(device, "aclnnMm", [*tensors, 0]))
    return times


def in_turn(folders):
    """The medians of each folder's times."""
    samples = {folder: [] for folder in folders}
    for _ in range(ROUNDS):
        for folder, all_of_it in samples.items():
            environment = {**os.environ, "MINDTORCH_SIM_CHECKS": "none"}
            environment["MINDTORCH_SIM_LIBRARY_DIR"] = str(folder)
            command = [sys.executable, __file__, "--measure"]
            done = subprocess.run(command, env=environment, check=True, capture_output=True)
            all_of_it.append(json.loads(done.stdout))
    return [
        {name: statistics.median(one[name] for one in all_of_it) for name in all_of_it[0]}
        for all_of_it in samples.values()
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--against", type=pathlib.Path)
    parser.add_argument("--measure", action="store_true", help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.measure:
        print(json.dumps(measure()))
        return
    folders = [acl.library_dir(), *([chosen.against] if chosen.against else [])]
    times, *other = in_turn(folders)
    for name in times:
        if name.startswith("plain "):
            continue
        line = f"{name:40} {times[name] * 1e6:9.1f} us"
        plain = times.get(f"plain {name}")
        line += f"  {times[name] / plain:6.1f} plain copies" if plain else " " * 21
        line += f"  before / after {other[0][name] / times[name]:6.1f}" if other else ""
        print(line)


if __name__ == "__main__":
    main()
