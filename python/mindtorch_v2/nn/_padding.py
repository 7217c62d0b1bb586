"""torch.nn.functional.pad."""

import mindtorch_v2 as torch
from mindtorch_v2._overridable import make_overridable as _make_overridable
from mindtorch_v2.amp._policies import in_float32


def pad(input, pad, mode="constant", value=None):
    """Adds elements before and after, given as (before, after) pairs from the last dimension on.
    They are `value` ("constant"), or come from the tensor itself ("reflect", "replicate",
    "circular"). Negative numbers take elements away.

    >>> torch.nn.functional.pad(torch.tensor([1, 2]), (1, 2))
    tensor([0, 1, 2, 0, 0])
    """
    pad = list(pad)
    if len(pad) % 2 != 0:
        raise RuntimeError("Padding length must be divisible by 2")
    if len(pad) // 2 > input.dim():
        raise RuntimeError(
            "Padding length should be less than or equal to two times the input dimension but got "
            f"padding length {len(pad)} and input of dimension {input.dim()}"
        )
    if mode == "constant":
        return torch.constant_pad_nd(input, pad, 0 if value is None else value)
    # (dim, before, after)
    pairs = [(input.dim() - 1 - i, pad[2 * i], pad[2 * i + 1]) for i in range(len(pad) // 2)]
    if value is not None and value != 0:
        raise ValueError(f'Padding mode "{mode}" doesn\'t take in value argument')
    if mode not in _INDEX:
        raise NotImplementedError(f"Unrecognised padding mode {mode}")
    _check_fits(input, pad, mode)
    # torch has an op for these.
    if mode == "replicate" or (mode == "reflect" and len(pairs) < 3):
        return _cast_and_extend(input, pairs, mode)
    return _extend(input, pairs, mode)


def _check_fits(input, pad, mode):
    dims = len(pad) // 2
    if not (1 <= dims <= 3 and dims + 1 <= input.dim() <= dims + 2):
        raise NotImplementedError(
            f"Padding size {len(pad)} is not supported for {input.dim()}D input tensor.\n"
            "Supported combinations for non-constant padding:\n"
            "  - 2D or 3D input: padding size = 2 (pads last dimension)\n"
            "  - 3D or 4D input: padding size = 4 (pads last 2 dimensions)\n"
            "  - 4D or 5D input: padding size = 6 (pads last 3 dimensions)"
        )
    if mode != "circular" and 0 in input.shape[-dims - 1 :]:
        raise RuntimeError(
            f"Expected {dims + 1}D or {dims + 2}D (batch mode) tensor with possibly 0 batch size "
            f"and other non-zero dimensions for input, but got: {list(input.shape)}"
        )


def _extend(input, pairs, mode):
    for dim, before, after in pairs:
        size = input.size(dim)
        if mode == "reflect" and not max(before, after) < size:
            raise RuntimeError(
                "Argument #4: Padding size should be less than the corresponding input dimension, "
                f"but got: padding ({before}, {after}) at dimension {dim} of input "
                f"{list(input.shape)}"
            )
        if mode == "circular" and max(before, after) > size:
            raise RuntimeError("Padding value causes wrapping around more than once.")
        places = torch.arange(-before, size + after, device=input.device)
        input = input.index_select(dim, _INDEX[mode](places, size))
    return input


_cast_and_extend = in_float32(on_cpu=True)(_extend)

_INDEX = {
    "replicate": lambda places, size: places.clamp(0, size - 1),
    "circular": lambda places, size: places % size,
    "reflect": lambda places, size: (size - 1) - ((size - 1) - places.abs()).abs(),
}


_make_overridable(globals())
