"""Rarer forms of calls: what torch takes, with the result, and what it refuses.

Every line is run against torch itself as well, where torch is installed.
"""

import pytest

from tests.conftest import TORCH_INSTALLED

INF = float("inf")


def libraries():
    import mindtorch_v2

    yield mindtorch_v2
    if TORCH_INSTALLED:
        import torch

        yield torch


def plain(result):
    if isinstance(result, (tuple, list)):
        return [plain(entry) for entry in result]
    return result.tolist() if hasattr(result, "tolist") else result


GRID = [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]

# (call, what it gives)
TAKEN = [
    # Tensors inside a list are numbers.
    (lambda t: t.tensor([t.tensor([1]), t.tensor([[2]])]), [1, 2]),
    (lambda t: t.tensor([[t.ones(1)], [2]]), [[1.0], [2.0]]),
    # Integers beyond int64 become floats where floats are asked for.
    (lambda t: t.tensor(2**70, dtype=t.float64), 2.0**70),
    (lambda t: t.tensor([2**63, 1.5], dtype=t.float64), [2.0**63, 1.5]),
    (lambda t: t.tensor([-1, -255], dtype=t.uint8), [255, 1]),
    # A list with more than numbers in it is a tuple of indices.
    (lambda t: t.tensor(GRID)[[[0, 1], [1, 0]]], [1.0, 3.0]),
    (lambda t: t.tensor(GRID)[[t.tensor([0, 1]), t.tensor([1, 0])]], [1.0, 3.0]),
    (lambda t: t.tensor(GRID)[[slice(None), 1]], [1.0, 4.0]),
    (lambda t: t.tensor(GRID)[[..., 0]], [0.0, 3.0]),
    (lambda t: t.tensor(GRID)[[None, 0]], [GRID[0]]),
    (lambda t: t.tensor(GRID)[[1, 0]], GRID[::-1]),
    (lambda t: t.tensor(GRID)[[True, False]], GRID[:1]),
    # einsum by lists of labels.
    (lambda t: t.einsum(t.tensor(GRID), [0, 1], [1]), [3.0, 5.0, 7.0]),
    (lambda t: t.einsum(t.tensor(GRID), [0, 51], t.ones(3), [51]), [3.0, 12.0]),
    (lambda t: t.einsum(t.tensor(GRID), [..., 0], [0, ...]), [[0.0, 3.0], [1.0, 4.0], [2.0, 5.0]]),
    (lambda t: t.einsum("ij,j", [t.tensor(GRID), t.ones(3)]), [3.0, 12.0]),
    # Indices given by a tensor.
    (lambda t: t.arange(4).tensor_split(t.tensor([1, 3])), [[0], [1, 2], [3]]),
    (lambda t: t.tensor_split(t.arange(4), t.tensor(2)), [[0, 1], [2, 3]]),
    # Several tensors at once.
    (lambda t: t.atleast_1d(t.tensor(1), t.tensor([2])), [[1], [2]]),
    (lambda t: t.atleast_2d([t.tensor(1)]), [[[1]]]),
    (lambda t: t.atleast_3d((t.tensor([1, 2]),)), [[[[1], [2]]]]),
    # Reductions.
    (lambda t: t.amax(t.tensor(GRID), None), 5.0),
    (lambda t: t.amin(t.tensor(GRID), dim=None, keepdim=True), [[0.0]]),
    (lambda t: t.any(t.tensor(GRID), ()), [[False, True, True], [True, True, True]]),
    (lambda t: t.tensor([0, 7], dtype=t.uint8).all(dim=[]), [0, 1]),
    (lambda t: t.var_mean(t.tensor([1.0, 3.0]), False), [1.0, 2.0]),
    (lambda t: t.var_mean(t.tensor(GRID), 0, True), [[4.5, 4.5, 4.5], [1.5, 2.5, 3.5]]),
    (lambda t: t.std_mean(t.tensor([1.0, 3.0]), unbiased=False), [1.0, 2.0]),
    (lambda t: t.std_mean(t.tensor([[1.0, 3.0]]), 1, False, True), [[[1.0]], [[2.0]]]),
    (lambda t: t.norm(t.zeros(0, 2), INF, 1), []),
    # Values are compared in the dtype that holds both.
    (lambda t: t.searchsorted(t.tensor([1, 3, 5]), 3.5), 2),
    (lambda t: t.searchsorted(t.tensor([1, 3, 5]), t.tensor([3.5, 3.0])), [2, 1]),
    (lambda t: t.bucketize(t.tensor([1, 2]), t.tensor([1.5, 2.5])), [0, 1]),
    (lambda t: t.bucketize(2.5, t.tensor([1, 2, 3])), 2),
    (lambda t: t.equal(t.tensor([1]), t.tensor([1.0])), True),
    (lambda t: t.equal(t.tensor([1]), t.tensor([1.5])), False),
    # Fractions are cut off on the way into an integer tensor.
    (lambda t: t.tensor([1, 2]).masked_fill(t.tensor([True, False]), 7.9), [7, 2]),
    (lambda t: t.addcmul(t.tensor([1]), t.tensor([2]), t.tensor([3]), value=1.5), [7]),
    (lambda t: t.topk(t.tensor(3), 0), [3, 0]),
    # Sums are made in the dtype of out=.
    (lambda t: t.sum(t.tensor([1.6, 1.6]), 0, out=t.tensor(0)), 2),
    (lambda t: t.cumsum(t.tensor([1.6, 1.6]), 0, out=t.zeros(2, dtype=t.int32)), [1, 2]),
    (lambda t: t.sum(t.full((3,), 2048.0).half() + 2, 0, out=t.tensor(0.0)), 6150.0),
    (lambda t: t.prod(t.tensor([2.5, 2.5]), 0, out=t.tensor(0)), 4),
    (lambda t: t.any(t.tensor([0, 7]), 0, out=t.tensor(0, dtype=t.uint8)), 1),
    # Nothing to do.
    (lambda t: t.tensor([1]).to(), [1]),
    (lambda t: t.tensor(3).mT, 3),
    (lambda t: t.tensor(3).mH, 3),
]


