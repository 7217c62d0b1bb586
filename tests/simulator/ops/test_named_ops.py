"""Ops by name (aclopCompileAndExecute) against NumPy: attributes, inputs of the host, codes."""

import ctypes

import numpy as np
import pytest

from . import acl, named
from .named import Tensor, run
from .values import assert_close, random

HOST = True


def host(values):
    return (np.asarray(values), "i64", HOST)


X = random((2, 3, 4), "f32", 1)
INT = random((3, 4), "i32", 2)
MATRICES = [random((2, 3, 4), "f32", 3), random((2, 4, 5), "f32", 4)]


def turned(x):
    return np.ascontiguousarray(x.swapaxes(-1, -2))


# name, op, inputs, outputs as (expected, dtype), attributes
CASES = [
    ("identity", "Identity", [(X, "f32")], [(X, "f32")], {}),
    ("identity of one number", "Identity", [(X[0, 0, 0], "f32")], [(X[0, 0, 0], "f32")], {}),
    ("identity, reshaped", "Identity", [(X, "f32")], [(X.reshape(6, 4), "f32")], {}),
    ("cast", "Cast", [(INT, "i32")], [(INT, "f16")], {"dst_type": 1}),
    (
        "slice",
        "Slice",
        [(X, "f32"), host([1, 0, 1]), host([1, 2, -1])],
        [(X[1:2, :2, 1:], "f32")],
        {},
    ),
    (
        "strided slice",
        "StridedSlice",
        [(X, "f32"), host([1, 2, 0]), host([2, -4, 4]), host([1, -1, 2])],
        [(X[1, ::-1, ::2], "f32")],
        {"shrink_axis_mask": 1},
    ),
    ("transpose", "Transpose", [(X, "f32"), host([2, 0, 1])], [(X.transpose(2, 0, 1), "f32")], {}),
    (
        "broadcast",
        "BroadcastTo",
        [(X[:1], "f32"), host([5, 3, 4])],
        [(np.broadcast_to(X[:1], (5, 3, 4)), "f32")],
        {},
    ),
    (
        "pad",
        "Pad",
        [(X[0], "f32"), host([1, 0, 2, 1])],
        [(np.pad(X[0], ((1, 0), (2, 1))), "f32")],
        {},
    ),
    (
        "norm of order 2",
        "LpNormReduceV2",
        [(X, "f32")],
        [((X**2).sum((0, 2), keepdims=True), "f32")],
        {"p": 2.0, "axes": [0, 2], "keepdim": True},
    ),
    (
        "norm of order 0",
        "LpNormReduceV2",
        [(INT.astype(np.float32), "f32")],
        [((INT != 0).sum(1), "f32")],
        {"p": 0.0, "axes": [1], "keepdim": False},
    ),
    (
        "norm of order infinity",
        "LpNormReduceV2",
        [(X, "f32")],
        [(np.abs(X).max(1), "f32")],
        {"p": 2147483648.0, "axes": [-2]},
    ),
    ("root", "LpNormUpdateV2", [(X**2, "f32")], [(np.abs(X), "f32")], {"p": 2.0, "epsilon": 0.0}),
    (
        "powers",
        "LogSpaceD",
        [(np.arange(4.0), "f32")],
        [([1, 2, 4, 8], "f32")],
        {"start": 0.0, "end": 3.0, "steps": 4, "base": 2.0},
    ),
    (
        "distances",
        "Cdist",
        [(MATRICES[0][:, :, None, :].repeat(2, 2), "f32"), (X[:, None, :2].repeat(3, 1), "f32")],
        [(np.linalg.norm(MATRICES[0][:, :, None] - X[:, None, :2], axis=-1), "f32")],
        {"p": 2.0},
    ),
    (
        "products",
        "BatchMatMul",
        [(MATRICES[0], "f32"), (MATRICES[1], "f32")],
        [(MATRICES[0] @ MATRICES[1], "f32")],
        {},
    ),
    (
        "products of turned matrices",
        "BatchMatMul",
        [(turned(MATRICES[0]), "f32"), (turned(MATRICES[1]), "f32")],
        [(MATRICES[0] @ MATRICES[1], "f32")],
        {"adj_x1": True, "adj_x2": True},
    ),
    (
        "largest",
        "ArgMaxWithValue",
        [(X, "f32")],
        [(X.argmax(1), "i32"), (X.max(1), "f32")],
        {"dimension": 1, "keep_dims": False},
    ),
    (
        "smallest",
        "ArgMinWithValue",
        [(X, "f32")],
        [(X.argmin(2)[..., None], "i32"), (X.min(2)[..., None], "f32")],
        {"dimension": -1, "keep_dims": True},
    ),
    (
        "shift by tensor",
        "LeftShift",
        [(INT, "i32"), (INT & 3, "i32")],
        [(INT << (INT & 3), "i32")],
        {},
    ),
    ("shift by number", "RightShift", [(INT, "i32"), (1, "i32", HOST)], [(INT >> 1, "i32")], {}),
    ("swish", "Swish", [(X, "f32")], [(X / (1 + np.exp(-X)), "f32")], {"scale": 1.0}),
    ("order", "SortV2", [(X, "f32")], [(-np.sort(-X, 1), "f32")], {"axis": 1, "descending": True}),
]


@pytest.mark.parametrize(("op", "inputs", "outputs", "attributes"),
                         [pytest.param(*rest, id=name) for name, *rest in CASES])  # fmt: skip
def test_named_op(npu, op, inputs, outputs, attributes):
    shapes = [(np.shape(expected), dtype) for expected, dtype in outputs]
    found = run(npu, op, inputs, shapes, attributes)
    for values, (expected, dtype) in zip(found, outputs, strict=True):
        assert_close(values, np.asarray(expected), dtype)


