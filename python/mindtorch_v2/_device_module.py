"""What torch.npu and torch.cuda have in common, written once.

Every function that needs a device raises the reason why there is none; questions about memory and
settings that have an answer without a device give it.
"""

import importlib
import importlib.machinery
import importlib.util
import sys

from mindtorch_v2 import _C, _graphs, _streams
from mindtorch_v2._device_random import RandomFunctions
from mindtorch_v2._devices import DeviceFunctions
from mindtorch_v2._graphs import GraphFunctions
from mindtorch_v2._host_memory import HostMemory
from mindtorch_v2._memory import Memory
from mindtorch_v2._memory_history import History
from mindtorch_v2._streams import StreamFunctions


class _DeviceMemory(Memory, History, HostMemory):
    pass


def make_memory(kind):
    """{name: object} for torch.npu.memory or torch.cuda.memory."""
    memory = _DeviceMemory(kind)
    names = [name for name in dir(memory) if not name.startswith("_")]
    names += ["_record_memory_history", "_snapshot", "_dump_snapshot"]
    return {
        **{name: getattr(memory, name) for name in names},
        "MemPool": memory._mem_pool_class(),
        "OutOfMemoryError": _C.OutOfMemoryError,
    }


class _DeviceFunctions(DeviceFunctions, GraphFunctions, RandomFunctions, StreamFunctions):
    pass


def make_functions(kind):
    """{name: function or class} for the module of one kind of device."""
    functions = _DeviceFunctions(kind)
    memory = Memory(kind)
    names = [name for name in dir(functions) if not name.startswith("_")]
    names += ["_get_device_name", "_get_device_capability"]

    def _get_allocator(device=None):
        """The allocator of a device; tests may replace this function."""
        return memory._table()(memory._index(device))

    return {
        **{name: getattr(functions, name) for name in names},
        **functions._contexts(),
        **_graphs.make_classes(kind),
        **_streams.make_classes(kind),
        "_get_allocator": _get_allocator,
    }


def add_module(kind):
    """torch.<kind> and torch.<kind>.memory, for a device that a library brings along. Where the
    program has a module of that name, it stays."""
    package = __name__.rpartition(".")[0]
    name = f"{package}.{kind}"
    if name in sys.modules:
        return
    memory = _new_module(f"{name}.memory", make_memory(kind), f"Memory of {kind} devices.")
    public = {key: value for key, value in vars(memory).items() if key[0] != "_"}
    names = {**make_functions(kind), **public, "memory": memory}
    module = _new_module(name, names, f"{kind} devices.")
    module.__getattr__ = make_getattr(kind, name)
    setattr(sys.modules[package], kind, module)


def _new_module(name, names, doc):
    module = importlib.util.module_from_spec(importlib.machinery.ModuleSpec(name, None))
    module.__doc__ = doc
    vars(module).update(names)
    sys.modules[name] = module
    return module


def make_getattr(kind, module, submodules=()):
    """The module's __getattr__: torch.npu.FloatTensor and its like, and what is seldom needed."""

    def __getattr__(name):
        if name in submodules:
            return importlib.import_module(f"{module}.{name}")
        if name == "default_generators":
            return tuple(RandomFunctions(kind)._generators())
        from mindtorch_v2._legacy import tensor_class

        cls = tensor_class(name, kind) if name.endswith("Tensor") else None
        if cls is None:
            shown = importlib.import_module(module).__name__  # torch.npu, after install_as_torch()
            raise AttributeError(f"module {shown!r} has no attribute {name!r}")
        return cls

    return __getattr__
