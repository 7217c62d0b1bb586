"""Lets classes and modes handle functions that are written in Python."""

import types

from mindtorch_v2 import _C
from mindtorch_v2._C import Tensor

# Of class Tensor: about classes and objects as such.
NOT_HANDLED = frozenset(
    "__buffer__ __class__ __class_getitem__ __delattr__ __delitem__ __dict__ __dir__ __dlpack__ "
    "__doc__ __getattribute__ __hash__ __init__ __init_subclass__ __iter__ __new__ "
    "__release_buffer__ __setattr__ __setstate__ __sizeof__ __subclasshook__ __torch_function__ "
    "_make_subclass _register_hook_dict _set_storage as_subclass new".split()
)


def make_overridable(names, but=()):
    """Lets classes and modes handle the public functions of a module, given as its globals()."""
    for name, value in list(names.items()):
        is_own = type(value) is types.FunctionType and value.__module__ == names["__name__"]
        if is_own and not name.startswith("_") and name not in but:
            names[name] = _C._make_overridable(value)


def make_methods_overridable():
    """The same for the methods of Tensor that are written in Python."""
    for name, value in list(vars(Tensor).items()):
        if type(value) is types.FunctionType and name not in NOT_HANDLED:
            value.__name__ = name
            value.__qualname__ = f"Tensor.{name}"
            value.__module__ = "mindtorch_v2"
            setattr(Tensor, name, _C._make_overridable(value))
