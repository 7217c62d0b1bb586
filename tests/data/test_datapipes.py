"""torch.utils.data.datapipes: what each pipe gives, the rule of one iterator, and DataLoader."""

import importlib
import pickle
import warnings

import mindtorch_v2 as torch
import pytest
from mindtorch_v2.utils import data
from mindtorch_v2.utils.data import graph, graph_settings
from mindtorch_v2.utils.data.datapipes.utils import decoder

Wrap = data.datapipes.iter.IterableWrapper
Keyed = data.datapipes.map.SequenceWrapper


def negated(x):
    return -x


def added(a, b):
    return a + b


def is_even(x):
    return x % 2 == 0


def third(x):
    return x % 3


def test_map():
    assert list(Wrap(range(3)).map(negated)) == [0, -1, -2]
    pairs = [(1, 2), (3, 4)]
    assert list(Wrap(pairs).map(negated, input_col=1)) == [(1, -2), (3, -4)]
    assert list(Wrap(pairs).map(added, [0, 1], 0)) == [(3, 2), (7, 4)]
    assert list(Wrap(pairs).map(added, [0, 1], -1)) == [(1, 2, 3), (3, 4, 7)]
    assert list(Wrap(pairs).map(added, [0, 1])) == [(3,), (7,)]
    assert list(Wrap([{"a": 1}]).map(negated, "a", "b")) == [{"a": 1, "b": -1}]
    assert len(Wrap(pairs).map(negated)) == 2
    with pytest.raises(ValueError, match="`output_col` must be None"):
        Wrap(pairs).map(negated, output_col=1)
    with pytest.raises(ValueError, match="added takes 2 positional parameters, but 1 are required"):
        Wrap(pairs).map(added)


def test_filter():
    assert list(Wrap(range(5)).filter(is_even)) == [0, 2, 4]
    assert list(Wrap([(1, 2), (2, 3)]).filter(is_even, input_col=0)) == [(2, 3)]
    with pytest.raises(ValueError, match=r"Boolean output is required.*\n.*__iter__ of Filter"):
        list(Wrap(range(3)).filter(negated))
    with pytest.raises(TypeError):
        len(Wrap(range(3)).filter(is_even))


def test_batches():
    assert list(Wrap(range(5)).batch(2)) == [[0, 1], [2, 3], [4]]
    assert list(Wrap(range(5)).batch(2, drop_last=True)) == [[0, 1], [2, 3]]
    assert len(Wrap(range(5)).batch(2)) == 3
    chunk = next(iter(Wrap(range(5)).batch(2)))
    assert isinstance(chunk, data.DataChunk)
    assert chunk.as_str("> ") == "> [0, 1]"
    assert list(chunk.raw_iterator()) == [0, 1]


def test_unbatch():
    nested = [[[0, 1], [2]], [[3]]]
    assert list(Wrap(nested).unbatch()) == [[0, 1], [2], [3]]
    assert list(Wrap(nested).unbatch(2)) == [0, 1, 2, 3]
    assert list(Wrap(nested).unbatch(-1)) == [0, 1, 2, 3]
    with pytest.raises(IndexError, match="exceeds the depth"):
        list(Wrap([1]).unbatch())
    with pytest.raises(ValueError, match="must be -1 or >= 0"):
        list(Wrap([1]).unbatch(-2))


def test_collate():
    assert [batch.tolist() for batch in Wrap([[1, 2], [3]]).collate()] == [[1, 2], [3]]
    assert list(Wrap([[1, 2], [3]]).collate(sum)) == [3, 3]


def test_groups():
    assert list(Wrap(range(7)).groupby(third)) == [[0, 3, 6], [1, 4], [2, 5]]
    assert list(Wrap(range(4)).groupby(third, keep_key=True)) == [(0, [0, 3]), (1, [1]), (2, [2])]
    pairs = Wrap(range(7)).groupby(third, group_size=2)
    assert list(pairs) == [[0, 3], [1, 4], [2, 5], [6]]
    full = Wrap(range(6)).groupby(negated, buffer_size=2)
    assert list(full) == [[0], [1], [2], [3], [4], [5]]
    with pytest.raises(RuntimeError, match="Failed to group items"):
        list(Wrap(range(6)).groupby(negated, buffer_size=2, group_size=2, guaranteed_group_size=2))


def test_joining():
    assert list(Wrap([1, 2]).zip(Wrap("abc"))) == [(1, "a"), (2, "b")]
    assert list(Wrap([1, 2]).concat(Wrap([3]))) == [1, 2, 3]
    assert list(Wrap([1, 2]) + Wrap([3])) == [1, 2, 3]
    assert list(Wrap(range(3)).mux(Wrap(range(10, 15)), Wrap([7]))) == [0, 10, 7]
    assert len(Wrap(range(3)).mux(Wrap(range(5)))) == 6
    with pytest.raises(TypeError, match="Expected all inputs to be `IterDataPipe`"):
        Wrap([1]).concat([1])


