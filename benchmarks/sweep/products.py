"""Products of matrices: squares, tall and skinny, transposed, batched, with bias."""

from __future__ import annotations

from collections.abc import Iterator

from sweep.case import SweepCase

_DTYPES = ("float32", "float64", "bfloat16", "float16")
_SHAPES = [(n, n, n) for n in (16, 64, 256, 1024)] + [
    (1, 256, 256),
    (1, 4096, 1024),
    (8, 1024, 1024),
    (4096, 64, 64),
    (64, 4096, 64),
    (2048, 16, 2048),
]
_BATCHES = [
    (8, 16, 16, 16),
    (64, 64, 64, 64),
    (16, 128, 64, 128),
    (8, 256, 256, 256),
    (96, 1, 64, 128),
]


def _case(statement: str, dtype: str, layout: str, elements: int, setup: str) -> SweepCase:
    return SweepCase(statement, "product", dtype, layout, elements, statement, setup)


def _matrix(dtype: str, *shape: int) -> str:
    return f"torch.randn({', '.join(map(str, shape))}).to(torch.{dtype})"


def cases() -> Iterator[SweepCase]:
    for dtype in _DTYPES:
        for m, k, n in _SHAPES:
            layout, size = f"{m}x{k}x{n}", max(m * k, k * n, m * n)
            a, b = _matrix(dtype, m, k), _matrix(dtype, k, n)
            yield _case("a@b", dtype, layout, size, f"a = {a}; b = {b}")
            other = _matrix(dtype, n, k)
            bias = _matrix(dtype, n)
            setup = f"a = {a}; w = {other}; c = {bias}"
            yield _case("F.linear(a,w,c)", dtype, layout, size, setup)
            yield _case("a@w.t()", dtype, layout, size, setup)
            if m > 1:
                transposed = f"a = {_matrix(dtype, k, m)}; b = {b}"
                yield _case("a.t()@b", dtype, layout, size, transposed)
        for batch, m, k, n in _BATCHES:
            layout, size = f"{batch}x{m}x{k}x{n}", batch * max(m * k, k * n, m * n)
            a, b = _matrix(dtype, batch, m, k), _matrix(dtype, batch, k, n)
            yield _case("a.bmm(b)", dtype, layout, size, f"a = {a}; b = {b}")
            b = _matrix(dtype, batch, n, k)
            yield _case("a@b.mT", dtype, layout, size, f"a = {a}; b = {b}")
        for n in (64, 1024):
            setup = f"a = {_matrix(dtype, n, n)}; v = {_matrix(dtype, n)}"
            yield _case("a.mv(v)", dtype, f"{n}x{n}", n * n, setup)
            yield _case("v@a", dtype, f"{n}x{n}", n * n, setup)
            yield _case("v.dot(v)", dtype, f"{n}", n, setup)
            yield _case("torch.outer(v,v)", dtype, f"{n}", n * n, setup)