@pytest.mark.filterwarnings("ignore:Using a non-tuple", "ignore:Tensor.m")
@pytest.mark.parametrize("number", range(len(TAKEN)))
def test_taken(number):
    call, expected = TAKEN[number]
    for library in libraries():
        assert plain(call(library)) == expected


# (call, exception, part of the text)
REFUSED = [
    (lambda t: t.tensor(2**63), ValueError, "Overflow when unpacking long long"),
    (lambda t: t.tensor([2**70], dtype=t.int32), ValueError, "Overflow when unpacking long long"),
    (lambda t: t.tensor([2**2000], dtype=t.float64), OverflowError, "int too large"),
    (lambda t: t.tensor([-256], dtype=t.uint8), RuntimeError, "to type uint8 without overflow"),
    (lambda t: t.tensor([t.ones(2)]), ValueError, "only one element tensors can be converted"),
    (lambda t: t.tensor([t.ones(2).long()]), TypeError, "only integer tensors of a single element"),
    (lambda t: t.ones(2) + 2**70, OverflowError, "int too big to convert"),
    (lambda t: t.arange(2) * -(2**70), OverflowError, None),
    (lambda t: t.full((2,), 2**63), RuntimeError, "to type int64_t without overflow"),
    (lambda t: t.manual_seed(2**64), ValueError, "Overflow when unpacking long long"),
    (lambda t: t.set_num_threads("2"), RuntimeError, "expects an int, but got str"),
    (lambda t: t.set_num_threads(0), RuntimeError, "positive"),
    (lambda t: float(t.ones(2)), ValueError, "only one element tensors can be converted"),
    (lambda t: int(t.ones(0)), ValueError, "only one element tensors can be converted"),
    (lambda t: t.numel(3), TypeError, "argument 'input' .position 1. must be Tensor, not int"),
    (lambda t: delattr(t.ones(2), "data"), RuntimeError, "Deleting tensor data is not allowed"),
    (lambda t: t.einsum("ij"), ValueError, "must specify the equation string"),
    (lambda t: t.einsum(t.ones(2), [52]), ValueError, "not within the valid range"),
    (lambda t: t.einsum("ij,j", t.ones(2, 3), t.ones(4)), RuntimeError, "subscript j has size 4"),
    (lambda t: t.cat([t.ones(2), 3]), TypeError, "expected Tensor as element 1 in argument 0"),
    (lambda t: t.ones(2, 3).expand(3), RuntimeError, r"expand\(torch.FloatTensor\{\[2, 3\]\}"),
    (lambda t: t.ones(4).tensor_split(t.tensor([1.0])), RuntimeError, "dtype of long"),
    (lambda t: t.amax(t.ones(0)), RuntimeError, "Specify the reduction dim"),
    (lambda t: t.argmax(t.tensor([True])), RuntimeError, "does not support bool input"),
    (lambda t: t.norm(t.zeros(0), -1), RuntimeError, "-1 norm on an empty tensor"),
    (lambda t: t.norm(t.zeros(2, 0), INF, 1), RuntimeError, "inf norm on the dimension 1"),
    (lambda t: t.nanmean(t.ones(2), dtype=t.int32), RuntimeError, "Got: Int"),
    (lambda t: t.log_softmax(t.arange(2), 0), RuntimeError, '"log_softmax_lastdim_kernel_impl"'),
    (lambda t: t.zeros(3).index_add(0, t.tensor([-1]), t.ones(1)), IndexError, None),
    (lambda t: t.zeros(3, 1).index_add(0, t.tensor([3]), t.ones(1, 1)), RuntimeError, "index 3 is"),
    (lambda t: t.zeros(3).index_copy(0, t.tensor([-1]), t.ones(1)), IndexError, "index -1 is out"),
    (lambda t: t.tensor(1).index_select(0, t.tensor([0, 0])), RuntimeError, "only 1 value"),
    (
        lambda t: t.ones(2).byte().masked_fill(t.tensor([True, False]), 300),
        RuntimeError,
        "to type uint8_t without overflow",
    ),
    (lambda t: t.ones(2).byte().clamp(-1, 300), RuntimeError, "to type uint8_t without overflow"),
    (
        lambda t: t.nn.functional.hardtanh(t.ones(2).byte()),
        RuntimeError,
        "unsigned type with negative limits",
    ),
    # out= of another dtype, where torch does not cast.
    (
        lambda t: t.mm(t.ones(2, 2), t.ones(2, 2), out=t.ones(2, 2).double()),
        RuntimeError,
        "Expected out tensor to have dtype float, but got double instead",
    ),
    (
        lambda t: t.argmax(t.ones(2), 0, out=t.tensor(0.0)),
        RuntimeError,
        "Expected out tensor to have dtype long int, but got float instead",
    ),
    (lambda t: t.softmax(t.ones(2), 0, out=t.ones(2).double()), RuntimeError, "but got double"),
    (lambda t: t.tril(t.ones(2, 2), out=t.ones(2, 2).double()), RuntimeError, None),
    (lambda t: t.all(t.ones(2), 0, out=t.tensor(0)), RuntimeError, None),
    (lambda t: t.nonzero(t.ones(2), out=t.tensor(0.0)), RuntimeError, None),
    # What would read or write beyond the memory of a tensor.
    (
        lambda t: t.searchsorted(t.ones(3), t.ones(1), sorter=t.tensor([0, 2**40, 1])),
        RuntimeError,
        "sorter index out of range",
    ),
    (lambda t: t.bincount(t.tensor([2**63 - 1])), RuntimeError, "maximum value of input"),
    (lambda t: t.ones(4).unflatten(0, (-2, -2)), RuntimeError, "invalid shape dimension -2"),
    (lambda t: t.ones(0).unflatten(0, (2**32, 2**32)), RuntimeError, "overflow"),
    (lambda t: t.ones(0).unflatten(0, (0, -1)), RuntimeError, "ambiguous"),
    (
        lambda t: t.frombuffer(memoryview(bytearray(8))[::2], dtype=t.uint8),
        RuntimeError,
        "could not retrieve buffer",
    ),
]


@pytest.mark.parametrize("number", range(len(REFUSED)))
def test_refused(number):
    call, error, text = REFUSED[number]
    for library in libraries():
        with pytest.raises(error, match=text):
            call(library)


def test_a_list_that_changes_while_it_is_read(torch):
    """An entry whose code makes the list longer or shorter: an error, no stray writes."""
    rows = []

    class Row:
        def __init__(self, change):
            self.change = change

        def __len__(self):
            return 2

        def __getitem__(self, i):
            if i >= 2:
                raise IndexError
            self.change()
            return i

    rows[:] = [Row(lambda: rows.extend([[5, 6]] * 1000)) for _ in range(3)]
    with pytest.raises(ValueError, match="expected sequence of length 3 at dim 0"):
        torch.tensor(rows, dtype=torch.int64)
    rows[:] = [[1, 2], [3, 4], Row(lambda: None), Row(rows.clear), [7, 8]]
    with pytest.raises(ValueError, match="expected sequence of length 5 at dim 0"):
        torch.tensor(rows, dtype=torch.int64)
