"""Functions of torch.nn.functional that pool: the part around the ops that compute it."""

import math

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._overridable import make_overridable as _make_overridable

_ops = _C._internal_functions


def _max_pool(n, with_indices, plain):
    def pool_with_indices(
        input,
        kernel_size,
        stride=None,
        padding=0,
        dilation=1,
        ceil_mode=False,
        return_indices=False,
    ):
        stride = [] if stride is None else stride
        return with_indices(input, kernel_size, stride, padding, dilation, ceil_mode)

    def pool(
        input,
        kernel_size,
        stride=None,
        padding=0,
        dilation=1,
        ceil_mode=False,
        return_indices=False,
    ):
        stride = [] if stride is None else stride
        function = with_indices if return_indices else plain
        return function(input, kernel_size, stride, padding, dilation, ceil_mode)

    text = f"The largest elements of windows of the last {n} dimensions"
    pool.__doc__ = f"{text}; with return_indices, also where they are."
    pool_with_indices.__doc__ = f"{text}, and where they are."
    return _named(pool, f"max_pool{n}d"), _named(pool_with_indices, f"max_pool{n}d_with_indices")


def _named(function, name):
    function.__name__ = function.__qualname__ = name
    return function


max_pool1d, max_pool1d_with_indices = _max_pool(1, torch.max_pool1d_with_indices, torch.max_pool1d)
max_pool2d, max_pool2d_with_indices = _max_pool(
    2, _ops["max_pool2d_with_indices"], torch.max_pool2d
)
max_pool3d, max_pool3d_with_indices = _max_pool(
    3, _ops["max_pool3d_with_indices"], torch.max_pool3d
)


def _adaptive_size(output_size, input, n):
    if isinstance(output_size, (list, tuple)) or hasattr(output_size, "__len__"):
        if len(input.shape) <= len(output_size):
            raise ValueError(f"Input dimension should be at least {len(output_size) + 1}")
        last = input.shape[-len(output_size) :]
        return [
            size if wanted is None else wanted
            for wanted, size in zip(output_size, last, strict=True)
        ]
    return [output_size] * n


def adaptive_avg_pool2d(input, output_size):
    """The means of windows that cover the last two dimensions; None keeps a dimension's size.

    >>> F.adaptive_avg_pool2d(torch.tensor([[[1., 3.], [2., 0.]]]), 1)
    tensor([[[1.5000]]])
    """
    return _ops["_adaptive_avg_pool2d"](input, _adaptive_size(output_size, input, 2))


def adaptive_avg_pool3d(input, output_size):
    """The means of windows that cover the last three dimensions; None keeps a dimension's size."""
    return _ops["_adaptive_avg_pool3d"](input, _adaptive_size(output_size, input, 3))


def adaptive_max_pool1d_with_indices(input, output_size, return_indices=False):
    """The largest elements of windows that cover the last dimension, and where they are."""
    return torch.adaptive_max_pool1d(input, output_size)


def adaptive_max_pool2d_with_indices(input, output_size, return_indices=False):
    """The largest elements of windows that cover the last two dimensions, and where they are."""
    return _ops["adaptive_max_pool2d"](input, _adaptive_size(output_size, input, 2))


def adaptive_max_pool3d_with_indices(input, output_size, return_indices=False):
    """The largest elements of windows that cover the last three dimensions, and where they are."""
    return _ops["adaptive_max_pool3d"](input, _adaptive_size(output_size, input, 3))


def adaptive_max_pool1d(input, output_size, return_indices=False):
    """The largest elements of windows that cover the last dimension."""
    pooled = adaptive_max_pool1d_with_indices(input, output_size)
    return pooled if return_indices else pooled[0]


def adaptive_max_pool2d(input, output_size, return_indices=False):
    """The largest elements of windows that cover the last two dimensions.

    >>> F.adaptive_max_pool2d(torch.tensor([[[1., 3.], [2., 0.]]]), 1)
    tensor([[[3.]]])
    """
    pooled = adaptive_max_pool2d_with_indices(input, output_size)
    return pooled if return_indices else pooled[0]


def adaptive_max_pool3d(input, output_size, return_indices=False):
    """The largest elements of windows that cover the last three dimensions."""
    pooled = adaptive_max_pool3d_with_indices(input, output_size)
    return pooled if return_indices else pooled[0]


# --- the inverse of max_pool ---


def _per_dimension(value, n):
    return list(value) if isinstance(value, (list, tuple)) else [value] * n


def _unpool_size(input, kernel_size, stride, padding, output_size, n):
    kernel_size, padding = _per_dimension(kernel_size, n), _per_dimension(padding, n)
    stride = kernel_size if stride is None or stride == [] else _per_dimension(stride, n)
    sizes = [
        (input.size(d - n) - 1) * stride[d] + kernel_size[d] - 2 * padding[d] for d in range(n)
    ]
    if output_size is None:
        return sizes
    if len(output_size) == n + 2:
        output_size = output_size[2:]
    if len(output_size) != n:
        raise ValueError(
            "output_size should be a sequence containing "
            f"{n} or {n + 2} elements, but it has a length of '{len(output_size)}'"
        )
    for d, wanted in enumerate(output_size):
        low, high = sizes[d] - stride[d], sizes[d] + stride[d]
        if not low < wanted < high:
            raise ValueError(
                f'invalid output_size "{output_size}" (dim {d} must be between {low} and {high})'
            )
    return list(output_size)


