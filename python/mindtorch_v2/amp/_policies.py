"""Autocast for the few functions that are written in Python; ops say theirs in their definition."""

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


def in_float32(on_cpu):
    """Casts the tensors that a function is given to float32, under autocast on CPUs or on
    accelerators.
    """

    def decorate(function):
        @functools.wraps(function)
        def casting(*args, **kwargs):
            if not _C._is_any_autocast_enabled():
                return function(*args, **kwargs)
            types = [x.device.type for x in _tensors((*args, *kwargs.values()))]
            kind = next((each for each in types if each != "cpu"), "cpu")
            if (kind == "cpu") != on_cpu or not torch.is_autocast_enabled(kind):
                return function(*args, **kwargs)
            with autocast(kind, enabled=False):
                return function(
                    *_cast(args, kind, torch.float32), **_cast(kwargs, kind, torch.float32)
                )

        return casting

    return decorate
