"""Operands that do not move along a line: numbers, rows and columns, at every length of a line.

Each of these has loops of its own, so that what the op cases check at one shape is checked here at
many.
"""

import operator

import numpy as np
import pytest

ARITHMETIC = [operator.add, operator.sub, operator.mul, operator.truediv]
COMPARISON = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
DTYPES = ["float32", "float64", "int32", "int64", "int16", "uint8"]


def values(dtype, *shape):
    numbers = np.random.default_rng(0).integers(1, 7, shape)
    return numbers.astype(dtype)


def same(result, expected):
    result = result.numpy()
    if result.dtype == bool:
        np.testing.assert_array_equal(result, expected)
    else:
        # Integers divide into float32 here and into float64 in NumPy.
        tolerance = 1e-6 if result.dtype.kind == "f" else 0
        np.testing.assert_allclose(result, expected.astype(result.dtype), rtol=tolerance)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", ARITHMETIC + COMPARISON, ids=lambda op: op.__name__)
def test_rows_and_columns(torch, op, dtype):
    for length in [*range(1, 36), 64, 100, 511, 512, 513, 1025]:
        whole = values(dtype, 3, 5, length)
        for other in (
            values(dtype, 5, 1),
            values(dtype, length),
            values(dtype, 3, 1, length),
            values(dtype, 3, 1, 1),
        ):
            a, b = torch.from_numpy(whole), torch.from_numpy(other)
            same(op(a, b), op(whole, other))
            same(op(b, a), op(other, whole))
            padded = torch.from_numpy(np.pad(whole, ((0, 0), (0, 0), (1, 1))))[..., 1:-1]
            same(op(padded, b), op(whole, other))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("op", ARITHMETIC + COMPARISON, ids=lambda op: op.__name__)
def test_numbers(torch, op, dtype):
    for length in [*range(36), 1000, 70000]:
        whole = values(dtype, length)
        a = torch.from_numpy(whole)
        number = np.array(3)
        for other in (3, torch.tensor(3), torch.tensor([3], dtype=getattr(torch, dtype))):
            same(op(a, other), op(whole, number))
            same(op(other, a), op(number, whole))


@pytest.mark.parametrize("name", ["float16", "bfloat16"])
@pytest.mark.parametrize("op", ARITHMETIC, ids=lambda op: op.__name__)
def test_16_bit_floats_round_once(torch, op, name):
    dtype = getattr(torch, name)
    for length in [*range(36), 1000, 70000]:
        a = torch.from_numpy(values("float32", length)).to(dtype) / 3
        b = torch.from_numpy(values("float32", length)).to(dtype) / 7
        wide = a.float()
        for result, expected in (
            (op(a, b), op(wide, b.float())),
            (op(a, 0.5), op(wide, torch.full((length,), 0.5))),
            (op(0.5, a), op(torch.full((length,), 0.5), wide)),
        ):
            assert result.dtype == dtype
            assert torch.equal(result, expected.to(dtype))
    assert (-a).tolist() == [-x for x in a.tolist()]
    assert (-a).abs().tolist() == a.tolist()


def test_in_place_with_an_element_of_itself(torch):
    x = torch.arange(1.0, 6.0)
    x.add_(x[0].clone())
    assert x.tolist() == [2.0, 3.0, 4.0, 5.0, 6.0]
    grid = torch.arange(6.0).reshape(2, 3)
    grid.mul_(torch.tensor([[2.0], [10.0]]))
    assert grid.tolist() == [[0.0, 2.0, 4.0], [30.0, 40.0, 50.0]]


def test_nan_and_infinity_beside_numbers(torch):
    x = torch.tensor([float("nan"), float("inf"), -0.0, 1.0])
    assert (x > 0).tolist() == [False, True, False, True]
    assert (x <= 0).tolist() == [False, False, True, False]
    assert (x != 1).tolist() == [True, True, True, False]
    assert (0 < x).tolist() == [False, True, False, True]
    assert (1 / x)[1:].tolist() == [0.0, -float("inf"), 1.0]
    assert torch.isnan(x * 2).tolist() == [True, False, False, False]


def test_kron_is_the_product_of_blocks(torch):
    a, b = values("float32", 4, 3), values("float32", 17, 33)
    result = torch.kron(torch.from_numpy(a), torch.from_numpy(b))
    np.testing.assert_array_equal(result.numpy(), np.kron(a, b))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_scatter_add_rounds_once(torch, dtype):
    """Steps too small for 16 bits still add up."""
    dtype = getattr(torch, dtype)
    total = torch.ones(1, dtype=dtype)
    index = torch.zeros(4096, dtype=torch.int64)
    total.scatter_add_(0, index, torch.full((4096,), 2.0**-12, dtype=dtype))
    assert total.item() == 2.0
