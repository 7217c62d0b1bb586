"""Batches in page-locked memory, from which accelerators copy while the host goes on."""

from collections.abc import Sequence

import mindtorch_v2 as torch

from .containers import is_mapping, is_namedtuple, like_mapping, like_sequence


def pin_memory(data, device=None):
    """The tensors of a batch in pinned memory; objects that have pin_memory do it themselves."""
    if isinstance(data, torch.Tensor) or hasattr(data, "pin_memory"):
        return data.pin_memory()
    if isinstance(data, (str, bytes)):
        return data
    if is_mapping(data):
        return like_mapping(data, {key: pin_memory(value, device) for key, value in data.items()})
    if is_namedtuple(data):
        return type(data)(*(pin_memory(value, device) for value in data))
    if isinstance(data, tuple):
        return type(data)(pin_memory(value, device) for value in data)
    if isinstance(data, Sequence):
        return like_sequence(data, [pin_memory(value, device) for value in data])
    return data
