"""Datasets, samplers, collate: against torch where it is installed, and against fixed values."""

import importlib
import importlib.util
from collections import OrderedDict, defaultdict, namedtuple

import mindtorch_v2
import numpy as np
import pytest

LIBRARIES = ["mindtorch_v2"]
if importlib.util.find_spec("torch"):
    LIBRARIES.append("torch")

Point = namedtuple("Point", "x y")


@pytest.fixture(params=LIBRARIES)
def lib(request):
    """The package under test, and torch: what is expected here is what torch does."""
    importlib.import_module(f"{request.param}.utils.data")
    return importlib.import_module(request.param)


def test_map_datasets(lib):
    data = lib.utils.data
    tensors = data.TensorDataset(lib.arange(6), lib.arange(6) * 2)
    assert len(tensors) == 6
    assert [value.item() for value in tensors[4]] == [4, 8]
    joined = data.Subset(tensors, [5, 0]) + data.Subset(tensors, [3])
    assert [joined[i][0].item() for i in (0, 1, 2, -1)] == [5, 0, 3, 3]
    assert joined.cumulative_sizes == [2, 3]
    with pytest.raises(ValueError, match="absolute value of index should not exceed"):
        joined[-4]
    with pytest.raises(AssertionError, match="Size mismatch between tensors"):
        data.TensorDataset(lib.ones(2), lib.ones(3))
    with pytest.raises(AssertionError, match="datasets should not be an empty iterable"):
        data.ConcatDataset([])
    with pytest.raises(NotImplementedError, match="should implement __getitem__"):
        data.Dataset()[0]
    with pytest.raises(NotImplementedError, match="overrides __getitem__ but not __getitems__"):
        type("Part", (data.Subset,), {"__getitem__": lambda self, i: i})([1], [0])


def test_stack_dataset(lib):
    data = lib.utils.data

    class InGroups(data.Dataset):
        calls = 0

        def __len__(self):
            return 3

        def __getitem__(self, index):
            return index

        def __getitems__(self, indices):
            InGroups.calls += 1
            return [index * 100 for index in indices]

    assert data.StackDataset("abc", range(3))[1] == ("b", 1)
    named = data.StackDataset(letter="abc", number=InGroups())
    assert named.__getitems__([2, 0]) == [
        {"letter": "c", "number": 200},
        {"letter": "a", "number": 0},
    ]
    assert data.StackDataset("abc", InGroups()).__getitems__([1]) == [("b", 100)]
    assert InGroups.calls == 2
    assert data.Subset(InGroups(), [2, 1]).__getitems__([0]) == [200]
    for bad in ({"args": ()}, {"args": ("ab", "c")}):
        with pytest.raises(ValueError):
            data.StackDataset(*bad["args"])


def test_iterable_datasets(lib):
    data = lib.utils.data

    class Count(data.IterableDataset):
        def __init__(self, start):
            self.start = start

        def __iter__(self):
            return iter(range(self.start, self.start + 2))

        def __len__(self):
            return 2

    chained = Count(1) + Count(10)
    assert list(chained) == [1, 2, 10, 11]
    assert len(chained) == 4
    with pytest.raises(AssertionError, match="ChainDataset only supports IterableDataset"):
        list(data.ChainDataset([[1]]))
    with pytest.raises(AssertionError, match="ConcatDataset does not support IterableDataset"):
        data.ConcatDataset([Count(1)])


def test_random_split(lib):
    split = lib.utils.data.random_split
    parts = split(range(10), [3, 7], generator=lib.Generator().manual_seed(42))
    assert parts[0].indices == [2, 6, 1]
    assert parts[1].indices == [8, 4, 5, 0, 9, 3, 7]
    assert [len(part) for part in split(range(10), [0.35, 0.35, 0.3])] == [4, 3, 3]
    lib.manual_seed(0)
    first = split(range(5), [2, 3])
    lib.manual_seed(0)
    assert first[0].indices == split(range(5), [2, 3])[0].indices
    with pytest.raises(ValueError, match="Sum of input lengths does not equal"):
        split(range(10), [3, 3])
    with pytest.raises(ValueError, match="Fraction at index 0 is not between 0 and 1"):
        split(range(10), [-0.5, 1.5])
    with pytest.warns(UserWarning, match="Length of split at index 1 is 0"):
        split(range(1), [0.5, 0.5])


