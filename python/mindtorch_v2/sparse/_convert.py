"""Between layouts: coordinates, compressed rows and columns, and strided tensors."""

import math

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2.sparse._tensor import (
    LAYOUT_NAMES,
    Coo,
    handles,
    is_coo,
    is_sparse,
    layout_name,
    make_compressed,
    make_coo,
    no_kernel,
    replace,
)

_coo_dense = _C._internal_functions["_coo_dense"]
_DENSE_DTYPES = frozenset(  # that _coo_dense adds
    getattr(torch, name)
    for name in "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64".split()
)

# --- coordinates ----------------------------------------------------------------------------------


def sparse_sizes(tensor):
    """The sizes of the sparse dims of a COO tensor."""
    return tensor.shape[: tensor.parts.indices.shape[0]]


def flat_places(indices, sizes):
    """One number for each column of `indices`: its place in a contiguous tensor of these sizes."""
    if len(sizes) == 1:
        return indices[0]
    if not sizes:
        return torch.zeros(indices.shape[1], dtype=torch.int64, device=indices.device)
    flat = indices[0].to(torch.int64, copy=True)
    for row, size in zip(indices[1:].unbind(0), sizes[1:], strict=True):
        flat.mul_(size).add_(row)
    return flat


def coordinates(flat, sizes):
    """The opposite of flat_places."""
    rows = []
    for size in reversed(sizes):
        rows.append(flat % size)
        flat = flat // size
    if not rows:
        return torch.empty((0, flat.shape[0]), dtype=torch.int64, device=flat.device)
    return torch.stack(rows[::-1])


_PIECE = 4096  # entries at a time whose places are found, where nothing has to remember them


def add_rows(count, places, values):
    """A tensor of `count` rows: the sums of the values at each place."""
    if values.dtype == torch.bool:
        return add_rows(count, places, values.to(torch.int64)) != 0
    rows = torch.zeros((count, *values.shape[1:]), dtype=values.dtype, device=values.device)
    return rows.index_add_(0, places, values)


@handles("coalesce")
def coalesce(tensor):
    """The same tensor with each place named once, in order."""
    _check_coo("coalesce", tensor)
    parts = tensor.parts
    if parts.is_coalesced:
        return tensor
    sizes = sparse_sizes(tensor)
    if not sizes:
        indices, values = parts.indices[:, :1], parts.values.sum(0, keepdim=True)
        return make_coo(indices, values, tensor.shape, True)
    flat = flat_places(parts.indices, sizes)
    unique, inverse = torch.unique(flat, return_inverse=True)
    values = add_rows(unique.shape[0], inverse, parts.values)
    return make_coo(coordinates(unique, sizes), values, tensor.shape, True)


def _check_coo(name, tensor):
    if not is_coo(tensor):
        raise RuntimeError(
            f"{name} expected sparse coordinate tensor layout but got {layout_name(tensor)}"
        )


# --- compressed rows ------------------------------------------------------------------------------


def expand_begins(begins, count):
    """The row of each of `count` entries, from where the rows begin."""
    rows = torch.arange(begins.shape[0] - 1, device=begins.device, dtype=begins.dtype)
    return torch.repeat_interleave(rows, begins.diff(), output_size=count)


def compress_rows(row, rows, dtype=torch.int64):
    """Where the rows begin, from the row of each entry."""
    one = torch.ones(row.shape[0], dtype=dtype, device=row.device)
    counts = torch.zeros(rows + 1, dtype=dtype, device=row.device).index_add(0, row + 1, one)
    return counts.cumsum(0).to(dtype)


def entries(matrix):
    """(row, col, values) of a sparse matrix, whatever its layout."""
    parts = matrix.parts
    if type(parts) is Coo:
        return parts.indices[0], parts.indices[1], parts.values
    row, col = parts.expanded(expand_begins), parts.others
    if parts.by_columns:
        row, col = col, row
    return _elements(row, col, parts) if parts.has_blocks else (row, col, parts.values)


