"""torch.nn.init: the initial values of parameters.

>>> weight = torch.nn.init.constant_(torch.empty(2), 0.5)
>>> weight
tensor([0.5000, 0.5000])
"""

import math
import warnings

import mindtorch_v2 as torch
from mindtorch_v2._overridable import make_overridable as _make_overridable

__all__ = [
    "calculate_gain",
    "constant_",
    "dirac_",
    "eye_",
    "kaiming_normal_",
    "kaiming_uniform_",
    "normal_",
    "ones_",
    "orthogonal_",
    "sparse_",
    "trunc_normal_",
    "uniform_",
    "xavier_normal_",
    "xavier_uniform_",
    "zeros_",
]

_LINEAR = "linear conv1d conv2d conv3d conv_transpose1d conv_transpose2d conv_transpose3d".split()


def calculate_gain(nonlinearity, param=None):
    """The factor that keeps the variance of values through a nonlinearity.

    >>> round(torch.nn.init.calculate_gain("relu"), 4)
    1.4142
    """
    if nonlinearity in _LINEAR or nonlinearity == "sigmoid":
        return 1
    if nonlinearity == "tanh":
        return 5.0 / 3
    if nonlinearity == "relu":
        return math.sqrt(2.0)
    if nonlinearity == "leaky_relu":
        if param is None:
            slope = 0.01
        elif not isinstance(param, bool) and isinstance(param, (int, float)):
            slope = param
        else:
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity == "selu":
        return 3.0 / 4
    raise ValueError(f"Unsupported nonlinearity {nonlinearity}")


def uniform_(tensor, a=0.0, b=1.0, generator=None):
    """Numbers of the uniform distribution from a to b."""
    with torch.no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(tensor, mean=0.0, std=1.0, generator=None):
    """Numbers of the normal distribution."""
    with torch.no_grad():
        return tensor.normal_(mean, std, generator=generator)


def _normal_cdf(x):
    return (1.0 + math.erf(x / math.sqrt(2.0))) / 2.0


def trunc_normal_(tensor, mean=0.0, std=1.0, a=-2.0, b=2.0, generator=None):
    """Numbers of the normal distribution, without those below a or above b.

    >>> torch.nn.init.trunc_normal_(torch.empty(1000), std=5.0).abs().max().item() <= 2.0
    True
    """
    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            "mean is more than 2 std from [a, b] in nn.init.trunc_normal_. "
            "The distribution of values may be incorrect.",
            stacklevel=2,
        )
    if tensor.is_meta:
        return tensor
    share = _normal_cdf((b - mean) / std) - _normal_cdf((a - mean) / std)
    with torch.no_grad():
        if share > 0.3:
            return _redraw_outside(tensor, mean, std, a, b, generator)
        return _draw_under_curve(tensor, mean, std, a, b, generator)


def _redraw_outside(tensor, mean, std, a, b, generator):
    """Normal numbers, drawn again where they fall outside, until none does."""
    # The bounds as the tensor can hold them: else a rounded number could stay outside for ever.
    low, high = tensor.new_tensor([a, b], device="cpu").tolist()
    tensor.normal_(mean, std, generator=generator)
    while bool((outside := (tensor < low) | (tensor > high)).any()):
        drawn = torch.empty_like(tensor).normal_(mean, std, generator=generator)
        tensor.copy_(torch.where(outside, drawn, tensor))
    return tensor


def _draw_under_curve(tensor, mean, std, a, b, generator):
    """Uniform numbers, kept with the probability that the density gives, else drawn again."""
    peak = -0.5 * ((max(a, min(mean, b)) - mean) / std) ** 2
    pending = None
    while pending is None or bool(pending.any()):
        drawn = torch.empty_like(tensor).uniform_(a, b, generator=generator)
        tensor.copy_(drawn if pending is None else torch.where(pending, drawn, tensor))
        density = drawn.sub_(mean).div_(std).pow_(2).mul_(-0.5).sub_(peak)
        refused = torch.empty_like(tensor).uniform_(generator=generator).log_() > density
        pending = refused if pending is None else pending & refused
    return tensor


def constant_(tensor, val):
    """One value everywhere."""
    with torch.no_grad():
        return tensor.fill_(val)


def ones_(tensor):
    """1 everywhere."""
    return constant_(tensor, 1.0)


def zeros_(tensor):
    """0 everywhere."""
    with torch.no_grad():
        return tensor.zero_()


