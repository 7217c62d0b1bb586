"""The most memory that one call of every case of the sweep takes, ours against torch's.

python benchmarks/memory_peaks.py [--filter REGEX] [--threads N] [--csv FILE] [--all]

Each library runs in a process of its own. A case is set up and called once, so that code is
loaded, kernels are made and threads have started; then all caches are emptied, the process's mark
of the most resident memory is cleared, and the case is called again. What the mark rises by is the
peak: results, gradients and temporaries, whoever allocated them. Huge pages are off, because they
count memory that nobody touched. Lists the cases whose peak is above torch's by more than 64 KiB,
and says of how many cases a library could not run.

What is kept between calls in buffers that no cache gives back is not counted: with us OpenBLAS's
packing buffer and the working memory of a thread (scratch.h), in torch oneDNN's
scratchpads. MKL's buffers are released like every other cache.

The kernel counts a process's pages per processor and adds them up when there are 32, so that its
mark may be off by 31 pages. The process therefore stays on one processor if it is to use one
thread, the counts are equal when the mark is cleared, and the call is measured at several distances
from the next sum; the median counts.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import ctypes
import gc
import importlib
import json
import mmap
import os
import re
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.insert(1, str(HERE.parent / "python"))

LIBRARIES = ("mindtorch_v2", "torch")
SPARE_BYTES = 64 * 1024
PAGE_BYTES = os.sysconf("SC_PAGESIZE")
PHASES = (0, 11, 22)  # pages more than at the kernel's last sum
HEAD = "import importlib; F = importlib.import_module(torch.__name__ + '.nn.functional')\n"
PR_SET_THP_DISABLE = 41


def status_bytes(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    raise OSError(f"/proc/self/status has no {name}")


def free_mkl_buffers() -> None:
    """What MKL, in torch, keeps for its next product."""
    library = ctypes.CDLL(str(Path(sys.modules["torch"].__file__).parent / "lib/libtorch_cpu.so"))
    with contextlib.suppress(AttributeError):  # a torch without MKL
        library.mkl_serv_free_buffers()


class Ballast:
    """Pages of this process, to move the kernel's count of all of them."""

    SIZE = 256

    def __init__(self) -> None:
        self.memory = mmap.mmap(-1, self.SIZE * PAGE_BYTES)
        self.touched = 0

    def touch(self) -> None:
        self.memory[self.touched * PAGE_BYTES] = 1
        self.touched += 1

    def settle(self, phase: int) -> None:
        """Goes on until the kernel's sum is exact, and `phase` pages further."""
        self.memory.madvise(mmap.MADV_DONTNEED)
        self.touched = 0
        for _ in range(self.SIZE - 64):
            self.touch()
            summed = int(Path("/proc/self/stat").read_text().rsplit(")", 1)[1].split()[21])
            if summed == int(Path("/proc/self/statm").read_text().split()[1]):
                break
        for _ in range(phase):
            self.touch()


class Meter:
    """The library of this process."""

    def __init__(self, name: str, threads: int) -> None:
        self.libc = ctypes.CDLL(None)
        self.libc.prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)
        if threads == 1:
            os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
        self.ballast = Ballast()
        self.torch = importlib.import_module(name)
        self.torch.set_num_threads(threads)
        gc.collect()
        gc.freeze()  # the library's own objects
        self.empty_cache = getattr(self.torch.cpu, "empty_cache", free_mkl_buffers)

    def _settle(self) -> None:
        gc.collect()
        self.empty_cache()
        self.libc.malloc_trim(0)

    def peak(self, setup: str, statement: str) -> int:
        self.torch.manual_seed(0)
        names = {"torch": self.torch}
        exec(HEAD + setup, names)
        call = compile(statement, "<case>", "eval")
        eval(call, names)
        return statistics.median_low(self._rise(call, names, phase) for phase in PHASES)

    def _rise(self, call, names: dict, phase: int) -> int:
        self._settle()
        self.ballast.settle(phase)
        Path("/proc/self/clear_refs").write_text("5")
        before = status_bytes("VmRSS")
        result = eval(call, names)
        most = status_bytes("VmHWM")
        del result
        return max(0, most - before)

    def serve(self) -> None:
        for line in sys.stdin:
            request = json.loads(line)
            try:
                answer = {"bytes": self.peak(request["setup"], request["statement"])}
            except Exception as error:
                answer = {"error": f"{type(error).__name__}: {error}"}
            print(json.dumps(answer), flush=True)


class Process:
    def __init__(self, name: str, threads: int) -> None:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path)}
        self.process = subprocess.Popen(
            [sys.executable, __file__, "--serve", name, "--threads", str(threads)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=environment,
        )

    def ask(self, case) -> dict:
        request = {"setup": case.setup, "statement": case.statement}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline()
        return json.loads(answer) if answer else {"error": "the process ended"}

    def close(self) -> None:
        self.process.stdin.close()
        self.process.wait()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--filter", default="", help="regular expression for 'family case, dtype'")
    parser.add_argument("--csv", type=Path, help="write every case to this file")
    parser.add_argument("--all", action="store_true", help="list every case")
    parser.add_argument("--serve", choices=LIBRARIES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        Meter(options.serve, options.threads).serve()
        return 0
    from sweep.__main__ import all_cases

    wanted = re.compile(options.filter)
    cases = [case for case in all_cases() if wanted.search(f"{case.family} {case.title}")]
    libraries = [Process(name, options.threads) for name in LIBRARIES]
    rows = []
    failed = 0
    for case in cases:
        answers = [library.ask(case) for library in libraries]
        if any("error" in answer for answer in answers):
            failed += 1
            continue
        ours, torchs = (answer["bytes"] for answer in answers)
        rows.append((case.family, case.title, ours, torchs))
    for library in libraries:
        library.close()
    if options.csv:
        with options.csv.open("w", newline="") as file:
            writer = csv.writer(file)
            writer.writerow(["family", "case", "ours_bytes", "torch_bytes"])
            writer.writerows(rows)
    above = [row for row in rows if row[2] > row[3] + SPARE_BYTES]
    shown = rows if options.all else above
    for family, title, ours, torchs in sorted(shown, key=lambda row: row[3] - row[2]):
        print(f"{ours / 1024:10.0f} KiB {torchs / 1024:10.0f} KiB  {family} {title}")
    print(f"{len(rows)} cases, {len(above)} above torch's peak by more than 64 KiB")
    if failed:
        print(f"{failed} cases that a library could not run")
    return 1 if above else 0


if __name__ == "__main__":
    sys.exit(main())
