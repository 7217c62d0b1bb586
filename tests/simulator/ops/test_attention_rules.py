"""Attention: the places of its many optional tensors, and what does not fit."""

import ctypes

import numpy as np
import pytest

from . import acl
from .case import Arguments, In, List, Out
from .cases import inference
from .test_rules import INVALID, fails


def test_the_block_table_of_a_repeatable_executor(npu):
    """Queries of 0 see the mean of the values; a new table shows them another block."""
    cache = np.ones((2, 4, 8))
    cache[1] = 5
    blocks = List([In(cache, "f16")])
    table = In([[0]], "i32")
    lengths = inference.Ints([4])
    out = Out(np.ones((1, 1, 8)), "f16")
    arguments = Arguments(
        npu,
        [
            In(np.zeros((1, 1, 8)), "f16"), blocks, List([In(cache, "f16")]), None, None, lengths,
            *[None] * 7, table, None, 1, 1.0, "BSH", 1, 4, 0, out,
        ],
        "contiguous",
    )  # fmt: skip
    op = "aclnnIncreFlashAttentionV4"
    size, executor = acl.phase_one(op, arguments.handles)
    acl.check("aclSetAclOpExecutorRepeatable", executor)
    workspace = npu.malloc(size)
    acl.phase_two(op, workspace, size, executor, npu.stream)
    npu.synchronize()
    arguments.verify()
    other = npu.upload(np.array([[1]], np.int32))
    place = 3  # after the query, a key and a value: tensors left out do not count
    given = arguments.handles[[name for _, name in acl.signatures()[op]].index("blocktable")]
    acl.check("aclSetInputTensorAddr", executor, ctypes.c_size_t(place), given, other)
    acl.phase_two(op, workspace, size, executor, npu.stream)
    npu.synchronize()
    assert (arguments.buffers[-1].read() == 5).all()
    acl.check("aclDestroyAclOpExecutor", executor)
    for pointer in (other, workspace):
        npu.free(pointer)
    arguments.close()


@pytest.mark.parametrize("rope", ["queryRopeOptional", "keyRopeOptional"])
def test_ropes_fit_queries_and_keys(npu, rope):
    op = "aclnnFusedInferAttentionScoreV3"
    names = [name for _, name in acl.signatures()[op]]
    case = next(
        case
        for make in inference.OPS.values()
        for case in make()
        if case.op == op and case.arguments[names.index("queryRopeOptional")] is not None
    )
    for shape in [(), (0, 0, 0, 0), (2, 4)]:
        given = list(case.arguments)
        given[names.index(rope)] = In(np.zeros(shape), given[0].dtype)
        arguments = Arguments(npu, given, "contiguous")
        with fails(INVALID, rope):
            acl.phase_one(op, arguments.handles)
        arguments.close()
