"""Images of bytes in another size, as torch computes them: one dimension after the other, with
weights that are whole numbers of 16 bits, rounded to bytes in between.
"""

import mindtorch_v2 as torch

_LARGEST_WEIGHT = 1 << 15
_MOST_BITS = 22


def resize_bytes(input, weights):
    """input (N, C, H, W) of uint8; weights: one matrix (wanted, source) of float64 for H and W."""
    form = torch.channels_last if is_channels_last(input) else torch.contiguous_format
    for dim in (3, 2):
        if weights[dim - 2] is not None:
            input = _weighted(input, dim, weights[dim - 2])
    return input.contiguous(memory_format=form)


def is_channels_last(input, form=torch.channels_last):
    """Whether the channels of an element lie side by side, and could lie otherwise."""
    return input.stride(1) == 1 and input.size(1) > 1 and input.is_contiguous(memory_format=form)


def _weighted(input, dim, weights):
    bits = 0
    largest = weights.max().item()
    while bits < _MOST_BITS and int(0.5 + largest * (1 << (bits + 1))) < _LARGEST_WEIGHT:
        bits += 1
    whole = weights * (1 << bits)
    whole = (whole + torch.where(whole < 0, -0.5, 0.5)).trunc().to(input.device)
    # float64 holds these sums of whole numbers exactly.
    sums = torch.matmul(input.transpose(dim, -1).double(), whole.t()).transpose(dim, -1)
    half = (1 << bits) // 2
    return ((sums + half) / (1 << bits)).floor().clamp(0, 255).to(torch.uint8)
