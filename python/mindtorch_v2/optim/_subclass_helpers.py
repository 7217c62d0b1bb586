"""Private helpers of torch.optim.optimizer that optimizers written elsewhere import."""

import functools
from collections.abc import Iterable
from typing import Any, Union

import mindtorch_v2 as torch
from mindtorch_v2 import _kinds

__all__ = [
    "ParamsT",
    "_default_to_fused_or_foreach",
    "_disable_dynamo_if_unsupported",
    "_dispatch_sqrt",
    "_get_capturable_supported_devices",
    "_get_foreach_kernels_supported_devices",
    "_get_fused_kernels_supported_devices",
    "_get_scalar_dtype",
    "_get_value",
    "_stack_if_compiling",
    "_use_grad_for_differentiable",
    "_view_as_real",
]

ParamsT = Union[  # noqa: UP007 - used at run time on Python 3.10
    Iterable[torch.Tensor], Iterable[dict[str, Any]], Iterable[tuple[str, torch.Tensor]]
]
_FAST = _kinds.ACCELERATORS  # where one call for many tensors is the better default


def _use_grad_for_differentiable(func):
    """step of a class: gradients are recorded if the optimizer is differentiable."""

    @functools.wraps(func)
    def step(self, *args, **kwargs):
        with torch.set_grad_enabled(self.defaults["differentiable"]):
            return func(self, *args, **kwargs)

    return step


def _disable_dynamo_if_unsupported(single_tensor_fn=None):
    """A decorator that gives the function itself: nothing is compiled."""
    return lambda function: function


def _default_to_fused_or_foreach(params, differentiable, use_fused=False):
    """(fused, foreach): which of the two an optimizer is to take where the user does not say."""
    if differentiable:
        return False, False
    plain = [type(p) in (torch.Tensor, torch.nn.Parameter) for p in params if p is not None]
    tensors = [p for p in params if p is not None]
    fused = use_fused and all(plain)
    fused = fused and all(p.device.type in (*_FAST, "cpu") for p in tensors)
    fused = fused and all(p.is_floating_point() for p in tensors)
    foreach = not fused and all(plain) and all(p.device.type in _FAST for p in tensors)
    return fused, foreach


def _get_capturable_supported_devices(supports_xla=True):
    """Kinds of devices on which `capturable` may be set."""
    return [*_kinds.ACCELERATORS, "xpu", "hpu", *(["xla"] if supports_xla else [])]


def _get_fused_kernels_supported_devices():
    return [*_FAST, "cpu"]


def _get_foreach_kernels_supported_devices():
    return [*_FAST]


def _get_value(x):
    """A number: that of a tensor, or the number itself."""
    return x.item() if isinstance(x, torch.Tensor) else x


def _stack_if_compiling(x):
    """The list itself: nothing is compiled."""
    return x


def _dispatch_sqrt(x):
    """The square root of a number or a tensor."""
    return x.sqrt() if isinstance(x, torch.Tensor) else x**0.5


def _get_scalar_dtype(is_fused=None):
    """The dtype of counters of steps."""
    is_double = torch.get_default_dtype() == torch.float64 and not is_fused
    return torch.float64 if is_double else torch.float32


def _view_as_real(params, *state_and_grads):
    """Replaces complex tensors of the lists by views of their parts."""
    for i, parameter in enumerate(params):
        if parameter.is_complex():
            for tensors in (params, *state_and_grads):
                tensors[i] = torch.view_as_real(tensors[i])


def group_tensors(tensor_lists, with_indices=False):
    """{(device, dtype): (the same lists with the tensors of that kind, their numbers)}, by the
    first list; None stays where it is.
    """
    groups = {}
    for number, first in enumerate(tensor_lists[0]):
        lists, numbers = groups.setdefault(
            (first.device, first.dtype), ([[] for _ in tensor_lists], [])
        )
        for target, source in zip(lists, tensor_lists, strict=True):
            if source:
                target.append(source[number])
        if with_indices:
            numbers.append(number)
    return groups