def _elements(row, col, parts):
    """(row, col, values) of the elements of blocks, block after block."""
    height, width = parts.block
    down = torch.arange(height, device=row.device, dtype=row.dtype).unsqueeze(1)
    across = torch.arange(width, device=row.device, dtype=row.dtype)
    sizes = (row.shape[0], height, width)
    rows = (row.reshape(-1, 1, 1) * height + down).expand(sizes)
    cols = (col.reshape(-1, 1, 1) * width + across).expand(sizes)
    return rows.reshape(-1), cols.reshape(-1), parts.values.flatten(0, 2)


def of_elements(parts, values):
    """Values for a tensor of these places from values of its elements, as entries() gives them."""
    return values.reshape(parts.values.shape) if parts.has_blocks else values


def _batches(tensor):
    """The matrices of a compressed tensor with batch dims, one after the other."""
    parts = tensor.parts
    batch = parts.begins.shape[:-1]
    count = math.prod(batch)
    size = tensor.shape[len(batch) :]
    begins, others = parts.begins.reshape(count, -1), parts.others.reshape(count, -1)
    values = parts.values.reshape(count, -1, *parts.values.shape[len(batch) + 1 :])
    return [
        make_compressed(parts.layout, begins[i], others[i], values[i], size) for i in range(count)
    ]


def to_coo(tensor):
    """A COO tensor of a sparse one; COO tensors stay what they are."""
    if is_coo(tensor):
        return tensor
    if tensor.parts.begins.dim() > 1:
        stacked = [to_coo(each) for each in _batches(tensor)]
        batch = tensor.parts.begins.shape[:-1]
        places = coordinates(torch.arange(len(stacked), device=tensor.device), batch)
        indices = [
            torch.cat([places[:, i : i + 1].expand(-1, each.parts.indices.shape[1]), own], 0)
            for i, (each, own) in enumerate((each, each.parts.indices) for each in stacked)
        ]
        values = [each.parts.values for each in stacked]
        return make_coo(torch.cat(indices, 1), torch.cat(values), tensor.shape, True)
    row, col, values = entries(tensor)
    in_order = tensor.parts.layout is torch.sparse_csr
    return make_coo(torch.stack([row, col]).to(torch.int64), values, tensor.shape, in_order)


def to_compressed(tensor, layout, block=(1, 1), dense_dim=0):
    """A CSR, CSC, BSR or BSC tensor of a sparse or strided matrix."""
    if is_sparse(tensor):
        is_same = tensor.parts.layout is layout and tensor.parts.block == tuple(block)
        if is_same:
            return tensor
        coo = coalesce(to_coo(tensor))
    elif tensor.dim() > 2 + dense_dim:
        return _stack_compressed(tensor, layout, block, dense_dim)
    else:
        coo = from_dense(tensor, 2)
    if coo.parts.indices.shape[0] != 2:
        raise RuntimeError(
            f"to_sparse_{str(layout)[-3:]}: only 2-D tensors can be compressed, but got "
            f"{coo.parts.indices.shape[0]} sparse dims"
        )
    row, col = coo.parts.indices.unbind(0)
    values, (rows, cols) = coo.parts.values, coo.shape[:2]
    by_columns = layout in (torch.sparse_csc, torch.sparse_bsc)
    if layout in (torch.sparse_bsr, torch.sparse_bsc):
        rows, cols = rows // block[0], cols // block[1]
        row, col, values = _blocks(row, col, values, block, cols)
    if by_columns:
        order = torch.argsort(col, stable=True)
        row, col, values, rows = col[order], row[order], values[order], cols
    return make_compressed(layout, compress_rows(row, rows), col, values, coo.shape)


