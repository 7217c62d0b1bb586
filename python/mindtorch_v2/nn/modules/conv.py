"""Convolutions as modules. They call torch.nn.functional.conv1d and the like."""

import math

import mindtorch_v2 as torch
from mindtorch_v2.nn import functional as F
from mindtorch_v2.nn import init
from mindtorch_v2.nn.modules.lazy import LazyModuleMixin
from mindtorch_v2.nn.modules.module import Module
from mindtorch_v2.nn.modules.utils import per_dimension
from mindtorch_v2.nn.parameter import Parameter, UninitializedParameter

__all__ = [
    *(f"Conv{n}d" for n in (1, 2, 3)),
    *(f"ConvTranspose{n}d" for n in (1, 2, 3)),
    *(f"LazyConv{n}d" for n in (1, 2, 3)),
    *(f"LazyConvTranspose{n}d" for n in (1, 2, 3)),
]

_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


class _ConvNd(Module):
    """Settings and parameters of convolutions over `_dimensions` dimensions."""

    __constants__ = [
        "stride",
        "padding",
        "dilation",
        "groups",
        "padding_mode",
        "output_padding",
        "in_channels",
        "out_channels",
        "kernel_size",
    ]
    _dimensions = None
    transposed = False

    def _set_up(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride,
        padding,
        dilation,
        output_padding,
        groups,
        bias,
        padding_mode,
        device,
        dtype,
    ):
        n = self._dimensions
        if groups <= 0:
            raise ValueError("groups must be a positive integer")
        if in_channels % groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        if out_channels % groups != 0:
            raise ValueError("out_channels must be divisible by groups")
        stride = per_dimension(stride, n)
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(
                    f"Invalid padding string {padding!r}, should be one of {{'same', 'valid'}}"
                )
            if padding == "same" and any(s != 1 for s in stride):
                raise ValueError("padding='same' is not supported for strided convolutions")
        if padding_mode not in _PADDING_MODES:
            raise ValueError(
                f"padding_mode must be one of {list(_PADDING_MODES)}, "
                f"but got padding_mode='{padding_mode}'"
            )
        self.in_channels, self.out_channels = in_channels, out_channels
        self.kernel_size, self.stride = per_dimension(kernel_size, n), stride
        self.padding = padding if isinstance(padding, str) else per_dimension(padding, n)
        self.dilation = per_dimension(dilation, n)
        self.output_padding = per_dimension(output_padding, n)
        self.groups, self.padding_mode = groups, padding_mode
        self._make_parameters(bias, device, dtype)

    def _weight_shape(self):
        if self.transposed:
            first, second = self.in_channels, self.out_channels // self.groups
        else:
            first, second = self.out_channels, self.in_channels // self.groups
        return (first, second, *self.kernel_size)

    def _make_parameters(self, bias, device, dtype):
        self.weight = Parameter(torch.empty(self._weight_shape(), device=device, dtype=dtype))
        if bias:
            self.bias = Parameter(torch.empty(self.out_channels, device=device, dtype=dtype))
        else:
            self.register_parameter("bias", None)
        self.reset_parameters()

    def reset_parameters(self):
        """Gives the parameters first values again."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in, _ = init._calculate_fan_in_and_fan_out(self.weight)
            if fan_in != 0:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    @property
    def _reversed_padding_repeated_twice(self):
        """The padding as torch.nn.functional.pad takes it."""
        if not isinstance(self.padding, str):
            return [size for size in reversed(self.padding) for _ in (0, 1)]
        sides = []
        for dilation, size in zip(reversed(self.dilation), reversed(self.kernel_size), strict=True):
            total = dilation * (size - 1) if self.padding == "same" else 0
            sides += [total // 2, total - total // 2]
        return sides

    def _check_input(self, input, name):
        n = self._dimensions
        if input.dim() not in (n + 1, n + 2):
            raise RuntimeError(
                f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to {name}, but got "
                f"input of size: {list(input.shape)}"
            )

    def extra_repr(self):
        n = self._dimensions
        text = f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}"
        text += f", stride={self.stride}"
        if self.padding != (0,) * n:
            text += f", padding={self.padding}"
        if self.dilation != (1,) * n:
            text += f", dilation={self.dilation}"
        if self.output_padding != (0,) * n:
            text += f", output_padding={self.output_padding}"
        if self.groups != 1:
            text += f", groups={self.groups}"
        if self.bias is None:
            text += ", bias=False"
        if self.padding_mode != "zeros":
            text += f", padding_mode={self.padding_mode}"
        return text

    def __setstate__(self, state):
        super().__setstate__(state)
        self.__dict__.setdefault("padding_mode", "zeros")


class _PlainConvNd(_ConvNd):
    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        dilation=1,
        groups=1,
        bias=True,
        padding_mode="zeros",
        device=None,
        dtype=None,
    ):
        super().__init__()
        self._set_up(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            0,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input):
        return self._conv_forward(input, self.weight, self.bias)

    def _conv_forward(self, input, weight, bias):
        name = f"conv{self._dimensions}d"
        self._check_input(input, name)
        convolve, padding = getattr(F, name), self.padding
        if self.padding_mode != "zeros":
            sides = self._reversed_padding_repeated_twice
            input, padding = F.pad(input, sides, mode=self.padding_mode), 0
        return convolve(input, weight, bias, self.stride, padding, self.dilation, self.groups)


class Conv1d(_PlainConvNd):
    """A convolution over (N, C, L).

    >>> torch.nn.Conv1d(4, 8, 3)
    Conv1d(4, 8, kernel_size=(3,), stride=(1,))
    """

    _dimensions = 1


class Conv2d(_PlainConvNd):
    """A convolution over (N, C, H, W).

    >>> torch.nn.Conv2d(3, 8, 3, padding=1)
    Conv2d(3, 8, kernel_size=(3, 3), stride=(1, 1), padding=(1, 1))
    """

    _dimensions = 2


class Conv3d(_PlainConvNd):
    """A convolution over (N, C, D, H, W).

    >>> torch.nn.Conv3d(1, 2, 3).weight.shape
    torch.Size([2, 1, 3, 3, 3])
    """

    _dimensions = 3


class _ConvTransposeNd(_ConvNd):
    transposed = True

    def __init__(
        self,
        in_channels,
        out_channels,
        kernel_size,
        stride=1,
        padding=0,
        output_padding=0,
        groups=1,
        bias=True,
        dilation=1,
        padding_mode="zeros",
        device=None,
        dtype=None,
    ):
        super().__init__()
        if padding_mode != "zeros":
            raise ValueError(f'Only "zeros" padding mode is supported for {type(self).__name__}')
        self._set_up(
            in_channels,
            out_channels,
            kernel_size,
            stride,
            padding,
            dilation,
            output_padding,
            groups,
            bias,
            padding_mode,
            device,
            dtype,
        )

    def forward(self, input, output_size=None):
        name = f"conv_transpose{self._dimensions}d"
        self._check_input(input, name)
        extra = self.output_padding
        if output_size is not None:
            extra = self._output_padding(input, list(output_size))
        return getattr(F, name)(
            input,
            self.weight,
            self.bias,
            self.stride,
            self.padding,
            extra,
            self.groups,
            self.dilation,
        )

    def _output_padding(self, input, output_size):
        """What must be added to get an output of this size."""
        n = self._dimensions
        if len(output_size) == input.dim():
            output_size = output_size[-n:]
        if len(output_size) != n:
            leading = input.dim() - n
            raise ValueError(
                f"ConvTranspose{n}D: for {input.dim()}D input, output_size must have {n} or "
                f"{n + leading} elements (got {len(output_size)})"
            )
        smallest = [
            (input.size(-n + d) - 1) * self.stride[d]
            - 2 * self.padding[d]
            + self.dilation[d] * (self.kernel_size[d] - 1)
            + 1
            for d in range(n)
        ]
        largest = [size + stride - 1 for size, stride in zip(smallest, self.stride, strict=True)]
        for size, low, high in zip(output_size, smallest, largest, strict=True):
            if not low <= size <= high:
                raise ValueError(
                    f"requested an output size of {output_size}, but valid sizes range from "
                    f"{smallest} to {largest} (for an input of {input.size()[2:]})"
                )
        return [size - low for size, low in zip(output_size, smallest, strict=True)]


class ConvTranspose1d(_ConvTransposeNd):
    """The transpose of Conv1d.

    >>> torch.nn.ConvTranspose1d(4, 8, 3).weight.shape
    torch.Size([4, 8, 3])
    """

    _dimensions = 1


class ConvTranspose2d(_ConvTransposeNd):
    """The transpose of Conv2d.

    >>> torch.nn.ConvTranspose2d(4, 8, 3, stride=2)
    ConvTranspose2d(4, 8, kernel_size=(3, 3), stride=(2, 2))
    """

    _dimensions = 2


class ConvTranspose3d(_ConvTransposeNd):
    """The transpose of Conv3d."""

    _dimensions = 3


class _LazyConv(LazyModuleMixin):
    """Takes in_channels from the first input."""

    def __init__(self, out_channels, *args, **kwargs):
        super().__init__(0, out_channels, *args, **kwargs)

    def _make_parameters(self, bias, device, dtype):
        self.weight = UninitializedParameter(device=device, dtype=dtype)
        if bias:
            self.bias = UninitializedParameter(device=device, dtype=dtype)
        else:
            self.register_parameter("bias", None)

    def reset_parameters(self):
        """Gives the parameters first values again, once they have a shape."""
        if not self.has_uninitialized_params() and self.in_channels != 0:
            super().reset_parameters()

    def initialize_parameters(self, input, *args, **kwargs):
        """Gives the parameters shapes that fit the input."""
        if not self.has_uninitialized_params():
            return
        n = self._dimensions
        if input.dim() not in (n + 1, n + 2):
            raise RuntimeError(
                f"Expected {n + 1}D (unbatched) or {n + 2}D (batched) input to "
                f"{type(self).__name__}, but got input of size: {input.shape}"
            )
        self.in_channels = input.shape[-n - 1]
        if self.in_channels % self.groups != 0:
            raise ValueError("in_channels must be divisible by groups")
        self.weight.materialize(self._weight_shape())
        if self.bias is not None:
            self.bias.materialize((self.out_channels,))
        self.reset_parameters()


class LazyConv1d(_LazyConv, Conv1d):
    """Conv1d that takes in_channels from its first input."""

    cls_to_become = Conv1d


class LazyConv2d(_LazyConv, Conv2d):
    """Conv2d that takes in_channels from its first input."""

    cls_to_become = Conv2d


class LazyConv3d(_LazyConv, Conv3d):
    """Conv3d that takes in_channels from its first input."""

    cls_to_become = Conv3d


class LazyConvTranspose1d(_LazyConv, ConvTranspose1d):
    """ConvTranspose1d that takes in_channels from its first input."""

    cls_to_become = ConvTranspose1d


class LazyConvTranspose2d(_LazyConv, ConvTranspose2d):
    """ConvTranspose2d that takes in_channels from its first input."""

    cls_to_become = ConvTranspose2d


class LazyConvTranspose3d(_LazyConv, ConvTranspose3d):
    """ConvTranspose3d that takes in_channels from its first input."""

    cls_to_become = ConvTranspose3d
