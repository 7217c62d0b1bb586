"""torch.linalg: norms and products of matrices."""

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._overridable import make_overridable as _make_overridable

__all__ = [
    "diagonal",
    "matmul",
    "matrix_norm",
    "matrix_power",
    "multi_dot",
    "norm",
    "vecdot",
    "vector_norm",
]


def vector_norm(x, ord=2, dim=None, keepdim=False, *, dtype=None, out=None):
    """The norm of all elements, or of the vectors along `dim`.

    >>> torch.linalg.vector_norm(torch.tensor([3., 4.]))
    tensor(5.)
    """
    return torch.linalg_vector_norm(x, ord, dim, keepdim, dtype=dtype, out=out)


def matrix_norm(A, ord="fro", dim=(-2, -1), keepdim=False, *, dtype=None, out=None):
    """The norm of the matrices in two dimensions: "fro", 1, -1, inf or -inf.

    >>> torch.linalg.matrix_norm(torch.tensor([[1., -2.], [3., 4.]]), 1)
    tensor(6.)
    """
    dim = tuple(dim)
    if len(dim) != 2:
        raise RuntimeError("linalg.matrix_norm: dim must be a 2-tuple of ints.")
    if A.dim() < 2:
        raise RuntimeError(
            "linalg.matrix_norm: The input tensor A must have at least 2 dimensions."
        )
    rows, columns = (d % A.dim() for d in dim)
    if rows == columns:
        raise RuntimeError(f"linalg.matrix_norm: dims must be different. Got {dim}")
    if ord == "fro":
        return vector_norm(A, 2, dim, keepdim, dtype=dtype, out=out)
    if ord not in (1, -1, float("inf"), float("-inf")):
        if ord in (2, -2, "nuc"):
            raise NotImplementedError(
                f"linalg.matrix_norm: order {ord} needs singular values, which are not here"
            )
        raise RuntimeError(f"linalg.matrix_norm: Order {ord} not supported.")
    summed, kept = (rows, columns) if abs(ord) == 1 else (columns, rows)
    sums = vector_norm(A, 1, summed, True, dtype=dtype)
    pick = torch.amax if ord > 0 else torch.amin
    result = pick(sums, kept, True)
    if not keepdim:
        result = result.squeeze(dim)
    return result if out is None else out.resize_(result.shape).copy_(result)


def norm(A, ord=None, dim=None, keepdim=False, *, out=None, dtype=None):
    """A vector norm, or a matrix norm where `ord` and the number of dimensions ask for one.

    >>> torch.linalg.norm(torch.ones(2, 2))
    tensor(2.)
    """
    if isinstance(dim, (tuple, list)) and len(dim) not in (1, 2):
        raise RuntimeError(
            f"linalg.norm: If dim is specified, it must be of length 1 or 2. Got {list(dim)}"
        )
    pair = isinstance(dim, (tuple, list)) and len(dim) == 2
    if ord is not None and (pair or (dim is None and A.dim() == 2)):
        return matrix_norm(A, ord, dim or (0, 1), keepdim, dtype=dtype, out=out)
    if isinstance(ord, str):
        raise RuntimeError(f"linalg.norm: Order {ord} needs a matrix")
    if ord is not None and dim is None and A.dim() != 1:
        raise RuntimeError(
            "linalg.norm: If dim is not specified but ord is, the input must be 1D or 2D. "
            f"Got {A.dim()}D."
        )
    return vector_norm(A, 2 if ord is None else ord, dim, keepdim, dtype=dtype, out=out)


def matmul(input, other, *, out=None):
    """torch.matmul.

    >>> torch.linalg.matmul(torch.ones(1, 2), torch.ones(2, 1))
    tensor([[2.]])
    """
    return torch.matmul(input, other, out=out)


