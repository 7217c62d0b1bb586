"""Powers, and reading and writing by index: every dtype, dim and kind of index, none slower than
torch. Too many for an ordinary run: `run.py --everyday` runs them."""

from __future__ import annotations

from collections.abc import Iterator

from cases.case import Case, judged

_FLOATS = ("float32", "float64", "float16", "bfloat16")
_INTS = ("int64", "int32", "int16", "uint8")
_EXPONENTS = ("0", "1", "2", "3", "4", "-1", "-2", "-0.5", "0.5", "2.5")


def _powers() -> Iterator[Case]:
    for dtype in _FLOATS:
        a = f"a = (torch.rand(1 << 20) + 0.5).to(torch.{dtype})"
        for exponent in _EXPONENTS:
            yield judged(f"a ** {exponent}, {dtype} 1M", "power", f"a ** {exponent}", a, 1.0, 1.0)
        both = f"{a}; b = (torch.rand(1 << 20) * 4).to(torch.{dtype})"
        yield judged(f"a ** b, {dtype} 1M", "power", "a ** b", both, 1.0, 1.0)
    for dtype in _INTS:
        a = f"a = torch.randint(0, 9, (1 << 20,)).to(torch.{dtype})"
        for exponent in ("0", "1", "2", "3", "5"):
            yield judged(f"a ** {exponent}, {dtype} 1M", "power", f"a ** {exponent}", a, 1.0, 1.0)
        both = f"{a}; b = torch.randint(0, 6, (1 << 20,)).to(torch.{dtype})"
        yield judged(f"a ** b, {dtype} 1M", "power", "a ** b", both, 1.0, 1.0)
    forms = {
        "transposed": "a = (torch.rand(1024, 1024) + 0.5).t()",
        "every other of 2M": "a = (torch.rand(1 << 21) + 0.5)[::2]",
        "rows of 2048, half of each": "a = (torch.rand(1024, 2048) + 0.5)[:, :1024]",
    }
    for form, setup in forms.items():
        for exponent in ("3", "-1", "-2", "-0.5", "2.5"):
            yield judged(f"a ** {exponent}, {form}", "power", f"a ** {exponent}", setup, 1.0, 1.0)


# `i` has an index for every element of `a`, `v` one for every slice.
_MOVES = (
    "a.gather({d}, i)",
    "torch.take_along_dim(a, i, {d})",
    "a.index_select({d}, v)",
    "z.scatter_({d}, i, a)",
    "z.index_copy_({d}, v, a)",
)
_SUMS = (
    "z.scatter_add_({d}, i, a)",
    "z.scatter_reduce_({d}, i, a, 'sum')",
    "z.scatter_reduce_({d}, i, a, 'amax')",
    "z.index_add_({d}, v, a)",
)
_SHAPES = (((1000, 1000), (0, 1)), ((1_000_000,), (0,)), ((100, 100, 100), (0, 1, 2)))


def _setup(shape: tuple[int, ...], dim: int, dtype: str, kind: str = "random") -> str:
    size = shape[dim]
    high = 7 if kind == "repeated" else size
    text = (
        f"a = (torch.rand({shape}) * 2).to(torch.{dtype}); z = torch.zeros({shape}).to(a.dtype); "
        f"i = torch.randint(0, {high}, {shape}); v = torch.randint(0, {high}, ({size},))"
    )
    if kind == "sorted":
        text += f"; i = i.sort({dim})[0]; v = v.sort()[0]"
    return text


def _place(statement: str, shape, dim: int, dtype: str, kind: str = "random") -> Case:
    stmt = statement.format(d=dim)
    name = f"{stmt}, {dtype} {'x'.join(map(str, shape))}"
    setup = _setup(shape, dim, dtype, kind)
    return judged(f"{name} {kind}", "places", stmt, setup, 1.0, 1.0)


def _places() -> Iterator[Case]:
    for shape, dims in _SHAPES:
        for dim in dims:
            for dtype in ("float32", "float16", "bfloat16", "int64", "uint8"):
                for statement in (*_MOVES, *_SUMS):
                    yield _place(statement, shape, dim, dtype)
                if dim == 0:
                    yield _place("z.index_put_((v,), a, accumulate=True)", shape, 0, dtype)
    for dim in (0, 1):
        for kind in ("sorted", "repeated"):
            for statement in (*_MOVES, *_SUMS):
                yield _place(statement, (1000, 1000), dim, "float32", kind)
    # One index for a whole row, as graph networks have it.
    rows = _setup((1000, 1000), 0, "float32") + "; i = v[:, None].expand(1000, 1000)"
    for stmt in ("a.gather(0, i)", "z.scatter_add_(0, i, a)", "z.scatter_(0, i, a)"):
        yield judged(f"{stmt}, float32 1000x1000 expanded", "places", stmt, rows, 1.0, 1.0)
    across = _setup((1000, 1000), 0, "float32") + "; a = a.t(); i = i.t()"
    for stmt in ("a.gather(0, i)", "z.scatter_add_(0, i, a)", "z.index_add_(0, v, a)"):
        yield judged(f"{stmt}, float32 1000x1000 transposed", "places", stmt, across, 1.0, 1.0)


CASES: list[Case] = [*_powers(), *_places()]
