"""Attributes of modules by dotted name."""

import mindtorch_v2 as torch
from mindtorch_v2.nn import Module, Parameter


def _copy_attr(from_module, to_module, target):
    """Gives `to_module` the attribute `target` of another module, and plain modules on the way
    to it."""
    *path, name = target.split(".")
    for part in path:
        source = getattr(from_module, part)
        found = getattr(to_module, part, None)
        if found is source:
            return  # the module above was copied whole
        if found is None:
            found = Module()
            setattr(to_module, part, found)
        from_module, to_module = source, found
    _set(to_module, name, getattr(from_module, name))


def _assign_attr(from_obj, to_module, target):
    """Sets an attribute by dotted name, with plain modules on the way to it."""
    *path, name = target.split(".")
    for part in path:
        found = getattr(to_module, part, None)
        if found is None:
            found = Module()
            setattr(to_module, part, found)
        to_module = found
    _set(to_module, name, from_obj)


def _set(module, name, value):
    if isinstance(value, torch.Tensor) and not isinstance(value, Parameter):
        module.register_buffer(name, value)
    else:
        setattr(module, name, value)


def _get_attr(model, attr_name):
    """An attribute by dotted name."""
    return _get_attr_via_attr_list(model, attr_name.split("."))


def _get_attr_via_attr_list(model, attr_list):
    for part in attr_list:
        model = getattr(model, part)
    return model


def _has_attr(model, attr_name):
    """Whether there is an attribute of that dotted name."""
    for part in attr_name.split("."):
        if not hasattr(model, part):
            return False
        model = getattr(model, part)
    return True


def _del_attr(model, attr_name):
    """Deletes an attribute by dotted name."""
    *path, name = attr_name.split(".")
    delattr(_get_attr_via_attr_list(model, path), name)