def _blocks(row, col, values, block, cols):
    """(row, col, values) of the blocks that have elements, row after row."""
    height, width = block
    flat = (row // height) * cols + col // width
    found, owner = torch.unique(flat, return_inverse=True)
    places = (owner * height + row % height) * width + col % width
    made = add_rows(found.shape[0] * height * width, places, values)
    made = made.reshape(found.shape[0], height, width, *values.shape[1:])
    return found // max(cols, 1), found % max(cols, 1), made


def _stack_compressed(tensor, layout, block, dense_dim):
    matrix = tensor.dim() - 2 - dense_dim
    batch = tensor.shape[:matrix]
    each = [
        to_compressed(one, layout, block, dense_dim).parts
        for one in tensor.reshape(-1, *tensor.shape[matrix:])
    ]
    if len({one.others.shape[0] for one in each}) > 1:
        raise RuntimeError(
            "Expect the same number of specified elements per batch when converting to "
            f"Sparse{str(layout)[-3:].capitalize()} layout"
        )

    def stack(name):
        return torch.stack([getattr(one, name) for one in each]).unflatten(0, batch)

    begins, others, values = stack("begins"), stack("others"), stack("values")
    return make_compressed(layout, begins, others, values, tensor.shape)


# --- strided tensors ------------------------------------------------------------------------------


def from_dense(tensor, sparse_dim):
    """A coalesced COO tensor of what is not zero in a strided one."""
    kept = tensor if sparse_dim == tensor.dim() else tensor.flatten(sparse_dim).ne(0).any(-1)
    indices = kept.detach().nonzero().t().contiguous()
    if sparse_dim == 0:
        indices = indices.new_zeros((0, 1 if bool((tensor != 0).any()) else 0))
        values = tensor.unsqueeze(0)[: indices.shape[1]]
    else:
        sizes = tensor.shape[:sparse_dim]
        rows = tensor.reshape(math.prod(sizes), *tensor.shape[sparse_dim:])
        values = rows.index_select(0, flat_places(indices, sizes))
    return make_coo(indices, values, tensor.shape, True)


@handles("to_dense")
def to_dense(tensor, dtype=None, *, masked_grad=None):
    """The strided tensor."""
    coo = to_coo(tensor)
    indices, values = coo.parts.indices, coo.parts.values
    remembers = values.requires_grad
    on_cpu = values.device.type == "cpu"
    if on_cpu and values.dim() == 1 and values.dtype in _DENSE_DTYPES and not remembers:
        made = _coo_dense(indices, values, tensor.shape)
        return made if dtype is None else made.to(dtype)
    sizes = sparse_sizes(coo)
    step = max(values.shape[0], 1)
    if on_cpu and values.dtype != torch.bool and not remembers:
        step = _PIECE
    rows = add_rows(math.prod(sizes), flat_places(indices[:, :step], sizes), values[:step])
    for begin in range(step, values.shape[0], step):
        end = begin + step
        rows.index_add_(0, flat_places(indices[:, begin:end], sizes), values[begin:end])
    made = rows.reshape(tensor.shape)
    return made if dtype is None else made.to(dtype)


def gather(tensor, indices):
    """Elements of a tensor, sparse or strided, at the coordinates of its first dims."""
    sizes = tensor.shape[: indices.shape[0]]
    flat = flat_places(indices, sizes)
    if not is_sparse(tensor):
        rows = tensor.reshape(math.prod(sizes), *tensor.shape[len(sizes) :])
        return rows.index_select(0, flat)
    own = coalesce(to_coo(tensor)).parts
    values = own.values
    if values.shape[0] == 0:
        return values.new_zeros((flat.shape[0], *values.shape[1:]))
    places = flat_places(own.indices, sizes)
    at = torch.searchsorted(places, flat).clamp_max(places.shape[0] - 1)
    found = (places[at] == flat).reshape(-1, *[1] * (values.dim() - 1))
    picked = values.index_select(0, at)
    return torch.where(found, picked, torch.zeros_like(picked))


@handles("sparse_mask")
def sparse_mask(tensor, mask):
    """The elements at the places of `mask`."""
    if not is_sparse(mask):
        raise NotImplementedError(no_kernel("sparse_mask", mask))
    if tensor.shape != mask.shape:
        raise RuntimeError(
            "sparse_mask(): operands have incompatible sizes; self has size "
            f"{list(tensor.shape)} but mask has size {list(mask.shape)}"
        )
    if is_coo(mask):
        values = gather(tensor, mask.parts.indices)
        return make_coo(mask.parts.indices, values, tensor.shape, mask.parts.is_coalesced)
    row, col, _ = entries(mask)
    parts = mask.parts
    values = of_elements(parts, gather(tensor, torch.stack([row, col])))
    return make_compressed(parts.layout, parts.begins, parts.others, values, tensor.shape)


@handles("to_sparse", "to_sparse_coo")
def to_sparse(tensor, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None):
    """A tensor in a sparse layout, COO where none is named."""
    has_blocks = layout in (torch.sparse_bsr, torch.sparse_bsc)
    if has_blocks != (blocksize is not None):
        raise RuntimeError(
            f"{'' if is_sparse(tensor) else 'dense_'}to_sparse: conversion from "
            f"{layout_name(tensor)} to {LAYOUT_NAMES[layout or torch.sparse_coo]} "
            f"{'without' if has_blocks else 'with'} blocksize argument given is not supported"
        )
    if layout in (torch.sparse_csr, torch.sparse_csc):
        return _compress("to_sparse", tensor, layout, dense_dim)
    if has_blocks:
        return _compress("to_sparse", tensor, layout, dense_dim, blocksize)
    if layout not in (None, torch.sparse_coo):
        raise RuntimeError(f"to_sparse: layout {layout} is none of a sparse tensor")
    if is_sparse(tensor):
        return to_coo(tensor)
    if sparse_dim is None:
        sparse_dim = tensor.dim() - (dense_dim or 0)
    if not (0 if tensor.dim() == 0 else 1) <= sparse_dim <= tensor.dim():
        raise RuntimeError(
            f"sparse_dim argument must be in >=1 and <= {tensor.dim()}, but got {sparse_dim}"
        )
    return from_dense(tensor, sparse_dim)


@handles("to_sparse_csr")
def to_sparse_csr(tensor, dense_dim=None):
    """A matrix by its rows."""
    return _compress("to_sparse_csr", tensor, torch.sparse_csr, dense_dim)


@handles("to_sparse_csc")
def to_sparse_csc(tensor, dense_dim=None):
    """A matrix by its columns."""
    return _compress("to_sparse_csc", tensor, torch.sparse_csc, dense_dim)


@handles("to_sparse_bsr")
def to_sparse_bsr(tensor, blocksize, dense_dim=None):
    """A matrix by its rows of blocks."""
    return _compress("to_sparse_bsr", tensor, torch.sparse_bsr, dense_dim, blocksize)


@handles("to_sparse_bsc")
def to_sparse_bsc(tensor, blocksize, dense_dim=None):
    """A matrix by its columns of blocks."""
    return _compress("to_sparse_bsc", tensor, torch.sparse_bsc, dense_dim, blocksize)


def _compress(name, tensor, layout, dense_dim, blocksize=None):
    if is_sparse(tensor) and dense_dim:
        raise RuntimeError(
            f"{name}: conversion from {layout_name(tensor)} to {LAYOUT_NAMES[layout]} with "
            "dense_dim argument given is not supported"
        )
    dense_dim = dense_dim or 0
    if blocksize is None:
        if tensor.dim() < 2:
            raise RuntimeError(
                f"{name}: expected a tensor of at least 2 dims, but got {tensor.dim()}"
            )
        if is_sparse(tensor) and not is_coo(tensor) and tensor.parts.has_blocks:
            raise RuntimeError(
                f"sparse_compressed_to_sparse_{str(layout)[-3:]}: expected SparseCsr or SparseCsc "
                f"layout but got {layout_name(tensor)}"
            )
        return to_compressed(tensor, layout, (1, 1), dense_dim)
    block = (blocksize, blocksize) if isinstance(blocksize, int) else tuple(blocksize)
    _check_block(tensor, layout, block, dense_dim)
    return to_compressed(tensor, layout, block, dense_dim)


def _check_block(tensor, layout, block, dense_dim):
    kind = str(layout)[-3:]
    source = "" if is_sparse(tensor) else "dense_"
    if len(block) != 2:
        raise RuntimeError(
            f"{source}to_sparse_{kind}: blocksize needs to be a tuple of size 2, but got "
            f"{len(block)}"
        )
    first = tensor.dim() - 2 - dense_dim
    if first < 0:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [-{tensor.dim()}, "
            f"{tensor.dim() - 1}], but got -2)"
        )
    rows, cols = tensor.shape[first : first + 2]
    if min(block) < 1 or rows % block[0] or cols % block[1]:
        raise RuntimeError(
            f"{source}to_sparse_{kind}: tensor sparse size ({rows},{cols}) must be divisible by "
            f"given blocksize ({block[0]},{block[1]})"
        )
    if is_sparse(tensor) and not is_coo(tensor) and tensor.parts.has_blocks:
        own = tensor.parts.block
        if own != block:
            raise RuntimeError(
                f"to_sparse_{kind}: conversion from {layout_name(tensor)} to "
                f"{LAYOUT_NAMES[layout]} with blocksize changed from {list(own)} to {list(block)} "
                "is not supported"
            )


@handles("sparse_resize_")
def sparse_resize_(tensor, size, sparse_dim, dense_dim):
    """Other sizes, in place. What has entries may grow."""
    _check_coo("sparse_resize_", tensor)
    parts, size = tensor.parts, tuple(size)
    own = (parts.indices.shape[0], parts.values.dim() - 1)
    if len(size) != sparse_dim + dense_dim:
        raise RuntimeError(
            "'len(size) == sparse_dim + dense_dim' is not satisfied: len(size) = "
            f"{len(size)}, sparse_dim = {sparse_dim}, dense_dim = {dense_dim}"
        )
    if parts.indices.shape[1] > 0:
        _check_resize(own, (sparse_dim, dense_dim), tensor.shape, size)
    values = parts.values
    if tuple(values.shape[1:]) != size[sparse_dim:]:
        made = values.new_zeros((values.shape[0], *size[sparse_dim:]))
        if values.shape[0] > 0:
            made[tuple(slice(0, n) for n in values.shape)] = values
        values = made
    indices = parts.indices
    if indices.shape[0] != sparse_dim:
        indices = indices.new_empty((sparse_dim, indices.shape[1]))
    return replace(tensor, make_coo(indices, values, size, parts.is_coalesced))


def _check_resize(own, wanted, old, new):
    for what, before, after in (("sparse", own[0], wanted[0]), ("dense", own[1], wanted[1])):
        if before != after:
            raise RuntimeError(
                f"changing the number of {what} dimensions (from {before} to {after}) on a "
                "non-empty sparse tensor is not supported."
            )
    for what, end in (("sparse", slice(0, own[0])), ("dense", slice(own[0], None))):
        if any(b < a for a, b in zip(old[end], new[end], strict=True)):
            raise RuntimeError(
                f"shrinking the size of {what} dimensions (from {list(old[end])} to "
                f"{list(new[end])}) on a non-empty sparse tensor is not supported."
            )


@handles("sparse_resize_and_clear_")
def sparse_resize_and_clear_(tensor, size, sparse_dim, dense_dim):
    """Other sizes, in place, and no entries."""
    size = tuple(size)
    indices = tensor.parts.indices.new_empty((sparse_dim, 0))
    values = tensor.parts.values.detach().new_empty((0, *size[sparse_dim:]))
    return replace(tensor, make_coo(indices, values, size, True))
