"""Every op with one argument that makes no sense: an answer, and the device goes on."""

import ctypes

import numpy as np
import pytest

from . import acl
from .case import Arguments, Case, In, Ints, List, Out, Ref, run
from .test_cases import cases_of, tables

HUGE = 1 << 40


def by_op():
    """The smallest case of each op."""
    found = {}
    for parameter in tables():
        for case in cases_of(parameter.values[0]):
            size = sum(np.size(values_of(argument)) for argument in case.arguments)
            if case.op not in found or size < found[case.op][0]:
                found[case.op] = (size, case)
    return {op: case for op, (_, case) in found.items()}


def values_of(argument):
    return argument.expected if isinstance(argument, Out) else getattr(argument, "values", 0)


def odd(argument):
    """What may stand for the argument."""
    if isinstance(argument, (In, Out, Ref)):
        values = np.asarray(values_of(argument))
        yield None
        for shape in [(), (0,) * max(values.ndim, 1), (1,) * 9, (2, *values.shape)]:
            yield In(np.zeros(shape), argument.dtype)
        if values.dtype.kind in "iu":
            for number in (-1, HUGE):
                wide = np.full(values.shape, number, np.int64)
                yield In(wide.astype(acl.NUMPY[argument.dtype]), argument.dtype)
    elif isinstance(argument, Ints):
        for number in (-1, HUGE):
            yield Ints([number] * len(list(argument.values)))
        yield Ints([])
        yield Ints([0] * 12)
    elif isinstance(argument, List):
        yield List([])
        yield List(argument.members[1:])
    elif isinstance(argument, str):
        yield "?"
    elif isinstance(argument, int) and not isinstance(argument, bool):
        yield from (0, -1, -(1 << 62), HUGE)


def answer(npu, op, arguments):
    """The code of the first call that fails; 0: the op took the arguments."""
    made = Arguments(npu, arguments, "contiguous")
    workspace = ctypes.c_void_p()
    try:
        size, executor = acl.phase_one(op, made.handles)
        workspace = npu.malloc(size) if size else workspace
        acl.phase_two(op, workspace, size, executor, npu.stream)
        npu.synchronize()
    except acl.Error as error:
        assert op in error.text
        return error.code
    finally:
        made.close()
        if workspace:
            npu.free(workspace)
    return 0


CASES = by_op()


@pytest.mark.parametrize("op", sorted(CASES))
def test_op(npu, op):
    case: Case = CASES[op]
    for number, argument in enumerate(case.arguments):
        for other in odd(argument):
            given = [*case.arguments[:number], other, *case.arguments[number + 1 :]]
            assert answer(npu, op, given) in (0, 161001, 161002, 507015, 507018)
    run(npu, case, "contiguous")


def test_a_failed_task_says_why(npu):
    given = [In(np.zeros(3), "f32"), 0, In([7], "i64"), Out(np.zeros(1), "f32")]
    arguments = Arguments(npu, given, "contiguous")
    size, executor = acl.phase_one("aclnnIndexSelect", arguments.handles)
    acl.phase_two("aclnnIndexSelect", None, size, executor, npu.stream)
    with pytest.raises(acl.Error, match="aclnnIndexSelect failed .*: index 7 is out of range"):
        npu.synchronize()
    arguments.close()
