"""Products of float32 matrices against OpenBLAS, MKL and torch: the best of them is the measure.

    nice -n -10 .venv/bin/python benchmarks/products.py [--threads N] [--quick] [--check]

OpenBLAS is the library that the package is linked with, called directly; MKL that of PyPI's `mkl`,
if it is installed. All take turns, several rounds, and the best time of each counts. `--check`
fails when a product reaches less than 0.95 of the best rival's speed. A bias is added, and negative
numbers are cut off, by a second pass of NumPy where a library has no such product.
"""

import argparse
import ctypes
import functools
import glob
import os
import sys
import time

import numpy as np

LEAST_SPEED = 0.95
ROW_MAJOR, PLAIN, TRANSPOSED = 101, 111, 112
SQUARES = (16, 32, 64, 128, 256, 512, 1024, 2048, 4096)
OTHERS = (
    (1, 1024, 1024),
    (8, 1024, 1024),
    (64, 256, 256),
    (4096, 64, 64),
    (64, 4096, 64),
    (64, 64, 4096),
    (2048, 16, 2048),
    (16384, 32, 32),
    (200, 300, 400),
)
BATCHES = ((64, 64, 64, 64), (16, 128, 64, 128), (8, 256, 256, 256), (512, 16, 16, 16))


def openblas():
    import scipy_openblas32

    path = os.path.join(scipy_openblas32.get_lib_dir(), scipy_openblas32.get_library(fullname=True))
    library = ctypes.CDLL(path)
    return library.scipy_cblas_sgemm, library.scipy_openblas_set_num_threads


def mkl():
    found = sorted(glob.glob(os.path.join(sys.prefix, "lib", "libmkl_rt.so*")))
    if not found:
        return None
    library = ctypes.CDLL(found[0])
    return library.cblas_sgemm, library.MKL_Set_Num_Threads


def blas_call(sgemm, a, b, c, transposed, epilogue):
    """c = a @ b, or the same with a @ b.T, for each of a batch of products."""
    _, m, k = a.shape
    n = c.shape[2]
    one, zero = ctypes.c_float(1), ctypes.c_float(0)
    calls = [
        functools.partial(
            sgemm,
            *(ROW_MAJOR, PLAIN, TRANSPOSED if transposed else PLAIN, m, n, k, one),
            *(ctypes.c_void_p(x.ctypes.data), k),
            *(ctypes.c_void_p(y.ctypes.data), k if transposed else n, zero),
            *(ctypes.c_void_p(z.ctypes.data), n),
        )
        for x, y, z in zip(a, b, c, strict=True)
    ]

    def run():
        for call in calls:
            call()
        if epilogue is not None:
            epilogue(c)

    return run


def torch_call(torch, a, b, transposed, bias):
    x, y = torch.from_numpy(a), torch.from_numpy(b)
    if bias is not None:
        shift = torch.from_numpy(bias)
        return lambda: torch.nn.functional.linear(x[0], y[0], shift).relu_()
    if a.shape[0] == 1:
        x, y = x[0], y[0]
    return lambda: x @ (y.mT if transposed else y)


def add_and_cut(bias, c):
    np.add(c, bias, out=c)
    np.maximum(c, 0, out=c)


def seconds(call, repeats):
    start = time.perf_counter()
    for _ in range(repeats):
        call()
    return (time.perf_counter() - start) / repeats


def best_of(calls, rounds):
    repeats = [
        max(1, int(0.01 / max(min(seconds(call, 1), seconds(call, 1)), 1e-7))) for call in calls
    ]
    best = [float("inf")] * len(calls)
    for _ in range(rounds):
        for i, call in enumerate(calls):
            best[i] = min(best[i], seconds(call, repeats[i]))
    return best


def cases(quick):
    for n in SQUARES[:6] if quick else SQUARES:
        for kind in ("a @ b", "a @ b.mT", "bias, relu"):
            yield kind, (1, n, n, n)
    for shape in OTHERS:
        for kind in ("a @ b", "a @ b.mT", "bias, relu"):
            yield kind, (1, *shape)
    for shape in BATCHES:
        for kind in ("a @ b", "a @ b.mT"):
            yield kind, shape


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="small sizes, few rounds")
    parser.add_argument("--check", action="store_true", help="fail below 0.95 of the best")
    options = parser.parse_args()
    import mindtorch_v2
    import torch

    rivals = {
        name: library
        for name, library in (("OpenBLAS", openblas()), ("MKL", mkl()))
        if library is not None
    }
    random = np.random.default_rng(1)
    names = ["ours", *rivals, "torch"]
    print(
        f"{'product':12} {'batch x m x k x n':>20}", *(f"{x + ' us':>12}" for x in names), " speed"
    )
    slow = 0
    for kind, (batch, m, k, n) in cases(options.quick):
        transposed = kind != "a @ b"
        a = random.standard_normal((batch, m, k), dtype=np.float32)
        b = random.standard_normal((batch, n, k) if transposed else (batch, k, n), dtype=np.float32)
        bias = random.standard_normal(n, dtype=np.float32) if kind == "bias, relu" else None
        epilogue = None if bias is None else functools.partial(add_and_cut, bias)
        calls = [torch_call(mindtorch_v2, a, b, transposed, bias)]
        for sgemm, _ in rivals.values():
            c = np.empty((batch, m, n), dtype=np.float32)
            calls.append(blas_call(sgemm, a, b, c, transposed, epilogue))
        calls.append(torch_call(torch, a, b, transposed, bias))
        # Ours keeps OpenBLAS, which may be the same library, at one thread.
        mindtorch_v2.set_num_threads(options.threads)
        torch.set_num_threads(options.threads)
        for _, set_threads in rivals.values():
            set_threads(options.threads if batch == 1 else 1)
        times = best_of(calls, 3 if options.quick else 7)
        speed = min(times[1:]) / times[0]
        slow += speed < LEAST_SPEED
        print(
            f"{kind:12} {f'{batch} x {m} x {k} x {n}':>20}",
            *(f"{1e6 * x:12.1f}" for x in times),
            f"{speed:6.2f}",
            flush=True,
        )
    print(f"{slow} below {LEAST_SPEED}")
    return 1 if options.check and slow else 0


if __name__ == "__main__":
    sys.exit(main())
