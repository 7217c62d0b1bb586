"""Functions of torch.nn.functional that resize images: which op of torch's a mode stands for."""

import math
import numbers
import warnings

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._overridable import make_overridable as _make_overridable

_ops = _C._internal_functions

# By mode and the number of dimensions of an image.
_COPIES = {
    **{("nearest", n): _ops[f"upsample_nearest{n}d"] for n in (1, 2, 3)},
    **{("nearest-exact", n): _ops[f"_upsample_nearest_exact{n}d"] for n in (1, 2, 3)},
}
_BLENDS = {
    ("linear", 1): _ops["upsample_linear1d"],
    ("bilinear", 2): _ops["upsample_bilinear2d"],
    ("trilinear", 3): _ops["upsample_trilinear3d"],
    ("bicubic", 2): _ops["upsample_bicubic2d"],
}
_FILTERS = {
    "bilinear": _ops["_upsample_bilinear2d_aa"],
    "bicubic": _ops["_upsample_bicubic2d_aa"],
    "lanczos": _ops["_upsample_lanczos2d_aa"],
}
_NEEDED = {"linear": 3, "bilinear": 4, "trilinear": 5}


def interpolate(
    input,
    size=None,
    scale_factor=None,
    mode="nearest",
    align_corners=None,
    recompute_scale_factor=None,
    antialias=False,
):
    """input (N, C, ...) in another size, by the nearest element, linearly or cubically.

    >>> F.interpolate(torch.tensor([[[1.0, 2.0]]]), scale_factor=2)
    tensor([[[1., 1., 2., 2.]]])
    """
    if align_corners is not None and mode in ("nearest", "area", "nearest-exact"):
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: "
            "linear | bilinear | bicubic | trilinear"
        )
    spatial = input.dim() - 2
    size, factors = _target(input, size, scale_factor, spatial)
    if recompute_scale_factor and size is not None:
        raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
    if factors is not None and (recompute_scale_factor or mode == "area"):
        pairs = zip(input.shape[2:], factors, strict=True)
        size, factors = [math.floor(float(n) * factor) for n, factor in pairs], None
    if antialias and not (mode in _FILTERS and spatial == 2):
        raise ValueError(
            "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and "
            "requires a 4-D tensor as input"
        )
    copy = _COPIES.get((mode, spatial))
    if copy is not None:
        return copy(input, size, factors)
    if mode == "area" and spatial in (1, 2, 3):
        return getattr(torch.nn.functional, f"adaptive_avg_pool{spatial}d")(input, size)
    if mode == "lanczos" and spatial == 2 and align_corners:
        raise ValueError("Lanczos mode does not support align_corners=True")
    if mode == "lanczos" and spatial == 2 and not antialias:
        raise ValueError("Lanczos mode requires antialias=True")
    blend = _FILTERS[mode] if antialias else _BLENDS.get((mode, spatial))
    if blend is None:
        _refuse(mode, input.dim())
    return blend(input, size, bool(align_corners), factors)


def _refuse(mode, dims):
    if mode in _NEEDED and dims in (3, 4, 5):
        raise NotImplementedError(
            f"Got {dims}D input, but {mode} mode needs {_NEEDED[mode]}D input"
        )
    raise NotImplementedError(
        f"Input Error: Only 3D, 4D and 5D input Tensors supported (got {dims}D) for the modes: "
        "nearest | linear | bilinear | bicubic | trilinear | lanczos | area | nearest-exact "
        f"(got {mode})"
    )


def _target(input, size, scale_factor, spatial):
    """(sizes, factors) of the spatial dimensions: one of them is None."""
    if (size is None) == (scale_factor is None):
        raise ValueError(
            "either size or scale_factor should be defined"
            if size is None
            else "only one of size or scale_factor should be defined"
        )
    if size is None:
        return None, _per_dimension(scale_factor, input, spatial, "scale_factor", "s1, s2, ...,sK")
    sizes = _per_dimension(size, input, spatial, "output size", "o1, o2, ...,oK")
    if sizes is size and not all(map(_is_integer, size)):
        raise TypeError(
            "expected size to be one of int or Tuple[int] or Tuple[int, int] or "
            f"Tuple[int, int, int], but got size with types {[type(x) for x in size]}"
        )
    return sizes, None


def _per_dimension(given, input, spatial, name, letters):
    if not isinstance(given, (list, tuple)):
        return [given] * spatial
    if len(given) != spatial:
        shown = f"shape {given}" if name == "scale_factor" else given
        raise ValueError(
            f"Input and {'output' if name == 'output size' else name} must have the same number of "
            f"spatial dimensions, but got input with spatial dimensions of {list(input.shape[2:])} "
            f"and {name} of {shown}. Please provide input tensor in (N, C, d1, d2, ...,dK) format "
            f"and {name} in ({letters}) format."
        )
    return given


def _is_integer(value):
    if isinstance(value, torch.Tensor):
        return not (value.is_floating_point() or value.is_complex())
    return isinstance(value, numbers.Integral)


def upsample(input, size=None, scale_factor=None, mode="nearest", align_corners=None):
    """The old name of interpolate."""
    warnings.warn(
        "`nn.functional.upsample` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode, align_corners)


def upsample_nearest(input, size=None, scale_factor=None):
    """interpolate by the nearest element."""
    warnings.warn(
        "`nn.functional.upsample_nearest` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode="nearest")


def upsample_bilinear(input, size=None, scale_factor=None):
    """interpolate linearly, corner to corner."""
    warnings.warn(
        "`nn.functional.upsample_bilinear` is deprecated. Use `nn.functional.interpolate` instead.",
        stacklevel=2,
    )
    return interpolate(input, size, scale_factor, mode="bilinear", align_corners=True)


_make_overridable(globals())
