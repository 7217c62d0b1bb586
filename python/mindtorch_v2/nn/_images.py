"""Functions of torch.nn.functional that resize images."""

import math
import warnings

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._overridable import make_overridable as _make_overridable
from mindtorch_v2.nn._byte_images import is_channels_last as _is_channels_last
from mindtorch_v2.nn._byte_images import resize_bytes as _resize_bytes

_interpolate = _C._internal_functions["_interpolate"]
_METHODS = {"linear": 0, "bilinear": 0, "trilinear": 0, "nearest": 1, "bicubic": 2}
_METHODS["nearest-exact"] = 3

_MODES = {3: ("linear",), 4: ("bilinear", "bicubic"), 5: ("trilinear",)}


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
    smooth = mode in ("linear", "bilinear", "bicubic", "trilinear")
    if not smooth and align_corners is not None:
        raise ValueError(
            "align_corners option can only be set with the interpolating modes: "
            "linear | bilinear | bicubic | trilinear"
        )
    spatial = input.dim() - 2
    sizes, scales = _target(input, size, scale_factor, spatial)
    if recompute_scale_factor:
        if size is not None:
            raise ValueError("recompute_scale_factor is not meaningful with an explicit size.")
        scales = None
    if antialias:
        if not (mode in ("bilinear", "bicubic", "lanczos") and input.dim() == 4):
            raise ValueError(
                "Anti-alias option is restricted to bilinear, bicubic, and lanczos modes and "
                "requires a 4-D tensor as input"
            )
    if mode != "area":
        _check_sizes(list(input.shape[2:]), sizes)
    scales = scales or [None] * spatial
    if input.dtype == torch.uint8 and spatial == 2 and (antialias or smooth):
        make = _filter_weights if antialias else _neighbour_weights
        weights = [
            None if wanted == source else make(source, wanted, scale, bool(align_corners), mode)
            for source, wanted, scale in zip(input.shape[2:], sizes, scales, strict=True)
        ]
        return _resize_bytes(input, weights)
    if antialias or smooth:
        _check_floats(input, mode, antialias)
    result = input
    if antialias:
        for dim in (3, 2):
            wanted, scale = sizes[dim - 2], scales[dim - 2]
            result = _filtered(result, dim, wanted, scale, bool(align_corners), mode)
        return _laid_out_like(input, result)
    if mode in ("nearest", "nearest-exact") and spatial in (1, 2, 3):
        if _has_kernel(input) and not input.is_complex():
            return _resized(input, sizes, scales, mode, False)
        step = _nearest if mode == "nearest" else _nearest_exact
        for dim, (wanted, scale) in enumerate(zip(sizes, scales, strict=True), 2):
            result = step(result, dim, wanted, scale)
        return _laid_out_like(input, result)
    if mode == "area" and spatial in (1, 2, 3):
        return getattr(torch.nn.functional, f"adaptive_avg_pool{spatial}d")(input, sizes)
    if not smooth:
        raise NotImplementedError(
            "Input Error: Only 3D, 4D and 5D input Tensors supported"
            f" (got {input.dim()}D) for the modes: nearest | linear | bilinear | bicubic | "
            f"trilinear | area | nearest-exact (got {mode})"
        )
    if mode not in _MODES.get(input.dim(), ()):
        wanted = {"linear": 3, "bilinear": 4, "bicubic": 4, "trilinear": 5}[mode]
        raise NotImplementedError(
            f"Got {input.dim()}D input, but {mode} mode needs {wanted}D input"
        )
    if _has_kernel(input) and input.is_floating_point():
        return _resized(input, sizes, scales, mode, bool(align_corners))
    step = _cubic if mode == "bicubic" else _linear
    for dim, (wanted, scale) in enumerate(zip(sizes, scales, strict=True), 2):
        result = step(result, dim, wanted, scale, bool(align_corners))
    return _laid_out_like(input, result)


