"""Windows of images as columns, and back, as modules."""

from mindtorch_v2.nn import functional as F
from mindtorch_v2.nn.modules.module import Module

__all__ = ["Fold", "Unfold"]


class Unfold(Module):
    """Every window of (N, C, H, W) as a column.

    >>> torch.nn.Unfold(2)
    Unfold(kernel_size=2, dilation=1, padding=0, stride=1)
    """

    __constants__ = ["kernel_size", "dilation", "padding", "stride"]

    def __init__(self, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__()
        self.kernel_size, self.dilation = kernel_size, dilation
        self.padding, self.stride = padding, stride

    def forward(self, input):
        return F.unfold(input, self.kernel_size, self.dilation, self.padding, self.stride)

    def extra_repr(self):
        return (
            f"kernel_size={self.kernel_size}, dilation={self.dilation}, "
            f"padding={self.padding}, stride={self.stride}"
        )


class Fold(Unfold):
    """The sum of columns, each put where Unfold took it from.

    >>> torch.nn.Fold((4, 4), 2)
    Fold(output_size=(4, 4), kernel_size=2, dilation=1, padding=0, stride=1)
    """

    __constants__ = ["output_size", "kernel_size", "dilation", "padding", "stride"]

    def __init__(self, output_size, kernel_size, dilation=1, padding=0, stride=1):
        super().__init__(kernel_size, dilation, padding, stride)
        self.output_size = output_size

    def forward(self, input):
        return F.fold(
            input, self.output_size, self.kernel_size, self.dilation, self.padding, self.stride
        )

    def extra_repr(self):
        return f"output_size={self.output_size}, {super().extra_repr()}"
