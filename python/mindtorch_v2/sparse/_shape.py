"""Other shapes: transposed, selected, joined."""

import mindtorch_v2 as torch
from mindtorch_v2.sparse._convert import to_coo
from mindtorch_v2.sparse._tensor import (
    handles,
    is_coo,
    is_sparse,
    make_compressed,
    make_coo,
    no_kernel,
    replace,
)

_TURNED = {
    torch.sparse_csr: torch.sparse_csc,
    torch.sparse_csc: torch.sparse_csr,
    torch.sparse_bsr: torch.sparse_bsc,
    torch.sparse_bsc: torch.sparse_bsr,
}


def _dim(dim, count):
    if not -max(count, 1) <= dim < max(count, 1):
        raise IndexError(
            f"Dimension out of range (expected to be in range of [{-count}, {count - 1}], but got "
            f"{dim})"
        )
    return dim % max(count, 1)


@handles("permute")
def permute(self, *dims):
    dims = dims[0] if len(dims) == 1 and not isinstance(dims[0], int) else dims
    if not is_coo(self):
        raise NotImplementedError(no_kernel("permute", self))
    if len(dims) != self.dim():
        raise RuntimeError(
            "permute(sparse_coo): number of dimensions in the tensor input does not match the "
            f"length of the desired ordering of dimensions i.e. input.dim() = {self.dim()} is not "
            f"equal to len(dims) = {len(dims)}"
        )
    dims = [_dim(each, self.dim()) for each in dims]
    count = self.parts.indices.shape[0]
    if any(each >= count for each in dims[:count]):
        raise RuntimeError(
            "permute(sparse_coo): transpositions between sparse and dense dimensions are not "
            "allowed."
        )
    sparse, dense = dims[:count], dims[count:]
    indices = self.parts.indices.index_select(0, torch.tensor(sparse, device=self.device))
    values = self.parts.values.permute(0, *[each - count + 1 for each in dense])
    size = [self.shape[each] for each in dims]
    in_order = sparse == sorted(sparse) and self.parts.is_coalesced
    return make_coo(indices, values, size, in_order)


@handles("transpose", "swapaxes", "swapdims")
def transpose(self, dim0, dim1):
    dims = list(range(self.dim()))
    a, b = _dim(dim0, self.dim()), _dim(dim1, self.dim())
    dims[a], dims[b] = b, a
    if is_coo(self):
        count = self.parts.indices.shape[0]
        if (a < count) != (b < count):
            raise RuntimeError(
                "sparse transpose: transposed dimensions must be sparse Got sparse_dim: "
                f"{count}, d0: {a}, d1: {b}"
            )
        return permute(self, dims) if dims else self
    if a == b:
        return self
    parts = self.parts
    if parts.begins.dim() > 1 or {a, b} != {0, 1}:
        raise NotImplementedError(no_kernel("transpose", self))
    values = parts.values.transpose(1, 2) if parts.has_blocks else parts.values
    size = (self.shape[1], self.shape[0], *self.shape[2:])
    return make_compressed(_TURNED[parts.layout], parts.begins, parts.others, values, size)


@handles("transpose_", "swapaxes_", "swapdims_")
def transpose_(self, dim0, dim1):
    return replace(self, transpose(self, dim0, dim1))


@handles("t")
def t(self):
    if self.dim() > 2:
        raise RuntimeError(
            f"t() expects a tensor with <= 2 sparse and 0 dense dimensions, but self is "
            f"{self.dim()}D"
        )
    return self if self.dim() < 2 else transpose(self, 0, 1)


@handles("t_")
def t_(self):
    return replace(self, t(self))


@handles("T.__get__")
def reversed_dims(self):
    return t(self) if self.dim() <= 2 else permute(self, list(range(self.dim()))[::-1])


@handles("mT.__get__", "adjoint", "mH.__get__", "H.__get__")
def matrix_transpose(self):
    return transpose(self, -2, -1)


