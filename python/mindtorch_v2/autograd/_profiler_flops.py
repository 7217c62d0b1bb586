"""How many operations on numbers an op does, counted as torch counts them."""

from math import prod


def flops_of(name, arguments):
    """Of a product, a convolution, an addition or a multiplication; 0 of everything else.

    >>> from mindtorch_v2.autograd._profiler_flops import flops_of
    >>> matrix = ("tensor", ("float32", [2, 3], [3, 1]))
    >>> flops_of("mm", [matrix, ("tensor", ("float32", [3, 4], [4, 1]))])
    48
    """
    count = _COUNTS.get(name)
    return count(arguments or []) if count is not None else 0


def _sizes(arguments, index):
    kind, value = arguments[index] if index < len(arguments) else ("none", None)
    return value[1] if kind == "tensor" else None


def _numbers(arguments, index, default):
    """Of a pair of numbers, one of which may stand for both."""
    kind, value = arguments[index] if index < len(arguments) else ("none", None)
    if kind == "number":
        return [value, value]
    if kind != "list" or not value:
        return [default, default]
    return value if len(value) > 1 else value * 2


def _product(first):
    def count(arguments):
        left, right = _sizes(arguments, first), _sizes(arguments, first + 1)
        if not left or not right or len(left) < 2 or len(right) < 2:
            return 0
        return 2 * prod(left) * right[-1]

    return count


def _linear(arguments):
    features, weight = _sizes(arguments, 0), _sizes(arguments, 1)
    return 2 * prod(features) * prod(weight[:-1]) if features and weight else 0


def _conv2d(arguments):
    images, weight = _sizes(arguments, 0), _sizes(arguments, 1)
    if not images or not weight or len(images) != 4 or len(weight) != 4:
        return 0
    stride = _numbers(arguments, 3, 1)
    padding = _numbers(arguments, 4, 0)
    dilation = _numbers(arguments, 5, 1)
    batch, channels = images[:2]
    groups = channels // weight[1]
    positions = 1
    for size, kernel, step, pad, spread in zip(
        images[2:], weight[2:], stride, padding, dilation, strict=False
    ):
        positions *= (size + 2 * pad - spread * (kernel - 1) - 1) // step + 1
    return 2 * batch * positions * prod(weight[2:]) * channels * weight[0] // groups


def _elements(arguments):
    sizes = _sizes(arguments, 0)
    return prod(sizes) if sizes is not None else 0


_COUNTS = {
    "mm": _product(0),
    "bmm": _product(0),
    "addmm": _product(1),
    "baddbmm": _product(1),
    "linear": _linear,
    "conv2d": _conv2d,
    "add": _elements,
    "mul": _elements,
}
