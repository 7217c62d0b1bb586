"""Property tests: any index of any tensor reads and writes what NumPy reads and writes."""

import mindtorch_v2 as torch
import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

QUICK = settings(max_examples=200, deadline=None, suppress_health_check=list(HealthCheck))
SHAPES = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)


@st.composite
def basic_part(draw, size):
    if draw(st.booleans()):
        return draw(st.integers(-size, size - 1))
    step = draw(st.integers(1, 3))
    limits = st.none() | st.integers(-size - 2, size + 2)
    return slice(draw(limits), draw(limits), step)


@st.composite
def basic_key(draw, shape):
    used = draw(st.integers(0, len(shape)))
    parts = [draw(basic_part(size)) for size in shape[:used]]
    if draw(st.booleans()):
        rest = len(shape) - used
        tail = draw(st.integers(0, rest))
        parts.append(...)
        parts += [draw(basic_part(size)) for size in shape[len(shape) - tail :]] if tail else []
    for _ in range(draw(st.integers(0, 2))):
        parts.insert(draw(st.integers(0, len(parts))), None)
    return tuple(parts)


@st.composite
def advanced_key(draw, shape):
    """Index arrays that broadcast, slices and None between them."""
    common = draw(st.lists(st.integers(1, 3), min_size=0, max_size=2).map(tuple))
    parts, arrays = [], 0
    for size in shape:
        kind = draw(st.sampled_from(["array", "slice", "array", "stop"]))
        if kind == "stop":
            break
        if kind == "slice":
            parts.append(slice(None, None, draw(st.integers(1, 2))))
            continue
        own = tuple(1 if draw(st.booleans()) else n for n in common)
        values = draw(st.lists(st.integers(-size, size - 1), min_size=int(np.prod(own)),
                               max_size=int(np.prod(own))))  # fmt: skip
        # One dimension at least: a 0-dim index tensor only selects, unlike in NumPy.
        parts.append(np.array(values, np.int64).reshape(own or (1,)))
        arrays += 1
    return tuple(parts)


def start(shape, data):
    array = np.arange(int(np.prod(shape)), dtype=np.int64).reshape(shape)
    order = data.draw(st.permutations(range(len(shape))))
    inverse = np.argsort(order)
    stored = np.ascontiguousarray(array.transpose(order))
    return torch.from_numpy(stored).permute(inverse.tolist()), array.copy()


def to_torch(key):
    return tuple(torch.from_numpy(p.copy()) if isinstance(p, np.ndarray) else p for p in key)


@given(st.data(), SHAPES)
@QUICK
def test_basic_keys(data, shape):
    tensor, array = start(shape, data)
    key = data.draw(basic_key(shape))
    assert tensor[key].tolist() == array[key].tolist()
    assert tuple(tensor[key].shape) == array[key].shape
    tensor[key] = -1
    array[key] = -1
    assert tensor.tolist() == array.tolist()


@given(st.data(), SHAPES)
@QUICK
def test_advanced_keys(data, shape):
    tensor, array = start(shape, data)
    key = data.draw(advanced_key(shape))
    want = array[key]
    got = tensor[to_torch(key)]
    assert tuple(got.shape) == want.shape
    assert got.tolist() == want.tolist()
    tensor[to_torch(key)] = -1
    array[key] = -1
    assert tensor.tolist() == array.tolist()


@given(st.data(), SHAPES)
@QUICK
def test_masks(data, shape):
    tensor, array = start(shape, data)
    rank = data.draw(st.integers(1, len(shape)))
    count = int(np.prod(shape[:rank]))
    bits = data.draw(st.lists(st.booleans(), min_size=count, max_size=count))
    mask = np.array(bits).reshape(shape[:rank])
    key = torch.from_numpy(mask.copy())
    assert tensor[key].tolist() == array[mask].tolist()
    values = np.arange(array[mask].size, dtype=np.int64).reshape(array[mask].shape) - 50
    tensor[key] = torch.from_numpy(values.copy())
    array[mask] = values
    assert tensor.tolist() == array.tolist()


@given(st.data(), SHAPES)
@QUICK
def test_gather_and_scatter(data, shape):
    tensor, array = start(shape, data)
    dim = data.draw(st.integers(0, len(shape) - 1))
    length = data.draw(st.integers(0, 4))
    sizes = (*shape[:dim], length, *shape[dim + 1 :])
    count = int(np.prod(sizes))
    picks = data.draw(st.lists(st.integers(0, shape[dim] - 1), min_size=count, max_size=count))
    where = np.array(picks, np.int64).reshape(sizes)
    found = tensor.gather(dim, torch.from_numpy(where.copy()))
    assert found.tolist() == np.take_along_axis(array, where, dim).tolist()
    total = tensor.scatter_add(
        dim, torch.from_numpy(where.copy()), torch.ones(sizes, dtype=torch.int64)
    )
    grid = list(np.indices(sizes, sparse=True))
    grid[dim] = where
    want = array.copy()
    np.add.at(want, tuple(grid), 1)
    assert total.tolist() == want.tolist()
    assert tensor.tolist() == array.tolist()
