"""Products of matrices of which at least one is sparse."""

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2.sparse._convert import (
    coalesce,
    coordinates,
    entries,
    to_compressed,
    to_coo,
)
from mindtorch_v2.sparse._tensor import (
    handles,
    is_coo,
    is_sparse,
    make_coo,
    no_kernel,
    with_values,
)

_coo_mm = _C._internal_functions["_coo_mm"]
_coo_dot = _C._internal_functions["_coo_dot"]


def _has_kernels(tensor):
    return tensor.device.type in ("cpu", "meta") and not tensor.dtype.is_complex


def _check_matrices(left, right):
    dense = right if is_sparse(left) else left
    if dense.dim() < 2:
        raise IndexError(
            f"Dimension out of range (expected to be in range of [-1, 0], but got {dense.dim()})"
        )
    if left.dim() != 2 or right.dim() != 2:
        raise RuntimeError(
            f"mm: Expected two matrices, but got {left.dim()}-D and {right.dim()}-D tensors"
        )
    if left.shape[1] != right.shape[0]:
        if is_coo(left) and not is_sparse(right):
            raise RuntimeError(
                f"addmm: Argument #3 (dense): Expected dim 0 size {left.shape[1]}, got "
                f"{right.shape[0]}"
            )
        raise RuntimeError(
            f"mat1 and mat2 shapes cannot be multiplied ({left.shape[0]}x{left.shape[1]} and "
            f"{right.shape[0]}x{right.shape[1]})"
        )
    if left.dtype != right.dtype:
        raise RuntimeError(f"expected scalar type {_type_name(left)} but found {_type_name(right)}")


def _type_name(tensor):
    values = tensor.parts.values if is_sparse(tensor) else tensor
    return values.type().rpartition(".")[2].removesuffix("Tensor")


def _product(row, col, values, dense, rows):
    if _has_kernels(dense):
        return _coo_mm(row, col, values, dense, rows)
    made = torch.zeros((rows, dense.shape[1]), dtype=dense.dtype, device=dense.device)
    return made.index_add(0, row, values.unsqueeze(1) * dense.index_select(0, col))


def _dots(row, col, left, right):
    """Entries of left @ right.T."""
    if _has_kernels(left):
        return _coo_dot(row, col, left, right)
    return (left.index_select(0, row) * right.index_select(0, col)).sum(1)


def _times_dense(sparse, dense):
    row, col, values = entries(sparse)
    if values.dim() != 1:
        raise RuntimeError(
            "sparse_.dense_dim() == 0: hybrid tensors cannot be multiplied, got dense_dim "
            f"{values.dim() - 1}"
        )
    return _product(row, col, values, dense, sparse.shape[0])


def _dense_times(dense, sparse):
    row, col, values = entries(sparse)
    return _product(col, row, values, dense.t(), sparse.shape[1]).t()


def _times_sparse(left, right):
    """Each entry of the left matrix meets the row of the right one that its column names."""
    row, col, values = entries(left)
    right = to_compressed(right, torch.sparse_csr).parts
    counts = right.begins.diff().to(torch.int64).index_select(0, col)
    entry = torch.repeat_interleave(torch.arange(col.shape[0], device=col.device), counts)
    starts = counts.cumsum(0) - counts
    within = torch.arange(entry.shape[0], device=col.device) - starts.index_select(0, entry)
    other = right.begins.index_select(0, col.index_select(0, entry)).to(torch.int64) + within
    indices = torch.stack(
        [row.index_select(0, entry).to(torch.int64), right.others.index_select(0, other).long()]
    )
    return indices, values.index_select(0, entry) * right.values.index_select(0, other)


@handles("mm")
def mm(self, mat2):
    _check_matrices(self, mat2)
    if not is_sparse(mat2):
        return _times_dense(self, mat2)
    if not is_sparse(self):
        return _dense_times(self, mat2)
    indices, values = _times_sparse(self, mat2)
    made = coalesce(make_coo(indices, values, (self.shape[0], mat2.shape[1])))
    if is_coo(self) or is_coo(mat2):
        return made
    return to_compressed(made, torch.sparse_csr)


@handles("mv")
def mv(self, vec):
    if self.dim() != 2 or vec.dim() != 1 or is_sparse(vec):
        raise RuntimeError(
            f"mv: Expected a sparse matrix and a dense vector, got {self.dim()}-D and {vec.dim()}-D"
        )
    if self.shape[1] != vec.shape[0]:
        raise RuntimeError(
            f"mv: expected self.size(-1) == vec.size(-1), got {self.shape[1]} and {vec.shape[0]}"
        )
    return mm(self, vec.unsqueeze(1)).squeeze(1)


