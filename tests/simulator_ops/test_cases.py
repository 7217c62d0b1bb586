"""Every op against NumPy: over dtypes, shapes, and layouts of its tensors."""

import importlib
import pkgutil

import pytest

from . import cases
from .case import run

FAMILIES = sorted(module.name for module in pkgutil.iter_modules(cases.__path__))


def tables():
    for family in FAMILIES:
        module = importlib.import_module(f"{cases.__name__}.{family}")
        for name, make in module.OPS.items():
            yield pytest.param(make, id=f"{family}-{name}")


@pytest.mark.parametrize("make", list(tables()))
def test_op(npu, make):
    made = make()
    assert made
    for case in made:
        for layout in case.layouts:
            try:
                run(npu, case, layout)
            except AssertionError as error:
                raise AssertionError(f"{case.op} {case.name} {layout}: {error}") from error
