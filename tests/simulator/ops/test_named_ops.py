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
    ("fast gelu", "FastGelu", [(X, "f32")], [(X / (1 + np.exp(-1.702 * X)), "f32")], {}),
    (
        "fill",
        "Fill",
        [host([2, 3]), (2.5, "f32", HOST)],
        [(np.full((2, 3), 2.5), "f32")],
        {},
    ),
    (
        "reshaped and turned",
        "ConfusionTransposeD",
        [(X, "f32")],
        [(X.reshape(6, 4).T, "f32")],
        {"perm": [1, 0], "shape": [6, 4], "transpose_first": False},
    ),
    (
        "smallest of axes",
        "ReduceMin",
        [(X, "f32"), host([0, 2])],
        [(X.min((0, 2)), "f32")],
        {"keep_dims": False},
    ),
    (
        "largest of axes",
        "ReduceMax",
        [(X, "f32"), host([1])],
        [(X.max(1, keepdims=True), "f32")],
        {"keep_dims": True},
    ),
    (
        "signs as bits",
        "SignBitsPack",
        [(np.array([1.0, -1, 2, -2, 3, 4, -5, 6]), "f32")],
        [([[0b10110101]], "u8")],
        {"size": 1},
    ),
    (
        "a product with a turned matrix",
        "MatMulV2",
        [(MATRICES[0][0], "f32"), (turned(MATRICES[1][0]), "f32")],
        [(MATRICES[0][0] @ MATRICES[1][0], "f32")],
        {"transpose_x1": False, "transpose_x2": True},
    ),
    (
        "comparison with a number",
        "LessEqual",
        [(INT, "i32"), (1, "i32", HOST)],
        [(INT <= 1, "bool")],
        {},
    ),
    ("comparison", "Greater", [(X, "f32"), (X[::-1], "f32")], [(X > X[::-1], "bool")], {}),
    (
        "logarithm of softmax",
        "LogSoftmaxV2",
        [(X, "f32")],
        [(X - np.log(np.exp(X).sum(1, keepdims=True)), "f32")],
        {"axes": [1]},
    ),
    (
        "sums of a batch",
        "BNTrainingReduce",
        [(X, "f32")],
        [(X.sum((0, 2)), "f32"), ((X**2).sum((0, 2)), "f32")],
        {},
    ),
    ("order", "SortV2", [(X, "f32")], [(-np.sort(-X, 1), "f32")], {"axis": 1, "descending": True}),
]


@pytest.mark.parametrize(("op", "inputs", "outputs", "attributes"),
                         [pytest.param(*rest, id=name) for name, *rest in CASES])  # fmt: skip
def test_named_op(npu, op, inputs, outputs, attributes):
    shapes = [(np.shape(expected), dtype) for expected, dtype in outputs]
    found = run(npu, op, inputs, shapes, attributes)
    for values, (expected, dtype) in zip(found, outputs, strict=True):
        assert_close(values, np.asarray(expected), dtype)


def test_gradients_of_distances(npu):
    """All inputs are spread out to a row for each pair."""
    x, y, grad = MATRICES[0][0], X[0], random((3, 3), "f32", 5)
    gaps = x[:, None].astype(np.float64) - y[None]
    distances = np.linalg.norm(gaps, axis=-1)
    expected = (grad[..., None] * gaps / distances[..., None]).sum(1)
    spread = [
        np.broadcast_to(value, gaps.shape)
        for value in (grad[..., None], x[:, None], y[None], distances[..., None])
    ]
    inputs = [(value, "f32") for value in spread]
    (found,) = run(npu, "CdistGrad", inputs, [(x.shape, "f32")], {"p": 2.0})
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_singular_values(npu):
    shapes = [((4,), "f32"), ((4, 4), "f32"), ((5, 4), "f32")]
    s, u, v = run(npu, "Svd", [(MATRICES[1][0], "f32")], shapes, {"full_matrices": False})
    np.testing.assert_allclose(s * u @ v.T, MATRICES[1][0], rtol=1e-4, atol=1e-4)


def test_an_optimiser_changes_its_inputs(npu):
    """Numbers of the host's beside tensors of the device's."""
    zeros, ones = np.zeros(4), np.ones(4)
    tensors = [Tensor(npu, values, "f32") for values in (ones, zeros, zeros)]
    numbers = (0.5, 0.5, 0.25, 0.5, 0.5, 0.5, 1e-8)  # powers, rate, decay, betas, epsilon
    inputs = [*tensors, *(Tensor(npu, number, "f32", HOST) for number in numbers)]
    inputs += [Tensor(npu, 2 * ones, "f32"), Tensor(npu, None, "f32")]
    named.call(npu, "ApplyAdamW", inputs, tensors)
    npu.synchronize()
    var, m, v = (tensor.read() for tensor in tensors)
    np.testing.assert_allclose(m, ones)
    np.testing.assert_allclose(v, 2 * ones)
    step = 0.25 * (1 / 0.75) / np.sqrt(2 / 0.75)
    np.testing.assert_allclose(var, ones * (1 - 0.25 * 0.5) - step, rtol=1e-6)
    for tensor in inputs:
        tensor.close()


BOXES = np.array([[0.0, 1, 2, 3], [1, 1, 4, 2], [2, 0, 3, 6]])  # x1, y1, x2, y2
TRUTHS = np.array([[1.0, 1, 3, 3], [1, 1, 4, 2], [5, 5, 6, 6]])


