"""Every op case, by family. A family's file has the same name as its definitions and kernels."""

import importlib
from dataclasses import replace

FAMILIES = (
    "creation",
    "unary",
    "binary",
    "ternary",
    "compare",
    "activation",
    "reduce",
    "scan",
    "softmax",
    "norm",
    "matmul",
    "attention",
    "views",
    "shape",
    "joining",
    "indexing",
    "embedding",
    "sort",
    "random",
)


def load(family: str) -> list:
    module = importlib.import_module(f"tests.ops.cases.{family}")
    return [replace(case, family=family) for case in module.CASES]


def all_cases() -> list:
    cases = [case for family in FAMILIES for case in load(family)]
    names = [(case.family, case.label) for case in cases]
    assert len(set(names)) == len(names), "two cases with one label"
    return cases
