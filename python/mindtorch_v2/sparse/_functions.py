"""torch.sparse.mm and its like: functions of sparse tensors that have names of their own."""

import functools

import mindtorch_v2 as torch
from mindtorch_v2.sparse import _products, _reduce
from mindtorch_v2.sparse._convert import coalesce, to_compressed
from mindtorch_v2.sparse._tensor import is_coo, is_sparse, make_coo, no_kernel, with_values


def mm(mat1, mat2, reduce=None):
    """The product of two matrices of which at least one is sparse.

    A sparse and a dense one give a dense one, two sparse ones a sparse one.

    >>> a = torch.sparse_coo_tensor([[0, 1], [1, 0]], [2., 3.], (2, 2))
    >>> torch.sparse.mm(a, torch.tensor([[1.], [2.]]))
    tensor([[4.],
            [3.]])
    """
    if reduce not in (None, "sum"):
        raise NotImplementedError(f"torch.sparse.mm: reduce={reduce!r} is not there")
    if not is_sparse(mat1) and not is_sparse(mat2):
        return torch.mm(mat1, mat2)
    return _products.mm(mat1, mat2)


def addmm(mat, mat1, mat2, *, beta=1.0, alpha=1.0):
    """beta * mat + alpha * (mat1 @ mat2), with mat1 sparse.

    >>> torch.sparse.addmm(torch.ones(2, 2), torch.eye(2).to_sparse(), torch.eye(2))
    tensor([[2., 1.],
            [1., 2.]])
    """
    if not is_sparse(mat1) and not is_sparse(mat2):
        return torch.addmm(mat, mat1, mat2, beta=beta, alpha=alpha)
    return _products.addmm(mat, mat1, mat2, beta=beta, alpha=alpha)


def sampled_addmm(input, mat1, mat2, *, beta=1.0, alpha=1.0):
    """alpha * (mat1 @ mat2) at the places of `input`, a CSR matrix, plus beta * input.

    >>> places = torch.eye(2).to_sparse_csr()
    >>> torch.sparse.sampled_addmm(places, torch.ones(2, 3), torch.ones(3, 2)).values()
    tensor([4., 4.])
    """
    return _products.sampled_addmm(input, mat1, mat2, beta=beta, alpha=alpha)


def sum(input, dim=None, dtype=None):
    """The sum of all elements, or along dims: sparse as long as a sparse dim is left.

    >>> torch.sparse.sum(torch.eye(2).to_sparse())
    tensor(2.)
    """
    if not is_sparse(input):
        raise RuntimeError("torch.sparse.sum: expected a sparse tensor, but got a dense one")
    return _reduce.sum(input, dim, dtype=dtype)


def spsolve(input, other, *, left=True):
    """The solution of a system of equations with a CSR matrix: torch solves it on CUDA only.

    >>> torch.sparse.spsolve(torch.eye(2).to_sparse_csr(), torch.ones(2))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    NotImplementedError: Could not run 'aten::_spsolve' ...
    """
    raise NotImplementedError(no_kernel("_spsolve", input))


def as_sparse_gradcheck(gradcheck):
    """gradcheck for functions of sparse tensors: it varies their values, at the places they have.

    >>> check = torch.sparse.as_sparse_gradcheck(torch.autograd.gradcheck)
    >>> x = torch.eye(2, dtype=torch.float64).to_sparse().requires_grad_()
    >>> check(lambda x: x.to_dense(), x, masked=True)
    True
    """

    @functools.wraps(gradcheck)
    def check(function, inputs, **options):
        options.pop("masked", None)
        inputs = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
        inputs = [coalesce(each) if is_coo(each) else each for each in inputs]
        values = tuple(
            each.parts.values.detach().requires_grad_(each.requires_grad)
            if is_sparse(each)
            else each
            for each in inputs
        )

        def of_values(*values):
            rebuilt = [
                with_values(each, value) if is_sparse(each) else value
                for each, value in zip(inputs, values, strict=True)
            ]
            made = function(*rebuilt)
            several = isinstance(made, (tuple, list))
            made = tuple(
                one.parts.values if is_sparse(one) else one for one in (made if several else [made])
            )
            return made if several else made[0]

        return gradcheck(of_values, values, **options)

    return check


def spdiags(diagonals, offsets, shape, layout=None):
    """A sparse matrix with the rows of `diagonals` on the diagonals that `offsets` name.

    >>> torch.sparse.spdiags(torch.tensor([[1., 2.]]), torch.tensor([0]), (2, 2)).to_dense()
    tensor([[1., 0.],
            [0., 2.]])
    """
    offsets = torch.as_tensor(offsets).reshape(-1)
    diagonals = diagonals if diagonals.dim() == 2 else diagonals.unsqueeze(0)
    if diagonals.shape[0] != offsets.shape[0]:
        raise RuntimeError(
            f"Number of diagonals ({diagonals.shape[0]}) does not match the number of offsets "
            f"({offsets.shape[0]})"
        )
    if len(set(offsets.tolist())) != offsets.shape[0]:
        raise RuntimeError("Offset tensor contains duplicate values")
    rows, cols = shape
    col = torch.arange(diagonals.shape[1]).expand(diagonals.shape)
    row = col - offsets.unsqueeze(1)
    kept = (row >= 0) & (row < rows) & (col < cols)
    indices = torch.stack([row[kept], col[kept]])
    made = make_coo(indices, diagonals[kept], (rows, cols))
    if layout in (None, torch.sparse_coo):
        return made
    return to_compressed(made, layout)