def test_samplers(lib):
    data = lib.utils.data

    def seeded():
        return lib.Generator().manual_seed(1)

    assert list(data.SequentialSampler("abc")) == [0, 1, 2]
    assert list(data.RandomSampler(range(6), generator=seeded())) == [1, 5, 2, 0, 3, 4]
    lib.manual_seed(3)
    assert list(data.RandomSampler(range(6))) == [1, 4, 5, 2, 0, 3]
    many = data.RandomSampler(range(4), num_samples=10, generator=seeded())
    assert len(many) == 10
    assert list(many) == [1, 3, 2, 0, 0, 2, 3, 1, 3, 0]
    drawn = list(data.RandomSampler(range(100), True, 34, generator=seeded()))
    assert drawn[:4] + drawn[-2:] == [45, 39, 24, 68, 87, 3]
    assert list(data.SubsetRandomSampler([7, 8, 9], generator=seeded())) == [8, 9, 7]
    weighted = data.WeightedRandomSampler([0.1, 0.9, 3.0], 6, generator=seeded())
    assert list(weighted) == [1, 1, 1, 1, 2, 1]
    single = data.WeightedRandomSampler([0.1, 0.9, 3.0], 3, False, generator=seeded())
    assert sorted(single) == [0, 1, 2]


def test_generators_go_on_alike(lib):
    generator = lib.Generator().manual_seed(5)
    sampler = lib.utils.data.RandomSampler(range(4), generator=generator)
    list(sampler)
    assert list(sampler) == [0, 3, 2, 1]
    assert lib.rand((), generator=generator).item() == pytest.approx(0.0724122, abs=1e-6)


def test_batch_sampler(lib):
    batches = lib.utils.data.BatchSampler
    assert list(batches(range(5), 2, False)) == [[0, 1], [2, 3], [4]]
    assert list(batches(range(5), 2, True)) == [[0, 1], [2, 3]]
    assert [len(batches(range(n), 2, drop)) for n in (4, 5) for drop in (True, False)] == [
        *(2, 2, 2, 3)
    ]


@pytest.mark.parametrize(
    ("name", "arguments", "error"),
    [
        ("BatchSampler", ([], 0, False), "batch_size should be a positive integer value"),
        ("BatchSampler", ([], True, False), "batch_size should be a positive integer value"),
        ("BatchSampler", ([], 2, 1), "drop_last should be a boolean value"),
        ("RandomSampler", ([],), "num_samples should be a positive integer value"),
        ("WeightedRandomSampler", ([1.0], 0), "num_samples should be a positive integer"),
        ("WeightedRandomSampler", ([[1.0]], 1), "weights should be a 1d sequence"),
        ("DistributedSampler", ([1], 2, 2), r"Invalid rank 2, rank should be in .* \[0, 1\]"),
    ],
)
def test_mistakes_in_samplers(lib, name, arguments, error):
    with pytest.raises(ValueError, match=error):
        getattr(lib.utils.data, name)(*arguments)


def test_distributed_sampler(lib):
    sampler = lib.utils.data.DistributedSampler
    ranks = [list(sampler(range(7), 3, rank, shuffle=False)) for rank in range(3)]
    assert ranks == [[0, 3, 6], [1, 4, 0], [2, 5, 1]]
    dropped = [list(sampler(range(7), 3, rank, False, drop_last=True)) for rank in range(3)]
    assert dropped == [[0, 3], [1, 4], [2, 5]]
    few = [list(sampler(range(2), 5, rank, shuffle=False)) for rank in range(5)]
    assert few == [[0], [1], [0], [1], [0]]
    shuffled = sampler(range(6), 2, 0, seed=1)
    assert (list(shuffled), len(shuffled)) == ([1, 2, 3], 3)
    shuffled.set_epoch(2)
    assert list(shuffled) == [4, 3, 1]


