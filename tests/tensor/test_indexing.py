"""Indexing as NumPy and torch do it: reading, writing, and what is refused."""

import itertools

import numpy as np
import pytest

SHAPE = (3, 4, 5)


def pair(torch):
    array = np.arange(60, dtype=np.float32).reshape(SHAPE)
    return torch.from_numpy(array.copy()), array


S = slice
BASIC = [
    0,
    -1,
    S(None),
    S(1, 3),
    S(-2, None),
    S(0, 3, 2),
    S(5, 9),
    S(2, 1),
    S(-100, 100),
    ...,
    None,
    (),
    (0, 1),
    (0, 1, 2),
    (-1, -1, -1),
    (0, S(1, 3)),
    (S(1, None), 0),
    (S(None), S(None, None, 2), S(1, 4, 3)),
    (..., 0),
    (0, ...),
    (0, ..., 1),
    (..., None),
    (None, 0, None, S(1, 2)),
    (S(None), None, ..., 1),
    (..., S(1, 3), None, 2),
    (None, None, ...),
]


@pytest.mark.parametrize("key", BASIC, ids=str)
def test_basic(torch, key):
    tensor, array = pair(torch)
    got, want = tensor[key], array[key]
    assert tuple(got.shape) == want.shape
    assert got.tolist() == want.tolist()
    assert got.untyped_storage().data_ptr() == tensor.untyped_storage().data_ptr()


@pytest.mark.parametrize("key", BASIC, ids=str)
def test_basic_assignment(torch, key):
    tensor, array = pair(torch)
    tensor[key] = -1
    array[key] = -1
    assert tensor.tolist() == array.tolist()
    piece = np.arange(array[key].size, dtype=np.float32).reshape(array[key].shape)
    tensor[key] = torch.from_numpy(piece.copy())
    array[key] = piece
    assert tensor.tolist() == array.tolist()


I0, I1, I2 = [0, 2, 1], [3, 0, 3], [4, 4, 0]
ADVANCED = [
    [0, 2],
    [[0, 1], [2, 0]],
    [-1, -3],
    [],
    (I0, I1),
    (I0, I1, I2),
    (I0, S(None), I2),
    (S(None), I1),
    (S(None), I1, I2),
    (I0, 1),
    (1, I1),
    (I0, ..., I2),
    (..., I2),
    (None, I0),
    (I0, None, I1),
    (S(1, 3), [0, 1], S(None, None, 2)),
    ([[0], [2]], [1, 3]),
    ([[0], [2]], S(None), [1, 3]),
    ([0, 1, 2], S(0, 2), 3),
    (S(None), S(None), [[0, 1], [1, 2]]),
]


def as_key(torch, key, dtype=None):
    """Lists become int64 tensors."""
    if isinstance(key, list):
        return torch.tensor(key, dtype=dtype or torch.int64)
    if isinstance(key, tuple):
        return tuple(as_key(torch, part, dtype) for part in key)
    return key


def as_array_key(key):
    if isinstance(key, list):
        return np.array(key, np.int64)
    if isinstance(key, tuple):
        return tuple(as_array_key(part) for part in key)
    return key


@pytest.mark.parametrize("key", ADVANCED, ids=str)
def test_integer_tensors(torch, key):
    tensor, array = pair(torch)
    want = array[as_array_key(key)]
    got = tensor[as_key(torch, key)]
    assert tuple(got.shape) == want.shape
    assert got.tolist() == want.tolist()
    assert got.numel() == 0 or got.data_ptr() != tensor.data_ptr()
    # Other index dtypes, and lists in place of tensors.
    assert tensor[as_key(torch, key, torch.int32)].tolist() == want.tolist()
    if not (isinstance(key, list) and key and isinstance(key[0], list)):
        assert tensor[key].tolist() == want.tolist()


@pytest.mark.parametrize("key", ADVANCED, ids=str)
def test_integer_tensors_assignment(torch, key):
    tensor, array = pair(torch)
    tensor[as_key(torch, key)] = -1
    array[as_array_key(key)] = -1
    assert tensor.tolist() == array.tolist()
    want = array[as_array_key(key)]
    row = np.arange(want.shape[-1], dtype=np.float32)
    # The value is broadcast to the indexed shape.
    tensor[as_key(torch, key)] = torch.from_numpy(row.copy())
    array[as_array_key(key)] = row
    assert tensor.shape == array.shape


