"""safetensors: the examples of its documentation, through its own functions for torch."""

import json
import struct

import pytest
import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model

DTYPES = (
    "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64 float8_e4m3fn"
).split()


def test_read_me(tmp_path, place):
    path = tmp_path / "model.safetensors"
    tensors = {
        "weight1": torch.arange(12.0).reshape(3, 4).to(place),
        "weight2": torch.zeros(1024, dtype=torch.bfloat16).to(place),
    }
    save_file(tensors, path, metadata={"format": "pt"})
    with safe_open(path, framework="pt", device="cpu") as file:
        assert sorted(file.keys()) == ["weight1", "weight2"] and file.metadata() == {"format": "pt"}
        for key in file.keys():
            assert torch.equal(file.get_tensor(key), tensors[key].cpu())
        part = file.get_slice("weight1")
        assert part.get_shape() == [3, 4] and part.get_dtype() == "F32"
        assert part[1:, :2].tolist() == [[4, 5], [8, 9]]
    found = load_file(path, device=place)
    assert all(found[key].device.type == place for key in tensors)
    assert torch.equal(found["weight1"], tensors["weight1"])


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes(name, tmp_path):
    values = torch.tensor([0.0, 1.0, 2.0]).to(getattr(torch, name))
    found = load(save({"x": values}))["x"]
    assert found.dtype == values.dtype and found.tolist() == values.tolist()


def test_the_file_is_the_format(tmp_path):
    data = save({"a": torch.tensor([[1, 2]], dtype=torch.int16)}, {"made": "here"})
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    assert header["a"] == {"dtype": "I16", "shape": [1, 2], "data_offsets": [0, 4]}
    assert data[8 + length :] == struct.pack("<2h", 1, 2)


class Tied(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.first = torch.nn.Linear(3, 3)
        self.second = torch.nn.Linear(3, 3)
        self.second.weight = self.first.weight


def test_models_with_shared_weights(tmp_path):
    path, model = str(tmp_path / "model.safetensors"), Tied()
    with pytest.raises(RuntimeError, match="share memory"):
        save_file(model.state_dict(), path)
    save_model(model, path)
    other = Tied()
    assert load_model(other, path) == (set(), [])
    for key, value in model.state_dict().items():
        assert torch.equal(other.state_dict()[key], value)


def test_mistakes(tmp_path):
    with pytest.raises(ValueError, match="non contiguous tensor"):
        save({"x": torch.ones(2, 3).t()})
    path = tmp_path / "broken.safetensors"
    path.write_bytes(b"\xff" * 16)
    with pytest.raises(SafetensorError):
        load_file(path)
