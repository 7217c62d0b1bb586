"""Sums, norms and softmax."""

import math

import mindtorch_v2 as torch
from mindtorch_v2.sparse._convert import (
    coalesce,
    compress_rows,
    flat_places,
    sparse_sizes,
    to_compressed,
    to_coo,
)
from mindtorch_v2.sparse._tensor import handles, is_coo, is_sparse, make_coo, no_kernel


def _dims(dim, count):
    dims = [dim] if isinstance(dim, int) else list(dim)
    for each in dims:
        if not -count <= each < count:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [{-count}, {count - 1}], but "
                f"got {each})"
            )
    return sorted({each % count for each in dims})


@handles("sum")
def sum(self, dim=None, keepdim=False, *, dtype=None):
    """The sum of all elements, or along dims; sparse as long as a sparse dim is left."""
    if isinstance(dim, torch.dtype):
        dim, dtype = None, dim
    if dim is None or dim == ():
        return self.parts.values.sum(dtype=dtype)
    if not is_coo(self):
        if not keepdim:
            raise RuntimeError(
                "reduction operations on CSR tensors with keepdim=False is unsupported"
            )
        made = sum(to_coo(self), dim, True, dtype=dtype)
        return to_compressed(made, self.parts.layout) if is_sparse(made) else made
    dims = _dims(dim, self.dim())
    first_dense = self.parts.indices.shape[0]
    values = self.parts.values
    dense = [each - first_dense + 1 for each in dims if each >= first_dense]
    if dense:
        values = values.sum(dense, keepdim=keepdim, dtype=dtype)
    elif dtype is not None or not (values.is_floating_point() or values.is_complex()):
        values = values.to(dtype or torch.int64)
    kept = [d for d in range(first_dense) if d not in dims]
    if not kept and not keepdim:
        return values.sum(0)
    size = [1 if d in dims else n for d, n in enumerate(self.shape)]
    if not keepdim:
        size = [n for d, n in enumerate(self.shape) if d not in dims]
        indices = self.parts.indices.index_select(0, torch.tensor(kept, device=self.device))
    else:
        indices = self.parts.indices.clone()
        for each in dims:
            if each < first_dense:
                indices[each] = 0
    changes_places = len(kept) < first_dense
    made = make_coo(indices, values, size, self.parts.is_coalesced and not changes_places)
    if not changes_places:
        return made
    made = coalesce(made)
    # Said to be coalesced only where no dim is kept for its size of 1, as in torch.
    return make_coo(made.parts.indices, made.parts.values, size, not keepdim)


@handles("norm")
def norm(self, p="fro", dim=None, keepdim=False, dtype=None):
    """The norm of all elements."""
    if dim not in (None, (), []):
        raise RuntimeError(
            "norm_sparse currently only supports full reductions, so 'dim' must be empty"
        )
    values = coalesce(to_coo(self)).parts.values
    return torch.norm(values.reshape(-1), 2 if p in ("fro", None) else p, dtype=dtype)


@handles("linalg_vector_norm", "vector_norm", "linalg_norm")
def vector_norm(self, ord=2, dim=None, keepdim=False, *, dtype=None, out=None):
    return norm(self, ord if ord is not None else 2, dim, keepdim, dtype)


# --- softmax --------------------------------------------------------------------------------------


def _segments(tensor, dim):
    """(segment of each entry, how many): entries that differ only in coordinate `dim` share one."""
    sizes = sparse_sizes(tensor)
    others = [d for d in range(len(sizes)) if d != dim]
    indices = tensor.parts.indices
    if not others:
        return torch.zeros_like(indices[0]), 1
    kept = indices.index_select(0, torch.tensor(others, device=indices.device))
    flat = flat_places(kept, [sizes[d] for d in others])
    unique, inverse = torch.unique(flat, return_inverse=True)
    return inverse, unique.shape[0]


def _largest(values, segment, count):
    """The largest value of each segment. None is empty."""
    width = math.prod(values.shape[1:])
    flat = values.reshape(-1)
    owner = (segment.unsqueeze(1) * width + torch.arange(width, device=flat.device)).reshape(-1)
    if flat.device.type == "cpu":
        least = torch.full((count * width,), float("-inf"), dtype=flat.dtype)
        found = least.scatter_reduce(0, owner, flat, "amax")
    else:
        # CANN scatters sums only: the last of each segment, sorted.
        order = torch.argsort(flat)
        order = order[torch.argsort(owner[order], stable=True)]
        found = flat[order[compress_rows(owner, count * width)[1:] - 1]]
    return found.reshape(count, *values.shape[1:])


def _softmax(name, input, dim, dtype, log):
    if not is_coo(input):
        raise NotImplementedError(no_kernel(name, input))
    if not -input.dim() <= dim < input.dim():
        _dims(dim, input.dim())
    if dtype is not None and dtype != input.dtype:
        from mindtorch_v2.sparse._attributes import to

        input = to(input, dtype)
    if not input.dtype.is_floating_point:
        raise RuntimeError(
            f'"{"log_" if log else ""}softmax" not implemented for '
            f"'{input.parts.values.type().removeprefix('torch.').removesuffix('Tensor')}'"
        )
    made = coalesce(input)
    dim %= input.dim()
    values = made.parts.values
    sparse_dim = made.parts.indices.shape[0]
    if dim >= sparse_dim:
        function = torch.log_softmax if log else torch.softmax
        values = function(values, dim - sparse_dim + 1)
    elif values.shape[0] > 0:
        segment, count = _segments(made, dim)
        with torch.no_grad():
            shift = _largest(values, segment, count).index_select(0, segment)
        shifted = values - shift
        powers = shifted.exp()
        sums = torch.zeros((count, *values.shape[1:]), dtype=values.dtype, device=values.device)
        sums = sums.index_add(0, segment, powers)
        if log:
            values = shifted - sums.log().index_select(0, segment)
        else:
            values = powers / sums.index_select(0, segment)
    return make_coo(made.parts.indices, values, input.shape, True)


def softmax(input, dim, *, dtype=None):
    """Softmax along a dim; what is not there counts as -inf.

    >>> x = torch.sparse_coo_tensor([[0, 1, 1], [0, 0, 1]], [2., 1., 1.], (2, 2))
    >>> torch.sparse.softmax(x, 1).values()
    tensor([1.0000, 0.5000, 0.5000])
    """
    return _softmax("_sparse_softmax", input, dim, dtype, False)


def log_softmax(input, dim, *, dtype=None):
    """The logarithm of torch.sparse.softmax.

    >>> x = torch.sparse_coo_tensor([[0], [0]], [2.], (1, 2))
    >>> torch.sparse.log_softmax(x, 1).values()
    tensor([0.])
    """
    return _softmax("_sparse_log_softmax", input, dim, dtype, True)