@handles("unsqueeze")
def unsqueeze(self, dim):
    self = to_coo(self)
    dim = _dim(dim, self.dim() + 1)
    parts, size = self.parts, list(self.shape)
    size.insert(dim, 1)
    count = parts.indices.shape[0]
    if dim > count:
        return make_coo(parts.indices, parts.values.unsqueeze(dim - count + 1), size)
    row = (
        torch.zeros_like(parts.indices[:1])
        if count
        else parts.indices.new_zeros((1, parts.indices.shape[1]))
    )
    indices = torch.cat([parts.indices[:dim], row, parts.indices[dim:]])
    return make_coo(indices, parts.values, size)


@handles("reshape", "view_as", "flatten", "unflatten")
def reshape(self, *args, **kwargs):
    raise RuntimeError("reshape is not implemented for sparse tensors")


@handles("expand", "expand_as", "broadcast_to")
def expand(self, *args, **kwargs):
    raise RuntimeError("expand is unsupported for Sparse tensors")


# --- parts ----------------------------------------------------------------------------------------


@handles("select")
def select(self, dim, index):
    self = to_coo(self)
    if self.dim() == 0:
        raise IndexError("select() cannot be applied to a 0-dim tensor.")
    dim = _dim(dim, self.dim())
    size = self.shape[dim]
    if not -size <= index < size:
        raise IndexError(
            f"select(): index {index} out of range for tensor of size {list(self.shape)} at "
            f"dimension {dim}"
        )
    index %= size
    parts = self.parts
    count = parts.indices.shape[0]
    rest = (*self.shape[:dim], *self.shape[dim + 1 :])
    if dim >= count:
        values = parts.values.select(dim - count + 1, index)
        return make_coo(parts.indices, values, rest)
    at = (parts.indices[dim] == index).nonzero().squeeze(1)
    values = parts.values.index_select(0, at)
    if count == 1:
        return values.sum(0)
    kept = torch.cat([parts.indices[:dim], parts.indices[dim + 1 :]])
    return make_coo(kept.index_select(1, at), values, rest)


@handles("index_select")
def index_select(self, dim, index):
    if not is_coo(self):
        raise NotImplementedError(no_kernel("index_select", self))
    dim = _dim(dim, self.dim())
    index = index.reshape(-1)
    size = self.shape[dim]
    bad = ((index < -size) | (index >= size)).nonzero().reshape(-1)
    if bad.shape[0]:
        raise IndexError(
            f"index_select(): index contains {int(index[bad[0]])} that is out of range for tensor "
            f"of size {list(self.shape)} at dimension {dim}"
        )
    index = torch.where(index < 0, index + size, index)
    parts = self.parts
    count = parts.indices.shape[0]
    new_size = [*self.shape]
    new_size[dim] = index.shape[0]
    if dim >= count:
        values = parts.values.index_select(dim - count + 1, index)
        return make_coo(parts.indices, values, new_size)
    # Each of the chosen coordinates meets all entries that have it.
    order = torch.argsort(parts.indices[dim], stable=True)
    places = parts.indices[dim][order]
    first = torch.searchsorted(places, index)
    counts = torch.searchsorted(places, index, right=True) - first
    chosen = torch.repeat_interleave(torch.arange(index.shape[0], device=index.device), counts)
    starts = counts.cumsum(0) - counts
    within = torch.arange(chosen.shape[0], device=index.device) - starts[chosen]
    entry = order[first[chosen] + within]
    indices = parts.indices.index_select(1, entry).clone()
    indices[dim] = chosen
    return make_coo(indices, parts.values.index_select(0, entry), new_size)


@handles("narrow_copy")
def narrow_copy(self, dim, start, length):
    dim = _dim(dim, self.dim())
    index = torch.arange(start, start + length, device=self.device)
    return index_select(self, dim, index)


