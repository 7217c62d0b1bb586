"""torch.hub and torch.utils.model_zoo with local files."""

import hashlib
import zipfile

import mindtorch_v2 as torch
import pytest


@pytest.fixture
def weights(tmp_path):
    path = tmp_path / "weights.pt"
    torch.save({"weight": torch.arange(3.0)}, path)
    return path


@pytest.mark.parametrize(
    "load", [torch.hub.load_state_dict_from_url, torch.utils.model_zoo.load_url]
)
def test_local_file(weights, tmp_path, load):
    kept = tmp_path / "kept"
    found = load(weights.as_uri(), model_dir=str(kept), progress=False)
    assert found["weight"].tolist() == [0.0, 1.0, 2.0]
    # The second time the kept file is taken.
    weights.unlink()
    found = load(weights.as_uri(), model_dir=str(kept), progress=False, weights_only=True)
    assert found["weight"].tolist() == [0.0, 1.0, 2.0]
    assert [path.name for path in kept.iterdir()] == ["weights.pt"]


def test_folder(tmp_path, monkeypatch, weights, capsys):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    monkeypatch.setattr(torch.hub, "_folder", None)
    assert torch.hub.get_dir() == str(tmp_path / "home" / "hub")
    torch.hub.load_state_dict_from_url(weights.as_uri(), file_name="mine.pt")
    assert (tmp_path / "home" / "hub" / "checkpoints" / "mine.pt").exists()
    assert 'Downloading: "file://' in capsys.readouterr().err
    torch.hub.set_dir(str(tmp_path / "other"))
    assert torch.hub.get_dir() == str(tmp_path / "other")


def test_hash(weights, tmp_path):
    digest = hashlib.sha256(weights.read_bytes()).hexdigest()
    for name, good in ((f"m-{digest[:8]}.pt", True), ("m-00000000.pt", False)):
        source = tmp_path / name
        source.write_bytes(weights.read_bytes())

        def load(source=source):
            return torch.hub.load_state_dict_from_url(
                source.as_uri(), str(tmp_path / "kept"), check_hash=True, progress=False
            )

        if good:
            assert load()["weight"].shape == (3,)
        else:
            with pytest.raises(RuntimeError, match='invalid hash value \\(expected "00000000"'):
                load()
    assert [path.name for path in (tmp_path / "kept").iterdir()] == [f"m-{digest[:8]}.pt"]


def test_file_that_was_packed_again(weights, tmp_path):
    packed = tmp_path / "packed.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.write(weights, "weights.pt")
    found = torch.hub.load_state_dict_from_url(
        packed.as_uri(), str(tmp_path / "kept"), progress=False
    )
    assert found["weight"].shape == (3,)