def test_fork():
    first, second = Wrap(range(4)).fork(2)
    one, two = iter(first), iter(second)
    assert [next(one), next(two), next(one)] == [0, 0, 1]
    assert list(two) == [1, 2, 3]
    with pytest.warns(UserWarning, match="not exhausted"):
        assert list(first) == [0, 1, 2, 3]  # all begin again
    with pytest.raises(BufferError, match="buffer size 3 is insufficient"):
        list(Wrap(range(10)).fork(2, buffer_size=3)[0])
    source = Wrap([1])
    assert source.fork(1) is source
    first, second = Wrap([[1]]).fork(2, copy="deep")
    next(iter(first)).append(2)
    assert list(second) == [[1]]


def test_demux():
    even, odd = Wrap(range(5)).demux(2, lambda x: x % 2)
    assert (list(even), list(odd)) == ([0, 2, 4], [1, 3])
    one, two = Wrap(range(4)).demux(2, [0, 1, None, 0].__getitem__, drop_none=True)
    assert (list(one), list(two)) == ([0, 3], [1])
    with pytest.raises(ValueError, match="between 0 and 1. 2 is returned"):
        list(Wrap(range(4)).demux(2, lambda x: x)[0])
    with pytest.raises(BufferError, match="buffer size 5 is insufficient"):
        list(Wrap(range(60)).demux(2, lambda x: 1, buffer_size=5)[0])


# The orders are torch's.
def test_shuffle():
    assert list(Wrap(range(12)).shuffle().set_seed(7)) == [5, 2, 8, 0, 3, 11, 9, 1, 7, 10, 4, 6]
    torch.manual_seed(3)
    drawn = [1, 4, 3, 2, 6, 0, 5, 10, 11, 8, 9, 7]
    assert list(Wrap(range(12)).shuffle(buffer_size=4)) == drawn
    assert list(Wrap(range(4)).shuffle().set_shuffle(False)) == [0, 1, 2, 3]
    assert list(Wrap([[1, 2], [3, 4]]).shuffle(unbatch_level=1).set_seed(1)) == [2, 4, 1, 3]


def test_shards():
    pipe = Wrap(range(10)).sharding_filter()
    pipe.apply_sharding(3, 1)
    assert list(pipe) == [1, 4, 7]
    assert len(pipe) == 3
    assert list(graph_settings.apply_sharding(Wrap(range(4)).sharding_filter(), 2, 1)) == [1, 3]
    twice = Wrap(range(4)).sharding_filter().sharding_filter()
    with pytest.raises(RuntimeError, match="Sharding twice"):
        graph_settings.apply_sharding(twice, 2, 1)


def test_pipes_with_keys():
    assert list(Keyed(range(3)).map(negated)) == [0, -1, -2]
    assert list(Keyed(range(5)).batch(2)) == [[0, 1], [2, 3], [4]]
    assert Keyed(range(2)).concat(Keyed(range(3)))[3] == 1
    assert list(Keyed(range(2)).zip(Keyed("abc"))) == [(0, "a"), (1, "b")]
    assert Keyed({"a": 1})["a"] == 1
    assert list(Keyed(range(5)).shuffle().set_seed(3)) == [0, 2, 3, 4, 1]  # torch's order
    with pytest.raises(IndexError, match="Index 7 is out of bound"):
        Keyed(range(5)).batch(2)[7]
    with pytest.raises(IndexError, match="Index 9 is out of range"):
        Keyed(range(5)).concat(Keyed(range(2)))[9]


def test_one_iterator_at_a_time():
    pipe = Wrap(range(3)).map(negated)
    first = iter(pipe)
    next(first)
    second = iter(pipe)
    assert next(second) == 0
    with pytest.raises(RuntimeError, match="This iterator has been invalidated.*MapperIterData"):
        next(first)
    assert list(pipe) == [0, -1, -2]


def test_pipes_of_ones_own():
    class Doubled(data.IterDataPipe):
        def __init__(self, source):
            self.source = source

        def __iter__(self):
            for sample in self.source:
                yield 2 * sample

    data.functional_datapipe("doubled_for_test")(Doubled)
    try:
        assert list(Wrap([1, 2]).doubled_for_test()) == [2, 4]
        assert "doubled_for_test" in dir(Wrap([1]))
        with pytest.raises(Exception, match="doubled_for_test as it is already taken"):
            data.functional_datapipe("doubled_for_test")(Doubled)
    finally:
        del data.IterDataPipe.functions["doubled_for_test"]
    with pytest.raises(AttributeError, match="no attribute 'doubled_for_test'"):
        Wrap([1]).doubled_for_test  # noqa: B018
    with pytest.raises(TypeError, match="can only decorate"):
        data.functional_datapipe("name")(list)


def test_determinism():
    @data.non_deterministic
    class Unordered(data.IterDataPipe):
        def __iter__(self):
            yield 1

    @data.non_deterministic(lambda flag=False: flag)
    class Sometimes(data.IterDataPipe):
        def __init__(self, flag=False):
            pass

        def __iter__(self):
            yield 1

    assert list(Unordered()) == [1]
    with data.guaranteed_datapipes_determinism():
        Sometimes()
        for make in (Unordered, lambda: Sometimes(flag=True)):
            with pytest.raises(TypeError, match="is non-deterministic, but you set"):
                make()
    assert list(Sometimes(flag=True)) == [1]


