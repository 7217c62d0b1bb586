"""Answers of torch in files: what is kept comes back, and what is not kept is asked for."""

import math

import mindtorch_v2 as torch
import numpy
import pytest

from tests.support import recorded

BASE = torch.arange(24, dtype=torch.float32).reshape(4, 6)
TENSORS = [
    torch.tensor(2.5, dtype=torch.float64),
    torch.tensor([1, -3], dtype=torch.int8),
    torch.ones(0, 3),
    BASE,
    BASE.t(),
    BASE.to(torch.bfloat16) / 3,
    (BASE > 4),
    torch.tensor([1 + 2j, 3 - 4j] * 5),
    torch.nn.Parameter(torch.full((2, 3), math.inf)),
]


def through_a_file(value, tmp_path):
    answers = recorded.Answers(tmp_path / "test_something.py")
    answers.keep("a test", recorded.encode(value, torch))
    answers.write()
    again = recorded.Answers(tmp_path / "test_something.py")
    return recorded.decode(again.kept["a test"])


@pytest.mark.parametrize("tensor", TENSORS, ids=lambda x: f"{x.dtype}-{list(x.shape)}")
def test_tensors(tensor, tmp_path):
    found = through_a_file(tensor, tmp_path)
    assert found.dtype is tensor.dtype and found.shape == tensor.shape
    assert found.stride() == tensor.stride()
    assert found.tolist() == tensor.tolist()


def test_plain_objects(tmp_path):
    value = {
        "text": ("ValueError", None, True, [1, 2.5, math.inf]),
        3: {"b": b"\0\xff", "set": {"x", "y"}},
        "long": ["text"] * 1000,
        "kinds": [ValueError, 1 + 2j, torch.bfloat16],
    }
    assert through_a_file(value, tmp_path) == value
    assert math.isnan(through_a_file(math.nan, tmp_path))
    array = numpy.arange(6, dtype=numpy.int16).reshape(2, 3)
    found = through_a_file([array], tmp_path)[0]
    assert found.dtype == array.dtype and found.tolist() == array.tolist()


@pytest.mark.parametrize("count", [recorded.LONG + 1, 1000, 4096])
def test_long_tensors_are_sampled(count, tmp_path):
    tensor = torch.arange(count, dtype=torch.float32)
    sample = through_a_file(tensor.reshape(1, count), tmp_path)
    assert sample.shape == (1, count) and sample.dtype is tensor.dtype
    expected = recorded.Sample.of(tensor.numpy())
    assert sample.values.tolist() == expected.tolist()
    assert len(expected) <= recorded.LONG + 1 and expected[-1] == count - 1
    assert recorded.Sample.of(tensor.numpy() + 1).tolist() != expected.tolist()


def test_what_cannot_be_kept_is_refused():
    with pytest.raises(TypeError, match="cannot keep"):
        recorded.encode(object(), torch)


@pytest.mark.parametrize(("count", "name"), [(5, "test_it.json"), (30_000, "test_it.json.xz")])
def test_short_files_are_readable_and_long_ones_compressed(tmp_path, count, name):
    answers = recorded.Answers(tmp_path / "test_it.py")
    for key in ("b", "a"):
        answers.keep(key, [key] * count)
    answers.write()
    (path,) = (tmp_path / recorded.FOLDER).iterdir()
    assert path.name == name and path.stat().st_size < 1000
    again = recorded.Answers(tmp_path / "test_it.py")
    assert list(again.kept) == ["a", "b"] and again.kept["b"] == ["b"] * count
    again.keep("b", 1)
    again.keep("a", 2)
    again.write()
    assert [path.name for path in path.parent.iterdir()] == ["test_it.json"]


@pytest.mark.skipif(recorded.TORCH_INSTALLED, reason="torch answers")
def test_an_answer_that_is_not_kept_is_no_reason_to_pass(torch_gives):
    with pytest.raises(AssertionError, match="--record-torch"):
        torch_gives(lambda torch: 1)
