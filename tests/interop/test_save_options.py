"""What torch.save and torch.load can be told: the older format, checksums, mapping, places."""

import io
import mmap
import zipfile

import mindtorch_v2 as torch
import pytest
from mindtorch_v2.utils.serialization import config

from .test_serialization import loaded, rewritten, saved


def records(data):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {info.filename.partition("/")[2]: info for info in archive.infolist()}


def test_the_older_format(tmp_path):
    base = torch.arange(6.0)
    value = {"a": base, "b": base[4:], "n": [torch.tensor([True]), "text"]}
    path = tmp_path / "old.pt"
    torch.save(value, path, _use_new_zipfile_serialization=False)
    assert path.read_bytes()[:2] == b"\x80\x02"  # a pickle, not an archive
    for options in ({}, {"weights_only": False}):
        result = torch.load(path, **options)
        assert result["a"].tolist() == [0, 1, 2, 3, 4, 5]
        assert result["n"][0].tolist() == [True]
        assert result["n"][1] == "text"
        result["a"][4] = -1
        assert result["b"].tolist() == [-1, 5]
    with pytest.raises(RuntimeError, match="unexpected EOF, expected 1 more bytes"):
        loaded(path.read_bytes()[:-1])


def test_storages_in_the_older_format():
    storage = torch.tensor([1, 2, 3], dtype=torch.uint8).untyped_storage()
    result = loaded(saved([storage], _use_new_zipfile_serialization=False))
    assert result[0].tolist() == [1, 2, 3]


def test_files_without_checksums():
    assert torch.serialization.get_crc32_options() is True
    torch.serialization.set_crc32_options(False)
    try:
        data = saved([torch.ones(3), torch.zeros(1 << 19)])
    finally:
        torch.serialization.set_crc32_options(True)
    assert {info.CRC for info in records(data).values()} == {0}
    result = loaded(data)
    assert result[0].tolist() == [1, 1, 1]
    assert result[1].sum() == 0
    assert records(saved(torch.ones(3)))["data/0"].CRC != 0


def test_skipped_data():
    whole = saved([torch.ones(3)])
    with torch.serialization.skip_data():
        room = saved([torch.ones(3)])
        skipped = loaded(whole)
    assert loaded(room)[0].tolist() == [0, 0, 0]
    assert records(room)["data/0"].file_size == 12
    assert skipped[0].shape == (3,)
    assert loaded(whole)[0].tolist() == [1, 1, 1]


def test_default_of_mmap(tmp_path):
    path = tmp_path / "weights.pt"
    torch.save(torch.ones(4), path)
    with config.patch("load.mmap", True), pytest.raises(ValueError, match="must be a file path"):
        torch.load(io.BytesIO(path.read_bytes()))
    with config.patch({"load.mmap": True}):
        assert torch.load(path).tolist() == [1, 1, 1, 1]


def test_shared_mapping_writes_to_the_file(tmp_path):
    path = tmp_path / "weights.pt"
    torch.save(torch.ones(4), path)
    torch.load(path, mmap=True).fill_(2)
    assert torch.load(path).tolist() == [1, 1, 1, 1]
    with torch.serialization.set_default_mmap_options(mmap.MAP_SHARED):
        torch.load(path, mmap=True).fill_(2)
    assert torch.serialization.get_default_mmap_options() == mmap.MAP_PRIVATE
    assert torch.load(path, mmap=True).tolist() == [2, 2, 2, 2]
    with pytest.raises(ValueError, match="expected mmap.MAP_PRIVATE or mmap.MAP_SHARED"):
        torch.serialization.set_default_mmap_options(77)


