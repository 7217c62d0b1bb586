"""Functions that few programs use: segments, float8 products, control flow, eigenpairs, aten."""

import copy
import math
import pickle

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F
import pytest

ROWS = [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0]]


@pytest.mark.parametrize(
    "reduce, empty, last, gradient",
    [
        ("sum", 0.0, [15.0, 18.0], [1.0, 1.0, 1.0]),
        ("mean", math.nan, [5.0, 6.0], [1 / 3, 1 / 3, 1 / 3]),
        ("max", -math.inf, [7.0, 8.0], [0.0, 0.0, 1.0]),
        ("min", math.inf, [3.0, 4.0], [1.0, 0.0, 0.0]),
        ("prod", 1.0, [105.0, 192.0], [35.0, 21.0, 15.0]),
    ],
)
def test_segments_are_reduced(reduce, empty, last, gradient):
    data = torch.tensor(ROWS, requires_grad=True)
    result = torch.segment_reduce(data, reduce, lengths=torch.tensor([1, 0, 3]))
    torch.testing.assert_close(
        result, torch.tensor([[1.0, 2.0], [empty, empty], last]), equal_nan=True
    )
    by_offsets = torch.segment_reduce(data, reduce, offsets=torch.tensor([0, 1, 4]))
    torch.testing.assert_close(by_offsets, torch.tensor([[1.0, 2.0], last]))
    by_offsets.sum().backward()
    torch.testing.assert_close(data.grad[:, 0], torch.tensor([1.0, *gradient]))


def test_segments_with_a_start_value():
    lengths = torch.tensor([1, 0, 3])
    data = torch.tensor(ROWS)
    assert torch.segment_reduce(data, "sum", lengths=lengths, initial=5)[1].tolist() == [5, 5]
    assert torch.segment_reduce(data, "max", lengths=lengths, initial=5)[0].tolist() == [5, 5]
    mean = torch.segment_reduce(data, "mean", lengths=lengths, initial=5)
    torch.testing.assert_close(mean[:, 0], torch.tensor([6.0, 5.0, 20 / 3]))
    columns = torch.segment_reduce(data, "sum", axis=1, lengths=torch.tensor([[2]] * 4))
    assert columns.tolist() == [[3.0], [7.0], [11.0], [15.0]]


@pytest.mark.parametrize(
    "options, text",
    [
        ({"lengths": [1, 0, 2]}, "to sum to data.size"),
        ({"lengths": [1, 5, -2]}, "negative"),
        ({}, "Either lengths or offsets"),
        ({"indices": [0, 0, 1, 1]}, "indices based reduction"),
        ({"lengths": [1, 1], "axis": 1}, "last dimension of lengths but got 1"),
    ],
)
def test_segments_that_do_not_fit(options, text):
    options = {k: torch.tensor(v) if isinstance(v, list) else v for k, v in options.items()}
    with pytest.raises(RuntimeError, match=text):
        torch.segment_reduce(torch.tensor(ROWS), "sum", **options)


def test_products_of_float8_matrices():
    torch.manual_seed(0)
    a = torch.randn(16, 32).to(torch.float8_e4m3fn)
    b = torch.randn(16, 32).to(torch.float8_e4m3fn).t()
    exact = a.float() @ b.float()
    two, whole = torch.tensor(2.0), F.ScalingType.TensorWise
    result = F.scaled_mm(a, b, two, whole, two, whole)
    assert result.dtype == torch.bfloat16
    torch.testing.assert_close(result, (exact * 4).bfloat16())
    rows, columns = torch.rand(16, 1), torch.rand(1, 16)
    kind = F.ScalingType.RowWise
    result = F.scaled_mm(a, b, rows, kind, columns, kind, bias=torch.ones(16))
    torch.testing.assert_close(result, (exact * rows * columns + 1).bfloat16())
    assert torch._scaled_mm(a, b, two, two).dtype == torch.float8_e4m3fn
    torch.testing.assert_close(torch._scaled_mm(a, b, two, two, out_dtype=torch.float32), exact * 4)
    with pytest.raises(ValueError, match="Invalid scaling configuration"):
        F.scaled_mm(a.float(), b, two, whole, two, whole)
    with pytest.raises(ValueError, match=r"scale_a should be \(16, 1\)"):
        F.scaled_mm(a, b, rows[1:], kind, columns, kind)
    block = F.ScalingType.BlockWise1x32
    with pytest.raises(NotImplementedError, match="per block"):
        F.scaled_mm(a, b, rows, block, columns, block)


