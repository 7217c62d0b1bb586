"""Checkpoints: files of torch, mapping, options of load, saves that are cut off, hostile files."""

import io
import os
import pickle
import signal
import stat
import subprocess
import sys
import textwrap
import types
import zipfile
from collections import OrderedDict
from pathlib import Path

import mindtorch_v2 as torch
import pytest

FILES = Path(__file__).parent / "files"


# --- files made by torch (files/make_files.py) ------------------------------------------------


@pytest.mark.parametrize("name", ["zip.pt", "legacy.pt"])
@pytest.mark.parametrize("options", [{}, {"weights_only": False}], ids=["safe", "any"])
def test_files_of_torch(name, options):
    found = torch.load(FILES / name, **options)
    for dtype, tensor in found["dtypes"].items():
        assert tensor.dtype is getattr(torch, dtype)
        assert tensor.tolist() == torch.tensor([0.0, 1, 3]).to(tensor.dtype).tolist()
    assert len(found["dtypes"]) == 21
    assert found["complex"].tolist() == [1 + 2j, -3.5j]
    base, tail, turned, columns, single = found["views"]
    assert base.tolist() == [[0.0, 1.0, 2.0, 3.0], [4.0, 5.0, 6.0, 7.0], [8.0, 9.0, 10.0, 11.0]]
    base[2, 0] = -1.0
    assert tail[1, 0].item() == turned[0, 2].item() == columns[2, 0].item() == -1.0
    assert single.item() == 11.0
    assert [tuple(tensor.shape) for tensor in found["empty"]] == [(0,), (2, 0), ()]
    assert type(found["parameter"]) is torch.nn.Parameter
    assert found["parameter"].requires_grad
    assert found["values"] == [1, 2.5, "text", None, True, (1, 2), {3}, b"\x00\xff", (2, 3)]
    assert type(found["values"][-1]) is torch.Size
    assert found["types"] == [torch.float16, torch.device("cpu")]
    assert list(found["ordered"].items()) == [("b", 1), ("a", 2)]


@pytest.mark.parametrize("name", ["zip.pt", "legacy.pt"])
def test_training_goes_on_from_a_file_of_torch(name):
    found = torch.load(FILES / name)
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    optimizer = torch.optim.AdamW(model.parameters())
    model.load_state_dict(found["model"])
    optimizer.load_state_dict(found["optimizer"])
    assert optimizer.param_groups[0]["lr"] == 0.01
    assert optimizer.state[model[0].weight]["step"].item() == 1.0
    model(torch.ones(4, 2)).square().sum().backward()
    optimizer.step()
    assert optimizer.state[model[0].weight]["step"].item() == 2.0


def test_tar_archive():
    found = torch.load(FILES / "tar.pt", weights_only=False)
    assert found["weight"].tolist() == [[0.0, 1.0, 2.0], [3.0, 4.0, 5.0]]
    found["weight"][1, 0] = 9.0
    assert found["row"].tolist() == [9.0, 4.0, 5.0]
    with pytest.raises(RuntimeError, match="Cannot use ``weights_only=True`` with files saved in"):
        torch.load(FILES / "tar.pt")


# --- mapping -----------------------------------------------------------------------------------


def is_mapped(tensor, path):
    """Whether the tensor's bytes are a mapping of the file."""
    address = tensor.data_ptr()
    with open("/proc/self/maps") as file:
        for line in file:
            start, end = (int(part, 16) for part in line.split()[0].split("-"))
            if start <= address < end:
                return line.rstrip().endswith(str(path))
    return False


def test_mmap(tmp_path):
    path = tmp_path / "weights.pt"
    base = torch.arange(1000.0)
    torch.save({"base": base, "view": base[10:], "empty": torch.ones(0)}, path)
    before = path.read_bytes()
    found = torch.load(path, mmap=True)
    assert is_mapped(found["base"], path)
    assert torch.equal(found["base"], base)
    found["base"][10] = -5.0
    assert found["view"][0].item() == -5.0
    assert path.read_bytes() == before
    # A new file takes the place of the old one; what is mapped stays.
    torch.save({"base": torch.zeros(1000)}, path)
    assert found["base"][999].item() == 999.0
    parameter = torch.load(FILES / "zip.pt", mmap=True)["parameter"]
    assert parameter.tolist() == [5.0, 5.0]


def test_mmap_is_for_paths_of_zip_files():
    with pytest.raises(ValueError, match="f must be a file path in order to use the mmap"):
        torch.load(io.BytesIO((FILES / "zip.pt").read_bytes()), mmap=True)
    with pytest.raises(RuntimeError, match="mmap can only be used with files saved with"):
        torch.load(FILES / "legacy.pt", mmap=True)


