"""Pooling as modules. They call torch.nn.functional.max_pool1d and the like."""

from mindtorch_v2.nn import functional as F
from mindtorch_v2.nn.modules.module import Module
from mindtorch_v2.nn.modules.utils import per_dimension

__all__ = [
    *(f"AdaptiveAvgPool{n}d" for n in (1, 2, 3)),
    *(f"AdaptiveMaxPool{n}d" for n in (1, 2, 3)),
    *(f"AvgPool{n}d" for n in (1, 2, 3)),
    "FractionalMaxPool2d",
    "FractionalMaxPool3d",
    *(f"LPPool{n}d" for n in (1, 2, 3)),
    *(f"MaxPool{n}d" for n in (1, 2, 3)),
    *(f"MaxUnpool{n}d" for n in (1, 2, 3)),
]


class _MaxPoolNd(Module):
    __constants__ = [
        "kernel_size",
        "stride",
        "padding",
        "dilation",
        "return_indices",
        "ceil_mode",
    ]
    _dimensions = None

    def __init__(
        self,
        kernel_size,
        stride=None,
        padding=0,
        dilation=1,
        return_indices=False,
        ceil_mode=False,
    ):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding, self.dilation = padding, dilation
        self.return_indices, self.ceil_mode = return_indices, ceil_mode

    def forward(self, input):
        return getattr(F, f"max_pool{self._dimensions}d")(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.dilation,
            ceil_mode=self.ceil_mode,
            return_indices=self.return_indices,
        )

    def extra_repr(self):
        return (
            f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}, "
            f"dilation={self.dilation}, ceil_mode={self.ceil_mode}"
        )


class MaxPool1d(_MaxPoolNd):
    """The largest element of every window of (N, C, L).

    >>> torch.nn.MaxPool1d(2)
    MaxPool1d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)
    """

    _dimensions = 1


class MaxPool2d(_MaxPoolNd):
    """The largest element of every window of (N, C, H, W)."""

    _dimensions = 2


class MaxPool3d(_MaxPoolNd):
    """The largest element of every window of (N, C, D, H, W)."""

    _dimensions = 3


class _MaxUnpoolNd(Module):
    _dimensions = None

    def __init__(self, kernel_size, stride=None, padding=0):
        super().__init__()
        n = self._dimensions
        self.kernel_size = per_dimension(kernel_size, n)
        self.stride = per_dimension(stride if stride is not None else kernel_size, n)
        self.padding = per_dimension(padding, n)

    def forward(self, input, indices, output_size=None):
        return getattr(F, f"max_unpool{self._dimensions}d")(
            input, indices, self.kernel_size, self.stride, self.padding, output_size
        )

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class MaxUnpool1d(_MaxUnpoolNd):
    """Puts what MaxPool1d kept back where it was, 0 elsewhere.

    >>> torch.nn.MaxUnpool1d(2)
    MaxUnpool1d(kernel_size=(2,), stride=(2,), padding=(0,))
    """

    _dimensions = 1


class MaxUnpool2d(_MaxUnpoolNd):
    """Puts what MaxPool2d kept back where it was, 0 elsewhere."""

    _dimensions = 2


class MaxUnpool3d(_MaxUnpoolNd):
    """Puts what MaxPool3d kept back where it was, 0 elsewhere."""

    _dimensions = 3


class _AvgPoolNd(Module):
    _dimensions = None

    def __init__(
        self,
        kernel_size,
        stride=None,
        padding=0,
        ceil_mode=False,
        count_include_pad=True,
        divisor_override=None,
    ):
        super().__init__()
        self.kernel_size = kernel_size
        self.stride = stride if stride is not None else kernel_size
        self.padding, self.ceil_mode = padding, ceil_mode
        self.count_include_pad = count_include_pad
        self.divisor_override = divisor_override

    def forward(self, input):
        return getattr(F, f"avg_pool{self._dimensions}d")(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
            self.divisor_override,
        )

    def extra_repr(self):
        return f"kernel_size={self.kernel_size}, stride={self.stride}, padding={self.padding}"


class AvgPool1d(_AvgPoolNd):
    """The mean of every window of (N, C, L).

    >>> torch.nn.AvgPool1d(2)
    AvgPool1d(kernel_size=(2,), stride=(2,), padding=(0,))
    """

    _dimensions = 1

    def __init__(
        self, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True
    ):
        super().__init__(
            per_dimension(kernel_size, 1),
            per_dimension(stride if stride is not None else kernel_size, 1),
            per_dimension(padding, 1),
            ceil_mode,
            count_include_pad,
        )

    def forward(self, input):
        return F.avg_pool1d(
            input,
            self.kernel_size,
            self.stride,
            self.padding,
            self.ceil_mode,
            self.count_include_pad,
        )


class AvgPool2d(_AvgPoolNd):
    """The mean of every window of (N, C, H, W)."""

    _dimensions = 2


class AvgPool3d(_AvgPoolNd):
    """The mean of every window of (N, C, D, H, W)."""

    _dimensions = 3


