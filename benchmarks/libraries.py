"""Parts written by hand against the library that could have been taken, on one thread.

    nice -n -10 .venv/bin/python benchmarks/libraries.py [--quick] [--filter sort]

NumPy brings OpenBLAS (products, LAPACK), pocketfft and Intel's x86-simd-sort; torch, where it is
installed, MKL, oneDNN and SLEEF. Both sides run in turns, several rounds, and the best of each
counts: time of the processor, which other programs on the machine disturb less. Below 1 the part
written by hand is faster.
"""

import argparse
import math
import os
import time

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import mindtorch_v2 as ours
import numpy as np

try:
    import torch
except ImportError:
    torch = None


def random(*shape, dtype="float32", seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def positive(size, dtype):
    half = random(size, size, dtype=dtype)
    return half @ half.T / size + np.eye(size, dtype=dtype)


def with_numpy(function, theirs, *arrays):
    """The calls of an array function here and in NumPy."""
    tensors = [ours.from_numpy(array.copy()) for array in arrays]
    return (lambda: function(ours, *tensors)), (lambda: theirs(*arrays))


def with_torch(function, *arrays, dtype=None):
    """The same function here and in torch."""
    calls = []
    for library in (ours, torch):
        given = [library.from_numpy(array.copy()) for array in arrays]
        given = [x.to(getattr(library, dtype)) for x in given] if dtype else given
        calls.append(lambda library=library, given=given: function(library, *given))
    return calls


def products():
    for m, k, n in ((64,) * 3, (256,) * 3, (1024,) * 3, (1, 1024, 1024), (8, 1024, 1024),
                    (4096, 64, 64), (64, 4096, 64), (2048, 16, 2048)):  # fmt: skip
        for dtype in ("float32", "float64"):
            a, b = random(m, k, dtype=dtype), random(k, n, dtype=dtype)
            yield f"{m} x {k} x {n} {dtype}", with_numpy(lambda t, a, b: a @ b, np.matmul, a, b)


def transforms():
    for length in (8, 64, 256, 1024, 4096, 65536, 60, 1000, 7200, 31, 1009, 10007):
        x = random(max(1, 65536 // length), length)
        spectrum = np.fft.fft(x).astype("complex64")
        yield f"fft {length}", with_numpy(lambda t, x: t.fft.fft(x), np.fft.fft, spectrum)
        yield f"rfft {length}", with_numpy(lambda t, x: t.fft.rfft(x), np.fft.rfft, x)


def factors():
    for size in (4, 16, 64, 256, 512):
        for dtype in ("float32", "float64"):
            a, b = positive(size, dtype), random(size, 8, dtype=dtype)
            for name in ("inv", "cholesky", "qr", "eigh", "svd"):
                given = with_numpy(
                    lambda t, a, name=name: getattr(t.linalg, name)(a), getattr(np.linalg, name), a
                )
                yield f"{name} {size} {dtype}", given
            yield (
                f"solve {size} {dtype}",
                with_numpy(lambda t, a, b: t.linalg.solve(a, b), np.linalg.solve, a, b),
            )


def sorted_with_places(x):
    places = np.argsort(x)
    return x[places], places


def sorts():
    """NumPy sorts values alone by vectors, too, and has no op of torch that wants no more."""
    for size in (100, 10_000, 1_000_000):
        for dtype in ("float32", "float64", "int32", "int64"):
            x = (random(size) * 1000).astype(dtype)
            yield f"sort {size} {dtype}", with_numpy(lambda t, x: t.sort(x), sorted_with_places, x)
            yield f"unique {size} {dtype}", with_numpy(lambda t, x: t.unique(x), np.unique, x)
            half = size // 2
            yield (
                f"kthvalue {size} {dtype}",
                with_numpy(
                    lambda t, x, k=half: t.kthvalue(x, k + 1).values,
                    lambda x, k=half: np.partition(x, k)[k],
                    x,
                ),
            )


def convolutions():
    for batch, channels, side, filters, width, groups in (
        (1, 3, 224, 64, 7, 1), (1, 64, 56, 64, 3, 1), (1, 256, 14, 256, 3, 1),
        (16, 64, 28, 128, 3, 1), (16, 128, 28, 128, 1, 1), (16, 96, 28, 96, 3, 96),
    ):  # fmt: skip
        x = random(batch, channels, side, side)
        weight = random(filters, channels // groups, width, width)
        for dtype in ("float32", "bfloat16"):
            call = with_torch(
                lambda t, x, w, g=groups: t.nn.functional.conv2d(x, w, padding="same", groups=g),
                x, weight, dtype=dtype,
            )  # fmt: skip
            shape = f"{batch} x {channels} x {side} x {side}"
            yield f"{shape}, {filters} of {width}, {groups} groups, {dtype}", call


def functions():
    for name in "exp log sin cos tan tanh sigmoid erf asin atan exp2 log1p expm1 sinh".split():
        for dtype in ("float32", "float64"):
            x = np.abs(random(65536, dtype=dtype)) / 5 + 0.01
            yield f"{name} {dtype}", with_torch(lambda t, x, n=name: getattr(t, n)(x), x)


PARTS = {
    "products and OpenBLAS": products,
    "transforms and pocketfft": transforms,
    "factors and OpenBLAS": factors,
    "sorts and x86-simd-sort": sorts,
    "convolutions and oneDNN": convolutions if torch else None,
    "functions and SLEEF, MKL": functions if torch else None,
}


def seconds(call, repeats):
    start = time.process_time()
    for _ in range(repeats):
        call()
    return (time.process_time() - start) / repeats


def ratio_of(calls, rounds):
    repeats = [max(1, int(0.005 / max(seconds(call, 2), 1e-7))) for call in calls]
    best = [math.inf, math.inf]
    for _ in range(rounds):
        for i, call in enumerate(calls):
            best[i] = min(best[i], seconds(call, repeats[i]))
    return best[0] / best[1]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="few rounds; parts only")
    parser.add_argument("--filter", default="", help="only parts with this in their name")
    options = parser.parse_args()
    for library in (ours, torch):
        if library is not None:
            library.set_num_threads(1)
    for part, cases in PARTS.items():
        if cases is None or options.filter not in part:
            continue
        ratios = {name: ratio_of(calls, 3 if options.quick else 10) for name, calls in cases()}
        if not options.quick:
            for name, ratio in ratios.items():
                print(f"    {name:45} {ratio:6.2f}")
        mean = math.exp(sum(map(math.log, ratios.values())) / len(ratios))
        most = max(ratios, key=ratios.get)
        print(f"{part}: mean {mean:.2f}, from {min(ratios.values()):.2f} to {ratios[most]:.2f} "
              f"({most}), {len(ratios)} cases", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
