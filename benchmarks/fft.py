"""Fourier transforms against torch, one thread: microseconds of a call and their ratio.

    nice -n -10 .venv/bin/python benchmarks/fft.py [--quick] [--filter rfft]

Both run in turns, several rounds, and the best of each counts: time of the processor, which other
programs on the machine disturb less.
"""

import argparse
import functools
import math
import time

import numpy as np

# Powers of two, products of small primes, primes, and products with large primes.
LENGTHS = (8, 64, 256, 1024, 4096, 65536, 1 << 20, 60, 360, 1000, 1200, 7200, 100000)
LENGTHS += (9, 12, 13, 16, 24, 32)
LENGTHS += (7, 31, 97, 251, 1009, 10007, 2042, 5 * 211)
IMAGES = ((32, 32), (128, 128), (512, 512), (1024, 1024), (480, 640), (97, 101))
ELEMENTS = 1 << 16  # of a batch, about
DTYPES = ("complex64", "complex128")


def seconds(call, repeats):
    start = time.process_time()
    for _ in range(repeats):
        call()
    return (time.process_time() - start) / repeats


def best_of(calls, rounds):
    """The best time of each call, run in turns."""
    repeats = [max(1, int(0.005 / max(seconds(call, 1), seconds(call, 1), 1e-7))) for call in calls]
    best = [float("inf")] * len(calls)
    for _ in range(rounds):
        for i, call in enumerate(calls):
            best[i] = min(best[i], seconds(call, repeats[i]))
    return best


def values(shape, dtype, real):
    rng = np.random.default_rng(0)
    parts = rng.standard_normal((*shape, 2)).astype("f4" if dtype == "complex64" else "f8")
    return parts[..., 0].copy() if real else parts.view(dtype)[..., 0].copy()


def cases():
    """(name, function of torch, shape, dtype, whether the input is real)."""
    for dtype in DTYPES:
        for length in LENGTHS:
            for batch in sorted({1, max(1, ELEMENTS // length)}):
                shape = (batch, length)
                yield "fft", lambda torch, x: torch.fft.fft(x), shape, dtype, False
                yield "ifft", lambda torch, x: torch.fft.ifft(x), shape, dtype, False
                yield "rfft", lambda torch, x: torch.fft.rfft(x), shape, dtype, True
                half = (batch, length // 2 + 1)
                inverse = functools.partial(lambda n, torch, x: torch.fft.irfft(x, n), length)
                yield "irfft", inverse, half, dtype, False
        for image in IMAGES:
            shape = (max(1, ELEMENTS // math.prod(image)), *image)
            yield "fft2", lambda torch, x: torch.fft.fft2(x), shape, dtype, False
            yield "rfft2", lambda torch, x: torch.fft.rfft2(x), shape, dtype, True
        yield "fft dim 0", lambda torch, x: torch.fft.fft(x, dim=0), (512, 128), dtype, False


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="few rounds")
    parser.add_argument("--filter", default="", help="only transforms of this name")
    options = parser.parse_args()
    import mindtorch_v2
    import torch

    runtimes = (mindtorch_v2, torch)
    for runtime in runtimes:
        runtime.set_num_threads(1)
    ratios = []
    print(f"{'op':10} {'shape':>16} {'dtype':>10} {'ours us':>10} {'torch us':>10} {'ratio':>6}")
    for name, op, shape, dtype, real in cases():
        if options.filter and name != options.filter:
            continue
        x = values(shape, dtype, real)
        calls = [functools.partial(op, runtime, runtime.from_numpy(x)) for runtime in runtimes]
        ours, theirs = best_of(calls, 3 if options.quick else 10)
        ratios.append(ours / theirs)
        size = "x".join(map(str, shape))
        print(
            f"{name:10} {size:>16} {dtype:>10} {ours * 1e6:10.1f} {theirs * 1e6:10.1f} "
            f"{ratios[-1]:6.2f}"
        )
    mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
    print(f"geometric mean {mean:.2f}, worst {max(ratios):.2f}")


if __name__ == "__main__":
    main()
