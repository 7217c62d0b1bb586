"""Every op case, by family; `python -m mindtorch_v2.where OP` finds definition and kernels."""

import importlib
from dataclasses import replace

from tests.ops.case import ALL

FAMILIES = (
    "creation",
    "unary",
    "special",
    "binary",
    "ternary",
    "compare",
    "complex",
    "activation",
    "reduce",
    "scan",
    "softmax",
    "norm",
    "matmul",
    "linalg",
    "fft",
    "attention",
    "convolution",
    "pooling",
    "views",
    "shape",
    "joining",
    "indexing",
    "embedding",
    "recurrent",
    "sampling",
    "ctc",
    "sort",
    "random",
)


def load(family: str) -> list:
    module = importlib.import_module(f"tests.ops.cases.{family}")
    return [replace(case, family=family) for case in module.CASES]


def one_call_each(family: str):
    """The cases that differ by more than a dtype argument, for repeated calls: without a seed."""
    seen = set()
    for case in load(family):
        if case.variant not in ALL or case.name not in seen:
            seen.add(case.name)
            yield case.but(seeded=False)


def all_cases() -> list:
    cases = [case for family in FAMILIES for case in load(family)]
    names = [(case.family, case.label) for case in cases]
    assert len(set(names)) == len(names), "two cases with one label"
    return cases
