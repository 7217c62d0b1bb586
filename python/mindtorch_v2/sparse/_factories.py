"""torch.zeros(layout=torch.sparse_coo) and its like: sparse tensors without entries."""

import mindtorch_v2 as torch
from mindtorch_v2._C import Tensor
from mindtorch_v2.sparse._tensor import (
    LAYOUT_NAMES,
    layout_name,
    make_compressed,
    make_coo,
    no_kernel_for,
)

_EMPTY = ("zeros", "empty", "new_zeros", "new_empty", "zeros_like")


def create(name, is_method, args, kwargs):
    """What the function `name` makes in the sparse layout that is among its arguments."""
    options = {key: value for key, value in kwargs.items() if key != "layout"}
    layout = kwargs["layout"]
    requires_grad = bool(options.pop("requires_grad", False))
    options.pop("pin_memory", None)
    function = getattr(Tensor if is_method else torch, name)
    # Sizes, dtype and mistakes are those of the strided tensor.
    plan = function(*args, **{**options, "device": "meta"})
    device = options.get("device")
    if device is None:
        source = args[0] if args and isinstance(args[0], Tensor) else None
        device = source.device if source is not None else torch.get_default_device()
    if name not in _EMPTY:
        _refuse(name, layout)
    what = "empty" if name in ("empty", "new_zeros", "new_empty") else "zeros"
    return without_entries(plan.shape, layout, plan.dtype, device, requires_grad, what)


def _refuse(name, layout):
    if name in ("ones", "full") and layout is torch.sparse_coo:
        raise RuntimeError("full(...) is not implemented for sparse layout")
    op = "empty_strided" if name.endswith("_like") else name
    raise NotImplementedError(no_kernel_for(op, layout))


def without_entries(size, layout, dtype, device, requires_grad=False, what="zeros"):
    """A sparse tensor of zeros."""
    size = torch.Size(size)
    values = {"dtype": dtype, "device": device}
    if layout is torch.sparse_coo:
        indices = torch.empty((len(size), 0), dtype=torch.int64, device=device)
        made = torch.empty(0, requires_grad=requires_grad, **values)
        return make_coo(indices, made, size, True)
    if len(size) < 2:
        raise RuntimeError(
            f"torch.{what}: Only batched sparse compressed (non-block) tensors are supported, but "
            f"got size {list(size)}"
        )
    if layout not in (torch.sparse_csr, torch.sparse_csc):
        raise RuntimeError(
            f"{what}_sparse_compressed expected sparse compressed (non-block) tensor layout but "
            f"got {LAYOUT_NAMES[layout]}"
        )
    batch = size[:-2]
    count = size[-2] if layout is torch.sparse_csr else size[-1]
    begins = torch.zeros((*batch, count + 1), dtype=torch.int64, device=device)
    others = torch.empty((*batch, 0), dtype=torch.int64, device=device)
    made = torch.empty((*batch, 0), requires_grad=requires_grad, **values)
    return make_compressed(layout, begins, others, made, size)


def like(name, tensor, dtype, layout, device, requires_grad):
    """zeros_like and empty_like of a sparse tensor."""
    dtype, device = dtype or tensor.dtype, device or tensor.device
    own = tensor.parts.layout
    layout = own if layout is None else layout
    if (
        layout is not own
        and own is not torch.sparse_coo
        and not (name == "zeros_like" and layout is not torch.strided)
    ):
        raise RuntimeError(
            "empty_like with different sparse layout is not supported (self is "
            f"{layout_name(tensor)} but you requested {LAYOUT_NAMES[layout]})"
        )
    if layout is torch.strided:
        return torch.zeros(tensor.shape, dtype=dtype, device=device, requires_grad=requires_grad)
    parts = tensor.parts
    if layout is not own:
        return without_entries(tensor.shape, layout, dtype, device, requires_grad)
    options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
    if layout is torch.sparse_coo:
        values = torch.zeros((0, *parts.values.shape[1:]), **options)
        return make_coo(parts.indices[:, :0].to(device), values, tensor.shape, True)
    if name == "zeros_like":
        begins, others = torch.zeros_like(parts.begins), parts.others[..., :0].clone()
        dense = parts.values.shape[parts.others.dim() :]
        values = torch.zeros((*others.shape, *dense), **options)
        return make_compressed(layout, begins.to(device), others.to(device), values, tensor.shape)
    values = torch.zeros(parts.values.shape, **options)
    begins, others = parts.begins.clone().to(device), parts.others.clone().to(device)
    return make_compressed(layout, begins, others, values, tensor.shape)
