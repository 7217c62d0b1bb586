"""The two phases: executors, workspaces, lifetimes of descriptors, and what bad arguments give."""

import ctypes

import numpy as np
import pytest

from . import acl
from .case import Arguments, In, Ints, List, Out, Ref, Scalar, launch

NULL_POINTER, INVALID, NOT_FOUND = 161001, 161002, 561003


def zeros(shape=(2, 3)):
    return np.zeros(shape, np.float32)


def add_arguments(npu, layout="contiguous", **more):
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    return Arguments(npu, [In(x, "f32"), In(x, "f32"), Scalar(1, "f32"), Out(2 * x, "f32")], layout)


def fails(code, *words):
    """The call gives `code`, and a text with all the words."""

    class Check:
        def __enter__(self):
            return self

        def __exit__(self, kind, error, _):
            assert kind is acl.Error, "the call succeeded"
            assert error.code == code, str(error)
            for word in words:
                assert word in error.text, error.text
            return True

    return Check()


def test_an_executor_runs_once(npu):
    arguments = add_arguments(npu)
    size, executor = acl.phase_one("aclnnAdd", arguments.handles)
    acl.phase_two("aclnnAdd", None, size, executor, npu.stream)
    with fails(INVALID, "aclnnAdd", "used up"):
        acl.phase_two("aclnnAdd", None, size, executor, npu.stream)
    with fails(INVALID, "aclDestroyAclOpExecutor", "used up"):
        acl.check("aclDestroyAclOpExecutor", executor)
    npu.synchronize()
    arguments.verify()
    arguments.close()


def test_an_unused_executor_is_destroyed(npu):
    arguments = add_arguments(npu)
    _, executor = acl.phase_one("aclnnAdd", arguments.handles)
    acl.check("aclDestroyAclOpExecutor", executor)
    with fails(INVALID, "used up"):
        acl.phase_two("aclnnAdd", None, 0, executor, npu.stream)
    with fails(561103):
        acl.check("aclDestroyAclOpExecutor", None)
    arguments.close()


def test_a_failed_second_phase_uses_the_executor_up(npu):
    arguments = add_arguments(npu, "transposed")
    size, executor = acl.phase_one("aclnnAdd", arguments.handles)
    assert size > 0
    with fails(NULL_POINTER, "workspace"):
        acl.phase_two("aclnnAdd", None, size, executor, npu.stream)
    with fails(INVALID, "used up"):
        acl.phase_two("aclnnAdd", None, size, executor, npu.stream)
    arguments.close()


def test_the_workspace_must_be_large_enough(npu):
    arguments = add_arguments(npu, "transposed")
    size, executor = acl.phase_one("aclnnAdd", arguments.handles)
    workspace = npu.malloc(size)
    with fails(INVALID, "workspaceSize", str(size)):
        acl.phase_two("aclnnAdd", workspace, size - 1, executor, npu.stream)
    npu.free(workspace)
    arguments.close()


def test_the_workspace_is_written(npu):
    arguments = add_arguments(npu, "transposed")
    size, executor = acl.phase_one("aclnnAdd", arguments.handles)
    before = np.full(size, 7, np.uint8)
    workspace = npu.upload(before)
    acl.phase_two("aclnnAdd", workspace, size, executor, npu.stream)
    npu.synchronize()
    assert (npu.download(workspace, before) != before).any()
    arguments.verify()
    npu.free(workspace)
    arguments.close()


def test_contiguous_tensors_need_no_workspace(npu):
    arguments = add_arguments(npu)
    size, executor = acl.phase_one("aclnnAdd", arguments.handles)
    assert size == 0
    acl.check("aclDestroyAclOpExecutor", executor)
    arguments.close()


def test_a_null_executor(npu):
    with fails(NULL_POINTER, "aclnnAdd", "executor"):
        acl.phase_two("aclnnAdd", None, 0, None, npu.stream)


def test_the_executor_of_another_op(npu):
    arguments = add_arguments(npu)
    size, executor = acl.phase_one("aclnnAdd", arguments.handles)
    with fails(INVALID, "aclnnMul", "aclnnAdd"):
        acl.phase_two("aclnnMul", None, size, executor, npu.stream)
    arguments.close()


