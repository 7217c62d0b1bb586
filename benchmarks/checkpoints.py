"""torch.save and torch.load against torch's: 1 GiB of weights.

    python benchmarks/checkpoints.py [--folder /dev/shm] [--rounds 5]

Both libraries run in one process and take turns, with files of their own: a new one, and then the
same again in its place. What a save leaves for the disk is written before the next call is timed.
Prints the best times, and their ratio. /dev/shm shows the work without the disk.
"""

import argparse
import os
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "python"))

import mindtorch_v2
import torch

TENSORS = 256


CALLS = {
    "save": lambda library, state, path: library.save(state, path),
    "save again": lambda library, state, path: library.save(state, path),
    "load": lambda library, state, path: library.load(path),
    "load, mmap": lambda library, state, path: library.load(path, mmap=True),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--folder", type=Path, default=Path("/dev/shm"))
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    weights = {f"w{number}": torch.randn(1024, 1024) for number in range(TENSORS)}
    state = {
        torch: weights,
        mindtorch_v2: {key: mindtorch_v2.from_numpy(w.numpy()) for key, w in weights.items()},
    }
    best = {}
    paths = {library: options.folder / f"benchmark_{library.__name__}.pt" for library in state}
    for _ in range(options.rounds):
        for library, path in paths.items():
            path.unlink(missing_ok=True)
            for name, call in CALLS.items():
                os.sync()
                start = time.perf_counter()
                call(library, state[library], path)
                seconds = time.perf_counter() - start
                best[name, library] = min(best.get((name, library), seconds), seconds)
    for path in paths.values():
        os.remove(path)
    print(f"{'':12}{'torch':>10}{'mindtorch':>12}{'ratio':>8}")
    for name in CALLS:
        theirs, ours = best[name, torch], best[name, mindtorch_v2]
        print(f"{name:12}{theirs:8.3f} s{ours:10.3f} s{ours / theirs:8.2f}")


if __name__ == "__main__":
    main()
