"""torch.nn.functional.affine_grid and grid_sample: images sampled at a grid of points."""

import warnings

import mindtorch_v2 as torch
from mindtorch_v2._overridable import make_overridable as _make_overridable


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


_MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
_PADDINGS = {"zeros": 0, "border": 1, "reflection": 2}


def grid_sample(input, grid, mode="bilinear", padding_mode="zeros", align_corners=None):
    """The elements of an image at the places of a grid, by the nearest, linearly or cubically.

    >>> image = torch.tensor([[[[1.0, 2.0]]]])
    >>> F.grid_sample(image, torch.tensor([[[[0.0, 0.0]]]]), align_corners=True)
    tensor([[[[1.5000]]]])
    """
    if mode not in _MODES:
        raise ValueError(
            "nn.functional.grid_sample(): expected mode to be 'bilinear', 'nearest' or 'bicubic', "
            f"but got: '{mode}'"
        )
    if padding_mode not in _PADDINGS:
        raise ValueError(
            "nn.functional.grid_sample(): expected padding_mode to be 'zeros', 'border', or "
            f"'reflection', but got: '{padding_mode}'"
        )
    align_corners = _default_align_corners("grid_sample and affine_grid", align_corners)
    return torch.grid_sampler(input, grid, _MODES[mode], _PADDINGS[padding_mode], align_corners)


_make_overridable(globals())
