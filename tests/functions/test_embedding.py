"""embedding with max_norm: the rows that are looked up are shortened in the table itself."""

import contextlib

import numpy as np
import pytest

from tests.conftest import TORCH_INSTALLED

INF = float("inf")
TABLE = np.arange(12, dtype=np.float64).reshape(4, 3) - 5
LIMITS = [(1.0, 2.0), (2.0, 1.0), (1.0, INF), (1, 2), (100.0, 2.0), (0.0, 2.0), (1.5, 3.0)]
CLOSE = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 1e-5, "float64": 1e-6}


def libraries():
    import mindtorch_v2

    yield mindtorch_v2
    if TORCH_INSTALLED:
        import torch

        yield torch


def shortened(rows, max_norm, norm_type):
    """The table after a look-up: each row once, however often it is named."""
    table = TABLE.copy()
    for row in set(rows):
        length = np.linalg.norm(table[row], norm_type)
        if length > max_norm:
            table[row] *= max_norm / (length + 1e-7)
    return table


@pytest.mark.parametrize("max_norm, norm_type", [*LIMITS, (1.0, 0.0), (-1.0, 2.0), (1.0, -INF)])
@pytest.mark.parametrize("dtype", CLOSE)
def test_long_rows_become_shorter(dtype, max_norm, norm_type):
    expected = shortened([1, 3], max_norm, norm_type)
    for library in libraries():
        table = library.from_numpy(TABLE.copy()).to(getattr(library, dtype))
        rows = library.tensor([[1, 3], [3, 3]])
        version = table._version
        found = library.nn.functional.embedding(rows, table, None, max_norm, norm_type)
        near = {"rtol": CLOSE[dtype], "atol": CLOSE[dtype]}
        np.testing.assert_allclose(table.double().numpy(), expected, **near)
        np.testing.assert_allclose(found.double().numpy(), expected[[[1, 3], [3, 3]]], **near)
        assert table._version == version + 1


def test_any_layout_of_the_table():
    expected = shortened([0, 2], 1.0, 2.0)
    for library in libraries():
        table = library.from_numpy(np.ascontiguousarray(TABLE.T)).t()
        library.nn.functional.embedding(library.tensor([2, 0]).int(), table, max_norm=1.0)
        np.testing.assert_allclose(table.numpy(), expected, rtol=1e-6)


def test_renorm_by_itself():
    for library in libraries():
        table = library.from_numpy(TABLE.copy())
        assert library.embedding_renorm_(table, library.tensor([-1]), 1.0, 2.0) is table
        np.testing.assert_allclose(table.numpy(), shortened([3], 1.0, 2.0), rtol=1e-6)
        library.embedding_renorm_(table, library.empty(0, dtype=library.int64), 1.0, 2.0)


def test_rows_that_are_not_there():
    text = r"select\(\): index 9 out of range for tensor of size \[4, 3\] at dimension 0"
    for library in libraries():
        table = library.from_numpy(TABLE.copy())
        with pytest.raises(IndexError, match=text):
            library.nn.functional.embedding(library.tensor([1, 9]), table, max_norm=100.0)
        with pytest.raises(IndexError, match="index out of range in self"):
            library.nn.functional.embedding(library.tensor([1, -1]), table, max_norm=100.0)


def test_in_a_pipeline(torch):
    for recorded in (False, True):
        table = torch.from_numpy(TABLE.copy()).clone()
        rows = torch.tensor([1, 3])
        before = table * 1
        with torch.pipeline() if recorded else contextlib.nullcontext():
            first = torch.nn.functional.embedding(rows, table)
            second = torch.nn.functional.embedding(rows, table, max_norm=1.0)
            third = table.sum()
            assert second._pending == recorded
        assert first.tolist() == before[rows].tolist()
        expected = shortened([1, 3], 1.0, 2.0)
        np.testing.assert_allclose(second.numpy(), expected[[1, 3]], rtol=1e-6)
        np.testing.assert_allclose(third.item(), expected.sum(), rtol=1e-6)


def test_a_bad_index_in_a_pipeline(torch):
    """The error comes when the values are made, and names the op."""
    table = torch.ones(4, 3).clone()
    with pytest.raises(IndexError, match="index out of range in self"), torch.pipeline() as pipe:
        found = torch.nn.functional.embedding(torch.tensor([1, 7]), table)
        assert found.shape == (2, 3)
    assert pipe.last_error().op_name == "embedding"
    with pytest.raises(IndexError, match="index out of range in self"):
        found.tolist()