@pytest.mark.parametrize("layout", ["transposed", "sliced", "expanded"])
@pytest.mark.parametrize("key", ADVANCED[:14], ids=str)
def test_integer_tensors_of_strided(torch, layout, key):
    array = np.arange(60, dtype=np.float32).reshape(SHAPE)
    if layout == "transposed":
        tensor = torch.from_numpy(array.T.copy()).permute(2, 1, 0)
    elif layout == "sliced":
        wide = np.zeros((3, 8, 11), np.float32)
        wide[:, ::2, 1::2] = array
        tensor = torch.from_numpy(wide)[:, ::2, 1::2]
    else:
        array = np.ascontiguousarray(np.broadcast_to(array[:1], SHAPE))
        tensor = torch.from_numpy(array[:1].copy()).expand(SHAPE)
    assert tensor[as_key(torch, key)].tolist() == array[as_array_key(key)].tolist()


def masks():
    rng = np.random.default_rng(7)
    return [
        rng.random(SHAPE) > 0.5,
        rng.random((3, 4)) > 0.5,
        rng.random(3) > 0.5,
        np.zeros(SHAPE, bool),
        np.ones(3, bool),
    ]


@pytest.mark.parametrize("number", range(5))
def test_bool_masks(torch, number):
    mask = masks()[number]
    tensor, array = pair(torch)
    key = torch.from_numpy(mask.copy())
    assert tensor[key].tolist() == array[mask].tolist()
    assert tensor[key].shape == array[mask].shape
    tensor[key] = -5
    array[mask] = -5
    assert tensor.tolist() == array.tolist()
    values = np.arange(array[mask].size, dtype=np.float32).reshape(array[mask].shape)
    tensor[key] = torch.from_numpy(values.copy())
    array[mask] = values
    assert tensor.tolist() == array.tolist()


@pytest.mark.parametrize(
    "make",
    [
        lambda m, i: (slice(None), m(4)),
        lambda m, i: (slice(None), m(4), 2),
        lambda m, i: (0, m(4)),
        lambda m, i: (..., m(5)),
        lambda m, i: (None, m(3)),
        lambda m, i: (m(3, 4), 1),
        lambda m, i: (slice(1, 3), slice(None), m(5)),
        lambda m, i: (i([0, 1]), slice(None), m(5, count=2)),
        lambda m, i: (m(3, count=2), i([1, 3])),
        lambda m, i: True,
        lambda m, i: False,
        lambda m, i: (True, 0),
        lambda m, i: (0, False),
        lambda m, i: (None, True, slice(0, 2)),
    ],
)
def test_mixed_masks(torch, make):
    tensor, array = pair(torch)

    def mask(*shape, count=None):
        found = np.arange(np.prod(shape)).reshape(shape) % 2 == 0
        if count is not None:
            found = np.arange(shape[0]) < count
        return found

    numpy_key = make(mask, np.array)
    torch_key = make(lambda *a, **k: torch.from_numpy(mask(*a, **k)), torch.tensor)
    want = array[numpy_key]
    assert tensor[torch_key].tolist() == want.tolist()
    assert tuple(tensor[torch_key].shape) == want.shape
    tensor[torch_key] = -7
    array[numpy_key] = -7
    assert tensor.tolist() == array.tolist()


def test_zero_dim_index_tensors_select(torch):
    tensor, array = pair(torch)
    one = torch.tensor(1)
    assert tensor[one].tolist() == array[1].tolist()
    assert tensor[one, one].tolist() == array[1, 1].tolist()
    assert tensor[:, one].shape == (3, 5)
    assert tensor[torch.tensor(1, dtype=torch.uint8).long()].shape == (4, 5)
    tensor[one] = 0
    assert tensor[1].sum().item() == 0


def test_uint8_mask_is_a_mask(torch):
    tensor, array = pair(torch)
    key = torch.tensor([1, 0, 1], dtype=torch.uint8)
    with pytest.warns(UserWarning, match="indexing with dtype torch.uint8 is now deprecated"):
        got = tensor[key]
    assert got.tolist() == array[[True, False, True]].tolist()


def test_numpy_and_range_keys(torch):
    tensor, array = pair(torch)
    assert tensor[np.array([0, 2])].tolist() == array[[0, 2]].tolist()
    assert tensor[np.int64(1)].tolist() == array[1].tolist()
    assert tensor[:, np.array([True, False, True, False])].tolist() == array[:, ::2].tolist()
    assert tensor[range(2)].tolist() == array[:2].tolist()
    assert tensor[np.int64(0) : np.int64(2)].shape == (2, 4, 5)
    assert tensor[torch.tensor(0) : torch.tensor(2)].shape == (2, 4, 5)