def as_values(value):
    """Tensors as (dtype, list), so that the results of two libraries can be compared."""
    if hasattr(value, "tolist") and hasattr(value, "untyped_storage"):
        return str(value.dtype), value.tolist()
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value).__name__, [as_values(item) for item in value]
    if isinstance(value, dict):
        return type(value).__name__, {key: as_values(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value).__name__, [as_values(item) for item in value]
    return value


COLLATED = [
    ([1, 2], ("torch.int64", [1, 2])),
    ([1.5, 2.5], ("torch.float64", [1.5, 2.5])),
    ([True, False], ("torch.bool", [True, False])),
    (["a", "b"], ("list", ["a", "b"])),
    ([np.float32(1), np.float32(2)], ("torch.float32", [1.0, 2.0])),
    ([np.arange(2), np.arange(2)], ("torch.int64", [[0, 1], [0, 1]])),
    ([(1, "a"), (2, "b")], ("list", [("torch.int64", [1, 2]), ("tuple", ["a", "b"])])),
    ([[1, 2.0], [3, 4.0]], ("list", [("torch.int64", [1, 3]), ("torch.float64", [2.0, 4.0])])),
    ([Point(1, 2), Point(3, 4)], ("Point", [("torch.int64", [1, 3]), ("torch.int64", [2, 4])])),
    ([OrderedDict(b=1), OrderedDict(b=2)], ("OrderedDict", {"b": ("torch.int64", [1, 2])})),
    ([defaultdict(int, a=1)] * 2, ("defaultdict", {"a": ("torch.int64", [1, 1])})),
]


@pytest.mark.parametrize(("batch", "expected"), COLLATED, ids=lambda value: repr(value)[:40])
def test_default_collate(lib, batch, expected):
    assert as_values(lib.utils.data.default_collate(batch)) == expected


def test_default_collate_of_tensors(lib):
    collate = lib.utils.data.default_collate
    result = collate([{"x": lib.ones(2), "y": (lib.zeros(()), 3)}] * 2)
    assert as_values(result) == (
        "dict",
        {
            "x": ("torch.float32", [[1.0, 1.0], [1.0, 1.0]]),
            "y": ("list", [("torch.float32", [0.0, 0.0]), ("torch.int64", [3, 3])]),
        },
    )
    with pytest.raises(RuntimeError, match="each element in list of batch should be of equal"):
        collate([[1], [1, 2]])
    with pytest.raises(TypeError, match="default_collate: batch must contain tensors, numpy"):
        collate([object()])
    with pytest.raises(TypeError, match="default_collate: batch must contain tensors, numpy"):
        collate([np.array(["a"])])
    with pytest.raises(RuntimeError):
        collate([lib.ones(2), lib.ones(3)])


def test_collate_with_functions_of_ones_own(lib):
    collate = importlib.import_module(f"{lib.__name__}.utils.data._utils.collate")

    def text(batch, *, collate_fn_map=None):
        return "+".join(batch)

    mapping = {**collate.default_collate_fn_map, str: text}
    assert as_values(collate.collate([("a", 1), ("b", 2)], collate_fn_map=mapping)) == (
        "list",
        ["a+b", ("torch.int64", [1, 2])],
    )


def test_default_convert(lib):
    convert = lib.utils.data.default_convert
    value = {"a": np.arange(2), "b": (np.float64(1.5), "text"), "c": Point(np.int8(1), b"x")}
    assert as_values(convert(value)) == (
        "dict",
        {
            "a": ("torch.int64", [0, 1]),
            "b": ("list", [("torch.float64", 1.5), "text"]),
            "c": ("Point", [("torch.int8", 1), b"x"]),
        },
    )
    texts = np.array(["a"])
    assert convert(texts) is texts


def test_subclasses_can_be_typed():
    data = mindtorch_v2.utils.data

    class Numbers(data.Dataset[int]):
        pass

    class Order(data.Sampler[int]):
        pass

    assert isinstance(Numbers(), data.Dataset)
    assert isinstance(Order(), data.Sampler)
