"""Writes the files of this folder, with torch: python tests/interop/files/make_files.py

They were made with torch 2.13. torch has not written tar archives since 2016; the one here is put
together by hand as torch 0.1 did, and torch still reads it.
"""

import collections
import io
import pickle
import struct
import tarfile
from pathlib import Path

import torch

HERE = Path(__file__).parent
DTYPES = (
    "float16 bfloat16 float32 float64 uint8 int8 int16 int32 int64 bool complex32 complex64 "
    "complex128 uint16 uint32 uint64 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz "
    "float8_e8m0fnu"
).split()


def contents():
    torch.manual_seed(0)
    base = torch.arange(12.0).reshape(3, 4)
    model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    model(torch.ones(4, 2)).square().sum().backward()
    optimizer.step()
    return {
        "dtypes": {name: torch.tensor([0.0, 1, 3]).to(getattr(torch, name)) for name in DTYPES},
        "complex": torch.tensor([1 + 2j, -3.5j]),
        "views": [base, base[1:], base.t(), base[:, ::2], base[2, 3]],
        "empty": [torch.ones(0), torch.ones(2, 0), torch.tensor(3)],
        "parameter": torch.nn.Parameter(torch.full((2,), 5.0)),
        "values": [1, 2.5, "text", None, True, (1, 2), {3}, b"\x00\xff", torch.Size([2, 3])],
        "types": [torch.float16, torch.device("cpu")],
        "ordered": collections.OrderedDict(b=1, a=2),
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
    }


def write_tar(path):
    """{"weight": 2 x 3 tensor, "row": a view of it} in the format of torch 0.1."""
    values = [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]
    storages = io.BytesIO()
    pickle.dump(1, storages, 2)
    pickle.dump((10, "cpu", torch.FloatStorage), storages, 2)
    storages.write(struct.pack("<q6f", len(values), *values))
    pickle.dump([], storages, 2)
    tensors = io.BytesIO()
    pickle.dump(2, tensors, 2)
    for key, size, stride, offset in ((20, (2, 3), (3, 1), 0), (21, (3,), (1,), 3)):
        pickle.dump((key, 10, torch.FloatTensor), tensors, 2)
        tensors.write(struct.pack(f"<ii{2 * len(size) + 1}q", len(size), 0, *size, *stride, offset))

    class Keys(pickle.Pickler):
        def persistent_id(self, obj):
            return str(obj.key) if isinstance(obj, Key) else None

    class Key:
        def __init__(self, key):
            self.key = key

    main = io.BytesIO()
    Keys(main, 2).dump({"weight": Key(20), "row": Key(21)})
    with tarfile.open(path, "w", format=tarfile.PAX_FORMAT) as tar:
        for name, data in (("storages", storages), ("tensors", tensors), ("pickle", main)):
            info = tarfile.TarInfo(name)
            info.size = len(data.getvalue())
            tar.addfile(info, io.BytesIO(data.getvalue()))


if __name__ == "__main__":
    torch.save(contents(), HERE / "zip.pt")
    torch.save(contents(), HERE / "legacy.pt", _use_new_zipfile_serialization=False)
    write_tar(HERE / "tar.pt")
    loaded = torch.load(HERE / "tar.pt", weights_only=False)
    assert loaded["row"].tolist() == [3.0, 4.0, 5.0]
