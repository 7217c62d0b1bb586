"""Kinds of devices: what each is called, and which is meant where a program does not say.

The rows come from the library, where each kind of device states its own; nothing in this package
but the modules of a kind (`npu`, `cuda`) tells kinds apart by name. A library may bring a device
along at any time: what is made of the rows is asked for when it is needed, or is one of the lists
here, which grow.
"""

import importlib
import types

from mindtorch_v2 import _C

ROWS: dict[str, types.SimpleNamespace] = {}
ACCELERATORS: list[str] = []
WITH_MEMORY: list[str] = []  # those whose tensors hold values


def read_rows():
    """Reads the rows; the kinds that were not there before."""
    before = set(ROWS)
    ROWS.update({row["name"]: types.SimpleNamespace(**row) for row in _C._device_rows()})
    ACCELERATORS[:] = [name for name, row in ROWS.items() if row.is_accelerator]
    WITH_MEMORY[:] = [name for name in ROWS if name != "meta"]
    return [name for name in ROWS if name not in before]


read_rows()


def of_dispatch_key(key):
    """The kind that one of torch's dispatch keys means, or None; of several that share a key, the
    one that is here."""
    found = [name for name, row in ROWS.items() if row.dispatch_key == key]
    here = [name for name in found if len(found) > 1 and _C._device_count(name) > 0]
    return (here or found or [None])[0]


def accelerator():
    """The kind of accelerator that is meant where none is named; a RuntimeError without one."""
    kind = _C._accelerator_kind()
    if kind is None:
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return kind


def module(kind):
    """torch.npu for "npu"."""
    return importlib.import_module(f"mindtorch_v2.{kind}")