def test_validation():
    class Numbers(data.IterDataPipe[int]):
        @data.argument_validation
        def __init__(self, source: data.IterDataPipe[int]):
            self.source = source

        @data.runtime_validation
        def __iter__(self):
            yield from self.source

    assert list(Numbers(Wrap([1]))) == [1]
    with pytest.raises(TypeError, match="Expected argument 'source' as a IterDataPipe, but found"):
        Numbers([1])
    with pytest.raises(RuntimeError, match="Expected an instance as subtype of <class 'int'>"):
        list(Numbers(Wrap([1, "a"])))
    with data.runtime_validation_disabled():
        assert list(Numbers(Wrap([1, "a"]))) == [1, "a"]


def test_graph():
    source = Wrap(range(3))
    last = source.map(negated).zip(source)
    found = graph_settings.get_all_graph_pipes(graph.traverse_dps(last))
    names = [str(pipe) for pipe in found]
    assert names == ["ZipperIterDataPipe", "MapperIterDataPipe", "IterableWrapperIterDataPipe"]
    child = source.fork(2)[0]
    assert source in graph_settings.get_all_graph_pipes(graph.traverse_dps(child))
    generator = torch.Generator().manual_seed(4)
    seeded = graph_settings.apply_random_seed(Wrap(range(8)).shuffle(), generator)
    assert list(seeded) == [1, 0, 4, 2, 6, 3, 5, 7]  # torch's order


def test_files(tmp_path):
    (tmp_path / "sub").mkdir()
    for name in ("a.txt", "b.bin", "sub/c.txt"):
        (tmp_path / name).write_bytes(b"hello\nworld")
    pipes = data.datapipes.iter

    def names(pipe):
        return [path.removeprefix(f"{tmp_path}/") for path in pipe]

    folder = str(tmp_path)
    assert names(pipes.FileLister(folder)) == ["a.txt", "b.bin"]
    assert names(pipes.FileLister(folder, recursive=True)) == ["a.txt", "b.bin", "sub/c.txt"]
    assert names(Wrap([folder]).list_files(masks="*.txt")) == ["a.txt"]
    path = str(tmp_path / "a.txt")
    [(name, file)] = Wrap([path]).open_files("t")
    assert (name, file.read()) == (path, "hello\nworld")
    file.close()
    pieces = Wrap([path]).open_files("rb").read_from_stream(chunk=4)
    assert [piece for _, piece in pieces] == [b"hell", b"o\nwo", b"rld"]
    with pytest.raises(ValueError, match="Invalid mode x"):
        Wrap([path]).open_files("x")
    files = Wrap([("a.txt", b"hi"), ("b.json", b"[1]"), ("c.cls", b"7"), ("d.odd", b"q")])
    decoded = files.routed_decode(decoder.basichandlers)
    assert list(decoded) == [("a.txt", "hi"), ("b.json", [1]), ("c.cls", 7), ("d.odd", b"q")]


def test_pickling():
    pipe = Wrap(range(4)).shuffle().map(negated)
    next(iter(pipe))
    assert sorted(pickle.loads(pickle.dumps(pipe))) == [-3, -2, -1, 0]


def ordered(library, workers):
    """What a loader gives for a seed, with torch's library or ours."""
    utils = importlib.import_module(f"{library}.utils.data")
    source = importlib.import_module(f"{library}.utils.data.datapipes.iter").IterableWrapper
    importlib.import_module(library).manual_seed(5)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        pipe = source(range(12)).shuffle().sharding_filter()
        loader = utils.DataLoader(
            pipe,
            batch_size=2,
            num_workers=workers,
            shuffle=True,
            persistent_workers=workers > 0,
        )
        return [[batch.tolist() for batch in loader] for _ in range(2)]


def test_loader():
    # torch's order
    one = [[1, 5], [2, 10], [8, 7], [0, 6], [11, 9], [3, 4]]
    assert ordered("mindtorch_v2", 0)[0] == one
    assert ordered("mindtorch_v2", 2)[0] == [[1, 2], [5, 10], [8, 0], [7, 6], [11, 3], [9, 4]]
    loader = data.DataLoader(Keyed(range(4)).map(negated), batch_size=2)
    assert [batch.tolist() for batch in loader] == [[0, -1], [-2, -3]]
    with pytest.warns(UserWarning, match="does not contain a `Shuffler`"):
        loader = data.DataLoader(Wrap(range(6)), shuffle=True)
    assert sorted(batch.item() for batch in loader) == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize("workers", [0, 2])
def test_loader_gives_what_torchs_does(torch_gives, workers):
    expected = torch_gives(lambda torch: ordered(torch.__name__, workers))
    assert ordered("mindtorch_v2", workers) == expected