def test_a_repeatable_executor_with_changed_addresses(npu):
    arguments = add_arguments(npu)
    size, executor = acl.phase_one("aclnnAdd", arguments.handles)
    acl.check("aclSetAclOpExecutorRepeatable", executor)
    acl.phase_two("aclnnAdd", None, size, executor, npu.stream)
    other = np.full((2, 3), 100, np.float32)
    pointer, result = npu.upload(other), npu.upload(zeros())
    first, second, _, out = arguments.handles
    index = ctypes.c_size_t
    acl.check("aclSetInputTensorAddr", executor, index(1), second, pointer)
    acl.check("aclSetOutputTensorAddr", executor, index(0), out, result)
    acl.phase_two("aclnnAdd", None, size, executor, npu.stream)
    npu.synchronize()
    arguments.verify()  # of the first run
    want = np.arange(6).reshape(2, 3) + 100
    np.testing.assert_array_equal(npu.download(result, zeros()), want)
    with fails(INVALID, "index"):
        acl.check("aclSetInputTensorAddr", executor, index(2), second, pointer)
    with fails(INVALID, "self"):
        acl.check("aclSetInputTensorAddr", executor, index(0), second, pointer)
    acl.check("aclDestroyAclOpExecutor", executor)
    npu.free(pointer)
    npu.free(result)
    arguments.close()


def test_addresses_in_a_list(npu):
    x = np.ones((2, 3), np.float32)
    members = [In(x, "f32"), In(x, "f32")]
    arguments = Arguments(npu, [List(members), 0, Out(np.ones((4, 3)), "f32")], "contiguous")
    size, executor = acl.phase_one("aclnnCat", arguments.handles)
    acl.check("aclSetAclOpExecutorRepeatable", executor)
    pointer = npu.upload(5 * x)
    at = ctypes.c_size_t
    tensors = arguments.handles[0]
    acl.check("aclSetDynamicInputTensorAddr", executor, at(0), at(1), tensors, pointer)
    acl.phase_two("aclnnCat", None, size, executor, npu.stream)
    npu.synchronize()
    result = arguments.buffers[-1].read()
    np.testing.assert_array_equal(result, np.concatenate([x, 5 * x]))
    acl.check("aclDestroyAclOpExecutor", executor)
    npu.free(pointer)
    arguments.close()


@pytest.mark.parametrize("place, name", [(0, "self"), (2, "alpha"), (3, "out")])
def test_a_descriptor_destroyed_too_early(npu, place, name):
    arguments = add_arguments(npu)
    size, executor = acl.phase_one("aclnnAdd", arguments.handles)
    destroy, handle = arguments.destroy.pop(place)
    acl.check(destroy, handle)
    with fails(INVALID, "aclnnAdd", name, "destroyed"):
        acl.phase_two("aclnnAdd", None, size, executor, npu.stream)
    arguments.close()


def test_a_descriptor_destroyed_before_the_first_phase(npu):
    arguments = add_arguments(npu)
    destroy, handle = arguments.destroy.pop(1)
    acl.check(destroy, handle)
    with fails(INVALID, "other", "destroyed"):
        acl.phase_one("aclnnAdd", arguments.handles)
    with fails(INVALID, "destroyed"):
        acl.check(destroy, handle)
    arguments.close()


def test_descriptors_may_go_after_the_second_phase(npu):
    arguments = add_arguments(npu, "transposed")
    workspace = launch(npu, "aclnnAdd", arguments.handles)
    for destroy, handle in arguments.destroy:
        acl.check(destroy, handle)
    npu.synchronize()
    arguments.verify()
    npu.free(workspace)
    for made in arguments.buffers:
        made.free()


def test_a_list_owns_its_members(npu):
    arguments = Arguments(npu, [List([In(zeros(), "f32")])], "contiguous")
    member = arguments.buffers[0].handle
    acl.check("aclDestroyTensorList", arguments.handles[0])
    with fails(INVALID, "destroyed"):
        acl.check("aclDestroyTensor", member)
    acl.check("aclDestroyTensor", None)
    arguments.buffers[0].free()


def test_empty_tensors_need_nothing(npu):
    empty = In(zeros((0, 3)), "f32")
    out = Out(zeros((0, 3)), "f32")
    arguments = Arguments(npu, [empty, empty, Scalar(1, "f32"), out], "sliced")
    size, executor = acl.phase_one("aclnnAdd", arguments.handles)
    assert size == 0
    acl.phase_two("aclnnAdd", None, 0, executor, npu.stream)
    arguments.close()


