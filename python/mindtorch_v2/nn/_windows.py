"""torch.nn.functional.unfold and fold: windows of images as columns, and back."""

from mindtorch_v2 import _C
from mindtorch_v2._overridable import make_overridable as _make_overridable

_im2col, _col2im = _C._internal_functions["im2col"], _C._internal_functions["col2im"]


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """Every window of (N, C, H, W) as a column: (N, C * kernel, windows).

    >>> F.unfold(torch.arange(4.0).view(1, 1, 2, 2), 2)
    tensor([[[0.],
             [1.],
             [2.],
             [3.]]])
    """
    return _im2col(input, kernel_size, dilation, padding, stride)


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """The sum of columns, each put where unfold took it from: (N, C, H, W).

    >>> F.fold(torch.ones(1, 4, 4), (3, 3), 2)
    tensor([[[[1., 2., 1.],
              [2., 4., 2.],
              [1., 2., 1.]]]])
    """
    return _col2im(input, output_size, kernel_size, dilation, padding, stride)


_make_overridable(globals())