class _FractionalMaxPoolNd(Module):
    __constants__ = ["kernel_size", "return_indices", "output_size", "output_ratio"]
    _dimensions = None

    def __init__(
        self,
        kernel_size,
        output_size=None,
        output_ratio=None,
        return_indices=False,
        _random_samples=None,
    ):
        super().__init__()
        n, name = self._dimensions, type(self).__name__
        if any(size <= 0 for size in per_dimension(kernel_size, n)):
            raise ValueError(f"kernel_size must greater than zero, but got {kernel_size}")
        self.kernel_size = per_dimension(kernel_size, n)
        self.return_indices = return_indices
        self.register_buffer("_random_samples", _random_samples)
        self.output_size = None if output_size is None else per_dimension(output_size, n)
        self.output_ratio = None if output_ratio is None else per_dimension(output_ratio, n)
        if output_size is None and output_ratio is None:
            raise ValueError(
                f"{name} requires specifying either an output size, or a pooling ratio"
            )
        if output_size is not None and output_ratio is not None:
            raise ValueError("only one of output_size and output_ratio may be specified")
        if self.output_ratio is not None and not all(0 < r < 1 for r in self.output_ratio):
            raise ValueError(f"output_ratio must be between 0 and 1 (got {output_ratio})")

    def forward(self, input):
        return getattr(F, f"fractional_max_pool{self._dimensions}d")(
            input,
            self.kernel_size,
            self.output_size,
            self.output_ratio,
            self.return_indices,
            _random_samples=self._random_samples,
        )


class FractionalMaxPool2d(_FractionalMaxPoolNd):
    """The largest element of windows at random steps, of (N, C, H, W).

    >>> torch.nn.FractionalMaxPool2d(2, output_size=3).output_size
    (3, 3)
    """

    _dimensions = 2


class FractionalMaxPool3d(_FractionalMaxPoolNd):
    """The largest element of windows at random steps, of (N, C, D, H, W)."""

    _dimensions = 3


class _LPPoolNd(Module):
    __constants__ = ["norm_type", "kernel_size", "stride", "ceil_mode"]
    _dimensions = None

    def __init__(self, norm_type, kernel_size, stride=None, ceil_mode=False):
        super().__init__()
        self.norm_type, self.kernel_size = norm_type, kernel_size
        self.stride, self.ceil_mode = stride, ceil_mode

    def forward(self, input):
        return getattr(F, f"lp_pool{self._dimensions}d")(
            input, float(self.norm_type), self.kernel_size, self.stride, self.ceil_mode
        )

    def extra_repr(self):
        return (
            f"norm_type={self.norm_type}, kernel_size={self.kernel_size}, "
            f"stride={self.stride}, ceil_mode={self.ceil_mode}"
        )


class LPPool1d(_LPPoolNd):
    """The p-norm of every window of (N, C, L).

    >>> torch.nn.LPPool1d(2, 3)
    LPPool1d(norm_type=2, kernel_size=3, stride=None, ceil_mode=False)
    """

    _dimensions = 1


class LPPool2d(_LPPoolNd):
    """The p-norm of every window of (N, C, H, W)."""

    _dimensions = 2


class LPPool3d(_LPPoolNd):
    """The p-norm of every window of (N, C, D, H, W)."""

    _dimensions = 3


class _AdaptivePoolNd(Module):
    __constants__ = ["output_size"]
    _dimensions = None

    def __init__(self, output_size):
        super().__init__()
        self.output_size = output_size

    def extra_repr(self):
        return f"output_size={self.output_size}"


class _AdaptiveMaxPoolNd(_AdaptivePoolNd):
    __constants__ = ["output_size", "return_indices"]

    def __init__(self, output_size, return_indices=False):
        super().__init__(output_size)
        self.return_indices = return_indices

    def forward(self, input):
        pool = getattr(F, f"adaptive_max_pool{self._dimensions}d")
        return pool(input, self.output_size, self.return_indices)


class AdaptiveMaxPool1d(_AdaptiveMaxPoolNd):
    """The largest elements of windows that give an output of one size, of (N, C, L).

    >>> torch.nn.AdaptiveMaxPool1d(2)
    AdaptiveMaxPool1d(output_size=2)
    """

    _dimensions = 1


class AdaptiveMaxPool2d(_AdaptiveMaxPoolNd):
    """The largest elements of windows that give an output of one size, of (N, C, H, W)."""

    _dimensions = 2


class AdaptiveMaxPool3d(_AdaptiveMaxPoolNd):
    """The largest elements of windows that give an output of one size, of (N, C, D, H, W)."""

    _dimensions = 3


class _AdaptiveAvgPoolNd(_AdaptivePoolNd):
    def forward(self, input):
        return getattr(F, f"adaptive_avg_pool{self._dimensions}d")(input, self.output_size)


class AdaptiveAvgPool1d(_AdaptiveAvgPoolNd):
    """The means of windows that give an output of one size, of (N, C, L).

    >>> torch.nn.AdaptiveAvgPool1d(2)
    AdaptiveAvgPool1d(output_size=2)
    """

    _dimensions = 1


class AdaptiveAvgPool2d(_AdaptiveAvgPoolNd):
    """The means of windows that give an output of one size, of (N, C, H, W)."""

    _dimensions = 2


class AdaptiveAvgPool3d(_AdaptiveAvgPoolNd):
    """The means of windows that give an output of one size, of (N, C, D, H, W)."""

    _dimensions = 3
