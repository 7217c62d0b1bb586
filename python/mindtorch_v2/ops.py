"""torch.ops: ops that shared libraries and torch.library add.

A library defines its ops with MINDTORCH_LIBRARY (mindtorch/ops/extension.h); the name it gives
itself becomes an attribute here, with a function for each of its ops:

    torch.ops.load_library("libgated.so")
    torch.ops.gated.swiglu(x, gate)

What Python code defines with torch.library is found here, too: torch.ops.<library>.<op>. Torch's
own operators are in torch.ops.aten.
"""

import ctypes
import importlib
import os

from mindtorch_v2 import _C, _device_module, _kinds

__all__ = ["load_library", "loaded_libraries"]

loaded_libraries: set[str] = set()
# Libraries that are made for torch's C++ and cannot be loaded, by their last folder and name: the
# module of mindtorch_v2._library that defines their ops instead. None: another one does.
_DEFINED_HERE = {
    "torchvision/_C": "torchvision_ops",
    "torchaudio/lib/_torchaudio": "torchaudio_ops",
    "torchaudio/lib/libtorchaudio": None,
}
_kept: list[object] = []  # what holds the ops that are defined here


def load_library(path: str | os.PathLike[str]) -> None:
    """Loads a shared library and the ops or device it defines. Loading it again changes nothing.

    In the place of those of torchvision and torchaudio their ops are defined as computed here.
    """
    path = os.path.realpath(path)
    if path in loaded_libraries:
        return
    for place, ours in _DEFINED_HERE.items():
        if f"{os.sep}{place}." in path and os.path.exists(path):
            if ours is not None:
                definitions = importlib.import_module(f"mindtorch_v2._library.{ours}")
                _kept.append(definitions.define())
            loaded_libraries.add(path)
            return
    try:
        ctypes.CDLL(path)
    except OSError as error:
        raise OSError(f"Could not load this library: {path}") from error
    from mindtorch_v2._library.operators import OpNamespace

    name, functions = _C._load_library(path)
    for kind in _kinds.read_rows():
        _device_module.add_module(kind)
    if name in globals():
        raise RuntimeError(f"there is a library {name!r} of ops already")
    if name:  # else a device alone
        globals()[name] = OpNamespace(name, functions)
    loaded_libraries.add(path)


def __getattr__(name: str):
    if name == "aten":
        from mindtorch_v2._library.aten import aten

        globals()[name] = aten
        return aten
    raise AttributeError(f"no library {name!r} of ops is loaded; load_library(path) loads one")
