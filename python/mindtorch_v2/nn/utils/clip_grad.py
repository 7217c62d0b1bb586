"""Gradients cut to a norm or to a range."""

import warnings
from collections import defaultdict

import mindtorch_v2 as torch

__all__ = [
    "clip_grad_norm",
    "clip_grad_norm_",
    "clip_grad_value_",
    "clip_grads_with_norm_",
    "get_total_norm",
]


def _grads(parameters):
    parameters = [parameters] if isinstance(parameters, torch.Tensor) else list(parameters)
    return [p.grad for p in parameters if p.grad is not None], parameters


def _by_kind(tensors):
    """Lists of tensors of one device and dtype: what one pass takes."""
    if len({(tensor.device, tensor.dtype) for tensor in tensors}) <= 1:
        return [tensors] if tensors else []
    lists = defaultdict(list)
    for tensor in tensors:
        lists[tensor.device, tensor.dtype].append(tensor)
    return lists.values()


def _moved(tensor, device):
    # `to` with the name of the host executes what a pipeline has recorded, though nothing moves.
    return tensor if tensor.device == device else tensor.to(device)


def get_total_norm(tensors, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The norm of all tensors as if they were one vector.

    >>> torch.nn.utils.get_total_norm([torch.tensor([3.0]), torch.tensor([4.0])])
    tensor(5.)
    """
    tensors = [tensors] if isinstance(tensors, torch.Tensor) else list(tensors)
    norm_type = float(norm_type)
    if not tensors:
        return torch.tensor(0.0)
    device = tensors[0].device
    norms = [
        _moved(norm, device)
        for alike in _by_kind(tensors)
        for norm in torch._foreach_norm(alike, norm_type)
    ]
    total = torch.linalg.vector_norm(torch.stack(norms), norm_type)
    if error_if_nonfinite and not bool(torch.isfinite(total)):
        raise RuntimeError(
            f"The total norm of order {norm_type} for gradients from "
            "`parameters` is non-finite, so it cannot be clipped. To disable "
            "this error and scale the gradients by the non-finite norm anyway, "
            "set `error_if_nonfinite=False`"
        )
    return total


def clip_grads_with_norm_(parameters, max_norm, total_norm, foreach=None):
    """Scales gradients of this norm so that it becomes max_norm, if it is larger.

    >>> p = torch.nn.Parameter(torch.zeros(2))
    >>> p.grad = torch.tensor([3.0, 4.0])
    >>> torch.nn.utils.clip_grads_with_norm_([p], 1.0, torch.tensor(5.0))
    >>> p.grad
    tensor([0.6000, 0.8000])
    """
    grads, _ = _grads(parameters)
    # The factor stays a tensor: no device has to be waited for.
    factor = (float(max_norm) / (total_norm + 1e-6)).clamp(max=1.0)
    with torch.no_grad():
        for alike in _by_kind(grads):
            torch._foreach_mul_(alike, _moved(factor, alike[0].device))


def clip_grad_norm_(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """Scales the gradients so that their norm is at most max_norm; returns what it was.

    >>> p = torch.nn.Parameter(torch.zeros(2))
    >>> p.grad = torch.tensor([3.0, 4.0])
    >>> torch.nn.utils.clip_grad_norm_([p], 1.0)
    tensor(5.)
    """
    with torch.no_grad():
        is_generator = not isinstance(parameters, (torch.Tensor, list, tuple))
        grads, parameters = _grads(parameters)
        if is_generator and not parameters:
            warnings.warn(
                "`parameters` is an empty generator, no gradient clipping will occur.",
                stacklevel=3,
            )
        total = get_total_norm(grads, norm_type, error_if_nonfinite, foreach)
        clip_grads_with_norm_(parameters, max_norm, total, foreach)
    return total


def clip_grad_norm(parameters, max_norm, norm_type=2.0, error_if_nonfinite=False, foreach=None):
    """The old name of clip_grad_norm_."""
    warnings.warn(
        "`torch.nn.utils.clip_grad_norm` is now deprecated "
        "in favor of `torch.nn.utils.clip_grad_norm_`.",
        FutureWarning,
        stacklevel=2,
    )
    return clip_grad_norm_(parameters, max_norm, norm_type, error_if_nonfinite, foreach)


def clip_grad_value_(parameters, clip_value, foreach=None):
    """Cuts every element of the gradients to between -clip_value and clip_value.

    >>> p = torch.nn.Parameter(torch.zeros(2))
    >>> p.grad = torch.tensor([3.0, -4.0])
    >>> torch.nn.utils.clip_grad_value_([p], 1.0)
    >>> p.grad
    tensor([ 1., -1.])
    """
    grads, _ = _grads(parameters)
    clip_value = float(clip_value)
    with torch.no_grad():
        for alike in _by_kind(grads):
            torch._foreach_clamp_min_(alike, -clip_value)
            torch._foreach_clamp_max_(alike, clip_value)
