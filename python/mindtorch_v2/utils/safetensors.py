"""safetensors files, with the names and arguments of safetensors.torch.

The package safetensors (pip install safetensors) checks and writes the files. Loading maps the
file: tensors on the CPU read their bytes from it when they are used.
"""

import json
import os
import struct

import mindtorch_v2 as torch
from mindtorch_v2 import _C

__all__ = ["load", "load_file", "save", "save_file"]

_DTYPES = {
    "F64": "float64",
    "F32": "float32",
    "F16": "float16",
    "BF16": "bfloat16",
    "I64": "int64",
    "I32": "int32",
    "I16": "int16",
    "I8": "int8",
    "U8": "uint8",
    "BOOL": "bool",
    "U16": "uint16",
    "U32": "uint32",
    "U64": "uint64",
    "C64": "complex64",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
}


def _library():
    try:
        import safetensors
    except ImportError:
        raise RuntimeError(
            "Attempting to load or save a safetensors file but safetensors is not installed. "
            "Please install safetensors with: pip install safetensors"
        ) from None
    return safetensors


def _dtype(code):
    dtype = getattr(torch, _DTYPES.get(code, ""), None)
    if dtype is None:
        raise TypeError(f"safetensors: dtype {code} is not supported")
    return dtype


def load_file(filename, device="cpu"):
    """{name: tensor} of a file.

    >>> from mindtorch_v2.utils import safetensors
    >>> safetensors.save_file({"weight": torch.ones(2)}, "model.safetensors")  # doctest: +SKIP
    >>> safetensors.load_file("model.safetensors")  # doctest: +SKIP
    {'weight': tensor([1., 1.])}
    """
    # The package refuses headers that are damaged or that point outside of the file.
    with _library().safe_open(filename, framework="np") as checked:
        names = list(checked.keys())
    with open(filename, "rb") as file:
        (size,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(size))
        start = 8 + size
        length = os.fstat(file.fileno()).st_size
        mapped = _C._map_file(file.fileno(), 0, length, shared=False, populate=False, owner=None)
    result = {}
    for name in names:
        entry = header[name]
        begin, end = entry["data_offsets"]
        tensor = _tensor(mapped[start + begin : start + end], entry, start + begin)
        result[name] = tensor.to(device)
    return result


def _tensor(storage, entry, position=0):
    dtype = _dtype(entry["dtype"])
    if position % dtype.itemsize:
        storage = storage.clone()  # elements in the middle of words
    return torch.empty(0, dtype=dtype).set_(storage, 0, tuple(entry["shape"]))


def load(data):
    """{name: tensor} of a file's bytes."""
    result = {}
    for name, entry in _library().deserialize(data):
        values = entry["data"]
        storage = torch.UntypedStorage(len(values))
        if len(values):
            memoryview(storage).cast("B")[:] = values
        result[name] = _tensor(storage, entry)
    return result


def _checked(tensors):
    """The tensors on the CPU. They must not share memory, which a file cannot say."""
    owners, result = {}, {}
    for name, tensor in tensors.items():
        if not isinstance(tensor, torch.Tensor):
            raise ValueError(
                f"Key `{name}` is invalid, expected torch.Tensor but received {type(tensor)}"
            )
        if not tensor.is_contiguous():
            raise ValueError(
                f"You are trying to save a non contiguous tensor: `{name}` which is not allowed. "
                "It either means you are trying to save tensors which are reference of each other "
                "in which case it's recommended to save only the full tensors, and reslice at load "
                "time, or simply call `.contiguous()` on your tensor to pack it before saving."
            )
        if tensor.numel():
            place = str(tensor.device), tensor.untyped_storage().data_ptr()
            owners.setdefault(place, []).append(name)
        result[name] = tensor.detach().cpu()
    shared = [names for names in owners.values() if len(names) > 1]
    if shared:
        raise RuntimeError(
            "Some tensors share memory, this will lead to duplicate memory on disk and potential "
            f"differences when loading them again: {shared}."
        )
    return result


def _entries(tensors):
    """What the package writes: it reads the bytes of `tensors`, which must live until then."""
    make = getattr(_library(), "TensorSpec", None)
    entries = {}
    for name, tensor in tensors.items():
        kind = {"dtype": str(tensor.dtype).rpartition(".")[2], "shape": list(tensor.shape)}
        nbytes = tensor.numel() * tensor.element_size()
        if make is not None:
            entries[name] = make(**kind, data_ptr=tensor.data_ptr(), data_len=nbytes)
        else:  # before version 0.8
            raw = memoryview(tensor.flatten().view(torch.uint8)) if nbytes else b""
            entries[name] = {**kind, "data": bytes(raw)}
    return entries


def save(tensors, metadata=None):
    """The bytes of a file with these tensors."""
    tensors = _checked(tensors)
    return _library().serialize(_entries(tensors), metadata=metadata)


def save_file(tensors, filename, metadata=None):
    """Writes {name: tensor} to a file, which appears when it is whole."""
    from mindtorch_v2._whole_file import whole_file

    tensors = _checked(tensors)
    entries = _entries(tensors)
    with whole_file(os.fspath(filename)) as file:
        _library().serialize_file(entries, file.name, metadata=metadata)