@handles("bmm")
def bmm(self, mat2):
    """A batch is one matrix with the samples as blocks of its diagonal."""
    if not is_coo(self) or is_sparse(mat2):
        raise NotImplementedError(no_kernel("bmm", self if is_sparse(self) else mat2))
    if self.dim() != 3 or mat2.dim() != 3 or self.shape[::2] != (mat2.shape[0], mat2.shape[1]):
        raise RuntimeError(
            f"bmm: Expected sizes (b, n, m) and (b, m, p), got {list(self.shape)} and "
            f"{list(mat2.shape)}"
        )
    count, rows, cols = self.shape
    sample, row, col = coalesce(self).parts.indices.unbind(0)
    values = coalesce(self).parts.values
    flat = mat2.reshape(count * cols, mat2.shape[2])
    made = _product(sample * rows + row, sample * cols + col, values, flat, count * rows)
    return made.reshape(count, rows, mat2.shape[2])


@handles("matmul", "__matmul__")
def matmul(self, other):
    if self.dim() == 2 and other.dim() == 1:
        return mv(self, other)
    if self.dim() == 1 and other.dim() == 2 and not is_sparse(self):
        return mm(self.unsqueeze(0), other).squeeze(0)
    if self.dim() == 2 and other.dim() == 2:
        return mm(self, other)
    if self.dim() == 3 and other.dim() == 3:
        return bmm(self, other)
    raise NotImplementedError(no_kernel("matmul", self if is_sparse(self) else other))


@handles("__rmatmul__")
def rmatmul(self, other):
    return matmul(other, self)


@handles("addmm")
def addmm(input, mat1, mat2, *, beta=1, alpha=1):
    product = mm(mat1, mat2)
    product = product if alpha == 1 else product * alpha
    if beta == 0:
        return product
    input = input if beta == 1 else input * beta
    if not is_sparse(input) and not is_sparse(product):
        return input + product
    return input + product if is_sparse(input) == is_sparse(product) else product + input


@handles("sspaddmm")
def sspaddmm(input, mat1, mat2, *, beta=1, alpha=1):
    """beta * input + alpha * (mat1 @ mat2) with sparse input and mat1, as a sparse matrix.

    >>> eye = torch.eye(2).to_sparse()
    >>> torch.sspaddmm(eye, eye, torch.eye(2)).to_dense()
    tensor([[2., 0.],
            [0., 2.]])
    """
    product = smm(mat1, mat2)
    input = input if beta == 1 else input * beta
    product = product if alpha == 1 else product * alpha
    indices = torch.cat([input.parts.indices, product.parts.indices], 1)
    return make_coo(indices, torch.cat([input.parts.values, product.parts.values]), input.shape)


@handles("addmm_")
def addmm_(input, mat1, mat2, *, beta=1, alpha=1):
    return input.copy_(addmm(input, mat1, mat2, beta=beta, alpha=alpha))


@handles("smm")
def smm(input, mat):
    """The product with a dense matrix, as a sparse one.

    >>> torch.smm(torch.eye(2).to_sparse(), torch.ones(2, 1)).layout
    torch.sparse_coo
    """
    return _rows_of_product(input, mat, 2)


@handles("hspmm")
def hspmm(mat1, mat2):
    """The product with a dense matrix, of the rows that are not empty only.

    >>> torch.hspmm(torch.eye(2).to_sparse(), torch.ones(2, 3))._values().shape
    torch.Size([2, 3])
    """
    return _rows_of_product(mat1, mat2, 1)


def _rows_of_product(sparse, dense, sparse_dim):
    _check_matrices(sparse, dense)
    own = coalesce(to_coo(sparse)).parts
    row, inverse = torch.unique(own.indices[0], return_inverse=True)
    rows = _product(inverse, own.indices[1], own.values, dense, row.shape[0])
    size = (sparse.shape[0], dense.shape[1])
    if sparse_dim == 1:
        return make_coo(row.unsqueeze(0), rows, size)
    places = row.unsqueeze(1) * size[1] + torch.arange(size[1], device=row.device)
    return make_coo(coordinates(places.reshape(-1), size), rows.reshape(-1), size)


@handles("sparse_sampled_addmm")
def sampled_addmm(input, mat1, mat2, *, beta=1.0, alpha=1.0):
    """alpha * (mat1 @ mat2) at the places of `input`, plus beta * input."""
    if not is_sparse(input) or is_coo(input):
        kind = "Strided" if not is_sparse(input) else "Sparse"
        raise RuntimeError(
            f"sampled_addmm: Expected self to have sparse csr layout, but got {kind}"
        )
    _check_matrices(mat1, mat2)
    if tuple(input.shape) != (mat1.shape[0], mat2.shape[1]):
        raise RuntimeError(
            "sampled_addmm: self.shape[-2] must match mat1.shape[-2]"
            if input.shape[0] != mat1.shape[0]
            else "sampled_addmm: self.shape[-1] must match mat2.shape[-1]"
        )
    row, col, values = entries(input)
    made = _dots(row, col, mat1, mat2.t())
    made = made if alpha == 1 else made * alpha
    if beta != 0:
        made = made + (values if beta == 1 else values * beta)
    return with_values(input, made)


# Older names.
dsmm = spmm = _C._functions["mm"]
hsmm, saddmm = hspmm, sspaddmm
