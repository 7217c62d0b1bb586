"""torch.nn.functional.affine_grid and grid_sample: images sampled at a grid of points."""

import itertools
import warnings

import mindtorch_v2 as torch


def _default_align_corners(name, align_corners):
    if align_corners is None:
        warnings.warn(
            f"Default {name} behavior has changed to align_corners=False since 1.3.0. Please "
            f"specify align_corners=True if the old behavior is desired. See the documentation of "
            f"{name} for details.",
            stacklevel=3,
        )
    return bool(align_corners)


def _steps(count, align_corners, like):
    """Places from -1 to 1: of the outermost elements' centers, or of their outer edges."""
    if count <= 1:
        return torch.zeros(count, dtype=like.dtype, device=like.device)
    steps = torch.linspace(-1, 1, count, dtype=like.dtype, device=like.device)
    return steps if align_corners else steps * ((count - 1) / count)


def affine_grid(theta, size, align_corners=None):
    """The places in an image that an affine map gives for every element of an output of `size`.

    >>> F.affine_grid(torch.tensor([[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]), (1, 1, 1, 2), True)
    tensor([[[[-1.,  0.],
              [ 1.,  0.]]]])
    """
    align_corners = _default_align_corners("grid_sample and affine_grid", align_corners)
    if not theta.is_floating_point():
        raise ValueError("Expected theta to have floating point type, but got " + str(theta.dtype))
    dims = len(size) - 2
    if dims not in (2, 3):
        raise NotImplementedError(
            "affine_grid only supports 4D and 5D sizes, for 2D and 3D affine transforms, "
            f"respectively. Got size {size}."
        )
    if theta.dim() != 3 or tuple(theta.shape[-2:]) != (dims, dims + 1):
        raise ValueError(
            f"Expected a batch of {dims}D affine matrices of shape Nx{dims}x{dims + 1} for size "
            f"{size}. Got {theta.shape}."
        )
    # The last dimension of the image comes first in a place.
    axes = [_steps(n, align_corners, theta) for n in size[2:]]
    grids = torch.meshgrid(*axes, indexing="ij")[::-1]
    base = torch.stack([*grids, torch.ones_like(grids[0])], dim=-1)
    flat = base.view(1, -1, dims + 1).expand(size[0], -1, -1)
    return torch.bmm(flat, theta.transpose(1, 2)).view(size[0], *size[2:], dims)


def _reflected(places, low, high):
    """Places outside the two borders (given twice as large), mirrored back inside."""
    if low == high:
        return torch.zeros_like(places)
    start, span = low / 2, (high - low) / 2
    places = (places - start).abs()
    extra, flips = places % span, (places / span).floor()
    return torch.where(flips % 2 == 0, extra + start, span - extra + start)


def _unnormalized(places, size, padding_mode, align_corners):
    """Places from -1 to 1 as indices of elements."""
    if align_corners:
        places = (places + 1) / 2 * (size - 1)
    else:
        places = ((places + 1) * size - 1) / 2
    return _bounded(places, size, padding_mode, align_corners)


def _bounded(places, size, padding_mode, align_corners):
    if padding_mode == "reflection":
        low, high = (0, 2 * (size - 1)) if align_corners else (-1, 2 * size - 1)
        places = _reflected(places, low, high)
    if padding_mode != "zeros":
        places = places.clamp(0, size - 1)
    return places


def _taken(input, indices, sizes):
    """The elements at indices (one tensor of whole numbers per dimension), 0 outside."""
    flat, inside = 0, True
    for index, size in zip(indices, sizes, strict=True):
        inside = inside & (index >= 0) & (index < size)
        flat = flat * size + index.clamp(0, size - 1).long()
    n, channels = input.shape[:2]
    places = flat.view(n, 1, -1).expand(-1, channels, -1)
    values = input.flatten(2).gather(2, places).view(n, channels, *flat.shape[1:])
    return values * inside.unsqueeze(1).to(values.dtype)


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """The elements of an image at the places of a grid, by the nearest, linearly or cubically.

    >>> image = torch.tensor([[[[1.0, 2.0]]]])
    >>> F.grid_sample(image, torch.tensor([[[[0.0, 0.0]]]]), align_corners=True)
    tensor([[[[1.5000]]]])
    """
    if mode not in ("bilinear", "nearest", "bicubic"):
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', "
            f"but got: '{mode}'"
        )
    if padding_mode not in ("zeros", "border", "reflection"):
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
            f"'reflection', but got: '{padding_mode}'"
        )
    align_corners = _default_align_corners("grid_sample and affine_grid", align_corners)
    dims = input.dim() - 2
    if dims not in (2, 3) or grid.dim() != input.dim():
        raise RuntimeError(
            "grid_sampler(): expected 4D or 5D input and grid with same number of dimensions, but "
            f"got input with sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if input.size(0) != grid.size(0):
        raise RuntimeError(
            "grid_sampler(): expected grid and input to have same batch size, but got input with "
            f"sizes {list(input.shape)} and grid with sizes {list(grid.shape)}"
        )
    if grid.size(-1) != dims:
        raise RuntimeError(
            f"grid_sampler(): expected grid to have size {dims} in last dimension, but got grid "
            f"with sizes {list(grid.shape)}"
        )
    sizes = input.shape[2:]
    bounds = "zeros" if mode == "bicubic" else padding_mode
    places = [
        _unnormalized(place, size, bounds, align_corners)
        for place, size in zip(reversed(grid.unbind(-1)), sizes, strict=True)
    ]
    if mode == "nearest":
        return _taken(input, [place.round() for place in places], sizes)
    if mode == "bicubic":
        if dims != 2:
            raise RuntimeError("grid_sampler(): bicubic interpolation only supports 4D input")
        return _cubic(input, places, sizes, padding_mode, align_corners)
    below = [place.floor() for place in places]
    result = 0
    for corner in itertools.product((0, 1), repeat=dims):
        weight = 1
        for place, low, side in zip(places, below, corner, strict=True):
            weight = weight * (place - low if side else 1 - (place - low))
        at = [low + side for low, side in zip(below, corner, strict=True)]
        result = result + _taken(input, at, sizes) * weight.unsqueeze(1)
    return result


def _cubic(input, places, sizes, padding_mode, align_corners):
    from mindtorch_v2.nn._images import _cubic_weight

    below = [place.floor() for place in places]
    weights = []
    for place, low in zip(places, below, strict=True):
        t = place - low
        far = [(t + 1, False), (t, True), (1 - t, True), (2 - t, False)]
        weights.append([_cubic_weight(distance, inner) for distance, inner in far])
    result = 0
    for row, col in itertools.product(range(4), repeat=2):
        at = [
            _bounded(low + step - 1, size, padding_mode, align_corners)
            for low, step, size in zip(below, (row, col), sizes, strict=True)
        ]
        weight = weights[0][row] * weights[1][col]
        result = result + _taken(input, at, sizes) * weight.unsqueeze(1)
    return result