def eye_(tensor):
    """1 on the diagonal of a matrix, else 0."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    with torch.no_grad():
        return tensor.zero_().fill_diagonal_(1)


def dirac_(tensor, groups=1):
    """The weight of a convolution that keeps its input, channel by channel."""
    dimensions = tensor.ndimension()
    if dimensions not in (3, 4, 5):
        raise ValueError("Only tensors with 3, 4, or 5 dimensions are supported")
    if tensor.size(0) % groups != 0:
        raise ValueError("dim 0 must be divisible by groups")
    per_group = tensor.size(0) // groups
    middle = tuple(size // 2 for size in tensor.shape[2:])
    with torch.no_grad():
        tensor.zero_()
        for group in range(groups):
            for channel in range(min(per_group, tensor.size(1))):
                tensor[(group * per_group + channel, channel, *middle)] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor):
    if tensor.dim() < 2:
        raise ValueError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions"
        )
    field = math.prod(tensor.shape[2:])
    return tensor.size(1) * field, tensor.size(0) * field


def _calculate_correct_fan(tensor, mode):
    mode = mode.lower()
    if mode not in ("fan_in", "fan_out"):
        raise ValueError(f"Mode {mode} not supported, please use one of ['fan_in', 'fan_out']")
    return _calculate_fan_in_and_fan_out(tensor)[mode == "fan_out"]


def xavier_uniform_(tensor, gain=1.0, generator=None):
    """Uniform numbers whose variance is gain**2 * 2 / (fan_in + fan_out)."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    bound = math.sqrt(3.0) * (gain * math.sqrt(2.0 / float(fan_in + fan_out)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor, gain=1.0, generator=None):
    """Normal numbers whose variance is gain**2 * 2 / (fan_in + fan_out)."""
    fan_in, fan_out = _calculate_fan_in_and_fan_out(tensor)
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / float(fan_in + fan_out)), generator)


def _kaiming_std(tensor, a, mode, nonlinearity):
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return None
    return calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))


def kaiming_uniform_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Uniform numbers whose variance is gain**2 / fan."""
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    return uniform_(tensor, -math.sqrt(3.0) * std, math.sqrt(3.0) * std, generator)


def kaiming_normal_(tensor, a=0, mode="fan_in", nonlinearity="leaky_relu", generator=None):
    """Normal numbers whose variance is gain**2 / fan."""
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else normal_(tensor, 0.0, std, generator)


def orthogonal_(tensor, gain=1, generator=None):
    """A matrix whose rows or columns, whichever are fewer, are orthonormal, times gain.

    >>> torch.manual_seed(0) and None
    >>> w = torch.nn.init.orthogonal_(torch.empty(2, 3))
    >>> torch.allclose(w @ w.T, torch.eye(2), atol=1e-6)
    True
    """
    if tensor.ndimension() < 2:
        raise ValueError("Only tensors with 2 or more dimensions are supported")
    if tensor.numel() == 0:
        return tensor
    rows = tensor.size(0)
    cols = tensor.numel() // rows
    flat = torch.empty(rows, cols, dtype=tensor.dtype, device=tensor.device)
    flat.normal_(0, 1, generator=generator)
    if rows < cols:
        flat = flat.t()
    # LAPACK knows no 16-bit floats.
    q, r = torch.linalg.qr(flat.float() if flat.element_size() == 2 else flat)
    q = q * r.diagonal().sign()
    if rows < cols:
        q = q.t()
    with torch.no_grad():
        tensor.copy_(q.reshape(tensor.shape))
        return tensor.mul_(gain)


def sparse_(tensor, sparsity, std=0.01, generator=None):
    """Normal numbers of which a part of every column is 0."""
    if tensor.ndimension() != 2:
        raise ValueError("Only tensors with 2 dimensions are supported")
    rows, cols = tensor.shape
    zeros = int(math.ceil(sparsity * rows))
    with torch.no_grad():
        tensor.normal_(0, std, generator=generator)
        for col in range(cols):
            tensor[torch.randperm(rows)[:zeros], col] = 0
    return tensor


def _deprecated(name):
    function = globals()[name + "_"]

    def old(*args, **kwargs):
        warnings.warn(
            f"`nn.init.{name}` is now deprecated in favor of `nn.init.{name}_`.",
            FutureWarning,
            stacklevel=2,
        )
        return function(*args, **kwargs)

    old.__name__ = old.__qualname__ = name
    old.__doc__ = f"The old name of {name}_."
    return old


for _name in (
    "uniform normal constant eye dirac xavier_uniform xavier_normal kaiming_uniform kaiming_normal "
    "orthogonal sparse"
).split():
    globals()[_name] = _deprecated(_name)
_make_overridable(globals(), but={"calculate_gain"})
