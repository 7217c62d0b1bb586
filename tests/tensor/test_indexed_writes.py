"""a[index] = value: which values fit, what a mask does, and tensors that share elements."""

import mindtorch_v2 as torch
import pytest

pytestmark = pytest.mark.filterwarnings("ignore:Use of .* on expanded tensors")


def test_a_mask_fills_in_one_pass():
    x = torch.arange(6.0).reshape(2, 3)
    x[x > 3] = 0
    assert x.tolist() == [[0, 1, 2], [3, 0, 0]]
    x[torch.tensor([True, False])] = torch.tensor([[7]])  # one element of any dtype
    assert x.tolist() == [[7, 7, 7], [3, 0, 0]]
    x[:, torch.tensor([False, True, False])] = -1.0
    assert x.tolist() == [[7, -1, 7], [3, -1, 0]]


@pytest.mark.filterwarnings("ignore:indexing with dtype torch.uint8")
def test_a_mask_of_bytes_takes_no_number():
    x = torch.zeros(2)
    with pytest.raises(RuntimeError, match="only supports boolean masks"):
        x[torch.tensor([1, 0], dtype=torch.uint8)] = 1


def test_values_have_the_dtype_of_what_they_replace():
    x = torch.zeros(3, dtype=torch.float16)
    with pytest.raises(RuntimeError, match="Index put requires the source and destination dtypes"):
        x[[1]] = torch.tensor(0.5)
    x[[1]] = 0.5
    x[0] = torch.tensor(2)  # a copy converts
    assert x.tolist() == [2, 0.5, 0]


@pytest.mark.parametrize("number", [7e4, 1e40, 2**40])
@pytest.mark.parametrize("key", [..., slice(1, 3), [0, 2], (None,)])
def test_numbers_too_large_for_float16_become_infinity(number, key):
    x = torch.zeros(3, dtype=torch.float16)
    x[key] = number
    assert torch.isinf(x).any()
    with pytest.raises(RuntimeError, match="without overflow"):
        torch.zeros(3, dtype=torch.float32)[key] = 1e40


def test_truths_as_indices():
    x = torch.zeros(2)
    x[False] = torch.tensor([1, 2, 3])  # nothing is looked at
    x[torch.tensor(False)] = 5
    assert x.tolist() == [0, 0]
    x[True] = torch.tensor([[[1, 2]]])
    assert x.tolist() == [1, 2]
    x[torch.tensor(True), 0] = 9
    assert x.tolist() == [9, 2]
    assert x[True, [0]].tolist() == [9]


def test_leading_ones_of_a_value_do_not_count():
    x = torch.zeros(1, 1)
    x[torch.tensor([0]), torch.tensor([0])] = torch.ones(1, 1, 1)
    assert x.tolist() == [[1]]


def test_a_tensor_assigned_to_itself():
    x = torch.tensor([1.0]).expand(3)
    x[:] = x
    x[...] = x
    y = torch.tensor(2.0)
    y[None] = y
    assert (x.tolist(), y.item()) == ([1, 1, 1], 2)
    z = torch.zeros(2)
    with pytest.raises(RuntimeError, match="Please clone"):
        z[[0, 1]] = z
    with pytest.raises(RuntimeError, match="Please clone"):
        x[:2] = torch.ones(2)


def test_writes_to_expanded_tensors():
    base = torch.zeros(2, 1)
    x = base.expand(2, 3)
    x[torch.tensor([1]), torch.tensor([2])] = 5
    assert base.tolist() == [[0], [5]]
    x[torch.tensor([[False, True, False], [False, False, False]])] = 7
    assert base.tolist() == [[7], [5]]
    x.index_put_((torch.tensor([0]), torch.tensor([0])), torch.tensor(1.0), True)
    assert base.tolist() == [[8], [5]]
    for refused in (
        lambda: x.put_(torch.tensor([0]), torch.tensor([1.0])),
        lambda: x.masked_scatter_(torch.ones(2, 3, dtype=torch.bool), torch.ones(6)),
    ):
        with pytest.raises(RuntimeError, match="more than one element"):
            refused()
    assert base.tolist() == [[8], [5]]


def test_writes_to_strided_tensors():
    base = torch.zeros(4, 3, 2)
    x = base.permute(2, 0, 1)[:, ::2]  # [2, 2, 3]
    values = torch.arange(1.0, 7.0).reshape(2, 3)
    x[:, [1, 1, 0], [0, 2, 2]] = values
    assert x.tolist() == [[[0, 0, 3], [1, 0, 2]], [[0, 0, 6], [4, 0, 5]]]
    rows = torch.tensor([1, 1]), torch.tensor([0, 0])
    x.index_put_(rows, torch.tensor([[1.0, 2, 3], [4, 5, 6]]), True)
    assert x[1].tolist() == [[5, 7, 15], [4, 0, 5]]
    assert base[1::2].abs().sum() == 0


def test_indices_of_nothing():
    x = torch.zeros(2, 0)
    with pytest.raises(IndexError, match="out of bounds for dimension with size 0"):
        x[:, [0]]
    x[[5]] = 1.0  # no element is written, so no index is looked at
    with pytest.raises(RuntimeError):
        x.index_put_((), torch.tensor(1.0))
