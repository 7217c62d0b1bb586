"""Tensor(...) as a constructor, and the classes torch.FloatTensor, torch.LongTensor and so on."""

from mindtorch_v2 import _C, _kinds
from mindtorch_v2._C import Tensor

_PREFIXES = {
    "Float": _C.float32,
    "Double": _C.float64,
    "Half": _C.float16,
    "BFloat16": _C.bfloat16,
    "Char": _C.int8,
    "Short": _C.int16,
    "Int": _C.int32,
    "Long": _C.int64,
    "Byte": _C.uint8,
    "Bool": _C.bool,
}
_NAMES = {dtype: prefix for prefix, dtype in _PREFIXES.items()}
# Names in texts alone: there are no such classes.
_NAMES |= {
    _C.complex32: "ComplexHalf",
    _C.complex64: "ComplexFloat",
    _C.complex128: "ComplexDouble",
    _C.uint16: "UInt16",
    _C.uint32: "UInt32",
    _C.uint64: "UInt64",
    _C.float8_e4m3fn: "Float8_e4m3fn",
    _C.float8_e5m2: "Float8_e5m2",
    _C.float8_e4m3fnuz: "Float8_e4m3fnuz",
    _C.float8_e5m2fnuz: "Float8_e5m2fnuz",
    _C.float8_e8m0fnu: "Float8_e8m0fnu",
}
_classes = {}


def new_tensor(cls, *args, device=None, dtype=None):
    """Tensor(2, 3) is unset memory of that size, Tensor(data) a copy, Tensor(tensor) an alias."""
    wanted = dtype or _C.get_default_dtype()
    result = _from_arguments(args, wanted, device)
    if cls is Tensor:
        return result
    return Tensor._make_subclass(cls, result)


def _from_arguments(args, dtype, device):
    if not args:
        return _C._functions["empty"]((0,), dtype=dtype, device=device)
    first = args[0]
    if len(args) == 1:
        if isinstance(first, Tensor):
            # Torch looks at the class only in FloatTensor(x); Tensor(x) takes any dtype.
            return first.detach()
        if isinstance(first, _C.UntypedStorage) or hasattr(first, "untyped"):
            return _C._functions["empty"]((0,), dtype=dtype).set_(first)
        if not isinstance(first, (_C.Size, int)) or isinstance(first, bool):
            if not hasattr(first, "__len__") and not hasattr(first, "__iter__"):
                raise TypeError(f"new(): data must be a sequence (got {type(first).__name__})")
            return _C.tensor(first, dtype=dtype, device=device)
    size = first if isinstance(first, _C.Size) else args
    return _C._functions["empty"](size, dtype=dtype, device=device)


class _TypedClass(type):
    """isinstance(x, torch.FloatTensor) asks for x's dtype and device."""

    def __instancecheck__(cls, instance):
        return (
            isinstance(instance, Tensor)
            and instance.dtype is cls.dtype
            and instance.device.type == cls._device
        )

    def __call__(cls, *args, device=None):
        if args and isinstance(args[0], Tensor) and args[0].dtype is not cls.dtype:
            raise TypeError(f"expected {_NAMES[cls.dtype]} (got {_NAMES[args[0].dtype]})")
        return new_tensor(Tensor, *args, device=device or cls._device, dtype=cls.dtype)

    def __repr__(cls):
        return f"<class '{cls.__module__}.{cls.__name__}'>"


def tensor_class(name, device="cpu"):
    """torch.FloatTensor by name; None when there is no such class."""
    prefix = name.removesuffix("Tensor")
    if prefix not in _PREFIXES or prefix == name:
        return None
    if (name, device) not in _classes:
        module = "torch" if device == "cpu" else f"torch.{device}"
        members = {"dtype": _PREFIXES[prefix], "_device": device, "__module__": module}
        members["__doc__"] = f"Tensors of dtype {_PREFIXES[prefix]} on {device}."
        _classes[name, device] = _TypedClass(name, (), members)
    return _classes[name, device]


def type_name(tensor):
    """ "torch.FloatTensor"; of an accelerator's tensor "torch.npu.FloatTensor"."""
    device = tensor.device.type
    place = "" if device in ("cpu", "meta") else device + "."
    return f"torch.{place}{_NAMES[tensor.dtype]}Tensor"


def parse_type(kind):
    """(dtype, device or None) of what Tensor.type() was given."""
    if isinstance(kind, _C.dtype):
        return kind, None
    builtin = {float: _C.float64, int: _C.int64, bool: _C.bool, complex: _C.complex128}
    if isinstance(kind, type) and kind in builtin:
        return builtin[kind], None
    if isinstance(kind, _TypedClass):
        return kind.dtype, _C.device(kind._device)
    if not isinstance(kind, (str, type)):
        raise TypeError("dtype must be a type, str, or dtype object")
    name = str(kind)
    module, _, short = name.rpartition(".")
    if module == "torch" or module.startswith("torch."):
        device = module.partition(".")[2] or "cpu"
        cls = tensor_class(short) if device in _kinds.WITH_MEMORY else None
        if cls is not None:
            return cls.dtype, _C.device(device)
    raise ValueError(f"invalid type: {name!r}")
