"""Reductions, scans, sorting, indexing, joining and filling."""

from __future__ import annotations

from collections.abc import Iterator

from sweep.case import DTYPES, FLOATS, SIDES, SweepCase, values

_REDUCTIONS = "a.sum({}) a.amax({}) a.prod({})".split()
_REDUCTIONS_BY_DIM = "a.max({}) a.argmax({}) a.cumsum({})".split()
_REDUCTIONS_FLOATS = "a.mean({}) a.var({}) a.norm(2,{}) a.logsumexp({}) a.softmax({})".split()
_SORTS = ["a.sort(1)", "a.topk(10,1)", "a.argsort(1)", "a.median(1)", "a.kthvalue(5,1)"]
_SORTS += ["a.sort(0)", "a.unique()"]
# statement, further setup
_MOVES = [
    ("a.clone()", ""),
    ("a.t().contiguous()", ""),
    ("torch.cat([a,b])", "b = a.clone()"),
    ("torch.cat([a,b],1)", "b = a.clone()"),
    ("torch.stack([a,b])", "b = a.clone()"),
    ("torch.stack([a,b],2)", "b = a.clone()"),
    ("a.repeat(2,2)", ""),
    ("a.repeat_interleave(2,1)", ""),
    ("a.flip(0)", ""),
    ("a.flip(1)", ""),
    ("a.roll(3,1)", ""),
    ("a.roll(3,0)", ""),
    ("a.tril()", ""),
    ("a.gather(0,i)", "i = torch.randint({n}, ({n}, {n}))"),
    ("a.gather(1,i)", "i = torch.randint({n}, ({n}, {n}))"),
    ("a.scatter(0,i,b)", "i = torch.randint({n}, ({n}, {n})); b = a.clone()"),
    ("a.scatter(1,i,b)", "i = torch.randint({n}, ({n}, {n})); b = a.clone()"),
    ("a.scatter_add(0,i,b)", "i = torch.randint({n}, ({n}, {n})); b = a.clone()"),
    ("a.scatter_add(1,i,b)", "i = torch.randint({n}, ({n}, {n})); b = a.clone()"),
    ("a.index_select(0,i)", "i = torch.randint({n}, ({n},))"),
    ("a.index_select(1,i)", "i = torch.randint({n}, ({n},))"),
    ("a.index_add(0,i,b)", "i = torch.randint({n}, ({n},)); b = a.clone()"),
    ("a.index_add(1,i,b)", "i = torch.randint({n}, ({n},)); b = a.clone()"),
    ("a[i]", "i = torch.randint({n}, ({n},))"),
    ("a[:,i]", "i = torch.randint({n}, ({n},))"),
    ("a[i,j]", "i = torch.randint({n}, ({n},)); j = torch.randint({n}, ({n},))"),
    ("a[c]", "c = torch.rand({n}, {n}) < 0.5"),
    ("a.masked_select(c)", "c = torch.rand({n}, {n}) < 0.5"),
    ("a.take(i)", "i = torch.randint({n} * {n}, ({n},))"),
    ("a.nonzero()", ""),
    ("a.diagonal().clone()", ""),
    ("torch.where(a>2)", ""),
    ("a.unfold(1,2,2).contiguous()", ""),
    ("a.expand(2,{n},{n}).contiguous()", ""),
    ("F.pad(a,(1,1,1,1))", ""),
]
_FILLS = "torch.full(({n},{n}),3,dtype=d) torch.zeros({n},{n},dtype=d) torch.ones({n},{n},dtype=d)"
_FILLS += " torch.arange({n}*{n},dtype=d) torch.eye({n},dtype=d)"
_RANDOM = (
    "torch.rand({n},{n}) torch.randn({n},{n}) torch.randint(9,({n},{n})) torch.randperm({n}*{n})"
)
_RANDOM += " a.bernoulli(0.5) F.dropout(a,0.5) a.multinomial(8,True)"


def _case(family: str, statement: str, dtype: str, n: int, extra: str = "") -> SweepCase:
    statement = statement.format("", n=n) if "{" in statement else statement
    setup = f"a = {values(dtype, f'{n}, {n}')}; d = torch.{dtype}"
    if extra:
        setup += "; " + extra.format(n=n)
    name = statement.replace(str(n), "n")
    return SweepCase(name, family, dtype, "contiguous", n * n, statement, setup)


def cases() -> Iterator[SweepCase]:
    for dtype in DTYPES:
        for n in SIDES:
            names = [name.format("") for name in _REDUCTIONS] + ["a.argmax()", "a.any()"]
            whole = _REDUCTIONS + _REDUCTIONS_BY_DIM
            names += [name.format(dim) for name in whole for dim in (0, 1)]
            if dtype in FLOATS:
                names += ["a.mean()", "a.var()", "a.norm()"]
                names += [name.format(dim) for name in _REDUCTIONS_FLOATS for dim in (0, 1)]
            for name in names:
                yield _case("reduction", name, dtype, n)
            for name in _SORTS:
                yield _case("sort", name, dtype, n)
            for statement, extra in _MOVES:
                yield _case("move", statement, dtype, n, extra)
            for statement in _FILLS.split():
                yield _case("fill", statement, dtype, n)
    for n in SIDES:
        for statement in _RANDOM.split():
            yield _case("random", statement, "float32", n)
