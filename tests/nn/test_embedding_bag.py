"""Bags of one length: the rows of a 2-d input, of which no copy is made."""

import numpy as np
import pytest

SHAPES = [(64, 32, 64), (1, 1, 1), (3, 5, 7), (2, 9, 70), (4, 3, 16), (5, 0, 6), (0, 4, 6)]
ROUNDING = {"float64": 1e-14, "float32": 2e-6, "float16": 1e-3, "bfloat16": 8e-3}


def operands(torch, bags, length, columns, dtype="float32", rows=11):
    generator = np.random.default_rng(0)
    table = torch.tensor(generator.standard_normal((rows, columns))).to(getattr(torch, dtype))
    return table, torch.tensor(generator.integers(0, rows, (bags, length)))


def expected(table, places, kind):
    rows = table.double().cpu().numpy()[places.cpu().numpy()]
    if kind == "max":
        return rows.max(1) if places.shape[1] else np.zeros((len(rows), rows.shape[2]))
    total = rows.sum(1)
    return total / max(places.shape[1], 1) if kind == "mean" else total


@pytest.mark.parametrize("kind", ["sum", "mean", "max"])
@pytest.mark.parametrize("dtype", ROUNDING)
@pytest.mark.parametrize("shape", SHAPES)
def test_bags_are_made_of_rows(torch, shape, dtype, kind):
    table, places = operands(torch, *shape, dtype)
    result = torch.nn.functional.embedding_bag(places, table, mode=kind)
    assert result.dtype == table.dtype
    limit = ROUNDING[dtype]
    wanted = expected(table, places, kind)
    np.testing.assert_allclose(result.double().cpu().numpy(), wanted, rtol=limit, atol=8 * limit)
    by_int = torch.nn.functional.embedding_bag(places.int(), table, mode=kind)
    assert torch.equal(result, by_int)


def test_tables_and_indices_with_strides(torch):
    table, places = operands(torch, 6, 4, 5, "float64")
    for view in (table.t().contiguous().t(), torch.stack([table, table], 2)[:, :, 0]):
        result = torch.nn.functional.embedding_bag(places.t().contiguous().t(), view, mode="sum")
        np.testing.assert_allclose(result.cpu().numpy(), expected(table, places, "sum"), rtol=1e-14)


def test_infinite_rows(torch):
    table = torch.tensor([[float("inf"), 1.0], [float("nan"), -1.0], [0.0, 0.0]])
    places = torch.tensor([[0, 2], [1, 2], [0, 0]])
    result = torch.nn.functional.embedding_bag(places, table, mode="mean").cpu().numpy()
    np.testing.assert_array_equal(result, [[np.inf, 0.5], [np.nan, -0.5], [np.inf, 1.0]])


@pytest.mark.parametrize("kind", ["sum", "mean", "max"])
def test_gradients(torch, kind):
    table, places = operands(torch, 5, 4, 3, "float64")
    table.requires_grad_()

    def bag(weight):
        return torch.nn.functional.embedding_bag(places, weight, mode=kind)

    assert torch.autograd.gradcheck(bag, (table,))
    assert torch.autograd.gradgradcheck(bag, (table,))


@pytest.mark.parametrize("shape", [(0,), (0, 4), (3, 0)])
@pytest.mark.parametrize("kind", ["sum", "mean", "max"])
def test_results_without_indices_have_gradients(torch, shape, kind):
    table = torch.ones(3, 2, requires_grad=True)
    offsets = torch.zeros(0, dtype=torch.int64) if len(shape) == 1 else None
    places = torch.zeros(shape, dtype=torch.int64)
    result = torch.nn.functional.embedding_bag(places, table, offsets, mode=kind)
    assert result.shape == (shape[0], 2) and result.requires_grad
    result.sum().backward()
    assert table.grad.tolist() == [[0.0, 0.0]] * 3


