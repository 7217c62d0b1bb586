"""Small questions about tensors, objects and the process."""

from mindtorch_v2 import _C
from mindtorch_v2._C import Tensor
from mindtorch_v2._overridable import make_overridable as _make_overridable


def is_tensor(obj):
    """Whether `obj` is a tensor.

    >>> torch.is_tensor(torch.ones(1)), torch.is_tensor(1)
    (True, False)
    """
    return isinstance(obj, Tensor)


def is_storage(obj):
    """Whether `obj` is a storage.

    >>> torch.is_storage(torch.ones(1).untyped_storage())
    True
    """
    from mindtorch_v2.storage import TypedStorage

    return isinstance(obj, (_C.UntypedStorage, TypedStorage))


def is_floating_point(input):
    """Whether the dtype is a float.

    >>> torch.is_floating_point(torch.ones(1))
    True
    """
    return input.is_floating_point()


def is_complex(input):
    """Whether the dtype is complex.

    >>> torch.is_complex(torch.ones(1))
    False
    """
    return input.is_complex()


def is_signed(input):
    """Whether the dtype has negative values.

    >>> torch.is_signed(torch.ones(1, dtype=torch.uint8))
    False
    """
    return input.is_signed()


def is_inference(input):
    """Whether the tensor was made in inference mode, and so can never be part of a graph.

    >>> torch.is_inference(torch.ones(1))
    False
    """
    return input.is_inference()


def is_nonzero(input):
    """Whether the one element of a tensor is not zero.

    >>> torch.is_nonzero(torch.tensor([0.5]))
    True
    """
    if input.numel() != 1:
        few = "no values" if input.numel() == 0 else "more than one value"
        raise RuntimeError(f"Boolean value of Tensor with {few} is ambiguous")
    return bool(input.item())


def is_same_size(input, other):
    """Whether two tensors have the same shape.

    >>> torch.is_same_size(torch.ones(2), torch.ones(2, 1))
    False
    """
    return input.shape == other.shape


def get_device(input):
    """The index of the tensor's device, -1 on the CPU.

    >>> torch.get_device(torch.ones(1))
    -1
    """
    return input.get_device()


def is_conj(input):
    """Whether the tensor waits to be conjugated: never.

    >>> torch.is_conj(torch.ones(1))
    False
    """
    return False


def is_neg(input):
    """Whether the tensor waits to be negated: never.

    >>> torch.is_neg(torch.ones(1))
    False
    """
    return False


def numel(input):
    """The number of elements.

    >>> torch.numel(torch.ones(2, 3))
    6
    """
    if not isinstance(input, _C.Tensor):
        raise TypeError(
            f"numel(): argument 'input' (position 1) must be Tensor, not {type(input).__name__}"
        )
    return input.numel()


def typename(obj):
    """The name of an object's type; of a tensor "torch.FloatTensor".

    >>> torch.typename(torch.ones(1))
    'torch.FloatTensor'
    """
    if isinstance(obj, Tensor):
        return obj.type()
    named = obj if hasattr(obj, "__qualname__") else type(obj)
    module = getattr(named, "__module__", "") or ""
    return named.__qualname__ if module in ("", "builtins") else f"{module}.{named.__qualname__}"


def set_flush_denormal(mode):
    """Asks the CPU to treat denormal numbers as zero. False: that is not supported here.

    >>> torch.set_flush_denormal(False)
    False
    """
    return False


def get_device_module(device=None):
    """The module of a kind of device: torch.npu for "npu"; for None, that of the accelerator here.

    >>> torch.get_device_module("npu").__name__
    'mindtorch_v2.npu'
    """
    import importlib

    if device is None:
        from mindtorch_v2 import accelerator

        device = accelerator.current_accelerator() or "cpu"
    return importlib.import_module(f"mindtorch_v2.{_C.device(device).type}")


def get_num_interop_threads():
    """The number of threads that run ops side by side: one op runs at a time.

    >>> torch.get_num_interop_threads()
    1
    """
    return 1


def set_num_interop_threads(count):
    """Accepted for torch's sake: one op runs at a time.

    >>> torch.set_num_interop_threads(1)
    """
    if not isinstance(count, int) or isinstance(count, bool):
        raise TypeError(f"set_num_interop_threads expects an int, but got {type(count).__name__}")
    if count <= 0:
        raise RuntimeError("set_num_interop_threads expects a positive integer")


_make_overridable(
    globals(),
    but={
        "get_device_module",
        "get_num_interop_threads",
        "is_storage",
        "is_tensor",
        "set_flush_denormal",
        "set_num_interop_threads",
        "typename",
    },
)
