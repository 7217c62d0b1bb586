"""Linear algebra against torch, one thread: microseconds of a call and their ratio.

    nice -n -10 .venv/bin/python benchmarks/linalg.py [--quick]

Both run in turns, several rounds, and the best of each counts.
"""

import argparse
import functools
import time

import numpy as np

OPS = {
    "inv": lambda torch, a, b: torch.linalg.inv(a),
    "solve": lambda torch, a, b: torch.linalg.solve(a, b),
    "cholesky": lambda torch, a, b: torch.linalg.cholesky(a),
    "qr": lambda torch, a, b: torch.linalg.qr(a),
    "svd": lambda torch, a, b: torch.linalg.svd(a, full_matrices=False),
    "eigh": lambda torch, a, b: torch.linalg.eigh(a),
}
SIZES = (4, 16, 64, 256, 512)
BATCHES = (1, 64)
MOST_ELEMENTS = 64 * 64 * 64


def seconds(call, repeats):
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats


def positive_definite(batch, size):
    half = np.random.default_rng(size).standard_normal((batch, size, size)).astype(np.float32)
    return half @ half.swapaxes(-1, -2) / size + np.eye(size, dtype=np.float32)


def best_of(calls, rounds):
    """The best time of each call, run in turns."""
    repeats = [max(1, int(0.01 / max(seconds(call, 1), 1e-7))) for call in calls]
    best = [float("inf")] * len(calls)
    for _ in range(rounds):
        for i, call in enumerate(calls):
            best[i] = min(best[i], seconds(call, repeats[i]))
    return best


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, few rounds")
    options = parser.parse_args()
    import mindtorch_v2
    import torch

    runtimes = (mindtorch_v2, torch)
    for runtime in runtimes:
        runtime.set_num_threads(1)
    print(f"{'op':10} {'batch':>6} {'size':>5} {'ours us':>10} {'torch us':>10} {'ratio':>6}")
    for name, op in OPS.items():
        for batch in BATCHES:
            for size in SIZES[:3] if options.quick else SIZES:
                if batch > 1 and batch * size * size > MOST_ELEMENTS:
                    continue
                a = positive_definite(batch, size)
                arrays = (a, a[..., :1].copy())
                calls = []
                for runtime in runtimes:
                    tensors = [runtime.from_numpy(x if batch > 1 else x[0]) for x in arrays]
                    calls.append(functools.partial(op, runtime, *tensors))
                ours, theirs = best_of(calls, 2 if options.quick else 5)
                print(
                    f"{name:10} {batch:6} {size:5} {ours * 1e6:10.1f} {theirs * 1e6:10.1f} "
                    f"{ours / theirs:6.2f}"
                )


if __name__ == "__main__":
    main()