def _check_floats(input, mode, antialias):
    if input.is_floating_point() or input.is_complex():
        return
    step = f"compute_indices_weights_{'cubic' if mode == 'bicubic' else 'linear'}"
    step = "upsample_bilinear2d_channels_last" if mode == "bilinear" else step
    step = "compute_index_ranges_weights" if antialias else step
    kind = input.type().rpartition(".")[2].removesuffix("Tensor")
    raise NotImplementedError(f"\"{step}\" not implemented for '{kind}'")


def _has_kernel(input):
    kind = input.device.type
    return kind in ("cpu", "meta") or _C._kernel_takes("_interpolate", kind, input.dtype)


def _laid_out_like(input, result):
    """What is made step by step, in the layout that torch's kernels give."""
    form = {4: torch.channels_last, 5: torch.channels_last_3d}.get(input.dim())
    if form is None or not _is_channels_last(input, form):
        form = torch.contiguous_format
    return result.contiguous(memory_format=form)


def _resized(input, sizes, scales, mode, align_corners):
    scales = [float(scale or 0) for scale in scales]
    return _interpolate(input, sizes, scales, _METHODS[mode], align_corners)


def _check_sizes(before, after):
    if min([*before, *after], default=1) > 0:
        return
    names = "DHW"[-len(before) :]
    texts = [
        ", ".join(f"{name}: {size}" for name, size in zip(names, sizes, strict=True))
        for sizes in (before, after)
    ]
    raise RuntimeError(
        "Input and output sizes should be greater than 0, but got input "
        f"({texts[0]}) {'and ' if len(before) == 1 else ''}output ({texts[1]})"
    )


def _target(input, size, scale_factor, spatial):
    """(sizes, scales or None) of the spatial dimensions."""
    if (size is None) == (scale_factor is None):
        both = size is not None
        raise ValueError(
            "only one of size or scale_factor should be defined"
            if both
            else "either size or scale_factor should be defined"
        )
    name, given = ("size", size) if size is not None else ("scale_factor", scale_factor)
    if isinstance(given, (list, tuple)):
        if len(given) != spatial:
            raise ValueError(
                "Input and output must have the same number of spatial dimensions, but got input "
                f"with spatial dimensions of {list(input.shape[2:])} and {name} of {given}. "
                f"Please provide input tensor in (N, C, d1, d2, ...,dK) format and {name} in "
                "(s1, s2, ...,sK) format."
                if name == "scale_factor"
                else "Input and output must have the same number of spatial dimensions, but got "
                f"input with spatial dimensions of {list(input.shape[2:])} and output size of "
                f"{given}. Please provide input tensor in (N, C, d1, d2, ...,dK) format and "
                "output size in (o1, o2, ...,oK) format."
            )
        given = list(given)
    else:
        given = [given] * spatial
    if size is not None:
        return [int(n) for n in given], None
    sizes = [math.floor(float(n) * f) for n, f in zip(input.shape[2:], given, strict=True)]
    return sizes, given


def _ratio(source, wanted, scale):
    return 1.0 / scale if scale else source / wanted


def _nearest(input, dim, wanted, scale):
    places = torch.arange(wanted, dtype=torch.float32) * _ratio(input.size(dim), wanted, scale)
    return _take(input, dim, places.floor().long())


def _nearest_exact(input, dim, wanted, scale):
    ratio = _ratio(input.size(dim), wanted, scale)
    places = (torch.arange(wanted, dtype=torch.float32) + 0.5) * ratio
    return _take(input, dim, places.floor().long())


def _take(input, dim, places):
    places = places.clamp(0, input.size(dim) - 1).to(input.device)
    return input.index_select(dim, places)


def _places(source, wanted, scale, align_corners, dtype):
    """Where in the source every element of the result lies."""
    places = torch.arange(wanted, dtype=dtype)
    if align_corners:
        return places * ((source - 1) / (wanted - 1) if wanted > 1 else 0.0)
    return (places + 0.5) * _ratio(source, wanted, scale) - 0.5


def _compute_dtype(input):
    return torch.float64 if input.dtype == torch.float64 else torch.float32


def _along(weights, input, dim):
    shape = [1] * input.dim()
    shape[dim] = -1
    return weights.view(shape).to(input.device, input.dtype)


