"""torch.save and torch.load: round trips, the file format, and what a hostile file cannot do."""

import io
import os
import pickle
import zipfile
from collections import Counter, OrderedDict

import mindtorch_v2 as torch
import numpy as np
import pytest

DTYPES = "float16 bfloat16 float32 float64 uint8 int8 int16 int32 int64 bool".split()


def saved(obj, save=torch.save, **kwargs):
    buffer = io.BytesIO()
    save(obj, buffer, **kwargs)
    return buffer.getvalue()


def loaded(data, load=torch.load, **kwargs):
    return load(io.BytesIO(data), **kwargs)


def round_trip(obj, **kwargs):
    return loaded(saved(obj), **kwargs)


def rewritten(data, change):
    """The archive with each record replaced by change(name, bytes), or left out if that is None."""
    result = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(data)) as source, zipfile.ZipFile(result, "w") as target:
        for name in source.namelist():
            changed = change(name.partition("/")[2], source.read(name))
            if changed is not None:
                target.writestr(name, changed)
    return result.getvalue()


def assert_same(actual, expected):
    assert type(actual).__name__ == type(expected).__name__
    assert str(actual.dtype) == str(expected.dtype)
    assert tuple(actual.shape) == tuple(expected.shape)
    assert tuple(actual.stride()) == tuple(expected.stride())
    assert actual.tolist() == expected.tolist()


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes(dtype):
    tensor = torch.tensor([[0, 1, 2], [3, 1, 0]], dtype=getattr(torch, dtype))
    assert_same(round_trip(tensor), tensor)


@pytest.mark.parametrize("shape", [(), (0,), (2, 0, 3), (1,), (2, 3, 4)], ids=str)
def test_shapes(shape):
    tensor = torch.ones(shape)
    assert_same(round_trip(tensor), tensor)


def test_views_keep_their_geometry():
    base = torch.arange(24.0).reshape(4, 6)
    for view in (base.t(), base[1:3], base[:, ::2], base[2, 3], torch.ones(3).expand(2, 3)):
        assert_same(round_trip(view), view)


def test_shared_storage_stays_shared():
    base = torch.arange(6.0)
    result = round_trip({"base": base, "tail": base[4:], "again": base})
    assert result["base"] is result["again"]
    result["base"][4] = -1.0
    assert result["tail"].tolist() == [-1.0, 5.0]


def test_each_storage_is_written_once():
    base = torch.zeros(1000)
    names = zipfile.ZipFile(io.BytesIO(saved([base, base[1:], base.t()]))).namelist()
    assert [name for name in names if "/data/" in name] == ["archive/data/0"]


@pytest.mark.parametrize(
    "value",
    [
        *(None, True, 7, -5, 70000, 2**33, 2**80, 1.5, 1 + 2j, "text", "é" * 300, b"\x00\xff"),
        *([], (), {}, [1, [2, (3,)]], {"a": {1: "b"}}, {1, 2}, bytearray(b"ab")),
        *(Counter("aab"), OrderedDict(b=1, a=2), list(range(3000))),
    ],
    ids=lambda value: repr(value)[:30],
)
def test_plain_values(value):
    result = round_trip(value)
    assert result == value
    assert type(result) is type(value)


def test_torch_values():
    values = [torch.float16, torch.bool, torch.device("cpu"), torch.Size([2, 3]), torch.Size([])]
    result = round_trip(values)
    assert result == values
    assert type(result[3]) is torch.Size


def test_attributes_of_an_ordered_dict():
    state = OrderedDict(weight=torch.ones(2))
    state._metadata = {"": {"version": 1}}
    result = round_trip(state)
    assert result._metadata == {"": {"version": 1}}


def test_paths(tmp_path):
    path = tmp_path / "model.v1.pt"
    torch.save({"a": torch.ones(2)}, path)
    assert torch.load(path)["a"].tolist() == [1.0, 1.0]
    assert torch.load(str(path), mmap=True)["a"].tolist() == [1.0, 1.0]
    assert zipfile.ZipFile(path).namelist()[0] == "model.v1/data.pkl"


