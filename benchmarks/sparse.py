"""Products with sparse matrices, timed against torch on one thread.

    .venv/bin/python benchmarks/sparse.py [--rounds 5]

A matrix of 10,000 x 10,000 with 0.1 % of its elements, COO and CSR, times 64 and 256 columns; one
of 64 x 64, where the call counts. Both run in one process, in turn; the best counts.
"""

import argparse
import time

import mindtorch_v2


def random_matrix(torch, size, count, layout):
    """A coalesced sparse matrix of ones at places that a small generator draws."""
    places = sorted({(7919 * i * i + 104729 * i) % (size * size) for i in range(count)})
    indices = torch.tensor([[p // size for p in places], [p % size for p in places]])
    matrix = torch.sparse_coo_tensor(indices, torch.ones(len(places)), (size, size)).coalesce()
    return matrix.to_sparse_csr() if layout == "csr" else matrix


def make_forward(torch, matrix, dense):
    return lambda: torch.sparse.mm(matrix, dense)


def make_backward(torch, matrix, dense):
    matrix = matrix.detach().requires_grad_()
    dense = dense.detach().requires_grad_()

    def step():
        matrix.grad = dense.grad = None
        torch.sparse.mm(matrix, dense).sum().backward()

    return step


def best_seconds(call, least=0.2):
    call()
    best, total = float("inf"), 0.0
    while total < least:
        begin = time.perf_counter()
        call()
        taken = time.perf_counter() - begin
        best, total = min(best, taken), total + taken
    return best


def cases():
    for layout in ("coo", "csr"):
        for columns in (64, 256):
            yield f"{layout} 10k x {columns}", 10_000, 100_000, columns, layout, make_forward
        yield f"{layout} 10k x 64 backward", 10_000, 100_000, 64, layout, make_backward
        yield f"{layout} 64 x 8", 64, 200, 8, layout, make_forward


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    libraries = {"mindtorch": mindtorch_v2}
    try:
        import torch
    except ImportError:
        print("torch is not installed: no comparison")
    else:
        libraries["torch"] = torch
    for library in libraries.values():
        library.set_num_threads(1)
    for name, size, count, columns, layout, make in cases():
        calls = {
            key: make(lib, random_matrix(lib, size, count, layout), lib.ones(size, columns))
            for key, lib in libraries.items()
        }
        best = dict.fromkeys(calls, float("inf"))
        for _ in range(options.rounds):
            for key, call in calls.items():
                best[key] = min(best[key], best_seconds(call))
        line = f"{name:24}" + "".join(f"{k} {v * 1e6:10.1f} us   " for k, v in best.items())
        if len(best) == 2:
            line += f"ratio {best['mindtorch'] / best['torch']:.2f}"
        print(line, flush=True)


if __name__ == "__main__":
    main()