def overlaps(boxes, truths):
    """Of all pairs [boxes, truths]: what they share, all that they cover, and what is around."""
    a, b = boxes[:, None], truths[None]
    shared = np.prod(np.clip(np.minimum(a, b)[..., 2:] - np.maximum(a, b)[..., :2], 0, None), -1)
    both = np.prod(a[..., 2:] - a[..., :2], -1) + np.prod(b[..., 2:] - b[..., :2], -1) - shared
    around = np.maximum(a, b)[..., 2:] - np.minimum(a, b)[..., :2]
    return shared, both, around


def centred(boxes):
    return np.concatenate([(boxes[:, :2] + boxes[:, 2:]) / 2, boxes[:, 2:] - boxes[:, :2]], 1)


@pytest.mark.parametrize("trans", [False, True])
@pytest.mark.parametrize("crossed", [False, True])
@pytest.mark.parametrize("op", ["GIoU", "DIoU"])
def test_scores_of_boxes(npu, op, crossed, trans):
    shared, both, around = overlaps(BOXES, TRUTHS)
    middles = (TRUTHS[:, :2] + TRUTHS[:, 2:])[None] - (BOXES[:, :2] + BOXES[:, 2:])[:, None]
    hull = np.prod(around, -1)
    far = {"GIoU": (hull - both) / hull, "DIoU": (middles**2).sum(-1) / 4 / (around**2).sum(-1)}
    expected = shared / both - far[op]
    expected = expected if crossed else np.diag(expected)[None]
    given = [centred(each) if trans else each for each in (BOXES, TRUTHS)]
    inputs = [(each.T, "f32") for each in given]
    attributes = {"trans": trans, "is_cross": crossed, "mode": "iou"}
    (found,) = run(npu, op, inputs, [(expected.shape, "f32")], attributes)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("way", ["iou", "iof"])
def test_overlap_with_longer_sides(npu, way):
    shared, _, _ = overlaps(TRUTHS, BOXES)
    own = np.prod(TRUTHS[:, 2:] - TRUTHS[:, :2] + 0.01, -1)[:, None]
    other = np.prod(BOXES[:, 2:] - BOXES[:, :2] + 0.01, -1)[None]
    expected = shared / (own if way == "iof" else own + other - shared)
    inputs = [(BOXES, "f32"), (TRUTHS, "f32")]
    (found,) = run(npu, "Iou", inputs, [((3, 3), "f32")], {"mode": way, "eps": 0.01})
    np.testing.assert_allclose(found, expected, rtol=1e-5)


IMAGE = np.arange(25.0).reshape(1, 1, 5, 5)
REGION = np.array([[0.0, 0, 0, 4, 4]])
POOLED = {"pooled_height": 2, "pooled_width": 2, "spatial_scale": 1.0, "sample_num": 1}


def test_regions(npu):
    """One sample in the middle of each cell."""
    inputs = [(IMAGE, "f32"), (REGION, "f32")]
    attributes = {**POOLED, "roi_end_mode": 0}
    (found,) = run(npu, "ROIAlign", inputs, [((1, 1, 2, 2), "f32")], attributes)
    np.testing.assert_allclose(found[0, 0], IMAGE[0, 0, 1:4:2, 1:4:2])
    error = refused(npu, "ROIAlign", inputs, [((1, 1, 2, 2), "f32")], **POOLED, roi_end_mode=1)
    assert "roi_end_mode 1 is not simulated" in error.text


def test_gradients_of_regions(npu):
    grad = np.array([[[[1.0, 2], [3, 4]]]])
    attributes = {**POOLED, "roi_end_mode": 0, "xdiff_shape": [1, 1, 5, 5]}
    inputs = [(grad, "f32"), (REGION, "f32")]
    (found,) = run(npu, "ROIAlignGrad", inputs, [((1, 1, 5, 5), "f32")], attributes)
    expected = np.zeros((5, 5))
    expected[1:4:2, 1:4:2] = grad[0, 0]
    np.testing.assert_allclose(found[0, 0], expected)


def test_statistics_of_several_devices(npu):
    """The running ones are changed in place."""
    values = [[[4.0], [6]], [[10.0], [20]], [2, 2], [1.0], [1.0]]
    kinds = ("f32", "f32", "i32", "f32", "f32")
    inputs = [Tensor(npu, np.array(v), k) for v, k in zip(values, kinds, strict=True)]
    outputs = [Tensor(npu, np.zeros(1), "f32") for _ in range(2)]
    attributes = {"momentum": 0.5, "eps": 0.25}
    named.call(npu, "SyncBatchNormGatherStats", inputs, [*outputs, *inputs[3:]], attributes)
    npu.synchronize()
    found = [float(tensor.read()[0]) for tensor in [*outputs, *inputs[3:]]]
    var = 30 / 4 - 2.5**2
    assert found[0] == 2.5 and found[2] == 1.75
    np.testing.assert_allclose(found[1], 1 / np.sqrt(np.float32(var + 0.25)), rtol=1e-5)
    np.testing.assert_allclose(found[3], 0.5 + 0.5 * var * 4 / 3, rtol=1e-5)
    for tensor in [*inputs, *outputs]:
        tensor.close()


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