def multi_dot(tensors, *, out=None):
    """The product of two or more matrices.

    >>> torch.linalg.multi_dot([torch.ones(1, 2), torch.ones(2, 3), torch.ones(3, 1)])
    tensor([[6.]])
    """
    if len(tensors) < 2:
        raise RuntimeError(f"multi_dot(): expected at least 2 tensors but got {len(tensors)}")
    result = _cheapest_product(list(tensors))
    return result if out is None else out.resize_(result.shape).copy_(result)


def _cheapest_product(matrices):
    first, last = matrices[0], matrices[-1]
    if first.dim() == 1:
        matrices[0] = first.unsqueeze(0)
    if last.dim() == 1:
        matrices[-1] = last.unsqueeze(1)
    sizes = [m.shape[0] for m in matrices] + [matrices[-1].shape[1]]
    # best[i][j]: (multiplications, where to split) of the product of matrices i to j.
    count = len(matrices)
    best = [[(0, i) for i in range(count)] for _ in range(count)]
    for length in range(1, count):
        for i in range(count - length):
            j = i + length
            best[i][j] = min(
                (best[i][k][0] + best[k + 1][j][0] + sizes[i] * sizes[k + 1] * sizes[j + 1], k)
                for k in range(i, j)
            )

    def product(i, j):
        if i == j:
            return matrices[i]
        split = best[i][j][1]
        return torch.mm(product(i, split), product(split + 1, j))

    result = product(0, count - 1)
    if last.dim() == 1:
        result = result.squeeze(1)
    return result.squeeze(0) if first.dim() == 1 else result


def _scalar_type(tensor):
    """ "Float" for torch.float32, as torch's messages say it."""
    return tensor.type().rsplit(".", 1)[1].removesuffix("Tensor")


def vecdot(x, y, *, dim=-1, out=None):
    """The dot products of the vectors along `dim`.

    >>> torch.linalg.vecdot(torch.tensor([[1., 2.]]), torch.tensor([3., 4.]))
    tensor([11.])
    """
    if not x.dtype.is_floating_point:
        raise RuntimeError(
            "linalg.vecdot: Expected a floating point or complex tensor as input. "
            f"Got {_scalar_type(x)}"
        )
    if x.dtype != y.dtype:
        raise RuntimeError(
            "linalg.vecdot: Expected x and y to have the same dtype, but found x of type "
            f"{_scalar_type(x)} and y of type {_scalar_type(y)} instead"
        )
    if x.dim() == y.dim() == 1:
        return torch.dot(x, y, out=out)
    return torch.sum(x * y, dim, out=out)


def diagonal(A, *, offset=0, dim1=-2, dim2=-1):
    """torch.diagonal of the last two dimensions.

    >>> torch.linalg.diagonal(torch.tensor([[1, 2], [3, 4]]))
    tensor([1, 4])
    """
    return torch.diagonal(A, offset, dim1, dim2)


def matrix_power(A, n, *, out=None):
    """The product of n copies of a square matrix.

    >>> torch.linalg.matrix_power(torch.tensor([[1., 1.], [0., 1.]]), 3)
    tensor([[1., 3.],
            [0., 1.]])
    """
    if A.dim() < 2 or A.shape[-1] != A.shape[-2]:
        raise RuntimeError("linalg.matrix_power: A must be batches of square matrices")
    if n < 0:
        raise NotImplementedError("linalg.matrix_power: n < 0 needs the inverse, which is not here")
    result = None
    while n:
        if n & 1:
            result = A.clone() if result is None else torch.matmul(result, A)
        n >>= 1
        if n:
            A = torch.matmul(A, A)
    if result is None:
        one = torch.eye(A.shape[-1], dtype=A.dtype, device=A.device)
        result = one.expand(A.shape).contiguous()
    return result if out is None else out.resize_(result.shape).copy_(result)


# Ops named linalg_... that need nothing more.
globals().update(
    (name.removeprefix("linalg_"), function)
    for name, function in _C._functions.items()
    if name.startswith("linalg_") and name.removeprefix("linalg_") not in globals()
)
_make_overridable(globals())