def _linear(input, dim, wanted, scale, align_corners):
    source = input.size(dim)
    if source == wanted and scale in (None, 1, 1.0):
        return input
    places = _places(source, wanted, scale, align_corners, _compute_dtype(input)).clamp_min(0)
    below = places.floor().clamp_max(source - 1)
    share = _along((places - below).clamp(0, 1), input, dim)
    first = _take(input, dim, below.long())
    return first * (1 - share) + _take(input, dim, below.long() + 1) * share


def _cubic(input, dim, wanted, scale, align_corners):
    places = _places(input.size(dim), wanted, scale, align_corners, _compute_dtype(input))
    below = places.floor()
    t = places - below
    result = None
    for offset, distance in ((-1, t + 1), (0, t), (1, 1 - t), (2, 2 - t)):
        part = _take(input, dim, below.long() + offset)
        part = part * _along(_cubic_weight(distance, inner=offset in (0, 1)), input, dim)
        result = part if result is None else result + part
    return result


def _cubic_weight(x, inner, a=-0.75):
    if inner:
        return ((a + 2) * x - (a + 3)) * x * x + 1
    return ((x - 5) * x + 8) * x * a - 4 * a


# By mode: the filter, and how far it reaches on both sides together.
_FILTERS = {
    "bilinear": (lambda x: (1 - x.abs()).clamp_min(0), 2),
    "bicubic": (
        lambda x: torch.where(
            x.abs() < 1,
            _cubic_weight(x.abs(), inner=True, a=-0.5),
            torch.where(x.abs() < 2, _cubic_weight(x.abs(), inner=False, a=-0.5), 0.0),
        ),
        4,
    ),
    "lanczos": (lambda x: torch.where(x.abs() < 3, torch.sinc(x) * torch.sinc(x / 3), 0.0), 6),
}


def _filtered(input, dim, wanted, scale, align_corners, mode):
    """Every element of the result is a mean over as much of the source as it stands for."""
    weights = _filter_weights(
        input.size(dim), wanted, scale, align_corners, mode, _compute_dtype(input)
    )
    weights = weights.to(input.device, input.dtype)
    return torch.matmul(input.transpose(dim, -1), weights.t()).transpose(dim, -1)


def _filter_weights(source, wanted, scale, align_corners, mode, dtype=torch.float64):
    """(wanted, source): by how much each element of the source counts."""
    if align_corners:
        ratio = (source - 1) / (wanted - 1) if wanted > 1 else 0.0
    else:
        ratio = _ratio(source, wanted, scale)
    function, reach = _FILTERS[mode]
    stretch = max(ratio, 1.0)
    support = reach * 0.5 * stretch
    centers = ratio * (torch.arange(wanted, dtype=dtype).unsqueeze(1) + 0.5)
    places = torch.arange(source, dtype=dtype)
    first = (centers - support + 0.5).trunc().clamp_min(0)
    end = (centers + support + 0.5).trunc().clamp_max(source)
    weights = function((places - centers + 0.5) / stretch)
    weights = torch.where((places >= first) & (places < end), weights, 0.0)
    return weights / weights.sum(1, keepdim=True)


def _neighbour_weights(source, wanted, scale, align_corners, mode):
    """The same for what _linear and _cubic do; what lies outside counts for the border."""
    places = _places(source, wanted, scale, align_corners, torch.float64)
    if mode == "bilinear":
        places = places.clamp_min(0)
    below = places.floor()
    t = places - below
    if mode == "bilinear":
        parts = [(0, 1 - t), (1, t)]
    else:
        distances = ((-1, t + 1), (0, t), (1, 1 - t), (2, 2 - t))
        parts = [(o, _cubic_weight(distance, inner=o in (0, 1))) for o, distance in distances]
    weights = torch.zeros(wanted, source, dtype=torch.float64)
    for offset, part in parts:
        index = (below.long() + offset).clamp(0, source - 1).unsqueeze(1)
        weights.scatter_add_(1, index, part.unsqueeze(1))
    return weights


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