def test_mmap_of_a_cut_file(tmp_path):
    data = (FILES / "zip.pt").read_bytes()
    path = tmp_path / "cut.pt"
    path.write_bytes(data[: len(data) // 2])
    with pytest.raises(RuntimeError, match="failed reading zip archive"):
        torch.load(path, mmap=True)


# --- options of load ---------------------------------------------------------------------------


class Custom:
    pass


def custom_file():
    buffer = io.BytesIO()
    torch.save(Custom(), buffer)
    buffer.seek(0)
    return buffer


def test_force_no_weights_only(monkeypatch):
    monkeypatch.setenv("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD", "1")
    with pytest.warns(UserWarning, match="TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected"):
        assert isinstance(torch.load(custom_file()), Custom)
    with pytest.raises(pickle.UnpicklingError):
        torch.load(custom_file(), weights_only=True)
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "1")
    with pytest.raises(RuntimeError, match="Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or"):
        torch.load(custom_file())


def test_force_weights_only(monkeypatch):
    monkeypatch.setenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", "yes")
    with pytest.raises(pickle.UnpicklingError):
        torch.load(custom_file(), weights_only=False)
    with pytest.raises(RuntimeError, match="Can not safely load weights when explicit"):
        torch.load(custom_file(), pickle_module=pickle)


def test_pickle_module():
    class Counting(pickle._Pickler):
        pass

    class Reading(pickle.Unpickler):
        seen = []

        def find_class(self, module, name):
            Reading.seen.append(name)
            return super().find_class(module, name)

    module = types.SimpleNamespace(Pickler=Counting, Unpickler=Reading, __name__="own")
    buffer = io.BytesIO()
    torch.save({"a": torch.ones(2), "b": Custom()}, buffer, pickle_module=module)
    buffer.seek(0)
    found = torch.load(buffer, pickle_module=module)
    assert found["a"].tolist() == [1.0, 1.0]
    assert "Custom" in Reading.seen


@pytest.mark.parametrize(
    "where",
    ["meta", torch.device("meta"), {"cpu": "meta"}],
    ids=str,
)
def test_map_location_to_meta(where):
    for name in ("zip.pt", "legacy.pt"):
        found = torch.load(FILES / name, map_location=where)
        assert found["views"][2].is_meta
        assert found["views"][2].stride() == (1, 4)


def test_unsafe_globals():
    unsafe = torch.serialization.get_unsafe_globals_in_checkpoint
    assert unsafe(custom_file()) == [f"{__name__}.Custom"]
    assert unsafe(FILES / "zip.pt") == []
    with torch.serialization.safe_globals([Custom]):
        assert unsafe(custom_file()) == []
    with pytest.raises(ValueError, match="Expected input to be a checkpoint returned by"):
        unsafe(FILES / "legacy.pt")


# --- saves -------------------------------------------------------------------------------------


def test_a_save_that_fails_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "kept.pt"
    torch.save({"a": 1}, path)

    from mindtorch_v2 import _archive

    def full(self, name, data, write=_archive.ArchiveWriter.write):
        if name.startswith("data/"):
            raise OSError(28, "No space left on device")
        write(self, name, data)

    monkeypatch.setattr(_archive.ArchiveWriter, "write", full)
    with pytest.raises(OSError, match="No space left"):
        torch.save({"a": torch.ones(3)}, path)
    monkeypatch.undo()
    assert torch.load(path) == {"a": 1}
    assert os.listdir(tmp_path) == ["kept.pt"]


def test_a_save_that_is_killed_leaves_the_old_file(tmp_path):
    path = tmp_path / "kept.pt"
    torch.save({"a": 1}, path)
    program = """
        import os, signal, sys
        import mindtorch_v2 as torch
        from mindtorch_v2 import _archive
        write = _archive.ArchiveWriter.write
        def dies(self, name, data):
            if name == "data/1":
                os.kill(os.getpid(), signal.SIGKILL)
            write(self, name, data)
        _archive.ArchiveWriter.write = dies
        torch.save([torch.ones(1000), torch.ones(1000)], sys.argv[1])
    """
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(program), str(path)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert torch.load(path) == {"a": 1}
    torch.save({"a": 2}, path)
    assert torch.load(path) == {"a": 2}


def test_a_save_keeps_links_and_permissions(tmp_path):
    path, link = tmp_path / "file.pt", tmp_path / "link.pt"
    torch.save(1, path)
    path.chmod(0o640)
    link.symlink_to(path)
    torch.save(2, link)
    assert link.is_symlink()
    assert torch.load(path) == 2
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    torch.save(3, "/dev/null")


def test_streams_without_seek():
    class Stream:
        def __init__(self):
            self.data = b""

        def write(self, data):
            self.data += bytes(data)

    stream = Stream()
    torch.save(OrderedDict(a=torch.ones(300_000)), stream)
    assert torch.load(io.BytesIO(stream.data))["a"].sum().item() == 300_000
    with zipfile.ZipFile(io.BytesIO(stream.data)) as archive:  # as torch reads it
        assert archive.testzip() is None


# --- hostile files -----------------------------------------------------------------------------


def test_hostile_files():
    program = "from tests.interop import hostile_files; print(hostile_files.run(20_000, 1))"
    # In a process of its own: it limits its memory.
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    assert 0 < int(done.stdout) < 20_000


def test_old_storages_that_are_parts_of_others():
    from mindtorch_v2 import _serialization

    class Part:
        pid = ("storage", torch.FloatStorage, "k", "cpu", 4, ("v", 1, 2))

    class Pickler(pickle.Pickler):
        def persistent_id(self, obj):
            return obj.pid if isinstance(obj, Part) else None

    class Row:
        def __reduce__(self):
            return _serialization._rebuild_tensor, (Part(), 0, (2,), (1,))

    file = io.BytesIO()
    for header in (0x1950A86A20F9469CFC6C, 1001, {"little_endian": True}):
        pickle.dump(header, file, 2)
    Pickler(file, 2).dump(Row())
    pickle.dump(["k"], file, 2)
    file.write((4).to_bytes(8, "little"))
    file.write(torch.tensor([1.0, 2.0, 3.0, 4.0]).numpy().tobytes())
    data = file.getvalue()
    data = data.replace(b"cmindtorch_v2._serialization\n", b"ctorch._utils\n")
    data = data.replace(b"cmindtorch_v2.storage\n", b"ctorch\n")
    assert torch.load(io.BytesIO(data)).tolist() == [2.0, 3.0]
