"""The operators of torchvision's compiled library, which is made for torch's C++ and cannot be
loaded here, as compositions of torch's functions: torch.ops.load_library defines them in its place.
They run on every device and have gradients. What is not computed raises NotImplementedError.
"""

import mindtorch_v2 as torch
from mindtorch_v2.nn import functional as F

_ROWS_AT_A_TIME = 1024  # of the table of overlaps


# --- suppression of boxes ----------------------------------------------------------------------


def nms(dets, scores, iou_threshold):
    """Indices of the boxes that no better box overlaps by more than the threshold, best first."""
    torch._check(dets.dim() == 2, lambda: f"boxes should be a 2d tensor, got {dets.dim()}D")
    torch._check(
        dets.size(1) == 4,
        lambda: f"boxes should have 4 elements in dimension 1, got {dets.size(1)}",
    )
    torch._check(scores.dim() == 1, lambda: f"scores should be a 1d tensor, got {scores.dim()}D")
    torch._check(
        dets.size(0) == scores.size(0),
        lambda: (
            "boxes and scores should have same number of elements in dimension 0, got "
            f"{dets.size(0)} and {scores.size(0)}"
        ),
    )
    order = scores.detach().sort(stable=True, descending=True)[1]
    boxes = dets.detach()[order]
    parts = [_overlaps(part, boxes) > iou_threshold for part in boxes.split(_ROWS_AT_A_TIME)]
    too_close = torch.cat(parts).cpu().numpy() if parts else None
    suppressed = boxes.new_zeros(boxes.size(0), dtype=torch.bool, device="cpu").numpy()
    kept = []
    for place in range(boxes.size(0)):
        if not suppressed[place]:
            kept.append(place)
            suppressed |= too_close[place]
    return order[torch.tensor(kept, dtype=torch.int64, device=order.device)]


def _overlaps(boxes, others):
    """The common area of each two boxes, as a part of what they cover together."""
    corner = torch.maximum(boxes[:, None, :2], others[:, :2])
    opposite = torch.minimum(boxes[:, None, 2:], others[:, 2:])
    common = (opposite - corner).clamp(min=0).prod(2)
    areas, other_areas = ((b[:, 2:] - b[:, :2]).prod(1) for b in (boxes, others))
    return common / (areas[:, None] + other_areas - common)


# --- pooling of regions ------------------------------------------------------------------------


def _check_regions(input, rois):
    is_list = rois.dim() == 2 and rois.size(1) == 5
    torch._check(is_list, lambda: "rois must have shape as Tensor[K, 5]")
    torch._check(
        input.dtype == rois.dtype,
        lambda: (
            "Expected tensor for input to have the same type as tensor for rois; "
            f"but type {input.dtype} does not equal {rois.dtype}"
        ),
    )


def _samples(start, extent, bins, ratio, size):
    """Where regions are sampled along one dimension, and by how much each element counts.

    Each of `bins` parts of a region has `ratio` samples (0: about one for each element), each a
    mixture of two neighbours; gives indices and weights of shape (regions, bins, 2 * samples).
    """
    step = extent / bins
    count = torch.full_like(extent, ratio) if ratio > 0 else step.ceil()
    most = max(int(count.max()), 1) if count.numel() else 1
    sample = torch.arange(most, dtype=extent.dtype, device=extent.device)
    part = torch.arange(bins, dtype=extent.dtype, device=extent.device)
    count = count[:, None, None]
    inside_part = (sample + 0.5) / count.clamp(min=1)
    where = start[:, None, None] + (part[:, None] + inside_part) * step[:, None, None]
    valid = (where >= -1) & (where <= size) & (sample < count)
    where = where.clamp(0, size - 1)
    lower = where.floor()
    share = where - lower
    weights = torch.cat([1 - share, share], 2) * torch.cat([valid, valid], 2)
    upper = (lower + 1).clamp(max=size - 1)
    return torch.cat([lower, upper], 2).long(), weights / count.clamp(min=1)


def _pool_average(rows, first_row, y_samples, x_samples, width):
    """Weighted sums of the rows (one for each element of an image) that samples name."""
    (y, y_weights), (x, x_weights) = y_samples, x_samples
    index = first_row + y[:, :, None, :, None] * width + x[:, None, :, None, :]
    weights = y_weights[:, :, None, :, None] * x_weights[:, None, :, None, :]
    regions, height, width = index.shape[:3]
    pooled = F.embedding_bag(
        index.flatten(3).flatten(0, 2),
        rows,
        mode="sum",
        per_sample_weights=weights.flatten(3).flatten(0, 2),
    )
    return pooled.view(regions, height, width, rows.size(1)).permute(0, 3, 1, 2).contiguous()


