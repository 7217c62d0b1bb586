"""Resident memory of a server that runs for a while, ours beside torch's.

python benchmarks/server_memory.py [--seconds N] [--idle N] [--library NAME] [--csv FILE]

A loop of requests to a small network: batch sizes are random, most of them small, some large; then
nothing for a while, then small requests only. Prints the resident memory at the end of each phase,
and its maximum. Freed blocks are kept for reuse and go back to the system when nobody has wanted
them for some time (`MINDTORCH_CPU_CACHE_MB` bounds them; docs/memory.md).
"""

from __future__ import annotations

import argparse
import csv
import importlib
import os
import random
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
LIBRARIES = ("mindtorch_v2", "torch")
SMALL, LARGE = (1, 8), (64, 512)


def resident_mb() -> float:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / 2**20


class Server:
    def __init__(self, torch) -> None:
        self.torch = torch
        nn = torch.nn
        self.model = nn.Sequential(
            nn.Conv2d(3, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(16, 32, 3, padding=1), nn.ReLU(), nn.AdaptiveAvgPool2d(4),
            nn.Flatten(), nn.Linear(512, 1000), nn.Softmax(-1),
        ).eval()  # fmt: skip
        self.random = random.Random(0)

    def answer(self, sizes: tuple[int, int]) -> None:
        batch = self.random.randint(*sizes)
        side = self.random.choice((32, 48, 64))
        with self.torch.no_grad():
            self.model(self.torch.rand(batch, 3, side, side)).sum().item()

    def run(self, seconds: float, large_share: float) -> tuple[int, float]:
        """Requests answered, and the most memory between two of them."""
        end = time.monotonic() + seconds
        count, most = 0, 0.0
        while time.monotonic() < end:
            self.answer(LARGE if self.random.random() < large_share else SMALL)
            most = max(most, resident_mb())
            count += 1
        return count, most


def serve(name: str, seconds: float, idle: float, writer) -> None:
    torch = importlib.import_module(name)
    torch.set_num_threads(1)
    server = Server(torch)
    server.answer(SMALL)
    base = resident_mb()
    print(f"{name}: {base:.0f} MiB when it is ready; above that:")
    phases = [("mixed requests", seconds, 0.1), ("nothing", idle, None)]
    phases += [("small requests", seconds, 0.0), ("mixed requests", seconds, 0.1)]
    for phase, length, large_share in phases:
        if large_share is None:
            time.sleep(length)
            count, most = 0, resident_mb()
        else:
            count, most = server.run(length, large_share)
        now = resident_mb()
        print(
            f"  after {length:3.0f} s of {phase:15} {now - base:7.0f} MiB, at most "
            f"{most - base:6.0f} MiB, {count} requests",
            flush=True,
        )
        if writer:
            writer.writerow([name, phase, length, f"{now:.1f}", f"{most:.1f}", count])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=40, help="of each phase of requests")
    parser.add_argument("--idle", type=float, default=35, help="seconds without a request")
    parser.add_argument("--library", choices=LIBRARIES, help="only this one, in this process")
    parser.add_argument("--csv", type=Path, help="append every phase to this file")
    options = parser.parse_args()
    if options.library:
        sys.path.append(str(HERE.parent / "python"))
        file = options.csv.open("a", newline="") if options.csv else None
        writer = csv.writer(file) if file else None
        serve(options.library, options.seconds, options.idle, writer)
        if file:
            file.close()
        return
    for name in LIBRARIES:
        command = [sys.executable, __file__, "--library", name, "--seconds", str(options.seconds)]
        command += ["--idle", str(options.idle)]
        if options.csv:
            command += ["--csv", str(options.csv)]
        if subprocess.run(command).returncode != 0:
            print(f"{name}: not measured")


if __name__ == "__main__":
    main()