def test_the_first_of_equal_rows_gets_the_gradient(torch):
    table = torch.tensor([[1.0, 5.0], [1.0, 2.0], [0.0, 5.0]], requires_grad=True)
    places = torch.tensor([[1, 0, 2], [2, 0, 1]])
    torch.nn.functional.embedding_bag(places, table, mode="max").sum().backward()
    assert table.grad.tolist() == [[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]]
    table.grad = None
    offsets = torch.tensor([0, 3])
    torch.nn.functional.embedding_bag(places.view(-1), table, offsets, mode="max").sum().backward()
    assert table.grad.tolist() == [[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize("kind", ["sum", "mean"])
def test_long_bags_of_short_floats_are_rounded_once(torch, kind):
    table = torch.randn(3, 4).to(torch.bfloat16)
    places = torch.arange(300).view(1, 300) % 3
    found = torch.nn.functional.embedding_bag(places, table, mode=kind, padding_idx=2)
    exact = table[:2].double().sum(0, keepdim=True) * 100 / (1 if kind == "sum" else 200)
    torch.testing.assert_close(found.double(), exact, rtol=2**-8, atol=0)


def test_mistakes(torch):
    table, places = operands(torch, 3, 4, 5)
    bag = torch.nn.functional.embedding_bag
    text = "one of the following scalar types: Half, BFloat16, Float, Double; but got"
    for dtype, name in ((torch.int64, "torch.LongTensor"), (torch.bool, "CPUBoolType")):
        for mode in ("sum", "mean", "max"):
            with pytest.raises(RuntimeError, match=f"{text} {name} instead"):
                bag(places, table.to(dtype), mode=mode)
    with pytest.raises(ValueError, match="max mode does not support sparse weights"):
        bag(places, table, mode="max", sparse=True)
    with pytest.raises(ValueError, match="max mode does not support scaling the gradient"):
        bag(places, table, mode="max", scale_grad_by_freq=True)


@pytest.mark.parametrize("kind", ["mean", "max"])
def test_per_sample(torch, kind):
    table, places = operands(torch, 3, 4, 5)
    tables = torch.stack([table, 2 * table])

    def bag(indices, weight):
        return torch.nn.functional.embedding_bag(indices, weight, mode=kind)

    both = torch.func.vmap(bag, in_dims=(None, 0))(places, tables)
    assert torch.allclose(both, torch.stack([bag(places, each) for each in tables]))
    each = torch.func.vmap(bag, in_dims=(0, None))(torch.stack([places, places.flip(0)]), table)
    assert torch.allclose(each[1], bag(places.flip(0), table))


def test_long_rows_are_scaled_down_first(torch):
    table, places = operands(torch, 3, 4, 5)
    torch.nn.functional.embedding_bag(places, table, mode="sum", max_norm=0.5)
    assert bool((table[places.flatten()].norm(dim=1) < 0.5001).all())


def test_each_sample_has_bounds_of_its_own(torch):
    tables = torch.arange(12.0).reshape(2, 3, 2)
    bag = torch.func.vmap(lambda i, w: torch.nn.functional.embedding_bag(i, w, mode="sum"))
    assert bag(torch.tensor([[[2]], [[0]]]), tables).tolist() == [[[4.0, 5.0]], [[6.0, 7.0]]]
    for places in ([[[3]], [[0]]], [[[0]], [[-1]]]):
        with pytest.raises(IndexError, match="out of range"):
            bag(torch.tensor(places), tables)


@pytest.mark.parametrize("kind", ["sum", "mean", "max"])
@pytest.mark.parametrize("wrong", [3, -1])
def test_indices_of_no_row(torch, kind, wrong):
    bag = torch.nn.functional.embedding_bag
    table = torch.randn(3, 2)
    said = f"to be {wrong}" if kind == "max" else f"Index 1 of input takes value {wrong} which"
    with pytest.raises(RuntimeError, match=said):
        bag(torch.tensor([0, wrong]), table, torch.tensor([0]), mode=kind)
    with pytest.raises(RuntimeError, match=said):
        bag(torch.tensor([[0, wrong]]), table, mode=kind)
