"""What torch.npu and torch.cuda have in common, written once.

Every function that needs a device raises the reason why there is none; questions about memory and
settings that have an answer without a device give it.
"""

from mindtorch_v2 import _C


def _describe(function, name, text):
    function.__name__ = function.__qualname__ = name
    function.__doc__ = text
    return function


def make_functions(kind):
    """{name: function} for the module of one kind of device."""
    functions = {}

    def add(text):
        def register(function):
            name = function.__name__
            functions[name] = _describe(function, name, text)
            return function

        return register

    def index_of(device):
        if device is None:
            return None
        if isinstance(device, int):
            return device
        device = _C.device(device)
        if device.type != kind:
            raise ValueError(f"Expected a {kind} device, but got: {device}")
        return device.index

    def require(device=None):
        index = index_of(device)
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

    @add("The name of a device.")
    def get_device_name(device=None):
        require(device)

    @add("What a device can do.")
    def get_device_properties(device=None):
        require(device)

    @add("Waits until all work on a device is done.")
    def synchronize(device=None):
        require(device)

    @add("Gives memory that is kept for later tensors back to the device.")
    def empty_cache():
        pass

    @add("Bytes in use by tensors.")
    def memory_allocated(device=None):
        return 0

    @add("The most bytes that were in use by tensors.")
    def max_memory_allocated(device=None):
        return 0

    @add("Bytes held of the device.")
    def memory_reserved(device=None):
        return 0

    @add("The most bytes that were held of the device.")
    def max_memory_reserved(device=None):
        return 0

    @add("All that is counted about a device's memory.")
    def memory_stats(device=None):
        return {}

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
