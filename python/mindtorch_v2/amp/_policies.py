"""Autocast for functions that are written in Python; ops have theirs in mindtorch/autocast."""

import functools

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2.amp.autocast_mode import _cast, autocast


def _tensors(args):
    for value in args:
        if isinstance(value, torch.Tensor):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors(value)


def _target(policy, lower, tensors):
    if policy == "lower precision":
        return lower
    if policy == "widest" and not any(x.dtype == torch.float32 for x in tensors):
        return lower
    return torch.float32


def autocast_as(cpu=None, accelerator=None):
    """Casts the tensors that a function is given, as autocast does for ops.

    A policy is "float32", "lower precision" or "widest".
    """

    def decorate(function):
        @functools.wraps(function)
        def casting(*args, **kwargs):
            if not _C._is_any_autocast_enabled():
                return function(*args, **kwargs)
            tensors = list(_tensors((*args, *kwargs.values())))
            types = [x.device.type for x in tensors]
            device_type = next((each for each in types if each != "cpu"), "cpu")
            policy = cpu if device_type == "cpu" else accelerator
            if policy is None or not torch.is_autocast_enabled(device_type):
                return function(*args, **kwargs)
            dtype = _target(policy, torch.get_autocast_dtype(device_type), tensors)
            with autocast(device_type, enabled=False):
                return function(
                    *_cast(args, device_type, dtype), **_cast(kwargs, device_type, dtype)
                )

        return casting

    return decorate
