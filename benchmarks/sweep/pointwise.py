"""Pointwise functions, their dtypes, layouts and sizes."""

from __future__ import annotations

from collections.abc import Iterator

from sweep.case import DTYPES, FLOATS, SIDES, SweepCase, values

_LAYOUTS = {
    "contiguous": "{n}, {n}",
    "transposed": "{n}, {n}|.t()",
    "strided": "{n}, {n} * 2|[:, ::2]",
}

_UNARY = """abs neg exp log sqrt rsqrt sin cos tan tanh sigmoid relu erf erfc erfinv floor round
    trunc ceil reciprocal square lgamma digamma log1p expm1 exp2 log2 log10 asin acos atan sinh cosh
    asinh atanh sign isnan isfinite frac logit sinc i0""".split()
_UNARY_INTEGERS = "abs neg square sign bitwise_not isnan sqrt exp".split()
_ACTIVATIONS = """F.gelu(a) F.silu(a) F.softplus(a) F.elu(a) F.leaky_relu(a) F.hardswish(a)
    F.mish(a) F.logsigmoid(a) F.hardtanh(a) F.selu(a) F.relu6(a)""".split()
# Functions with other ways for small and large arguments, which random data mixes.
_CURVES = """exp sin cos tan tanh sigmoid erf erfc atan sinh cosh asinh expm1 exp2 sinc i0
    lgamma digamma""".split()
_BINARY = """a+b a-b a*b a/b torch.maximum(a,b) torch.minimum(a,b) a<b a==b torch.remainder(a,b)
    torch.fmod(a,b) torch.copysign(a,b)""".split()
_BINARY_FLOATS = "torch.atan2(a,b) a**b torch.hypot(a,b) torch.logaddexp(a,b)".split()
_BINARY_INTEGERS = "a&b a|b a^b torch.floor_divide(a,b)".split()
_SCALARS = """a+1 a*2 a/3 a<1 a==2 torch.clamp(a,1,3) a.pow(2) a.pow(3) a.pow(4)
    torch.remainder(a,3)""".split()
_SCALARS_FLOATS = "a.pow(0.5) a.pow(-1) a.pow(1.7) torch.pow(2,a) 1/a 1-a".split()
_TERNARY = """torch.where(c,a,b) torch.addcmul(a,b,b) torch.where(c,a,0)
    a.masked_fill(c,0)""".split()
_IN_PLACE = "a.add_(b) a.mul_(1) a.fill_(1) a.zero_() a.copy_(b) a.clamp_(0,9)".split()


def _laid_out(dtype: str, n: int, layout: str) -> str:
    shape, _, view = _LAYOUTS[layout].partition("|")
    return values(dtype, shape.format(n=n)) + view


def _case(statement: str, dtype: str, layout: str, n: int, setup: str) -> SweepCase:
    return SweepCase(statement, "pointwise", dtype, layout, n * n, statement, setup)


def _unary() -> Iterator[SweepCase]:
    for dtype in DTYPES:
        names = _UNARY if dtype in FLOATS else _UNARY_INTEGERS
        statements = [f"a.{name}()" for name in names]
        statements += _ACTIVATIONS if dtype in ("float32", "bfloat16") else []
        statements += _SCALARS + (_SCALARS_FLOATS if dtype in FLOATS else [])
        for statement in statements:
            for n in SIDES:
                yield _case(
                    statement, dtype, "contiguous", n, f"a = {_laid_out(dtype, n, 'contiguous')}"
                )
        for layout in ("transposed", "strided"):
            for statement in (statements[0], statements[1], "a+1", "a.clone()"):
                for n in SIDES[1:]:
                    setup = f"a = {_laid_out(dtype, n, layout)}"
                    yield _case(statement, dtype, layout, n, setup)


def _wide() -> Iterator[SweepCase]:
    n = SIDES[1]
    for dtype in FLOATS:
        statements = [f"a.{name}()" for name in _CURVES]
        statements += _ACTIVATIONS if dtype in ("float32", "bfloat16") else []
        for statement in statements:
            setup = f"a = (torch.randn({n}, {n}) * 3).to(torch.{dtype})"
            yield _case(statement, dtype, "wide", n, setup)


def _binary() -> Iterator[SweepCase]:
    for dtype in DTYPES:
        statements = _BINARY + (_BINARY_FLOATS if dtype in FLOATS else _BINARY_INTEGERS)
        for n in SIDES:
            a = _laid_out(dtype, n, "contiguous")
            for statement in statements:
                yield _case(statement, dtype, "contiguous", n, f"a = {a}; b = {a}")
            for statement in _TERNARY:
                setup = f"a = {a}; b = {a}; c = torch.rand({n}, {n}) < 0.5"
                yield _case(statement, dtype, "contiguous", n, setup)
            for statement in _IN_PLACE:
                yield _case(statement, dtype, "contiguous", n, f"a = {a}; b = {a}")
        for n in SIDES[1:]:
            a = _laid_out(dtype, n, "contiguous")
            others = {
                "row": values(dtype, f"{n}"),
                "column": values(dtype, f"{n}, 1"),
                "transposed": _laid_out(dtype, n, "transposed"),
                "strided": _laid_out(dtype, n, "strided"),
            }
            for layout, other in others.items():
                for statement in ("a+b", "a*b", "torch.maximum(a,b)", "a<b"):
                    yield _case(statement, dtype, layout, n, f"a = {a}; b = {other}")


def _casts() -> Iterator[SweepCase]:
    for source in (*DTYPES, "bool"):
        for target in (*DTYPES, "bool"):
            if source == target:
                continue
            for n in SIDES[1:]:
                statement = f"a.to(torch.{target})"
                yield _case(
                    statement, source, "contiguous", n, f"a = {values(source, f'{n}, {n}')}"
                )


def cases() -> Iterator[SweepCase]:
    yield from _unary()
    yield from _wide()
    yield from _binary()
    yield from _casts()
