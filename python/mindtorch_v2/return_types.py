"""torch.return_types: the named tuples that ops with several results return.

A type is made when its op is first called or asked for here: torch.return_types.max.
"""

from mindtorch_v2 import _C


def __getattr__(name):
    kind = _C._return_type(name)
    if kind is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return kind
