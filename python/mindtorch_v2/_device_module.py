"""What torch.npu and torch.cuda have in common, written once.

Every function that needs a device raises the reason why there is none; questions about memory and
settings that have an answer without a device give it.
"""

import types

from mindtorch_v2 import _C
from mindtorch_v2._host_memory import HostMemory
from mindtorch_v2._memory import Memory
from mindtorch_v2._memory_history import History


def _describe(function, name, text):
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


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


def make_functions(kind, module):
    """{name: function} for the module of one kind of device, whose names are in `module`."""
    functions = {}
    memory = Memory(kind)

    def add(text):
        def register(function):
            name = function.__name__
            functions[name] = _describe(function, name, text)
            return function

        return register

    def require(device=None):
        index = None if device is None else memory._index(device)
        _C._check_device_available(_C.device(kind) if index is None else _C.device(kind, index))

    @add("Whether tensors can be made on such a device here and now.")
    def is_available():
        try:
            require()
        except RuntimeError:
            return False
        return True

    @add("The number of devices.")
    def device_count():
        return _C._device_count(kind)

    @add("Whether a device is in use.")
    def is_initialized():
        return False

    @add("Prepares the device; raises the reason when there is none.")
    def init():
        require()

    @add("The index of the device that new tensors go to.")
    def current_device():
        require()
        return 0

    @add("Chooses the device that new tensors go to.")
    def set_device(device):
        require(device)

    @add("The allocator of a device; tests may replace this function.")
    def _get_allocator(device=None):
        return memory._table()(memory._index(device))

    @add("The name of a device; tests may replace this function.")
    def _get_device_name(device=None):
        require(device)

    @add("(major, minor) of a device, (0, 0) when unknown; tests may replace this function.")
    def _get_device_capability(device=None):
        return 0, 0

    @add("The name of a device.")
    def get_device_name(device=None):
        return module["_get_device_name"](memory._index(device))

    @add("(major, minor): what a device can do. (0, 0) when unknown.")
    def get_device_capability(device=None):
        return module["_get_device_capability"](memory._index(device))

    @add("What is known about a device: name, major, minor.")
    def get_device_properties(device=None):
        name = module["get_device_name"](device)
        major, minor = module["get_device_capability"](device)
        return types.SimpleNamespace(name=name, major=major, minor=minor)

    @add("Waits until all work on a device is done.")
    def synchronize(device=None):
        require(device)

    @add("Seeds the random numbers of the current device, if there is one.")
    def manual_seed(seed):
        pass

    @add("Seeds the random numbers of all devices.")
    def manual_seed_all(seed):
        pass

    return functions


def make_getattr(kind, module):
    """The module's __getattr__: torch.npu.FloatTensor and its like."""

    def __getattr__(name):
        from mindtorch_v2._legacy import tensor_class

        cls = tensor_class(name, kind) if name.endswith("Tensor") else None
        if cls is None:
            raise AttributeError(f"module {module!r} has no attribute {name!r}")
        return cls

    return __getattr__