def test_singular_values(npu):
    shapes = [((4,), "f32"), ((4, 4), "f32"), ((5, 4), "f32")]
    s, u, v = run(npu, "Svd", [(MATRICES[1][0], "f32")], shapes, {"full_matrices": False})
    np.testing.assert_allclose(s * u @ v.T, MATRICES[1][0], rtol=1e-4, atol=1e-4)


def test_elements_go_to_the_places_of_a_view(npu):
    """ViewCopy writes into its first input."""
    to, source = Tensor(npu, np.zeros((3, 4)), "f32"), Tensor(npu, X[0, :, :2], "f32")
    places = [(3, 2), (4, 2), 1], [(3, 2), (2, 1), 0]
    lists = [[Tensor(npu, np.asarray(part), "i64", HOST) for part in each] for each in places]
    named.call(npu, "ViewCopy", [to, *lists[0], source, *lists[1]], [to])
    npu.synchronize()
    expected = np.zeros((3, 4), np.float32)
    expected[:, 1::2] = X[0, :, :2]
    np.testing.assert_array_equal(to.read(), expected)
    for tensor in [to, source, *lists[0], *lists[1]]:
        tensor.close()


@pytest.fixture
def reports(npu):
    """A function that gives what the checks have found since."""
    control = acl.libraries()[0]
    take = control.mtsim_take_reports
    take.restype = ctypes.c_void_p
    control.mtsim_set(b"checks", b"all")
    control.mtsim_set(b"print", b"0")

    def taken():
        npu.synchronize()
        address = take()
        text = ctypes.string_at(address).decode()
        control.mtsim_free(ctypes.c_void_p(address))
        return text

    taken()
    yield taken
    taken()
    control.mtsim_restore()


def test_what_lies_in_the_hosts_memory_is_copied_at_once(npu):
    from_host, to = Tensor(npu, X, "f32", HOST), Tensor(npu, np.zeros(X.shape), "f32")
    named.call(npu, "Identity", [from_host], [to])
    from_host.bits[...] = 0
    npu.synchronize()
    np.testing.assert_array_equal(to.read(), X)
    for tensor in (from_host, to):
        tensor.close()


def test_races_are_found(npu, reports):
    """An op by name runs on its stream, beside what runs on others."""
    other = ctypes.c_void_p()
    acl.check("aclrtCreateStream", ctypes.byref(other))
    tensors = [Tensor(npu, X, "f32") for _ in range(3)]
    named.call(npu, "Identity", tensors[:1], tensors[1:2])
    own, npu.stream = npu.stream, other
    named.call(npu, "Identity", tensors[1:2], tensors[2:])
    npu.synchronize()
    npu.stream = own
    text = reports()
    assert text.count("Identity") >= 2 and "races" in text
    for tensor in tensors:
        tensor.close()
    acl.check("aclrtDestroyStream", other)


def test_freed_memory_is_found(npu):
    tensors = [Tensor(npu, X, "f32") for _ in range(2)]
    npu.free(tensors[0].pointer)
    named.call(npu, "Identity", tensors[:1], tensors[1:])
    with pytest.raises(acl.Error, match="Identity failed .* reads .* was freed"):
        npu.synchronize()
    tensors[0].pointer = None
    for tensor in tensors:
        tensor.close()


def refused(npu, op, inputs, outputs, **attributes):
    with pytest.raises(acl.Error) as caught:
        run(npu, op, inputs, outputs, attributes)
    return caught.value


def test_an_op_that_is_not_simulated_is_named(npu):
    error = refused(npu, "AnchorsOfNobody", [(X, "f32")], [((2, 3, 4), "f32")])
    assert error.code == 100024
    assert error.text.endswith("AnchorsOfNobody: not simulated")


def test_bad_arguments_are_refused(npu):
    error = refused(npu, "Identity", [(X, "f32")], [((2, 3, 4), "f16")])
    assert error.code == 500002 and "Identity" in error.text and "dtype" in error.text
    error = refused(
        npu, "Slice", [(X, "f32"), host([0, 0, 0]), host([9, 1, 1])], [((9, 1, 1), "f32")]
    )
    assert error.code == 500002 and "reaches beyond x" in error.text
    error = refused(npu, "Slice", [(X, "f32"), host([0, 0, 0])], [((1, 1, 1), "f32")])
    assert error.code == 500002 and "input[2] is missing" in error.text


def test_the_second_form_returns_when_the_op_is_done(npu):
    tensors = [Tensor(npu, X, "f32") for _ in range(2)]
    named.call(npu, "Identity", tensors[:1], tensors[1:], version="V2")
    status = ctypes.c_int()
    acl.check("aclrtStreamQuery", npu.stream, ctypes.byref(status))
    assert status.value == 0
    for tensor in tensors:
        tensor.close()


def test_attributes_without_a_name_or_a_value_are_refused(npu):
    attr = named.created("aclopCreateAttr")
    with pytest.raises(acl.Error, match="attrName"):
        acl.check("aclopSetAttrInt", attr, None, ctypes.c_int64(1))
    with pytest.raises(acl.Error, match="the value"):
        acl.check("aclopSetAttrListInt", attr, b"axes", 2, None)
    acl.check("aclopSetAttrListInt", attr, b"axes", 0, None)
    acl.function("aclopDestroyAttr", None)(attr)


def test_compile_flags(npu):
    flag = named.library().aclopSetCompileFlag
    assert flag(0) == flag(1) == 0
    assert flag(7) == 100000
