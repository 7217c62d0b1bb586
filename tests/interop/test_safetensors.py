"""safetensors files, both ways, through the package safetensors."""

import mindtorch_v2 as torch
import pytest
from mindtorch_v2.utils import safetensors as ours

pytest.importorskip("safetensors")
DTYPES = "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool".split()


def tensors(library):
    found = {name: library.tensor([[0, 1, 3]], dtype=getattr(library, name)) for name in DTYPES}
    return {**found, "empty": library.ones(0, 2), "number": library.tensor(3)}


def same(left, right):
    assert set(left) == set(right)
    for name in left:
        assert str(left[name].dtype) == str(right[name].dtype)
        assert tuple(left[name].shape) == tuple(right[name].shape)
        assert left[name].tolist() == right[name].tolist()


def test_round_trip(tmp_path):
    path = tmp_path / "model.safetensors"
    ours.save_file(tensors(torch), path, metadata={"format": "pt"})
    same(ours.load_file(path), tensors(torch))
    same(ours.load(path.read_bytes()), tensors(torch))
    same(ours.load(ours.save(tensors(torch))), tensors(torch))
    same(torch.load(path), tensors(torch))


def test_torch_reads_ours(oracle, tmp_path):
    import safetensors.torch as theirs

    path = tmp_path / "model.safetensors"
    ours.save_file(tensors(torch), path)
    same(theirs.load_file(path), tensors(oracle))


def test_we_read_torchs(torch_gives):
    def file(library):
        import safetensors.torch as theirs

        return theirs.save(tensors(library))

    same(ours.load(torch_gives(file)), tensors(torch))


def test_loading_copies_nothing(tmp_path):
    path = tmp_path / "model.safetensors"
    ours.save_file({"a": torch.ones(1000), "b": torch.zeros(1000)}, path)
    found = ours.load_file(path)
    with open("/proc/self/maps") as file:
        mapped = [line for line in file if line.rstrip().endswith(str(path))]
    start, end = (int(part, 16) for part in mapped[0].split()[0].split("-"))
    assert all(start <= tensor.data_ptr() < end for tensor in found.values())
    found["a"][0] = 5.0
    assert ours.load_file(path)["a"][0].item() == 1.0


def test_mistakes(tmp_path):
    base = torch.ones(4, 4)
    with pytest.raises(RuntimeError, match=r"Some tensors share memory.*'a', 'b'"):
        ours.save({"a": base, "b": base[0]})
    with pytest.raises(ValueError, match="non contiguous tensor: `a`"):
        ours.save({"a": base[:, :2]})
    with pytest.raises(ValueError, match="Key `a` is invalid"):
        ours.save({"a": 1})
    path = tmp_path / "bad.safetensors"
    ours.save_file({"a": torch.ones(100)}, path)
    data = path.read_bytes()
    path.write_bytes(data[:-8])
    with pytest.raises(Exception, match="(?i)header|incomplete|invalid"):
        ours.load_file(path)
    with pytest.raises(RuntimeError, match="map_location must be a device"):
        torch.load(path, map_location={})
