"""How ops get faster with more threads, and how near those bound by memory come to its speed.

    .venv/bin/python benchmarks/scaling.py [--threads 1,2,4,8,16] [--filter REGEX] [--check]

For every op, the best time of several samples at each number of threads; where torch is installed,
its time with the most of them. A stream test, `a = b + 3 * c` and `a = b` over arrays much larger
than the caches, says what memory gives at each number; ops that do little else are shown as a share
of it. Ops are marked that take more time with more threads than with fewer (by 1.1), and --check
then exits with 1.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "python"))

LARGE = 1 << 24  # elements
SLOWER = 1.1
SETUP = f"""
a = torch.rand({LARGE}); b = torch.rand({LARGE}); c = torch.rand({LARGE})
m = torch.rand(4096, 4096); h = torch.rand({LARGE}).to(torch.bfloat16)
i = torch.randint(4096, (4096,)); flags = a > 0.5
s = torch.rand(1 << 16); t = torch.rand(1 << 16); small = torch.rand(256)
p = torch.rand(1024, 1024); q = torch.rand(256, 256); batch = torch.rand(64, 64, 64)
x = torch.rand(16, 64, 56, 56); w = torch.rand(64, 64, 3, 3)
"""
# Name, statement, and bytes that it reads and writes (0: not bound by memory).
FLOATS = 4 * LARGE
OPS = [
    ("a.copy_(b)", "a.copy_(b)", 2 * FLOATS),
    ("add, out=", "torch.add(a, b, out=c)", 3 * FLOATS),
    ("a.mul_(1)", "a.mul_(1.0)", 2 * FLOATS),
    ("a + b", "a + b", 3 * FLOATS),
    ("relu", "a.relu()", 2 * FLOATS),
    ("where", "torch.where(flags, a, b)", 3 * FLOATS + LARGE),
    ("to bfloat16", "a.to(torch.bfloat16)", FLOATS + 2 * LARGE),
    ("to float64", "a.to(torch.float64)", FLOATS + 8 * LARGE),
    ("zero_", "a.zero_()", FLOATS),
    ("sum", "b.sum()", FLOATS),
    ("sum(0)", "m.sum(0)", FLOATS),
    ("sum(1)", "m.sum(1)", FLOATS),
    ("amax(1)", "m.amax(1)", FLOATS),
    ("bfloat16 sum", "h.sum()", 2 * LARGE),
    ("transposed copy", "m.t().contiguous()", 2 * FLOATS),
    ("cat", "torch.cat([a, b])", 4 * FLOATS),
    ("index_select", "m.index_select(0, i)", 2 * FLOATS),
    ("softmax", "m.softmax(1)", 2 * FLOATS),
    ("layer_norm", "F.layer_norm(m, (4096,))", 2 * FLOATS),
    ("cumsum", "m.cumsum(1)", 2 * FLOATS),
    ("exp", "a.exp()", 0),
    ("64k a + b", "s + t", 0),
    ("64k exp", "s.exp()", 0),
    ("64k sum", "s.sum()", 0),
    ("256 a + 1", "small + 1", 0),
    ("sort", "p.sort(1)", 0),
    ("256 x 256 product", "q @ q", 0),
    ("1024 x 1024 product", "p @ p", 0),
    ("64 products of 64 x 64", "batch @ batch", 0),
    ("convolution", "F.conv2d(x, w, padding=1)", 0),
    ("max_pool2d", "F.max_pool2d(x, 2)", 0),
]
STREAM = ("stream", "torch.add(a, c, alpha=3.0, out=b)", 3 * FLOATS)


class Library:
    def __init__(self, module) -> None:
        self.module = module
        functional = __import__(module.__name__ + ".nn.functional", fromlist=["nn"])
        self.names = {"torch": module, "F": functional}
        exec(SETUP, self.names)

    def seconds(self, statement: str, threads: int) -> float:
        self.module.set_num_threads(threads)
        code = compile(f"for _ in range(repeats): {statement}", "case", "exec")
        self.names["repeats"] = 1
        exec(code, self.names)
        start = time.perf_counter()
        exec(code, self.names)
        once = max(time.perf_counter() - start, 1e-7)
        self.names["repeats"] = repeats = max(1, int(0.004 / once))
        best = once
        for _ in range(7):
            start = time.perf_counter()
            exec(code, self.names)
            best = min(best, (time.perf_counter() - start) / repeats)
        return best


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    cores = len(os.sched_getaffinity(0))
    powers = [n for n in (1, 2, 4, 8, 16, 32, 64, 128) if n <= cores]
    parser.add_argument("--threads", default=",".join(map(str, powers)))
    parser.add_argument("--filter", default="")
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args()
    counts = [int(count) for count in options.threads.split(",")]
    import mindtorch_v2

    ours = Library(mindtorch_v2)
    try:
        import torch

        rival = Library(torch)
    except ImportError:
        rival = None
    stream = {n: STREAM[2] / ours.seconds(STREAM[1], n) for n in counts}
    print(f"{'microseconds':24}", *(f"{f'{n} threads':>12}" for n in counts), f"{'torch':>12}")
    print(f"{'stream, GB/s':24}", *(f"{stream[n] / 1e9:12.1f}" for n in counts))
    slower = 0
    for name, statement, size in OPS:
        if not re.search(options.filter, name):
            continue
        times = [ours.seconds(statement, n) for n in counts]
        marks = []
        if any(later > SLOWER * earlier for earlier, later in zip(times, times[1:], strict=False)):
            marks.append("slower with more threads")
            slower += 1
        if size:
            shares = (size / t / stream[n] for t, n in zip(times, counts, strict=True))
            marks.append("of stream: " + " ".join(f"{share:.2f}" for share in shares))
        theirs = f"{rival.seconds(statement, counts[-1]) * 1e6:12.1f}" if rival else f"{'':12}"
        print(f"{name:24}", *(f"{t * 1e6:12.1f}" for t in times), theirs, " ", "; ".join(marks))
    print(f"{slower} slower with more threads")
    return 1 if options.check and slower else 0


if __name__ == "__main__":
    sys.exit(main())