A, B = In(zeros(), "f32"), In(zeros(), "f32")
ONE, OUT = Scalar(1, "f32"), Out(zeros(), "f32")
HEADS = [In(zeros((1, 2, 3, 4)), "f32")] * 3
NO_MASKS = [None] * 4
ATTENTION = [1.0, 1.0, 9, 9, 2]
ROWS = Out(zeros((1, 2, 3, 8)), "f32")
BAD = {
    "no self": ("aclnnAdd", [None, B, ONE, OUT], NULL_POINTER, "self"),
    "no other": ("aclnnAdd", [A, None, ONE, OUT], NULL_POINTER, "other"),
    "no scalar": ("aclnnAdd", [A, B, None, OUT], NULL_POINTER, "alpha"),
    "no out": ("aclnnAdd", [A, B, ONE, None], NULL_POINTER, "out"),
    "shapes": ("aclnnAdd", [A, In(zeros((2, 4)), "f32"), ONE, OUT], INVALID, "self and other"),
    "out's shape": ("aclnnAdd", [A, B, ONE, Out(zeros((3, 2)), "f32")], INVALID, "out has shape"),
    "dtype": ("aclnnGelu", [In(zeros(), "i32"), OUT], INVALID, "self has dtype INT32"),
    "shrinking by less than nothing": (
        "aclnnSoftshrink", [A, Scalar(-1.0, "f32"), OUT], INVALID, "lambd is negative",
    ),
    "sorted doubles": (
        "aclnnSort", [In(zeros(), "f64"), True, 0, False, Out(zeros(), "f64"), Out(zeros(), "i64")],
        INVALID, "self has dtype DOUBLE",
    ),
    "largest bytes": (
        "aclnnMaxDim", [In(zeros(), "u8"), 1, False, Out(zeros(2), "u8"), Out(zeros(2), "i64")],
        INVALID, "self has dtype UINT8",
    ),
    "double eye": ("aclnnEye", [3, 3, Out(zeros((3, 3)), "f64")], INVALID, "out has dtype DOUBLE"),
    "cast": ("aclnnAdd", [A, B, ONE, Out(zeros(), "bool")], INVALID, "out"),
    "cast to integers": (
        "aclnnAdd", [A, B, ONE, Out(zeros(), "i64")], INVALID,
        "FLOAT can't be cast to the desired output type",
    ),
    "cast of a complex": (
        "aclnnMul", [A, In(zeros(), "c64"), OUT], INVALID, "COMPLEX64 can't be cast to",
    ),
    "cast in place": (
        "aclnnInplaceSub", [Ref(zeros(), "i64", zeros()), A, ONE], INVALID, "can't be cast to",
    ),
    "cast of a fraction": (
        "aclnnInplaceSqrt", [Ref(zeros(), "i32", zeros())], INVALID, "FLOAT can't be cast to",
    ),
    "cat's cast": ("aclnnCat", [List([A, B]), 0, Out(zeros((4, 3)), "i32")], INVALID, "out"),
    "few bits": (
        "aclnnArange", [ONE, Scalar(3, "f32"), ONE, Out(zeros(2), "i16")], INVALID, "dtype INT16",
    ),
    "whole step": (
        "aclnnArange",
        [Scalar(0, "f64"), Scalar(2, "f64"), Scalar(0.5, "f64"), Out(zeros(4), "i64")],
        INVALID, "step is 0 as an integer",
    ),
    "index's dtype": (
        "aclnnIndex", [A, List([In(zeros(2), "f32")]), OUT], INVALID, "indices[0] has dtype FLOAT",
    ),
    "bytes as a mask": (
        "aclnnIndex", [A, List([In(zeros(2), "u8")]), OUT], INVALID, "indices[0] has dtype UINT8",
    ),
    "four pads of a volume": (
        "aclnnConvolution",
        [In(zeros((1, 1, 2, 2, 2)), "f32"), In(zeros((1, 1, 1, 1, 1)), "f32"), None,
         Ints([1, 1, 1]), Ints([0] * 6), Ints([1, 1, 1]), False, Ints([0, 0, 0]), 1,
         Out(zeros((1, 1, 2, 2, 2)), "f32"), 0],
        INVALID, "padding must have 3 values",
    ),
    "kernel of nothing": (
        "aclnnConvolution",
        [In(zeros((1, 1, 2)), "f32"), In(zeros((1, 1, 0)), "f32"), None, Ints([1]), Ints([0]),
         Ints([1]), True, Ints([0]), 1, Out(zeros((1, 1, 1)), "f32"), 0],
        INVALID, "weight has a kernel of size 0",
    ),
    "dstType": (
        "aclnnDynamicQuantV2",
        [In(zeros((2, 8)), "f16"), None, None, 2, Out(zeros((2, 8)), "i4"), Out(zeros(2), "f32"),
         None],
        INVALID, "dstType is 2",
    ),
    "eights": (
        "aclnnDynamicQuantV2",
        [In(zeros((2, 6)), "f16"), None, None, 3, Out(zeros((2, 1)), "i32"), Out(zeros(2), "f32"),
         None],
        INVALID, "multiple of 8",
    ),
    "no promotion": ("aclnnEqTensor", [A, In(zeros(), "u32"), OUT], INVALID, "promote"),
    "double matmul": (
        "aclnnMatmul", [In(zeros(), "f64"), In(zeros((3, 2)), "f64"), OUT, 0], INVALID, "self",
    ),
    "inner sizes": ("aclnnMatmul", [A, B, OUT, 0], INVALID, "self and mat2"),
    "rank": ("aclnnMm", [In(zeros(3), "f32"), B, OUT, 0], INVALID, "self has 1 dim"),
    "math type": ("aclnnMm", [A, In(zeros((3, 3)), "f32"), OUT, 9], INVALID, "cubeMathType"),
    "dim": ("aclnnSoftmax", [A, 2, OUT], INVALID, "dim is 2"),
    "dims": ("aclnnReduceSum", [A, None, False, 0, OUT], NULL_POINTER, "dims"),
    "dims twice": ("aclnnReduceSum", [A, Ints([0, 0]), False, 0, OUT], INVALID, "dims"),
    "cast's dtype": ("aclnnCast", [A, 1, OUT], INVALID, "dtype"),
    "mode": ("aclnnDivMod", [A, B, 7, OUT], INVALID, "mode is 7"),
    "both bounds": ("aclnnClamp", [A, None, None, OUT], NULL_POINTER, "clipValueMin"),
    "k": (
        "aclnnTopk", [A, 9, 1, True, True, OUT, Out(zeros(), "i64")], INVALID, "k is 9",
    ),
    "index dtype": ("aclnnGather", [A, 0, B, OUT], INVALID, "index"),
    "step": ("aclnnArange", [ONE, ONE, Scalar(0, "f32"), OUT], INVALID, "step"),
    "empty list": ("aclnnCat", [List([]), 0, OUT], INVALID, "tensors"),
    "not square": ("aclnnInverse", [A, OUT], INVALID, "not square"),
    "letters": ("aclnnEinsum", [List([A]), "ij1->ij", OUT], INVALID, "equation"),
    "letters' dims": ("aclnnEinsum", [List([A]), "ijk->ij", OUT], INVALID, "equation"),
    "bins": ("aclnnHistc", [A, 0, ONE, ONE, Out(zeros(0), "f32")], INVALID, "bins"),
    "odd halves": ("aclnnGluBackward", [A, A, 1, OUT], INVALID, "odd size"),
    "norm's order": (
        "aclnnRenorm", [A, Scalar(-1, "f32"), 0, ONE, OUT], INVALID, "p must not be negative",
    ),
    "room": (
        "aclnnUniqueDim",
        [A, True, True, 0, Out(zeros(3), "f32"), Out(zeros(2), "i64"), Out(zeros(2), "i64")],
        INVALID, "valueOut must have room",
    ),
    "slice's length": (
        "aclnnStridedSliceAssignV2",
        [Ref(zeros(), "f32", zeros()), A, Ints([0]), Ints([2, 2]), Ints([1]), None],
        INVALID, "one length",
    ),
    "parts": ("aclnnComplex", [A, A, Out(zeros(), "c128")], INVALID, "out must have dtype"),
    "bag's mode": (
        "aclnnEmbeddingBag",
        [A, In(zeros(3), "i64"), In(zeros(2), "i64"), False, 3, False, None, False, -1, OUT,
         Out(zeros(3), "i64"), Out(zeros(2), "i64"), Out(zeros(2), "i64")],
        INVALID, "mode is 3",
    ),
    "layout": (
        "aclnnFlashAttentionScore",
        [*HEADS, *NO_MASKS, None, *ATTENTION, "SBN", 0, 0, ROWS, ROWS, None, HEADS[0]],
        INVALID, "inputLayout is SBN",
    ),
    "heads": (
        "aclnnFlashAttentionScore",
        [*HEADS[:2], In(zeros((1, 2, 5, 4)), "f32"), *NO_MASKS, None, *ATTENTION, "BNSD", 0, 0,
         ROWS, ROWS, None, HEADS[0]],
        INVALID, "do not fit",
    ),
    "compressed mask": (
        "aclnnFlashAttentionScore",
        [*HEADS, *NO_MASKS[:3], In(zeros((3, 3)), "bool"), None, *ATTENTION, "BNSD", 0, 2, ROWS,
         ROWS, None, HEADS[0]],
        INVALID, "attenMaskOptional has shape",
    ),
    "packed ends": (
        "aclnnFlashAttentionVarLenScore",
        [*[In(zeros((4, 2, 4)), "f32")] * 3, *NO_MASKS, None, Ints([3, 2]), Ints([2, 4]),
         *ATTENTION, "TND", 0, 0, ROWS, ROWS, None, HEADS[0]],
        INVALID, "actualSeqQLenOptional must rise",
    ),
    "quantised": (
        "aclnnIncreFlashAttentionV2",
        [In(zeros((1, 2, 1, 4)), "f16"), *[List([In(zeros((1, 2, 3, 4)), "f16")])] * 2, None, None,
         None, A, None, None, None, None, 2, 1.0, "BNSD", 2, Out(zeros((1, 2, 1, 4)), "f16")],
        INVALID, "dequantScale1 is not simulated",
    ),
    "one position": (
        "aclnnIncreFlashAttention",
        [In(zeros((1, 2, 3, 4)), "f16"), *[List([In(zeros((1, 2, 3, 4)), "f16")])] * 2, None, None,
         None, 2, 1.0, "BNSD", 2, Out(zeros((1, 2, 3, 4)), "f16")],
        INVALID, "query must have one position",
    ),
    "reduction's name": (
        "aclnnCrossEntropyLoss",
        [A, In(zeros(2), "i64"), None, "most", -100, 0.0, 0.0, False, Out(zeros(()), "f32"), OUT,
         None, None],
        INVALID, "reductionOptional is most",
    ),
    "blank": (
        "aclnnCtcLoss",
        [In(zeros((4, 1, 3)), "f32"), In(zeros((1, 2)), "i64"), Ints([4]), Ints([2]), 3, False,
         Out(zeros(1), "f32"), Out(zeros((1, 4, 5)), "f32")],
        INVALID, "blank",
    ),
    "in place": (
        "aclnnInplaceAdd", [Ref(zeros((1, 3)), "f32", zeros((1, 3))), A, ONE], INVALID, "selfRef",
    ),
}  # fmt: skip