def test_index_objects(torch):
    class Two:
        def __index__(self):
            return 2

    tensor, array = pair(torch)
    assert tensor[Two()].tolist() == array[2].tolist()
    assert tensor[: Two()].tolist() == array[:2].tolist()
    assert [10, 20, 30][torch.tensor(2)] == 30
    assert list(range(10))[torch.tensor(1) : torch.tensor(3)] == [1, 2]


def test_result_layout_of_index_tensors(torch):
    """Adjacent index tensors keep their place; separated ones go to the front."""
    x = torch.zeros(2, 3, 4, 5)
    i = torch.zeros(7, dtype=torch.int64)
    assert x[:, i, i].shape == (2, 7, 5)
    assert x[i, :, i].shape == (7, 3, 5)
    assert x[:, i, :, i].shape == (7, 2, 4)
    # Unlike in NumPy, a plain integer only selects.
    assert x[0, :, i].shape == (3, 7, 5)
    assert x[0, :, :, i].shape == (3, 4, 7)
    assert x[:, 0, i].shape == (2, 7, 5)


# --- assignment ---------------------------------------------------------------------------------


def test_assignment_casts_the_value(torch):
    x = torch.zeros(3, dtype=torch.int32)
    x[0] = 2.9
    x[1] = torch.tensor(3.7)
    x[2] = True
    assert x.tolist() == [2, 3, 1]
    x[:2] = torch.tensor([5.5, 6.5], dtype=torch.float64)
    assert x.tolist() == [5, 6, 1]
    x[torch.tensor([0])] = 9
    assert x[0].item() == 9


def test_assignment_of_python_sequences(torch):
    x = torch.zeros(2, 3)
    x[0] = torch.tensor([1.0, 2.0, 3.0])
    x[:, 1] = torch.tensor([8.0, 9.0])
    assert x.tolist() == [[1, 8, 3], [0, 9, 0]]
    with pytest.raises((TypeError, ValueError)):
        x[0] = "abc"


def test_assignment_may_drop_leading_ones(torch):
    x = torch.zeros(2, 3)
    x[0] = torch.ones(1, 3)
    x[1] = torch.ones(1, 1, 1)
    assert x.sum().item() == 6


def test_assignment_with_overlap_reads_first(torch):
    x = torch.arange(6.0)
    x[1:] = x[:-1].clone()
    assert x.tolist() == [0, 0, 1, 2, 3, 4]
    y = torch.arange(4.0)
    y[torch.tensor([3, 2, 1, 0])] = y.clone()
    assert y.tolist() == [3, 2, 1, 0]


def test_augmented_assignment(torch):
    x = torch.zeros(3, 2)
    x[1] += 5
    x[:, 0] -= 1
    x[torch.tensor([0, 0])] += 1
    assert x.tolist() == [[0, 1], [4, 5], [-1, 0]]
    mask = torch.tensor([[True, False], [False, True], [False, False]])
    x[mask] *= 10
    assert x.tolist() == [[0, 1], [4, 50], [-1, 0]]


def test_index_put_accumulates(torch):
    x = torch.zeros(3)
    x.index_put_((torch.tensor([0, 0, 2]),), torch.tensor([1.0, 2.0, 4.0]), accumulate=True)
    assert x.tolist() == [3, 0, 4]


# --- what is refused ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "key, exception, text",
    [
        (3, IndexError, "index 3 is out of bounds for dimension 0 with size 3"),
        (-4, IndexError, "index -4 is out of bounds for dimension 0 with size 3"),
        ((0, 4), IndexError, "index 4 is out of bounds for dimension [01] with size 4"),
        ((0, 0, 0, 0), IndexError, "too many indices for tensor of dimension 3"),
        (S(None, None, -1), ValueError, "step must be greater than zero"),
        (S(None, None, 0), ValueError, "slice step cannot be zero"),
        (1.5, IndexError, "only integers, slices"),
        ("a", (IndexError, TypeError), None),
        (S("a", None), TypeError, None),
        (S(0.5, None), TypeError, None),
    ],
    ids=str,
)
def test_bad_keys(torch, key, exception, text):
    tensor, array = pair(torch)
    with pytest.raises(exception, match=text):
        tensor[key]
    with pytest.raises(exception, match=text):
        tensor[key] = 1
    assert tensor.tolist() == array.tolist()
    assert tensor._version == 0


