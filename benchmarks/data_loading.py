"""DataLoader against torch's: 1,000 batches of 256 images of 3x64x64 from 2 workers.

    python benchmarks/data_loading.py [--rounds 3] [--batches 1000]

Each run is a process of its own; the libraries take turns. Prints the wall time of the loop and
the peak memory of the process and its workers (proportional set size), best of the rounds.
"""

import argparse
import importlib
import json
import os
import subprocess
import sys
import threading
import time


def memory_of_tree(root):
    """Bytes of a process and its children; pages that they share count once."""
    total = 0
    for pid in [root, *children_of(root)]:
        try:
            with open(f"/proc/{pid}/smaps_rollup") as file:
                total += next(int(line.split()[1]) for line in file if line.startswith("Pss:"))
        except (OSError, StopIteration):
            pass  # it has just ended
    return total * 1024


def children_of(pid):
    with open(f"/proc/{pid}/task/{pid}/children") as file:
        return [int(child) for child in file.read().split()]


class PeakMemory(threading.Thread):
    """The highest memory of the process tree, looked at ten times a second."""

    def __init__(self):
        super().__init__(daemon=True)
        self.peak = 0

    def run(self):
        while True:
            self.peak = max(self.peak, memory_of_tree(os.getpid()))
            time.sleep(0.1)


def measure(library, batches):
    torch = importlib.import_module(library)
    data = importlib.import_module(f"{library}.utils.data")

    class Images(data.Dataset):
        def __init__(self):
            self.images = torch.randn(1024, 3, 64, 64)

        def __len__(self):
            return batches * 256

        def __getitem__(self, index):
            return self.images[index % 1024], index % 10

    torch.set_num_threads(1)
    loader = data.DataLoader(Images(), batch_size=256, shuffle=True, num_workers=2)
    memory = PeakMemory()
    memory.start()
    labels = 0
    start = time.perf_counter()
    for images, targets in loader:
        assert images.shape == (256, 3, 64, 64)
        labels += targets.sum().item()
    return {"seconds": time.perf_counter() - start, "bytes": memory.peak, "labels": labels}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--batches", type=int, default=1000)
    parser.add_argument("--library", help="measure this one, in this process")
    options = parser.parse_args()
    if options.library:
        print(json.dumps(measure(options.library, options.batches)))
        return
    libraries = ("torch", "mindtorch_v2")
    results = {library: [] for library in libraries}
    for _ in range(options.rounds):
        for library in libraries:
            command = [sys.executable, __file__, "--library", library]
            command += ["--batches", str(options.batches)]
            output = subprocess.run(command, check=True, capture_output=True, text=True).stdout
            results[library].append(json.loads(output))
    best = {
        library: {key: min(run[key] for run in runs) for key in ("seconds", "bytes")}
        for library, runs in results.items()
    }
    for library in libraries:
        seconds, memory = best[library]["seconds"], best[library]["bytes"] / 2**20
        print(f"{library:14}{seconds:8.2f} s {memory:9.0f} MiB")
    ours, theirs = best["mindtorch_v2"], best["torch"]
    ratios = [ours[key] / theirs[key] for key in ("seconds", "bytes")]
    print(f"{'ratio':14}{ratios[0]:8.2f}   {ratios[1]:9.2f}")


if __name__ == "__main__":
    main()
