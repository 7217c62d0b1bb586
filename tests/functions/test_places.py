"""gather, scatter and the index_ ops over layouts, dtypes and threads, against plain loops."""

import numpy as np
import pytest

DTYPES = ("float32", "float64", "float16", "bfloat16", "int64", "int32", "int16", "uint8", "bool")
# Large ones are divided among threads: by lines, or across the lines where there are too few.
SHAPES = [
    ((7,), 0),
    ((40_000,), 0),
    ((3, 5), 0),
    ((300, 250), 0),
    ((300, 250), 1),
    ((9000, 4), 0),
    ((9000, 4), 1),
    ((40, 30, 50), 0),
    ((40, 30, 50), 1),
    ((40, 30, 50), 2),
]
LAYOUTS = {
    "contiguous": lambda t: t,
    "transposed": lambda t: t.t().contiguous().t() if t.dim() == 2 else t,
    "every_other": lambda t: t.new_zeros((*t.shape, 2))[..., 0].copy_(t),
    "offset": lambda t: t.new_zeros((t.shape[0] + 3, *t.shape[1:]))[3:].copy_(t),
}


@pytest.fixture
def threads(torch, request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def everywhere(test):
    """All dtypes on one thread and two; a few of them in other layouts."""
    forms = [("contiguous", 1), *((layout, 2) for layout in LAYOUTS)]
    for mark in (
        pytest.mark.parametrize("layout, threads", forms, indirect=["threads"]),
        pytest.mark.parametrize("shape, dim", SHAPES),
    ):
        test = mark(test)
    return test


def dtypes(layout):
    return DTYPES if layout == "contiguous" else ("float32", "float16", "uint8")


def whole(shape, seed, high=4):
    """Small whole numbers, whose sums every dtype but bool holds."""
    return np.random.default_rng(seed).integers(0, high, shape)


def places(shape, dim, seed=5):
    return np.random.default_rng(seed).integers(0, shape[dim], shape)


def along(where, dim):
    grid = list(np.indices(where.shape, sparse=True))
    grid[dim] = where
    return tuple(grid)


def few(shape, dim):
    """Each place once or twice, so that sums of uint8 and products stay in range."""
    order = np.random.default_rng(3).permuted(places_in_order(shape, dim), axis=dim)
    return order // 2 * 2


def places_in_order(shape, dim):
    return np.broadcast_to(
        np.arange(shape[dim]).reshape([-1 if d == dim else 1 for d in range(len(shape))]), shape
    ).copy()


def make(torch, values, name, layout="contiguous"):
    return LAYOUTS[layout](torch.tensor(values).to(getattr(torch, name)))


def read(tensor):
    return tensor.to(tensor.new_zeros(0).double().dtype).numpy()


@everywhere
def test_gather(torch, threads, shape, dim, layout):
    values, where = whole(shape, 1), places(shape, dim)
    for name in dtypes(layout):
        x = make(torch, values, name, layout)
        found = x.gather(dim, LAYOUTS[layout](torch.tensor(where)))
        expected = read(make(torch, values, name))[along(where, dim)]
        assert (read(found) == expected).all(), name


@everywhere
def test_scatter(torch, threads, shape, dim, layout):
    start, source, where = whole(shape, 1), whole(shape, 2), few(shape, dim)
    index = LAYOUTS[layout](torch.tensor(where))
    at = along(where, dim)
    for name in dtypes(layout):
        x, y = make(torch, start, name, layout), make(torch, source, name, layout)
        before, values = read(x), read(y)
        expected = before.copy()
        expected[at] = values  # the last one stays
        assert (read(x.clone().scatter_(dim, index, y)) == expected).all(), name
        expected = before.copy()
        expected[at] = 1
        assert (read(x.scatter(dim, index, 1)) == expected).all(), name
        for reduce, function in (
            ("sum", np.add),
            ("prod", np.multiply),
            ("amax", np.maximum),
            ("amin", np.minimum),
        ):
            expected = before.copy()
            function.at(expected, at, values)
            if name == "bool":
                expected = expected != 0
            found = LAYOUTS[layout](x.clone()).scatter_reduce_(dim, index, y, reduce)
            assert (read(found) == expected).all(), (name, reduce)
        expected = before.copy()
        np.add.at(expected, at, values)
        if name == "bool":
            expected = expected != 0
        assert (read(x.scatter_add_(dim, index, y)) == expected).all(), name


@everywhere
def test_slices(torch, threads, shape, dim, layout):
    start, source = whole(shape, 1), whole(shape, 2)
    where = np.random.default_rng(3).permutation(shape[dim]) // 2 * 2
    index = torch.tensor(where)
    at = (slice(None),) * dim + (where,)
    for name in dtypes(layout):
        x, y = make(torch, start, name, layout), make(torch, source, name, layout)
        before, values = read(x), read(y)
        assert (read(x.index_select(dim, index)) == before[at]).all(), name
        total = before.copy()
        np.add.at(total, at, values)
        expected = total != 0 if name == "bool" else total
        found = LAYOUTS[layout](x.clone()).index_add_(dim, index, y)
        assert (read(found) == expected).all(), name
        if dim == 0:
            found = LAYOUTS[layout](x.clone()).index_put_((index,), y, accumulate=True)
            assert (read(found) == expected).all(), name
        twice = before.copy()
        np.add.at(twice, at, values * 2)
        expected = twice != 0 if name == "bool" else twice
        found = x.clone().index_add_(dim, index, y, alpha=True if name == "bool" else 2)
        assert (read(found) == expected).all(), name
        expected = before.copy()
        expected[at] = values
        assert (read(x.clone().index_copy_(dim, index, y)) == expected).all(), name
        expected = before.copy()
        expected[at] = 1
        assert (read(x.index_fill(dim, index - shape[dim], 1)) == expected).all(), name
        assert (read(x.index_fill_(dim, index, 1)) == expected).all(), name


@pytest.mark.parametrize("threads", [1, 2], indirect=True)
def test_one_index_for_whole_rows(torch, threads):
    """An expanded index, as graph networks have it."""
    values, rows = whole((500, 200), 1), np.random.default_rng(2).integers(0, 40, 500)
    index = torch.tensor(rows)[:, None].expand(500, 200)
    for name in DTYPES:
        x = make(torch, values, name)
        dense = read(x)
        assert (read(x.gather(0, index % 40)) == dense[rows]).all(), name
        assert (
            read(x.gather(0, torch.tensor(rows)[:, None].expand(500, 200))) == dense[rows]
        ).all()
        expected = np.zeros((40, 200))
        np.add.at(expected, rows, dense)
        if name == "bool":
            expected = expected != 0
        found = torch.zeros(40, 200, dtype=x.dtype).scatter_add_(0, index, x)
        assert (read(found) == expected).all(), name
        bad = torch.tensor([40])[:, None].expand(500, 200)
        with pytest.raises(RuntimeError, match="index 40 is out of bounds for dimension 0"):
            found.scatter_add_(0, bad, x)


def test_an_index_smaller_than_both(torch):
    x = torch.zeros(4, 5)
    source = torch.arange(20.0).view(4, 5)
    index = torch.tensor([[3, 0, 3]])
    x.scatter_add_(0, index, source)
    assert x.tolist() == [[0, 1, 0, 0, 0], [0] * 5, [0] * 5, [0, 0, 2, 0, 0]]
    assert source.gather(0, index).tolist() == [[15, 1, 17]]
    assert source.gather(1, index).tolist() == [[3, 0, 3]]


def test_no_dims(torch):
    one, at = torch.tensor(3.0), torch.tensor(0)
    assert one.gather(0, at).tolist() == 3
    assert one.clone().scatter_add_(0, at, torch.tensor(2.0)).tolist() == 5
    assert one.clone().index_add_(0, at, torch.tensor(2.0)).tolist() == 5
    assert one.clone().index_fill_(0, torch.tensor([0]), 7).tolist() == 7


def test_sums_in_16_bits(torch):
    """index_add rounds after each step, scatter_add once: both as torch."""
    source = torch.full((4096,), 2.0**-12, dtype=torch.float16)
    index = torch.zeros(4096, dtype=torch.int64)
    start = torch.tensor([4.0], dtype=torch.float16)
    assert start.index_add(0, index, source).tolist() == [4.0]
    assert start.scatter_add(0, index, source).tolist() == [5.0]
    rows = source[:, None].expand(4096, 40)
    assert start.expand(1, 40).clone().index_add_(0, index, rows).tolist() == [[4.0] * 40]
    each = index[:, None].repeat(1, 40)
    assert start.expand(1, 40).clone().scatter_add_(0, each, rows).tolist() == [[5.0] * 40]
    nan = torch.tensor([float("nan"), 1.0, float("inf")], dtype=torch.float16)
    found = torch.zeros(3, dtype=torch.float16).scatter_reduce(
        0, torch.tensor([0, 1, 1]), nan, "amax"
    )
    assert str(found.tolist()) == "[nan, inf, 0.0]"


@pytest.mark.parametrize("threads", [1, 2], indirect=True)
def test_wrong_indices_change_nothing(torch, threads):
    x = torch.zeros(300, 300)
    index = torch.zeros(300, 300, dtype=torch.int64)
    for wrong in (300, -1):
        index[250, 250] = wrong
        for call in (
            lambda: x.scatter_(0, index, 1.0),
            lambda: x.scatter_add_(1, index, torch.ones(300, 300)),
            lambda: x.scatter_reduce_(0, index, torch.ones(300, 300), "amax", include_self=False),
            lambda: torch.gather(x + 1, 0, index, out=x),
            lambda: x.index_add_(0, index[250], torch.ones(300, 300)),
        ):
            with pytest.raises(RuntimeError, match=f"index {wrong} is out of bounds for dimension"):
                call()
            assert not x.any()


def test_self_may_overlap_itself(torch):
    """Places that share memory are all added to it."""
    rows = torch.zeros(200).as_strided((64, 64), (2, 1))
    index = torch.arange(64).view(64, 1).repeat(1, 64)
    rows.scatter_add_(0, index, torch.ones(64, 64))
    assert rows[0, 0] == 1 and rows[10, 10] == 16 and rows[40, 0] == 32


def test_means_of_more_than_a_dtype_can_count(torch):
    """Sum and count wrap, as in torch."""
    index = torch.zeros(150, dtype=torch.int64)
    ones = torch.ones(150, dtype=torch.int8)
    found = torch.zeros(1, dtype=torch.int8).scatter_reduce(
        0, index, ones, "mean", include_self=False
    )
    found_two = torch.zeros(1, dtype=torch.int8).scatter_reduce(
        0,
        index[:3],
        -ones[:3] * torch.tensor([1, 1, 2], dtype=torch.int8),
        "mean",
        include_self=False,
    )
    assert found.tolist() == [1] and found_two.tolist() == [-2]
