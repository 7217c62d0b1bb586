"""Every op against NumPy: over dtypes, shapes, and layouts of its tensors."""

import functools
import importlib
import pathlib
import pkgutil
import re

import pytest

from . import acl, cases
from .case import run

FAMILIES = sorted(module.name for module in pkgutil.iter_modules(cases.__path__))


def tables():
    for family in FAMILIES:
        module = importlib.import_module(f"{cases.__name__}.{family}")
        for name, make in module.OPS.items():
            yield pytest.param(make, id=f"{family}-{name}")


@functools.cache
def cases_of(make):
    return make()


@pytest.mark.parametrize("make", list(tables()))
def test_op(npu, make):
    made = cases_of(make)
    assert made
    for case in made:
        for layout in case.layouts:
            try:
                run(npu, case, layout)
            except AssertionError as error:
                raise AssertionError(f"{case.op} {case.name} {layout}: {error}") from error


def covered():
    """The ops that a case runs, or a test of its own."""
    ops = {case.op for parameter in tables() for case in cases_of(parameter.values[0])}
    for path in pathlib.Path(__file__).parent.glob("test_*.py"):
        ops.update(re.findall(r'"(aclnn\w+)"', path.read_text()))
    return ops


def test_every_simulated_op_has_a_case(npu):
    not_simulated = 561003
    missing = []
    tested = covered()
    for op, parameters in acl.signatures().items():
        nothing = [acl.NOTHING.get(kind) for kind, _ in parameters]
        try:
            acl.phase_one(op, nothing)
        except acl.Error as error:
            if error.code != not_simulated and op not in tested:
                missing.append(op)
    assert missing == []