def max_unpool1d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """The elements that max_pool1d found, at their places; 0 elsewhere.

    >>> F.max_unpool1d(torch.tensor([[3., 2.]]), torch.tensor([[1, 2]]), 2)
    tensor([[0., 3., 2., 0.]])
    """
    sizes = _unpool_size(input, kernel_size, stride, padding, output_size, 1)
    # A line is an image with one column.
    images = input.unsqueeze(-1), indices.unsqueeze(-1)
    return _ops["max_unpool2d"](*images, [*sizes, 1]).squeeze(-1)


def max_unpool2d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """The elements that max_pool2d found, at their places; 0 elsewhere."""
    sizes = _unpool_size(input, kernel_size, stride, padding, output_size, 2)
    return _ops["max_unpool2d"](input, indices, sizes)


def max_unpool3d(input, indices, kernel_size, stride=None, padding=0, output_size=None):
    """The elements that max_pool3d found, at their places; 0 elsewhere."""
    sizes = _unpool_size(input, kernel_size, stride, padding, output_size, 3)
    steps = kernel_size if stride is None or stride == [] else stride
    return _ops["max_unpool3d"](input, indices, sizes, steps, padding)


# --- norms of windows ---


def _lp_pool(average, input, norm_type, kernel_size, stride, ceil_mode, n):
    stride = [] if stride is None else stride
    mean = average(input.pow(norm_type), kernel_size, stride, 0, ceil_mode)
    count = math.prod(_per_dimension(kernel_size, n))
    positive = torch.sign(mean) * torch.relu(torch.abs(mean))
    return positive.mul(count).pow(1.0 / norm_type)


def lp_pool1d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The norms of windows of the last dimension.

    >>> F.lp_pool1d(torch.tensor([[3., 4., 0., 2.]]), 2, 2)
    tensor([[5., 2.]])
    """
    pool = torch.nn.functional.avg_pool1d
    return _lp_pool(pool, input, norm_type, kernel_size, stride, ceil_mode, 1)


def lp_pool2d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The norms of windows of the last two dimensions."""
    pool = torch.nn.functional.avg_pool2d
    return _lp_pool(pool, input, norm_type, kernel_size, stride, ceil_mode, 2)


def lp_pool3d(input, norm_type, kernel_size, stride=None, ceil_mode=False):
    """The norms of windows of the last three dimensions."""
    pool = torch.nn.functional.avg_pool3d
    return _lp_pool(pool, input, norm_type, kernel_size, stride, ceil_mode, 3)


# --- windows at random places ---


def _fractional(n, input, kernel_size, output_size, output_ratio, samples):
    name = f"fractional_max_pool{n}d"
    if output_size is None and output_ratio is None:
        raise ValueError(f"{name} requires specifying either an output_size or an output_ratio")
    if output_size is None:
        if n == 2 and len(output_ratio) > n:
            raise ValueError(
                f"{name} requires output_ratio to either be a single Int or tuple of Ints."
            )
        ratios = _per_dimension(output_ratio, n)
        output_size = [int(input.size(d - n) * ratios[d]) for d in range(n)]
    if samples is None:
        batch = 1 if input.dim() == n + 1 else input.size(0)
        sizes = (batch, input.size(-n - 1), n)
        samples = torch.rand(sizes, dtype=input.dtype, device=input.device)
    return _ops[name](input, kernel_size, output_size, samples)


def fractional_max_pool2d_with_indices(
    input,
    kernel_size,
    output_size=None,
    output_ratio=None,
    return_indices=False,
    _random_samples=None,
):
    """fractional_max_pool2d, and where the elements are."""
    return _fractional(2, input, kernel_size, output_size, output_ratio, _random_samples)


def fractional_max_pool3d_with_indices(
    input,
    kernel_size,
    output_size=None,
    output_ratio=None,
    return_indices=False,
    _random_samples=None,
):
    """fractional_max_pool3d, and where the elements are."""
    return _fractional(3, input, kernel_size, output_size, output_ratio, _random_samples)


def fractional_max_pool2d(
    input,
    kernel_size,
    output_size=None,
    output_ratio=None,
    return_indices=False,
    _random_samples=None,
):
    """The largest elements of windows whose places are drawn at random."""
    pooled = fractional_max_pool2d_with_indices(
        input, kernel_size, output_size, output_ratio, True, _random_samples
    )
    return pooled if return_indices else pooled[0]


def fractional_max_pool3d(
    input,
    kernel_size,
    output_size=None,
    output_ratio=None,
    return_indices=False,
    _random_samples=None,
):
    """The largest elements of windows whose places are drawn at random."""
    pooled = fractional_max_pool3d_with_indices(
        input, kernel_size, output_size, output_ratio, True, _random_samples
    )
    return pooled if return_indices else pooled[0]


_make_overridable(globals())
