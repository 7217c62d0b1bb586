"""Views in place: the tensor object shows its own elements another way."""

import pytest

# method, arguments, shape before, the view that gives the same
VIEWS = [
    ("unsqueeze_", (0,), (2, 3), "unsqueeze"),
    ("unsqueeze_", (-1,), (2, 3), "unsqueeze"),
    ("squeeze_", (), (1, 3, 1), "squeeze"),
    ("squeeze_", (0,), (1, 3, 1), "squeeze"),
    ("squeeze_", ((0, 2),), (1, 3, 1), "squeeze"),
    ("squeeze_", (1,), (1, 3, 1), "squeeze"),
    ("transpose_", (0, 2), (2, 3, 4), "transpose"),
    ("swapdims_", (0, 1), (2, 3, 4), "swapdims"),
    ("swapaxes_", (0, 1), (2, 3, 4), "swapaxes"),
    ("t_", (), (2, 3), "t"),
    ("t_", (), (3,), "t"),
    ("as_strided_", ((2, 2), (1, 3)), (2, 3), "as_strided"),
    ("as_strided_", ((2, 2), (1, 2), 1), (2, 3), "as_strided"),
]


@pytest.mark.parametrize("name, args, shape, view", VIEWS)
def test_becomes_its_own_view(torch, name, args, shape, view):
    x = torch.arange(torch.zeros(shape).numel()).reshape(shape)
    wanted = getattr(x, view)(*args)
    other = x.view(-1)
    version = x._version
    result = getattr(x, name)(*args)
    assert result is x
    assert (x.shape, x.stride(), x.storage_offset()) == (
        wanted.shape,
        wanted.stride(),
        wanted.storage_offset(),
    )
    assert torch.equal(x, wanted)
    assert x.data_ptr() == wanted.data_ptr()
    assert x._version == version + 1 == other._version


@pytest.mark.parametrize(
    "name, args, error, text",
    [
        ("unsqueeze_", (9,), IndexError, "Dimension out of range"),
        ("squeeze_", (9,), IndexError, "Dimension out of range"),
        ("transpose_", (0, 9), IndexError, "Dimension out of range"),
        ("t_", (), RuntimeError, "t_\\(\\) expects a tensor with <= 2 dimensions, but self is 3D"),
        ("as_strided_", ((9, 9), (9, 9)), RuntimeError, "out of bounds for storage"),
    ],
)
def test_a_failed_view_changes_nothing(torch, name, args, error, text):
    x = torch.zeros(2, 3, 4)
    with pytest.raises(error, match=text):
        getattr(x, name)(*args)
    assert (x.shape, x.stride(), x._version) == ((2, 3, 4), (12, 4, 1), 0)


@pytest.mark.parametrize(
    "shape, wrap, ones",
    [
        ((3, 3), False, [0, 4, 8]),
        ((2, 4), False, [0, 5]),
        ((5, 2), False, [0, 3]),
        ((8, 2), True, [0, 3, 6, 9, 12, 15]),
        ((2, 2, 2), False, [0, 7]),
    ],
)
def test_fill_diagonal(torch, shape, wrap, ones):
    x = torch.zeros(shape, dtype=torch.int64)
    assert x.fill_diagonal_(1, wrap=wrap) is x
    assert x.flatten().nonzero().flatten().tolist() == ones


def test_fill_diagonal_of_a_view(torch):
    x = torch.zeros(4, 6)
    x[1:, ::2].fill_diagonal_(5)
    assert x.flatten().nonzero().flatten().tolist() == [6, 14, 22]


def test_fill_diagonal_of_what_has_none(torch):
    with pytest.raises(RuntimeError, match="dimensions must larger than 1"):
        torch.zeros(3).fill_diagonal_(1)
    with pytest.raises(RuntimeError, match="all dimensions of input must be of equal length"):
        torch.zeros(3, 3, 4).fill_diagonal_(1)