def test_byte_order_of_files_that_do_not_say():
    def without_order(name, data):
        return None if name == "byteorder" else data

    kinds = torch.serialization.LoadEndianness
    data = rewritten(saved(torch.tensor([1], dtype=torch.int32)), without_order)
    expected = {None: 1, kinds.LITTLE: 1, kinds.NATIVE: 1, kinds.BIG: 1 << 24}
    try:
        for order, value in expected.items():
            torch.serialization.set_default_load_endianness(order)
            assert torch.serialization.get_default_load_endianness() is order
            assert loaded(data).item() == value
    finally:
        torch.serialization.set_default_load_endianness(None)
    with pytest.raises(TypeError, match="set_default_load_endianness"):
        torch.serialization.set_default_load_endianness("big")


def test_alignment_of_storages():
    with config.patch("save.storage_alignment", 4096):
        data = saved(torch.ones(3))
    start = data.index(torch.ones(3).numpy().tobytes())
    assert start % 4096 == 0
    assert loaded(data).tolist() == [1, 1, 1]
    with pytest.raises(AttributeError, match="no setting"):
        config.save.unknown = 1


def test_places_of_other_packages(monkeypatch):
    from mindtorch_v2 import _locations

    monkeypatch.setattr(_locations, "_packages", list(_locations._packages))
    asked = []

    def restore(storage, location):
        asked.append(location)
        return storage if location == "shelf:3" else None

    def tag(storage):
        return "shelf:3" if storage.nbytes() == 12 else None

    torch.serialization.register_package(5, tag, restore)
    data = saved([torch.ones(3), torch.ones(4)])
    assert [each.tolist() for each in loaded(data)] == [[1] * 3, [1] * 4]
    assert asked == ["shelf:3", "cpu"]
    assert torch.serialization.location_tag(torch.ones(3).untyped_storage()) == "shelf:3"
    assert torch.serialization.location_tag(torch.ones(2).untyped_storage()) == "cpu"
    monkeypatch.undo()
    with pytest.raises(RuntimeError, match=r"\(tagged with shelf:3\)"):
        loaded(data)


def test_a_large_file_has_no_room_left_over(tmp_path):
    path = tmp_path / "large.pt"
    value = torch.zeros(1 << 19)
    for _ in range(2):
        torch.save(value, path)
        # 512 bytes each, and what the file system needs for itself
        assert path.stat().st_blocks * 512 <= path.stat().st_size + 16384
    assert torch.equal(torch.load(path), value)


def test_a_file_above_four_gib(tmp_path):
    zeros = bytes(1 << 20)

    class FileWithHoles(io.FileIO):
        def write(self, data):
            if len(data) != len(zeros) or bytes(data) != zeros:
                return super().write(data)
            self.seek(len(data), io.SEEK_CUR)
            return len(data)

    path = tmp_path / "large.pt"
    large = torch.empty((1 << 32) + 64, dtype=torch.uint8)
    with FileWithHoles(path, "w") as file, torch.serialization.skip_data():
        torch.save([large, torch.ones(3)], file)
    with zipfile.ZipFile(path) as archive:
        sizes = [info.file_size for info in archive.infolist() if "/data/" in info.filename]
    assert sizes == [large.numel(), 12]
    result = torch.load(path, mmap=True)
    assert result[0].numel() == large.numel()
    assert result[0][-1] == 0
    assert result[1].tolist() == [0, 0, 0]


def test_only_deflate_is_unpacked():
    packed = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(saved(torch.ones(3)))) as source:
        with zipfile.ZipFile(packed, "w", zipfile.ZIP_LZMA) as target:
            for name in source.namelist():
                target.writestr(name, source.read(name))
    with pytest.raises(RuntimeError, match="unknown kind of compression 14"):
        loaded(packed.getvalue())


def test_versions_of_modules():
    check = torch.serialization.check_module_version_greater_or_equal

    class Module:
        __version__ = "1.12.3"
        __name__ = "module"

    assert check(Module, (1, 12))
    assert not check(Module, (1, 13))
    Module.__version__ = "odd"
    with pytest.raises(RuntimeError, match="malformed"):
        check(Module, (1, 12))
    with pytest.warns(UserWarning, match="malformed"):
        assert check(Module, (1, 12), error_if_malformed=False)