@pytest.mark.parametrize(
    "indices, text",
    [
        ([3], "index 3 is out of bounds for dimension 0 with size 3"),
        ([0, -4], "index -4 is out of bounds for dimension 0 with size 3"),
        ([2**40], "is out of bounds for dimension 0 with size 3"),
    ],
)
def test_index_tensor_out_of_range(torch, indices, text):
    tensor, array = pair(torch)
    with pytest.raises(IndexError, match=text):
        tensor[torch.tensor(indices)]
    with pytest.raises(IndexError, match=text):
        tensor[torch.tensor(indices)] = 0
    assert tensor.tolist() == array.tolist()


def test_index_tensor_of_wrong_dtype(torch):
    tensor, _ = pair(torch)
    text = "tensors used as indices must be long, int, byte or bool tensors"
    for dtype in (torch.float32, torch.int16, torch.int8):
        with pytest.raises(IndexError, match=text):
            tensor[torch.zeros(2, dtype=dtype)]


def test_index_tensors_that_do_not_broadcast(torch):
    tensor, _ = pair(torch)
    text = r"indexing tensors could not be broadcast together with shapes \[2\], \[3\]"
    with pytest.raises(IndexError, match=text):
        tensor[torch.tensor([0, 1]), torch.tensor([0, 1, 2])]


def test_mask_of_wrong_shape(torch):
    tensor, array = pair(torch)
    text = (
        r"The shape of the mask \[4\] at index 0 does not match the shape of the indexed tensor "
        r"\[3, 4, 5\] at index 0"
    )
    with pytest.raises(IndexError, match=text):
        tensor[torch.ones(4, dtype=torch.bool)]
    with pytest.raises(IndexError, match="does not match the shape of the indexed tensor"):
        tensor[:, torch.ones(3, dtype=torch.bool)] = 0
    with pytest.raises(IndexError, match="too many indices"):
        tensor[torch.ones(3, 4, 5, 1, dtype=torch.bool)]
    assert tensor.tolist() == array.tolist()


def test_value_of_wrong_shape(torch):
    tensor, array = pair(torch)
    with pytest.raises(RuntimeError, match="must match|expand"):
        tensor[0] = torch.zeros(3)
    with pytest.raises(RuntimeError, match="shape mismatch: value tensor of shape"):
        tensor[torch.tensor([0, 1])] = torch.zeros(3, 4, 5)
    with pytest.raises(RuntimeError, match="shape mismatch|must match|expand"):
        tensor[tensor > 5] = torch.zeros(3)
    assert tensor.tolist() == array.tolist()


def test_deleting_is_refused(torch):
    with pytest.raises(TypeError):
        del torch.zeros(3)[0]


def test_many_dimensions(torch):
    x = torch.arange(2**10, dtype=torch.int64).reshape((2,) * 10)
    array = x.numpy()
    for key in itertools.islice(itertools.product((0, slice(None), None), repeat=6), 0, 729, 37):
        assert x[key].tolist() == array[key].tolist()


def test_index_of_empty(torch):
    x = torch.zeros(0, 3)
    assert x[:5].shape == (0, 3)
    assert x[torch.zeros(0, dtype=torch.int64)].shape == (0, 3)
    assert x[torch.zeros(0, dtype=torch.bool)].shape == (0, 3)
    assert x[:, 1].shape == (0,)
    with pytest.raises(IndexError):
        x[0]
    with pytest.raises(IndexError):
        x[torch.tensor([0])]
    assert torch.zeros(3)[torch.zeros(0, dtype=torch.int64)].shape == (0,)
    assert torch.zeros(3)[[]].shape == (0,)


def test_every_dtype(torch):
    for name in ("float16", "bfloat16", "float32", "float64", "int8", "int16", "int32", "int64",
                 "uint8", "bool"):  # fmt: skip
        x = torch.tensor([0, 1, 1, 0, 1], dtype=getattr(torch, name))
        assert x[torch.tensor([4, 0])].tolist() == [1, 0]
        assert x[x == 1].tolist() == [1, 1, 1]
        x[torch.tensor([0, 3])] = 1
        assert x.tolist() == [1] * 5
        x[x == 1] = 0
        assert x.sum().item() == 0