def refused(npu, op, given, code, word):
    """Phase one gives `code` and a text with the op and `word`."""
    arguments = Arguments(npu, given, "contiguous")
    with fails(code, op, word):
        acl.phase_one(op, arguments.handles)
    arguments.close()


@pytest.mark.parametrize("name", BAD)
def test_bad_arguments(npu, name):
    refused(npu, *BAD[name])


def test_null_results_of_the_first_phase(npu):
    arguments = add_arguments(npu)
    call = acl.function("aclnnAddGetWorkspaceSize")
    assert call(*arguments.handles, None, None) == NULL_POINTER
    assert "executor" in acl.message()
    arguments.close()


def test_an_op_that_is_not_simulated(npu):
    call = acl.function("aclnnPrecisionCompareGetWorkspaceSize")
    size, executor = ctypes.c_uint64(), ctypes.c_void_p()
    assert call(None, None, None, ctypes.byref(size), ctypes.byref(executor)) == NOT_FOUND
    assert "aclnnPrecisionCompare" in acl.message()


def test_an_index_out_of_range_fails_on_the_device(npu):
    x, where = zeros(), np.array([5])
    arguments = Arguments(
        npu, [In(x, "f32"), 0, In(where, "i64"), Out(zeros((1, 3)), "f32")], "contiguous"
    )
    launch(npu, "aclnnIndexSelect", arguments.handles)
    with fails(507015):
        npu.synchronize()
    arguments.close()


def test_what_a_tensor_says_of_itself(npu):
    arguments = Arguments(npu, [In(zeros((2, 3)), "f16")], "transposed")
    tensor = arguments.handles[0]
    assert acl.view_shape(tensor) == [2, 3]
    strides, count = ctypes.POINTER(ctypes.c_int64)(), ctypes.c_uint64()
    acl.check("aclGetViewStrides", tensor, ctypes.byref(strides), ctypes.byref(count))
    assert [strides[i] for i in range(count.value)] == [1, 2]
    dtype, offset, address = ctypes.c_int(), ctypes.c_int64(), ctypes.c_void_p()
    acl.check("aclGetDataType", tensor, ctypes.byref(dtype))
    acl.check("aclGetViewOffset", tensor, ctypes.byref(offset))
    acl.check("aclGetRawTensorAddr", tensor, ctypes.byref(address))
    assert (dtype.value, offset.value) == (acl.CODES["f16"], 0)
    assert address.value == arguments.buffers[0].pointer.value
    arguments.close()
