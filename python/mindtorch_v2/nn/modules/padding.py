"""Padding as modules."""

from mindtorch_v2.nn import functional as F
from mindtorch_v2.nn.modules.module import Module

__all__ = [
    f"{kind}Pad{n}d"
    for kind in ("Circular", "Constant", "Reflection", "Replication", "Zero")
    for n in (1, 2, 3)
]


class _PadNd(Module):
    __constants__ = ["padding"]
    _mode = None
    _dimensions = None

    def __init__(self, padding):
        super().__init__()
        self.padding = _per_side(padding, 2 * self._dimensions)

    def forward(self, input):
        return F.pad(input, self.padding, self._mode)

    def extra_repr(self):
        return f"{self.padding}"


def _per_side(padding, count):
    return tuple(padding) if isinstance(padding, (list, tuple)) else (padding,) * count


class _ConstantPadNd(_PadNd):
    __constants__ = ["padding", "value"]
    _mode = "constant"

    def __init__(self, padding, value):
        super().__init__(padding)
        self.value = value

    def forward(self, input):
        return F.pad(input, self.padding, "constant", self.value)

    def extra_repr(self):
        return f"padding={self.padding}, value={self.value}"


class _ReflectionPadNd(_PadNd):
    _mode = "reflect"


class _ReplicationPadNd(_PadNd):
    _mode = "replicate"


class _CircularPadNd(_PadNd):
    _mode = "circular"

    def forward(self, input):
        if input.dim() not in (self._dimensions + 1, self._dimensions + 2):
            low, high = self._dimensions + 1, self._dimensions + 2
            raise ValueError(f"expected {low}D or {high}D input (got {input.dim()}D input)")
        return F.pad(input, self.padding, "circular")


class ConstantPad1d(_ConstantPadNd):
    """A value before and after the last dimension.

    >>> torch.nn.ConstantPad1d(1, 5)(torch.zeros(1, 2))
    tensor([[5., 0., 0., 5.]])
    """

    _dimensions = 1


class ConstantPad2d(_ConstantPadNd):
    """A value around the last two dimensions."""

    _dimensions = 2


class ConstantPad3d(_ConstantPadNd):
    """A value around the last three dimensions."""

    _dimensions = 3


class ReflectionPad1d(_ReflectionPadNd):
    """The tensor itself, mirrored at both ends of the last dimension.

    >>> torch.nn.ReflectionPad1d(1)(torch.tensor([[1.0, 2.0]]))
    tensor([[2., 1., 2., 1.]])
    """

    _dimensions = 1


class ReflectionPad2d(_ReflectionPadNd):
    """The tensor itself, mirrored around the last two dimensions."""

    _dimensions = 2


class ReflectionPad3d(_ReflectionPadNd):
    """The tensor itself, mirrored around the last three dimensions."""

    _dimensions = 3


class ReplicationPad1d(_ReplicationPadNd):
    """The element at the edge, before and after the last dimension.

    >>> torch.nn.ReplicationPad1d(1)(torch.tensor([[1.0, 2.0]]))
    tensor([[1., 1., 2., 2.]])
    """

    _dimensions = 1


class ReplicationPad2d(_ReplicationPadNd):
    """The elements at the edge, around the last two dimensions."""

    _dimensions = 2


class ReplicationPad3d(_ReplicationPadNd):
    """The elements at the edge, around the last three dimensions."""

    _dimensions = 3


class CircularPad1d(_CircularPadNd):
    """The tensor from its other end, before and after the last dimension.

    >>> torch.nn.CircularPad1d(1)(torch.tensor([[1.0, 2.0]]))
    tensor([[2., 1., 2., 1.]])
    """

    _dimensions = 1


class CircularPad2d(_CircularPadNd):
    """The tensor from its other end, around the last two dimensions."""

    _dimensions = 2


class CircularPad3d(_CircularPadNd):
    """The tensor from its other end, around the last three dimensions."""

    _dimensions = 3


class _ZeroPad:
    def __init__(self, padding):
        super().__init__(padding, 0.0)

    def extra_repr(self):
        return f"{self.padding}"


class ZeroPad1d(_ZeroPad, ConstantPad1d):
    """0 before and after the last dimension."""


class ZeroPad2d(_ZeroPad, ConstantPad2d):
    """0 around the last two dimensions."""


class ZeroPad3d(_ZeroPad, ConstantPad3d):
    """0 around the last three dimensions."""
