"""Kinds of devices: what each is called, and which is meant where a program does not say.

The rows come from the library, where each kind of device states its own; nothing in this package
but the modules of a kind (`npu`, `cuda`) tells kinds apart by name.
"""

import importlib
import types

from mindtorch_v2 import _C

ROWS: dict[str, types.SimpleNamespace] = {}


def read_rows():
    """Again, when a library has brought a device along."""
    ROWS.update({row["name"]: types.SimpleNamespace(**row) for row in _C._device_rows()})


read_rows()
ACCELERATORS = tuple(name for name, row in ROWS.items() if row.is_accelerator)
BY_DISPATCH_KEY = {row.dispatch_key: name for name, row in ROWS.items()}
# Those whose tensors hold values.
WITH_MEMORY = tuple(name for name in ROWS if name != "meta")


def accelerator():
    """The kind of accelerator that is meant where none is named; a RuntimeError without one."""
    kind = _C._accelerator_kind()
    if kind is None:
        raise RuntimeError("Cannot access accelerator device when none is available.")
    return kind


def module(kind):
    """torch.npu for "npu"."""
    return importlib.import_module(f"mindtorch_v2.{kind}")