def test_file_format():
    data = saved({"a": torch.arange(5)})
    archive = zipfile.ZipFile(io.BytesIO(data))
    assert archive.namelist() == [
        "archive/data.pkl",
        "archive/.format_version",
        "archive/.storage_alignment",
        "archive/byteorder",
        "archive/data/0",
        "archive/version",
        "archive/.data/serialization_id",
    ]
    assert archive.read("archive/version") == b"3\n"
    assert archive.read("archive/byteorder") == b"little"
    assert archive.read("archive/data/0") == np.arange(5, dtype="<i8").tobytes()
    assert data.index(np.arange(5, dtype="<i8").tobytes()) % 64 == 0
    text = archive.read("archive/data.pkl")
    assert b"ctorch._utils\n_rebuild_tensor_v2\n" in text
    assert b"ctorch\nLongStorage\n" in text
    assert b"mindtorch" not in text


def test_other_byte_order():
    def swap(name, data):
        if name == "byteorder":
            return b"big"
        return np.frombuffer(data, "<f4").astype(">f4").tobytes() if "data/0" in name else data

    tensor = torch.tensor([1.0, -2.5, 3e10])
    assert_same(loaded(rewritten(saved(tensor), swap)), tensor)


def test_map_location():
    data = saved(torch.ones(2))
    seen = []

    def keep(storage, location):
        seen.append((storage.nbytes(), location))
        return storage

    for where in (None, "cpu", torch.device("cpu"), {"npu:0": "cpu"}, keep, lambda s, loc: None):
        assert loaded(data, map_location=where).tolist() == [1.0, 1.0]
    assert seen == [(8, "cpu")]


def test_map_location_moves_what_another_device_saved():
    data = rewritten(
        saved(torch.ones(2)),
        lambda name, data: data.replace(b"\x03\x00\x00\x00cpu", b"\x05\x00\x00\x00xyz:0"),
    )
    assert loaded(data, map_location="cpu").tolist() == [1.0, 1.0]
    assert loaded(data, map_location={"xyz:0": "cpu"}).tolist() == [1.0, 1.0]
    with pytest.raises(RuntimeError, match="don't know how to restore data location"):
        loaded(data)


def test_errors_of_map_location_are_not_the_pickles():
    def refuse(storage, location):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        loaded(saved(torch.ones(2)), map_location=refuse)


class Custom:
    def __init__(self, value):
        self.value = value


class Attack:
    def __reduce__(self):
        return os.mkdir, ("created_by_a_pickle",)


def test_weights_only_is_the_default():
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed") as caught:
        round_trip(Custom(1))
    assert "Custom was not an allowed global by default" in str(caught.value)
    assert round_trip(Custom(1), weights_only=False).value == 1


def test_safe_globals():
    serialization = torch.serialization
    data = saved(Custom(3))
    with serialization.safe_globals([Custom]):
        assert loaded(data).value == 3
    with pytest.raises(pickle.UnpicklingError):
        loaded(data)
    serialization.add_safe_globals([Custom])
    assert serialization.get_safe_globals() == [Custom]
    assert loaded(data).value == 3
    serialization.clear_safe_globals()
    with pytest.raises(pickle.UnpicklingError):
        loaded(data)


