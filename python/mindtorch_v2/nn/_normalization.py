"""Normalizations of torch.nn.functional that are written from other ops."""

import math

import mindtorch_v2 as torch


def _per_channel(values, input):
    return values.view(1, -1, *[1] * (input.dim() - 2))


def _scaled(input, mean, invstd, weight, bias):
    """(input - mean) * invstd * weight + bias as one factor and one summand."""
    factor = invstd if weight is None else invstd * weight
    shift = -mean * factor
    return input * factor + (shift if bias is None else shift + bias)


def _as_float(input):
    """input, with at least the precision of float32: statistics need it."""
    return input.float() if input.dtype in (torch.float16, torch.bfloat16) else input


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
    for name, values in (("running_mean", running_mean), ("running_var", running_var)):
        if values is None and not training:
            raise RuntimeError(f"{name} must be defined in evaluation mode")
    channels = input.size(1)
    given = {"running_mean": running_mean, "running_var": running_var, "weight": weight}
    for name, values in {**given, "bias": bias}.items():
        if values is not None and values.numel() != channels:
            raise RuntimeError(f"{name} should contain {channels} elements not {values.numel()}")
    if training:
        dims = [0, *range(2, input.dim())]
        var, mean = torch.var_mean(_as_float(input), dims, correction=0)
        _move(running_mean, running_var, mean, var, input.numel() // channels, momentum)
    else:
        mean, var = running_mean, running_var
    invstd = (var + eps).rsqrt()
    parts = [None if p is None else _per_channel(p, input) for p in (mean, invstd, weight, bias)]
    return _scaled(input, *parts).to(input.dtype)


def _move(running_mean, running_var, mean, var, count, momentum):
    """Moves running statistics towards those of a batch."""
    with torch.no_grad():
        if running_mean is not None:
            running_mean.mul_(1 - momentum).add_(mean.detach(), alpha=momentum)
        if running_var is not None:
            unbiased = var.detach() * (count / max(count - 1, 1))
            running_var.mul_(1 - momentum).add_(unbiased, alpha=momentum)


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
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise RuntimeError(
                "Expected running_mean and running_var to be defined when use_input_stats is false"
            )
        return batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    if math.prod(input.shape[2:]) == 1:
        raise ValueError(
            f"Expected more than 1 spatial element when training, got input size {input.size()}"
        )
    dims = [*range(2, input.dim())]
    var, mean = torch.var_mean(_as_float(input), dims, correction=0, keepdim=True)
    count = math.prod(input.shape[2:])
    channels = input.size(1)
    batch_mean, batch_var = mean.view(-1, channels).mean(0), var.view(-1, channels).mean(0)
    _move(running_mean, running_var, batch_mean, batch_var, count, momentum)
    parts = [None if p is None else _per_channel(p, input) for p in (weight, bias)]
    return _scaled(input, mean, (var + eps).rsqrt(), *parts).to(input.dtype)


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
    if num_groups <= 0:
        raise RuntimeError(f"Expected num groups to be greater than 0, got {num_groups}")
    if channels % num_groups != 0:
        raise RuntimeError(
            "Expected number of channels in input to be divisible by num_groups, but got input of "
            f"shape {list(input.shape)} and num_groups={num_groups}"
        )
    size = math.prod(input.shape[1:]) // num_groups
    grouped = _as_float(input).reshape(input.size(0), num_groups, size)
    var, mean = torch.var_mean(grouped, 2, correction=0, keepdim=True)
    result = ((grouped - mean) * (var + eps).rsqrt()).view(input.shape)
    if weight is not None:
        result = result * _per_channel(weight, input)
    result = result if bias is None else result + _per_channel(bias, input)
    return result.to(input.dtype)


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