def roi_align(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio, aligned):
    """The average of bilinear samples in each part of each region (K, C, height, width)."""
    _check_regions(input, rois)
    height, width = input.shape[2:]
    corners = rois[:, 1:] * spatial_scale - (0.5 if aligned else 0.0)
    extent = corners[:, 2:] - corners[:, :2]
    extent = extent if aligned else extent.clamp(min=1)
    y = _samples(corners[:, 1], extent[:, 1], pooled_height, sampling_ratio, height)
    x = _samples(corners[:, 0], extent[:, 0], pooled_width, sampling_ratio, width)
    rows = input.permute(0, 2, 3, 1).reshape(-1, input.size(1))
    first_row = (rois[:, 0].long() * (height * width)).view(-1, 1, 1, 1, 1)
    return _pool_average(rows, first_row, y, x, width)


def ps_roi_align(input, rois, spatial_scale, pooled_height, pooled_width, sampling_ratio):
    """roi_align in which each part of a region reads channels of its own."""
    _check_regions(input, rois)
    batch, channels, height, width = input.shape
    parts = pooled_height * pooled_width
    torch._check(
        channels % parts == 0,
        lambda: "input channels must be a multiple of pooling height * pooling width",
    )
    corners = rois[:, 1:] * spatial_scale - 0.5
    extent = corners[:, 2:] - corners[:, :2]
    y = _samples(corners[:, 1], extent[:, 1], pooled_height, sampling_ratio, height)
    x = _samples(corners[:, 0], extent[:, 0], pooled_width, sampling_ratio, width)
    rows = input.view(batch, channels // parts, parts, height, width).permute(0, 2, 3, 4, 1)
    part = torch.arange(parts, device=rois.device).view(1, pooled_height, pooled_width, 1, 1)
    image = rois[:, 0].long().view(-1, 1, 1, 1, 1)
    first_row = (image * parts + part) * (height * width)
    pooled = _pool_average(rows.reshape(-1, channels // parts), first_row, y, x, width)
    mapping = torch.arange(channels, dtype=torch.int32, device=input.device)
    shape = (-1, pooled_height, pooled_width)
    return pooled, mapping.view(shape).expand(pooled.shape).contiguous()


def roi_pool(input, rois, spatial_scale, pooled_height, pooled_width):
    """The largest element in each part of each region, and its place in the image."""
    _check_regions(input, rois)
    channels, height, width = input.shape[1:]
    shape = (rois.size(0), channels, pooled_height, pooled_width)
    result = input.new_zeros(shape)
    places = torch.full(shape, -1, dtype=torch.int32, device=input.device)
    corners = rois[:, 1:] * spatial_scale
    corners = corners.sign() * (corners.abs() + 0.5).floor()  # halves away from 0
    rows = _parts(corners[:, 1], corners[:, 3], pooled_height, height)
    columns = _parts(corners[:, 0], corners[:, 2], pooled_width, width)
    for k, image in enumerate(rois[:, 0].long().tolist()):
        for i, (y0, y1) in enumerate(rows[k]):
            for j, (x0, x1) in enumerate(columns[k]):
                if y0 >= y1 or x0 >= x1:
                    continue  # an empty part is 0
                result[k, :, i, j], best = input[image, :, y0:y1, x0:x1].flatten(1).max(1)
                row = best.div(x1 - x0, rounding_mode="floor")
                places[k, :, i, j] = ((y0 + row) * width + x0 + best % (x1 - x0)).int()
    return result, places


def _parts(first, last, bins, size):
    """[region][part]: (begin, end) of the elements in each part of first..last in the image."""
    step = (last - first + 1).clamp(min=1)[:, None] / bins
    part = torch.arange(bins, dtype=first.dtype, device=first.device)
    ends = torch.stack([(part * step).floor(), ((part + 1) * step).ceil()], 2)
    return (ends + first[:, None, None]).clamp(0, size).long().tolist()


# --- deformable convolution --------------------------------------------------------------------


def deform_conv2d(
    input,
    weight,
    offset,
    mask,
    bias,
    stride_h,
    stride_w,
    pad_h,
    pad_w,
    dilation_h,
    dilation_w,
    groups,
    offset_groups,
    use_mask,
):
    """A convolution that reads each element of its window where `offset` says, times `mask`."""
    batch, channels, height, width = input.shape
    kernel_h, kernel_w = weight.shape[2:]
    taps = kernel_h * kernel_w
    out_h = (height + 2 * pad_h - dilation_h * (kernel_h - 1) - 1) // stride_h + 1
    out_w = (width + 2 * pad_w - dilation_w * (kernel_w - 1) - 1) // stride_w + 1
    _check_deformation(offset, 2 * taps * offset_groups, batch, (out_h, out_w), "offset")
    if use_mask:
        _check_deformation(mask, taps * offset_groups, batch, (out_h, out_w), "mask")

    def places(kernel, dilation, out, stride, pad):
        step = {"dtype": input.dtype, "device": input.device}
        window = torch.arange(kernel, **step) * dilation
        return window[:, None] + torch.arange(out, **step) * stride - pad

    y = places(kernel_h, dilation_h, out_h, stride_h, pad_h).view(kernel_h, 1, out_h, 1)
    x = places(kernel_w, dilation_w, out_w, stride_w, pad_w).view(1, kernel_w, 1, out_w)
    shift = offset.view(batch * offset_groups, kernel_h, kernel_w, 2, out_h, out_w)
    y, x = y + shift[:, :, :, 0], x + shift[:, :, :, 1]
    grid = torch.stack([(2 * x + 1) / width - 1, (2 * y + 1) / height - 1], -1)
    samples = F.grid_sample(
        input.reshape(batch * offset_groups, channels // offset_groups, height, width),
        grid.view(batch * offset_groups, taps * out_h, out_w, 2),
        padding_mode="zeros",
        align_corners=False,
    ).view(batch * offset_groups, -1, taps, out_h * out_w)
    if use_mask:
        samples = samples * mask.view(batch * offset_groups, 1, taps, out_h * out_w)
    samples = samples.reshape(batch, groups, -1, out_h * out_w)
    result = weight.reshape(groups, weight.size(0) // groups, -1) @ samples
    return result.view(batch, -1, out_h, out_w) + bias.view(1, -1, 1, 1)


def _check_deformation(tensor, channels, batch, size, name):
    torch._check(
        tensor.size(1) == channels,
        lambda: f"{name}.shape[1] is not valid: got: {tensor.size(1)} expected: {channels}",
    )
    torch._check(tensor.size(0) == batch, lambda: f"invalid batch size of {name}")
    found = tuple(tensor.shape[2:])
    torch._check(
        found == size, lambda: f"{name} output dims: {found} - computed output dims: {size}"
    )


# --- gradients as operators --------------------------------------------------------------------


def _gradients(function, inputs, grad):
    """The gradients of function(*inputs), whose first result has the gradient `grad`."""
    with torch.enable_grad():
        inputs = [tensor.detach().requires_grad_() for tensor in inputs]
        result = function(*inputs)
        result = result[0] if isinstance(result, tuple) else result
        return torch.autograd.grad(result, inputs, grad, materialize_grads=True)


def _roi_align_backward(
    grad,
    rois,
    spatial_scale,
    pooled_height,
    pooled_width,
    batch_size,
    channels,
    height,
    width,
    sampling_ratio,
    aligned,
):
    input = grad.new_zeros(batch_size, channels, height, width)  # the result is linear in it
    size = (pooled_height, pooled_width)
    (found,) = _gradients(
        lambda x: roi_align(x, rois, spatial_scale, *size, sampling_ratio, aligned), [input], grad
    )
    return found


def _ps_roi_align_backward(
    grad,
    rois,
    channel_mapping,
    spatial_scale,
    pooled_height,
    pooled_width,
    sampling_ratio,
    batch_size,
    channels,
    height,
    width,
):
    input = grad.new_zeros(batch_size, channels, height, width)
    size = (pooled_height, pooled_width)
    (found,) = _gradients(
        lambda x: ps_roi_align(x, rois, spatial_scale, *size, sampling_ratio), [input], grad
    )
    return found


def _roi_pool_backward(
    grad,
    rois,
    argmax,
    spatial_scale,
    pooled_height,
    pooled_width,
    batch_size,
    channels,
    height,
    width,
):
    found = grad.new_zeros(batch_size * channels, height * width)
    image = rois[:, 0].long().view(-1, 1, 1, 1) * channels
    plane = image + torch.arange(channels, device=grad.device).view(1, -1, 1, 1)
    grad = grad * (argmax >= 0)  # an empty part has no place
    index = (plane.expand_as(argmax), argmax.clamp(min=0).long())
    return found.index_put(index, grad, accumulate=True).view(batch_size, channels, height, width)


def _deform_conv2d_backward(grad, input, weight, offset, mask, bias, *settings):
    tensors = [input, weight, offset, mask, bias]
    return tuple(_gradients(lambda *args: deform_conv2d(*args, *settings), tensors, grad))


def _cuda_version():
    """-1: the version of CUDA that the library was compiled for, of which there is none."""
    return -1


# --- definitions -------------------------------------------------------------------------------

_POOL = "float spatial_scale, SymInt pooled_height, SymInt pooled_width"
_IMAGE = "SymInt batch_size, SymInt channels, SymInt height, SymInt width"
_CONVOLUTION = (
    "Tensor input, Tensor weight, Tensor offset, Tensor mask, Tensor bias, SymInt stride_h, "
    "SymInt stride_w, SymInt pad_h, SymInt pad_w, SymInt dilation_h, SymInt dilation_w, "
    "SymInt groups, SymInt offset_groups, bool use_mask"
)
_COMPUTED = {
    "_cuda_version() -> int": _cuda_version,
    "nms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor": nms,
    f"roi_align(Tensor input, Tensor rois, {_POOL}, int sampling_ratio, bool aligned) -> Tensor": (
        roi_align
    ),
    f"_roi_align_backward(Tensor grad, Tensor rois, {_POOL}, {_IMAGE}, int sampling_ratio, "
    "bool aligned) -> Tensor": _roi_align_backward,
    f"ps_roi_align(Tensor input, Tensor rois, {_POOL}, int sampling_ratio) -> (Tensor, Tensor)": (
        ps_roi_align
    ),
    f"_ps_roi_align_backward(Tensor grad, Tensor rois, Tensor channel_mapping, {_POOL}, "
    f"int sampling_ratio, {_IMAGE}) -> Tensor": _ps_roi_align_backward,
    f"roi_pool(Tensor input, Tensor rois, {_POOL}) -> (Tensor, Tensor)": roi_pool,
    f"_roi_pool_backward(Tensor grad, Tensor rois, Tensor argmax, {_POOL}, {_IMAGE}) -> Tensor": (
        _roi_pool_backward
    ),
    f"deform_conv2d({_CONVOLUTION}) -> Tensor": deform_conv2d,
    f"_deform_conv2d_backward(Tensor grad, {_CONVOLUTION}) -> "
    "(Tensor, Tensor, Tensor, Tensor, Tensor)": _deform_conv2d_backward,
}
_NOT_COMPUTED = (
    "box_iou_rotated(Tensor boxes1, Tensor boxes2) -> Tensor",
    f"ps_roi_pool(Tensor input, Tensor rois, {_POOL}) -> (Tensor, Tensor)",
    f"_ps_roi_pool_backward(Tensor grad, Tensor rois, Tensor channel_mapping, {_POOL}, {_IMAGE}) "
    "-> Tensor",
    "qnms(Tensor dets, Tensor scores, float iou_threshold) -> Tensor",
    "qroi_align(Tensor input, Tensor rois, float input_scale, int input_zero_point, "
    f"float rois_scale, int rois_zero_point, {_POOL}, int sampling_ratio, bool aligned) -> Tensor",
)


def refuse(name):
    """What stands for an operator that is not computed."""

    def call(*args, **kwargs):
        raise NotImplementedError(f"{name} is not computed by mindtorch")

    return call


def define():
    """Defines the operators in torch.ops.torchvision; gives the library that holds them."""
    library = torch.library.Library("torchvision", "FRAGMENT")
    for schema, function in _COMPUTED.items():
        library.impl(library.define(schema), function, "CompositeImplicitAutograd")
    for schema in _NOT_COMPUTED:
        name = library.define(schema)
        library.impl(name, refuse(f"torchvision::{name}"), "CompositeImplicitAutograd")
    return library
