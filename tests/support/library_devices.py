"""Devices that a shared library brings along: what loads them, and the dtypes they state.

A process loads one at most, since what is loaded stays: `pytest tests/ops --device toy`.
"""

import os
import pathlib
from dataclasses import dataclass


@dataclass(frozen=True)
class LibraryDevice:
    library: str
    dtypes: frozenset[str]


ALL = {
    # The device of the C++ tests, with streams that the driver decides about, and a fusion engine.
    "cuda": LibraryDevice(
        "test_device",
        frozenset({"bool", "uint8", "int32", "int64", "float16", "float32", "complex64"}),
    ),
    # examples/cpp/toy_device.cpp, which knows mindtorch by its public headers alone.
    "toy": LibraryDevice(
        "toy_device", frozenset({"bool", "int8", "int32", "int64", "bfloat16", "float32"})
    ),
}


def load(device):
    """Loads what brings the device along; nothing for one of mindtorch's own."""
    if device not in ALL:
        return
    import mindtorch_v2 as torch

    module = pathlib.Path(os.path.realpath(torch._C.__file__))  # in the build folder
    library = f"lib{ALL[device].library}.so"
    torch.ops.load_library(str(module.parents[1] / "examples" / library))


def lacks(device, *dtypes):
    """Whether tensors of the device cannot be of one of these."""
    return device in ALL and not ALL[device].dtypes.issuperset(dtypes)