@handles("__getitem__")
def getitem(self, key):
    """Numbers select; the whole of a dim stays."""
    made, dim = self, 0
    keys = key if isinstance(key, tuple) else (key,)
    given = sum(each is not None and each is not Ellipsis for each in keys)
    for each in keys:
        if isinstance(each, torch.Tensor) and each.dim() == 0 and not each.is_floating_point():
            each = int(each)
        if each is Ellipsis:
            dim += self.dim() - given
        elif each is None:
            made, dim = unsqueeze(made, dim), dim + 1
        elif isinstance(each, slice):
            if each != slice(None):
                raise NotImplementedError(no_kernel("as_strided", self))
            dim += 1
        elif isinstance(each, int) and not isinstance(each, bool):
            if dim >= made.dim():
                raise IndexError(f"too many indices for tensor of dimension {self.dim()}")
            if not -made.shape[dim] <= each < made.shape[dim]:
                raise IndexError(
                    f"index {each} is out of bounds for dimension {dim} with size {made.shape[dim]}"
                )
            made = select(made, dim, each) if is_sparse(made) else made.select(dim, each)
        else:
            raise NotImplementedError(no_kernel("index.Tensor", self))
    return made


@handles("__setitem__")
def setitem(self, key, value):
    raise NotImplementedError(no_kernel("index_put_", self))


@handles("__len__")
def length(self):
    if self.dim() == 0:
        raise TypeError("len() of a 0-d tensor")
    return self.shape[0]


@handles("unbind")
def unbind(self, dim=0):
    return tuple(select(self, dim, i) for i in range(self.shape[dim]))


@handles("__iter__")
def iterate(self):
    return iter(unbind(self))


# --- joining --------------------------------------------------------------------------------------


@handles("cat", "concat", "concatenate")
def cat(tensors, dim=0, *, out=None):
    for each in tensors:
        if not is_coo(each):
            raise RuntimeError(
                "Concatenating sparse tensors, but a dense tensor was found at position "
                f"{[is_coo(one) for one in tensors].index(False)}."
            )
    first = tensors[0]
    dim = _dim(dim, first.dim())
    count = first.parts.indices.shape[0]
    for at, each in enumerate(tensors):
        same = [n for d, n in enumerate(first.shape) if d != dim]
        if [n for d, n in enumerate(each.shape) if d != dim] != same:
            raise RuntimeError(
                f"All tensors must have the same shape: {list(first.shape)} (except in the "
                f"concatenating dimension), but found shape: {list(each.shape)} at position {at}."
            )
        if each.parts.indices.shape[0] != count:
            raise RuntimeError(
                "All tensors must have the same sparse_dim and dense_dim: "
                f"{count}, {first.dim() - count}, but tensor at position {at} has "
                f"{each.parts.indices.shape[0]}, {each.dim() - each.parts.indices.shape[0]}."
            )
    size = list(first.shape)
    size[dim] = sum(each.shape[dim] for each in tensors)
    if dim >= count:
        return _cat_dense(tensors, dim - count + 1, size)
    indices, offset = [], 0
    for each in tensors:
        own = each.parts.indices
        if offset:
            own = own.clone()
            own[dim] += offset
        indices.append(own)
        offset += each.shape[dim]
    values = torch.cat([each.parts.values for each in tensors])
    return make_coo(torch.cat(indices, 1), values, size)


def _cat_dense(tensors, dim, size):
    indices = torch.cat([each.parts.indices for each in tensors], 1)
    values, before = [], 0
    after = sum(each.parts.values.shape[dim] for each in tensors)
    for each in tensors:
        own = each.parts.values
        after -= own.shape[dim]
        lead, trail = list(own.shape), list(own.shape)
        lead[dim], trail[dim] = before, after
        values.append(torch.cat([own.new_zeros(lead), own, own.new_zeros(trail)], dim))
        before += own.shape[dim]
    return make_coo(indices, torch.cat(values), size)


@handles("stack")
def stack(tensors, dim=0, *, out=None):
    return cat([unsqueeze(each, dim) for each in tensors], dim)
