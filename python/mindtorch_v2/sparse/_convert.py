"""Between layouts: coordinates, compressed rows and columns, and strided tensors."""

import math

import mindtorch_v2 as torch
from mindtorch_v2.sparse._tensor import (
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

# --- coordinates ----------------------------------------------------------------------------------


def sparse_sizes(tensor):
    """The sizes of the sparse dims of a COO tensor."""
    return tensor.shape[: tensor.parts.indices.shape[0]]


def flat_places(indices, sizes):
    """One number for each column of `indices`: its place in a contiguous tensor of these sizes."""
    if len(sizes) == 1:
        return indices[0]
    flat = torch.zeros(indices.shape[1], dtype=torch.int64, device=indices.device)
    for row, size in zip(indices.unbind(0), sizes, strict=True):
        flat = flat * size + row
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
    if parts.layout is torch.sparse_csc:
        row, col = col, row
    return row, col, parts.values


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


def to_compressed(tensor, layout):
    """A CSR or CSC tensor of a sparse or strided matrix."""
    if is_sparse(tensor) and tensor.parts.layout is layout:
        return tensor
    if tensor.dim() > 2 and not is_sparse(tensor):
        return _stack_compressed(tensor, layout)
    coo = coalesce(to_coo(tensor)) if is_sparse(tensor) else from_dense(tensor, 2)
    if coo.parts.indices.shape[0] != 2:
        raise RuntimeError(
            f"to_sparse_{str(layout)[-3:]}: only 2-D tensors can be compressed, but got "
            f"{coo.parts.indices.shape[0]} sparse dims"
        )
    row, col = coo.parts.indices.unbind(0)
    values, rows = coo.parts.values, coo.shape[0]
    if layout is torch.sparse_csc:
        order = torch.argsort(col, stable=True)
        row, col, values, rows = col[order], row[order], values[order], coo.shape[1]
    return make_compressed(layout, compress_rows(row, rows), col, values, coo.shape)


def _stack_compressed(tensor, layout):
    batch = tensor.shape[:-2]
    each = [to_compressed(one, layout).parts for one in tensor.reshape(-1, *tensor.shape[-2:])]
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
    sizes = sparse_sizes(coo)
    values = coo.parts.values
    flat = (
        flat_places(coo.parts.indices, sizes)
        if sizes
        else coo.parts.indices.new_zeros(coo.parts.indices.shape[1])
    )
    rows = add_rows(math.prod(sizes), flat, values)
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
    values = gather(tensor, torch.stack([row, col]))
    return make_compressed(parts.layout, parts.begins, parts.others, values, tensor.shape)


@handles("to_sparse", "to_sparse_coo")
def to_sparse(tensor, sparse_dim=None, *, layout=None, blocksize=None, dense_dim=None):
    """A tensor in a sparse layout, COO where none is named."""
    if blocksize is not None or layout in (torch.sparse_bsr, torch.sparse_bsc):
        raise NotImplementedError("to_sparse: layouts of blocks (torch.sparse_bsr) are not there")
    if layout in (torch.sparse_csr, torch.sparse_csc):
        return to_compressed(tensor, layout)
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


def _compress(name, tensor, layout, dense_dim):
    if dense_dim:
        raise NotImplementedError(f"{name}: dense dims are not there")
    if tensor.dim() < 2:
        raise RuntimeError(f"{name}: expected a tensor of at least 2 dims, but got {tensor.dim()}")
    return to_compressed(tensor, layout)


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
