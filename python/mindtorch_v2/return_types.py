"""torch.return_types: the named tuples that ops with several results return.

A type is made when its op is first called or asked for here: torch.return_types.max.
"""

from collections import namedtuple

from mindtorch_v2 import _C

# Of functions that are no ops.
_FIELDS = {
    "frexp": ("mantissa", "exponent"),
    "histogram": ("hist", "bin_edges"),
    "histogramdd": ("hist", "bin_edges"),
}


def _make_type(name, fields):
    base = namedtuple(name, fields)

    def new(cls, values):
        return base.__new__(cls, *values)

    def text(self):
        parts = ",\n".join(f"{field}={value!r}" for field, value in zip(fields, self, strict=True))
        return f"torch.return_types.{name}(\n{parts})"

    return type(name, (base,), {"__new__": new, "__repr__": text, "__module__": __name__})


def __getattr__(name):
    if name in _FIELDS:
        return globals().setdefault(name, _make_type(name, _FIELDS[name]))
    kind = _C._return_type(name)
    if kind is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return kind
