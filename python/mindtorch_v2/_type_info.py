"""Numeric limits of dtypes: torch.finfo and torch.iinfo."""

from . import _C

# name: (bits, eps, largest finite, smallest normal, resolution)
_FLOATS = {
    "float16": (16, 2.0**-10, 65504.0, 2.0**-14, 1e-3),
    "bfloat16": (16, 2.0**-7, 255.0 * 2.0**120, 2.0**-126, 1e-2),
    "float32": (32, 2.0**-23, (2.0**24 - 1) * 2.0**104, 2.0**-126, 1e-6),
    "float64": (64, 2.0**-52, (2.0**53 - 1) * 2.0**971, 2.0**-1022, 1e-15),
    "float8_e4m3fn": (8, 2.0**-3, 448.0, 2.0**-6, 1.0),
    "float8_e5m2": (8, 2.0**-2, 57344.0, 2.0**-14, 1.0),
    "float8_e4m3fnuz": (8, 2.0**-3, 240.0, 2.0**-7, 1.0),
    "float8_e5m2fnuz": (8, 2.0**-3, 57344.0, 2.0**-15, 1.0),
    "float8_e8m0fnu": (8, 1.0, 2.0**127, 2.0**-127, 1.0),
}
# A complex dtype has the limits of its parts.
_PARTS = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}
_INTEGERS = ("uint8", "int8", "uint16", "int16", "uint32", "int32", "uint64", "int64")
_BUILTIN_NAMES = {float: "float64", int: "int64", bool: "bool", complex: "complex128"}


def _dtype_name(function, dtype):
    if isinstance(dtype, _C.dtype):
        return str(dtype).rpartition(".")[2]
    # A builtin type used as a dtype, as in finfo(float).
    if isinstance(dtype, type) and dtype in _BUILTIN_NAMES:
        return _BUILTIN_NAMES[dtype]
    raise TypeError(
        f"{function}(): argument 'type' (position 1) must be torch.dtype, "
        f"not {type(dtype).__name__}"
    )


def _read_only(index):
    return property(lambda self: self._values[index])


class _Limits:
    __slots__ = ("_values",)
    __hash__ = None

    def __eq__(self, other):
        if type(other) is not type(self):
            return NotImplemented
        return self._values == other._values

    def __reduce_ex__(self, protocol):
        raise TypeError(f"cannot pickle 'torch.{type(self).__name__}' object")

    dtype = _read_only(0)
    bits = _read_only(1)
    min = _read_only(2)
    max = _read_only(3)


class finfo(_Limits):
    """Limits of a floating point dtype; the default dtype's when none is given."""

    __slots__ = ()

    eps = _read_only(4)
    smallest_normal = tiny = _read_only(5)
    resolution = _read_only(6)

    def __init__(self, *args, **kwargs):
        dtype = _only_argument("finfo", args, kwargs, optional=True)
        if dtype is _MISSING:
            import mindtorch_v2

            dtype = mindtorch_v2.get_default_dtype()
        name = _dtype_name("finfo", dtype)
        name = _PARTS.get(name, name)
        if name not in _FLOATS:
            raise TypeError(
                "torch.finfo() requires a floating point input type. "
                "Use torch.iinfo to handle 'torch.finfo'"
            )
        bits, eps, largest, normal, resolution = _FLOATS[name]
        lowest = normal if name == "float8_e8m0fnu" else -largest  # which has no signs
        self._values = (name, bits, lowest, largest, eps, normal, resolution)

    def __repr__(self):
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, "
            f"eps={self.eps:g}, smallest_normal={self.smallest_normal:g}, "
            f"tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo(_Limits):
    """Limits of an integer dtype."""

    __slots__ = ()

    def __init__(self, *args, **kwargs):
        dtype = _only_argument("iinfo", args, kwargs, optional=False)
        name = _dtype_name("iinfo", dtype)
        if name == "bool":
            raise TypeError("torch.bool is not supported by torch.iinfo")
        if name not in _INTEGERS:
            raise TypeError(
                "torch.iinfo() requires an integer input type. "
                "Use torch.finfo to handle 'torch.iinfo'"
            )
        bits = int(name.lstrip("uint"))
        if name[0] == "u":
            self._values = (name, bits, 0, 2**bits - 1)
        else:
            self._values = (name, bits, -(2 ** (bits - 1)), 2 ** (bits - 1) - 1)

    def __repr__(self):
        # %g on the bounds, as torch prints them: int64's max is shown as 9.22337e+18.
        return f"iinfo(min={self.min:g}, max={self.max:g}, dtype={self.dtype})"


_MISSING = object()


def _only_argument(function, args, kwargs, optional):
    if len(args) == 1 and not kwargs:
        return args[0]
    if not args and len(kwargs) == 1 and "type" in kwargs:
        return kwargs["type"]
    if not args and not kwargs and optional:
        return _MISSING
    if len(args) + len(kwargs) > 1:
        raise TypeError(
            f"{function}() takes 1 positional argument but {len(args) + len(kwargs)} were given"
        )
    raise TypeError(f'{function}() missing 1 required positional arguments: "type"')
