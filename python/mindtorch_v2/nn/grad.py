"""torch.nn.grad: gradients of convolutions as functions.

>>> x, w = torch.ones(1, 1, 4), torch.ones(1, 1, 2)
>>> torch.nn.grad.conv1d_weight(x, w.shape, torch.ones(1, 1, 3))
tensor([[[3., 3.]]])
"""

from mindtorch_v2 import _C
from mindtorch_v2.nn.modules.utils import _ntuple

__all__ = [
    "conv1d_input",
    "conv1d_weight",
    "conv2d_input",
    "conv2d_weight",
    "conv3d_input",
    "conv3d_weight",
]


def _make(n):
    to_list = _ntuple(n)

    def backward(grad_output, input, weight, stride, padding, dilation, groups, which):
        wants = [index == which for index in range(3)]
        geometry = [list(to_list(value)) for value in (stride, padding, dilation)]
        results = _C._internal_functions["convolution_backward"](
            grad_output, input, weight, *geometry, False, [0] * n, groups, *wants
        )
        return results[which]

    def conv_input(input_size, weight, grad_output, stride=1, padding=0, dilation=1, groups=1):
        # Of the input only the shape counts.
        input = grad_output.new_empty(1).expand(input_size)
        return backward(grad_output, input, weight, stride, padding, dilation, groups, 0)

    def conv_weight(input, weight_size, grad_output, stride=1, padding=0, dilation=1, groups=1):
        weight = grad_output.new_empty(1).expand(weight_size)
        return backward(grad_output, input, weight, stride, padding, dilation, groups, 1)

    for function, what in ((conv_input, "input"), (conv_weight, "weight")):
        function.__name__ = function.__qualname__ = f"conv{n}d_{what}"
        function.__doc__ = f"The gradient of conv{n}d with respect to its {what}."
    return conv_input, conv_weight


conv1d_input, conv1d_weight = _make(1)
conv2d_input, conv2d_weight = _make(2)
conv3d_input, conv3d_weight = _make(3)