@pytest.mark.parametrize(
    "value",
    [Attack(), eval, getattr, os.system, frozenset([1])],
    ids=["attack", "eval", "getattr", "system", "frozenset"],
)
def test_weights_only_calls_nothing_else(value, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(pickle.UnpicklingError, match="Unsupported global"):
        round_trip(value)
    assert not os.listdir(tmp_path)


def with_pickle(program):
    """A file whose object is the given pickle program."""
    return rewritten(saved(1), lambda name, data: program if name == "data.pkl" else data)


@pytest.mark.parametrize(
    "program",
    [
        b"\x80\x02I1\n.",  # an opcode torch never writes
        b"\x80\x02ccollections\nOrderedDict\n}X\x01\x00\x00\x00aK\x01sb.",  # state for a class
        b"\x80\x02]K\x01\x85R.",  # a call of a list
        b"\x80\x02K\x01K\x01\x85\x81.",  # an instance of a number
        b"\x80\x02}K\x01a.",  # append to a dict
        b"\x80\x02]K\x01K\x02s.",  # item of a list
        b"\x80\x02K\x01Q.",  # a storage that is a number
        b"\x80\x02c_codecs\nencode\nX\x01\x00\x00\x00aX\x05\x00\x00\x00rot13\x86R.",
    ],
    ids=range(8),
)
def test_malformed_pickles(program):
    with pytest.raises(pickle.UnpicklingError, match="Weights only load failed"):
        loaded(with_pickle(program))


@pytest.mark.parametrize(
    ("program", "error"),
    [
        (b"\x80\x02h\x07.", KeyError),  # memo that is not there
        (b"\x80\x02a.", IndexError),  # nothing to append to
        (b"\x80\x02X\x10\x00\x00\x00abc", EOFError),  # cut off
        (b"", EOFError),
    ],
    ids=("memo", "stack", "cut", "empty"),
)
def test_malformed_pickles_with_other_classes(program, error):
    with pytest.raises(error, match="Weights only load failed"):
        loaded(with_pickle(program))


def test_a_tensor_cannot_leave_its_storage():
    data = saved(torch.ones(4))
    bounds = {
        b"K\x00K\x04\x85": b"K\x00K\x05\x85",  # size 5
        b"K\x00K\x04\x85q": b"K\x01K\x04\x85q",  # offset 1
        b"K\x01\x85": b"K\x02\x85",  # stride 2
    }
    for old, new in bounds.items():

        def change(name, record, old=old, new=new):
            if name == "data.pkl":
                assert old in record
                return record.replace(old, new)
            return record

        with pytest.raises(RuntimeError, match="out of bounds"):
            loaded(rewritten(data, change))


def test_a_record_must_have_the_size_the_pickle_says():
    data = saved(torch.ones(4))
    with pytest.raises(RuntimeError, match="8 bytes. does not match expected size .16 bytes"):
        loaded(rewritten(data, lambda name, old: old[:8] if name == "data/0" else old))


def test_damaged_files():
    data = saved({"a": torch.ones(1000)})
    with pytest.raises(RuntimeError, match="failed reading zip archive"):
        loaded(data[:600])
    flipped = bytearray(data)
    flipped[data.index(np.ones(3, "<f4").tobytes()) + 9] ^= 1
    with pytest.raises(RuntimeError, match="checksum"):
        loaded(bytes(flipped))
    with pytest.raises(EOFError):
        loaded(b"")
    with pytest.raises(RuntimeError, match="Invalid magic number"):
        loaded(pickle.dumps({"a": 1}, 2))


def test_wrong_arguments(tmp_path):
    with pytest.raises(AttributeError, match="expected 'f' to be string, path, or a file-like"):
        torch.save(1, 3)
    with pytest.raises(RuntimeError, match="Parent directory .* does not exist"):
        torch.save(1, tmp_path / "missing" / "file.pt")
    with pytest.raises(RuntimeError, match="Is a directory"):
        torch.save(1, tmp_path)
    with pytest.raises(AttributeError, match="has no attribute 'seek'"):
        torch.load(3)
    with pytest.raises(TypeError, match="'float' object is not callable"):
        loaded(saved(torch.ones(1)), map_location=3.5)
    with pytest.raises(TypeError, match="must give a storage, not str"):
        loaded(saved(torch.ones(1)), map_location=lambda storage, location: "cpu")
    with pytest.raises(RuntimeError, match="don't know how to restore data location"):
        loaded(saved(torch.ones(1)), map_location={"cpu": "nowhere"})
    with pytest.raises(FileNotFoundError):
        torch.load(tmp_path / "missing.pt")
    with pytest.raises(RuntimeError, match="Can not safely load weights"):
        loaded(saved(1), pickle_module=pickle, weights_only=True)


def test_a_failed_save_keeps_the_older_file(tmp_path):
    path = tmp_path / "kept.pt"
    torch.save(1, path)
    with pytest.raises(Exception, match="lambda"):
        torch.save(lambda: None, path)
    assert torch.load(path) == 1


def test_one_storage_has_one_dtype():
    tensor = torch.ones(4)
    with pytest.raises(RuntimeError, match="view the same data as different types"):
        saved([tensor, tensor.view(torch.int32)])


def test_requires_grad_is_kept():
    result = round_trip([torch.ones(2, requires_grad=True), torch.ones(2)])
    assert [tensor.requires_grad for tensor in result] == [True, False]


def test_parameters():
    parameters = [torch.nn.Parameter(torch.ones(2), requires_grad=flag) for flag in (True, False)]
    result = round_trip(parameters)
    assert all(type(parameter) is torch.nn.Parameter for parameter in result)
    assert [parameter.requires_grad for parameter in result] == [True, False]


def equal(ours, theirs):
    if isinstance(ours, torch.Tensor):
        assert_same(ours, theirs)
        assert ours.requires_grad == theirs.requires_grad
    elif isinstance(ours, dict):
        assert list(ours) == list(theirs)
        for key in ours:
            equal(ours[key], theirs[key])
    elif isinstance(ours, (list, tuple)) and type(ours) is not torch.Size:
        assert len(ours) == len(theirs)
        for left, right in zip(ours, theirs, strict=True):
            equal(left, right)
    else:
        assert str(ours) == str(theirs)


def samples(library):
    base = library.arange(12.0).reshape(3, 4)
    return {
        "dtypes": [library.tensor([0, 1, 2], dtype=getattr(library, dtype)) for dtype in DTYPES],
        "views": [base, base[1:], base.t(), base[:, ::2], base[0, 0]],
        "empty": [library.ones(0), library.ones(2, 0), library.tensor(3)],
        "values": [base.shape, library.float16, library.device("cpu"), 1.5, "x", None],
        "state": OrderedDict(weight=base, bias=library.ones(3)),
        "parameter": library.nn.Parameter(library.ones(2)),
        "grad": library.ones(2, requires_grad=True),
    }


NAMES = "dtypes views empty values state parameter grad".split()


def file_of(library, name, **options):
    return saved(samples(library)[name], library.save, **options)


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_torch_reads_ours(oracle, name, weights_only):
    data = file_of(torch, name)
    equal(samples(torch)[name], loaded(data, oracle.load, weights_only=weights_only))


@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("name", NAMES)
def test_we_read_torch(torch_gives, name, weights_only):
    data = torch_gives(file_of, name)
    equal(samples(torch)[name], loaded(data, weights_only=weights_only))


@pytest.mark.parametrize("name", NAMES)
def test_we_read_the_older_format(torch_gives, name):
    data = torch_gives(file_of, name, _use_new_zipfile_serialization=False)
    equal(samples(torch)[name], loaded(data))


@pytest.mark.parametrize("name", NAMES)
def test_torch_reads_the_older_format(oracle, name):
    data = file_of(torch, name, _use_new_zipfile_serialization=False)
    equal(samples(torch)[name], loaded(data, oracle.load))


def file_of_a_view(library):
    base = library.arange(6.0)
    return saved([base, base[4:]], library.save)


def check_sharing(result):
    result[0][4] = -1.0
    assert result[1].tolist() == [-1.0, 5.0]


def test_sharing_survives_the_exchange(torch_gives):
    check_sharing(loaded(torch_gives(file_of_a_view)))


def test_sharing_survives_in_torch(oracle):
    check_sharing(loaded(file_of_a_view(torch), oracle.load))
