"""Normalizations of torch.nn.functional that are written from other ops."""

import math

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._overridable import make_overridable as _make_overridable

_ops = _C._internal_functions


def _check_more_than_one_value(size):
    if size[0] * math.prod(size[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 value per channel when training, got input size {size}"
        )


def batch_norm(
    input,
    running_mean,
    running_var,
    weight=None,
    bias=None,
    training=False,
    momentum=0.1,
    eps=1e-5,
):
    """Each channel with mean 0 and variance 1, by the statistics of the batch (training, which
    also moves the running ones) or by the running ones.

    >>> F.batch_norm(torch.tensor([[1.0], [3.0]]), None, None, training=True)
    tensor([[-1.0000],
            [ 1.0000]])
    """
    if training:
        _check_more_than_one_value(input.size())
        if (running_mean is None) != (running_var is None):
            raise ValueError(
                "running_mean and running_var must either both be None or neither be None"
            )
        if eps == 0:
            raise ValueError(f"batch_norm eps must be positive during training, but got {eps}")
    if eps < 0:
        raise ValueError(f"batch_norm eps must be non-negative, but got {eps}")
    return _ops["batch_norm"](
        input, weight, bias, running_mean, running_var, training, momentum, eps
    )


def instance_norm(
    input,
    running_mean=None,
    running_var=None,
    weight=None,
    bias=None,
    use_input_stats=True,
    momentum=0.1,
    eps=1e-5,
):
    """batch_norm of every sample on its own.

    >>> F.instance_norm(torch.tensor([[[1.0, 3.0]]]))
    tensor([[[-1.0000,  1.0000]]])
    """
    if use_input_stats and math.prod(input.shape[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size {input.size()}"
        )
    return _ops["instance_norm"](
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps
    )


def group_norm(input, num_groups, weight=None, bias=None, eps=1e-5):
    """Groups of channels of every sample with mean 0 and variance 1.

    >>> F.group_norm(torch.tensor([[1.0, 3.0]]), 1)
    tensor([[-1.0000,  1.0000]])
    """
    if input.dim() < 2:
        raise RuntimeError(
            f"Expected at least 2 dimensions for input tensor but received {input.dim()}"
        )
    channels = input.size(1)
    _check_more_than_one_value(
        [input.size(0) * channels // num_groups, num_groups, *input.shape[2:]]
    )
    return _ops["group_norm"](input, num_groups, weight, bias, eps)


def local_response_norm(input, size, alpha=1e-4, beta=0.75, k=1.0):
    """input over a power of the mean square of the channels around.

    >>> F.local_response_norm(torch.ones(1, 2, 1), 2, alpha=1.0, beta=1.0)
    tensor([[[0.6667],
             [0.5000]]])
    """
    if input.dim() < 3:
        raise ValueError(
            f"Expected 3D or higher dimensionality                          "
            f"input (got {input.dim()} dimensions)"
        )
    if input.numel() == 0:
        return input
    # Zero channels around, so that every channel has `size` of them.
    around = [0, 0] * (input.dim() - 2) + [size // 2, (size - 1) // 2]
    squares = torch.nn.functional.pad(input * input, around)
    mean = squares.unfold(1, size, 1).mean(-1)
    return input / (mean * alpha + k) ** beta


_make_overridable(globals())
