"""torch.nn.functional.unfold and fold: windows of images as columns, and back."""

import mindtorch_v2 as torch
from mindtorch_v2._overridable import make_overridable as _make_overridable


def _pair(value):
    return tuple(value) if isinstance(value, (list, tuple)) else (value, value)


def _starts(size, kernel, dilation, padding, stride):
    """How many windows fit along a dimension."""
    return (size + 2 * padding - dilation * (kernel - 1) - 1) // stride + 1


def _settings(kernel_size, dilation, padding, stride):
    values = [_pair(value) for value in (kernel_size, dilation, padding, stride)]
    for name, pair in zip(("kernel", "dilation", "", "stride"), values, strict=True):
        if name and min(pair) <= 0:
            raise RuntimeError(
                f"{name} should be greater than zero, but got "
                f"{name}_height: {pair[0]} {name}_width: {pair[1]}"
            )
    return values


def _places(sizes, counts, kernel, dilation, stride, device):
    """The index of every element of every window in a padded, flat image: (kernel, windows)."""
    rows, cols = (
        torch.arange(k, device=device).mul_(d).unsqueeze(1)
        + torch.arange(n, device=device).mul_(s).unsqueeze(0)
        for k, n, d, s in zip(kernel, counts, dilation, stride, strict=True)
    )
    # (kernel rows, kernel cols, window rows, window cols)
    places = rows[:, None, :, None] * sizes[1] + cols[None, :, None, :]
    return places.reshape(kernel[0] * kernel[1], counts[0] * counts[1])


def unfold(input, kernel_size, dilation=1, padding=0, stride=1):
    """Every window of (N, C, H, W) as a column: (N, C * kernel, windows).

    >>> F.unfold(torch.arange(4.0).view(1, 1, 2, 2), 2)
    tensor([[[0.],
             [1.],
             [2.],
             [3.]]])
    """
    kernel, dilation, padding, stride = _settings(kernel_size, dilation, padding, stride)
    if input.dim() not in (3, 4):
        raise RuntimeError(
            "Expected 3D or 4D (batch mode) tensor with possibly 0 batch size and other non-zero "
            f"dimensions for input, but got: {list(input.shape)}"
        )
    batched = input if input.dim() == 4 else input.unsqueeze(0)
    counts = [
        _starts(*values)
        for values in zip(batched.shape[2:], kernel, dilation, padding, stride, strict=True)
    ]
    if min(counts) <= 0:
        raise RuntimeError(
            f"Given input with spatial size ({batched.size(2)}, {batched.size(3)}), "
            f"kernel_size=({kernel[0]}, {kernel[1]}), dilation=({dilation[0]}, {dilation[1]}), "
            f"padding=({padding[0]}, {padding[1]}), stride=({stride[0]}, {stride[1]}), calculated "
            f"shape of the array of sliding blocks as ({counts[0]}, {counts[1]}), but its "
            "components must be at least one."
        )
    sides = (padding[1], padding[1], padding[0], padding[0])
    padded = torch.nn.functional.pad(batched, sides)
    places = _places(padded.shape[2:], counts, kernel, dilation, stride, input.device)
    columns = padded.flatten(2).index_select(2, places.flatten())
    columns = columns.view(batched.size(0), -1, places.size(1))
    return columns if input.dim() == 4 else columns.squeeze(0)


def fold(input, output_size, kernel_size, dilation=1, padding=0, stride=1):
    """The sum of columns, each put where unfold took it from: (N, C, H, W).

    >>> F.fold(torch.ones(1, 4, 4), (3, 3), 2)
    tensor([[[[1., 2., 1.],
              [2., 4., 2.],
              [1., 2., 1.]]]])
    """
    kernel, dilation, padding, stride = _settings(kernel_size, dilation, padding, stride)
    output_size = _pair(output_size)
    if input.dim() not in (2, 3):
        raise RuntimeError(
            "Expected 2D or 3D (batch mode) tensor for input with possibly 0 batch size and "
            f"non-zero dimensions for input, but got: {list(input.shape)}"
        )
    batched = input if input.dim() == 3 else input.unsqueeze(0)
    area = kernel[0] * kernel[1]
    if batched.size(1) % area != 0:
        raise RuntimeError(
            "Expected size of input's dimension 1 to be divisible by the product of kernel_size, "
            f"but got input.size(1)={batched.size(1)} and kernel_size=({kernel[0]}, {kernel[1]})."
        )
    counts = [
        _starts(*values)
        for values in zip(output_size, kernel, dilation, padding, stride, strict=True)
    ]
    if batched.size(2) != counts[0] * counts[1]:
        raise RuntimeError(
            f"Given output_size=({output_size[0]}, {output_size[1]}), kernel_size=({kernel[0]}, "
            f"{kernel[1]}), dilation=({dilation[0]}, {dilation[1]}), padding=({padding[0]}, "
            f"{padding[1]}), stride=({stride[0]}, {stride[1]}), expected size of input's dimension "
            f"2 to match the calculated number of sliding blocks {counts[0]} * {counts[1]} = "
            f"{counts[0] * counts[1]}, but got input.size(2)={batched.size(2)}."
        )
    height, width = (n + 2 * p for n, p in zip(output_size, padding, strict=True))
    places = _places((height, width), counts, kernel, dilation, stride, input.device)
    n, channels = batched.size(0), batched.size(1) // area
    columns = batched.reshape(n, channels, -1)
    image = input.new_zeros(n, channels, height * width)
    image = image.index_add(2, places.flatten(), columns).view(n, channels, height, width)
    top, left = padding
    image = image[:, :, top : top + output_size[0], left : left + output_size[1]].contiguous()
    return image if input.dim() == 3 else image.squeeze(0)


_make_overridable(globals())