def test_control_flow():
    x = torch.ones(2, requires_grad=True)
    for truth, expected in ((True, 3.0), (False, 5.0)):
        for pred in (truth, torch.tensor(truth)):
            x.grad = None
            torch.cond(pred, lambda x: x * 3, lambda x: x * 5, (x,)).sum().backward()
            assert x.grad.tolist() == [expected, expected]
    count, total = torch.while_loop(
        lambda i, total: i < 4, lambda i, total: (i + 1, total + i), (torch.tensor(0), 10)
    )
    assert (count.item(), int(total)) == (4, 16)
    with pytest.raises(RuntimeError, match="same length"):
        torch.while_loop(lambda i: i < 4, lambda i: i + 1, (torch.tensor(0),))
    with pytest.raises(RuntimeError, match="callable"):
        torch.cond(True, 1, 2)
    with pytest.raises(RuntimeError, match="single-element"):
        torch.cond(torch.ones(2), torch.sin, torch.cos, (x,))


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("with_b", [False, True])
def test_few_eigenpairs(largest, with_b):
    torch.manual_seed(0)
    a = torch.randn(40, 40, dtype=torch.float64)
    a = a @ a.T
    b = torch.diag(torch.linspace(1, 2, 40, dtype=torch.float64)) if with_b else None
    values, vectors = torch.lobpcg(a, k=3, B=b, largest=largest, tol=1e-10)
    left = a @ vectors
    right = (vectors if b is None else b @ vectors) * values
    torch.testing.assert_close(left, right, atol=1e-5, rtol=1e-5)
    scale = torch.ones(40, dtype=a.dtype) if b is None else b.diagonal().rsqrt()
    reference = torch.linalg.eigvalsh(a * scale * scale[:, None])
    expected = reference.flip(0)[:3] if largest else reference[:3]
    torch.testing.assert_close(values, expected, atol=1e-6, rtol=1e-6)


def test_eigenpairs_have_gradients_and_batches():
    torch.manual_seed(0)
    a = torch.randn(2, 12, 12, dtype=torch.float64)
    a = (a @ a.mT).requires_grad_()
    values, vectors = torch.lobpcg(a, k=2, tol=1e-10)
    assert values.shape == (2, 2) and vectors.shape == (2, 12, 2)
    (gradient,) = torch.autograd.grad(values.sum(), a)
    torch.testing.assert_close(gradient, vectors @ vectors.mT, atol=1e-6, rtol=1e-6)
    with pytest.raises(ValueError, match="3 x the number of requested eigenpairs"):
        torch.lobpcg(torch.eye(4), k=2)


def test_torch_ops_aten():
    aten = torch.ops.aten
    x = torch.ones(2, 2)
    assert aten.add(x, 1).tolist() == aten.add.Tensor(x, x).tolist() == [[2, 2], [2, 2]]
    assert aten.mm.default(x, x).tolist() == [[2, 2], [2, 2]]
    assert aten.view.default(x, [4]).shape == (4,)
    assert aten.sum.dim_IntList(x, [0]).tolist() == [2, 2]
    assert aten.linalg_vector_norm(x).item() == 2
    assert repr(aten.add.Tensor) == "<OpOverload(op='aten.add', overload='Tensor')>"
    assert (str(aten.add), str(aten.add.Tensor)) == ("aten.add", "aten.add.Tensor")
    assert (aten.mm.default.name(), aten.add.Scalar.name()) == ("aten::mm", "aten::add.Scalar")
    assert aten.add.Tensor is aten.add.Tensor and aten.add.Tensor.overloadpacket is aten.add
    assert pickle.loads(pickle.dumps(aten.add.Tensor)) is aten.add.Tensor
    assert copy.deepcopy(aten.add) is aten.add
    assert {aten.add.Tensor: 1}[aten.add.Tensor] == 1
    with pytest.raises(AttributeError, match="'aten' object has no attribute 'nothing'"):
        aten.nothing  # noqa: B018
    with pytest.raises(AttributeError, match="'aten.add' has no overload name 'nothing'"):
        aten.add.nothing  # noqa: B018


def test_functions_of_one_tensor():
    x = torch.tensor([1 + 2j])
    assert torch.conj_physical_(x) is x and x.item() == 1 - 2j
    y = torch.ones(2, requires_grad=True) * 2
    assert torch.detach_(y) is y and y.is_leaf and not y.requires_grad
    assert torch.resize_as_(y, torch.ones(3, 2)).shape == (3, 2)
    for name in ("linalg_norm", "special_erf", "fft_fft"):  # functions of submodules
        assert not hasattr(torch, name) and name in torch._C._functions
    assert torch.GradScaler is torch.amp.GradScaler
