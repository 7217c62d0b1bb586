"""What distributions share: broadcasting, probabilities and logits, lower triangles.

>>> torch.distributions.utils.logits_to_probs(torch.tensor([0.0]), is_binary=True)
tensor([0.5000])
"""

from functools import update_wrapper
from numbers import Number

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F

__all__ = [
    "broadcast_all",
    "clamp_probs",
    "euler_constant",
    "lazy_property",
    "logits_to_probs",
    "probs_to_logits",
    "tril_matrix_to_vec",
    "vec_to_tril_matrix",
]

euler_constant = 0.57721566490153286060


def broadcast_all(*values):
    """Tensors of one shape from tensors and numbers.

    >>> torch.distributions.utils.broadcast_all(1.0, torch.zeros(2))
    (tensor([1., 1.]), tensor([0., 0.]))
    """
    if not all(isinstance(value, (torch.Tensor, Number)) for value in values):
        raise ValueError(
            "Input arguments must all be instances of Number, torch.Tensor or objects "
            "implementing __torch_function__."
        )
    options = {"dtype": torch.get_default_dtype()}
    for value in values:
        if isinstance(value, torch.Tensor):
            options = {"dtype": value.dtype, "device": value.device}
            break
    tensors = [
        value if isinstance(value, torch.Tensor) else torch.tensor(value, **options)
        for value in values
    ]
    return torch.broadcast_tensors(*tensors)


def _finfo(tensor):
    return torch.finfo(tensor.dtype)


def _standard_normal(shape, dtype, device):
    return torch.normal(
        torch.zeros(shape, dtype=dtype, device=device),
        torch.ones(shape, dtype=dtype, device=device),
    )


def _uniform(shape, like, low=0.0, high=1.0):
    """Uniform numbers of the dtype and device of a tensor."""
    return torch.empty(shape, dtype=like.dtype, device=like.device).uniform_(low, high)


def _sum_rightmost(value, dim):
    """The sum over the last `dim` dimensions.

    >>> torch.distributions.utils._sum_rightmost(torch.ones(2, 3), 1)
    tensor([3., 3.])
    """
    if dim == 0:
        return value
    return value.reshape(value.shape[:-dim] + (-1,)).sum(-1)


def logits_to_probs(logits, is_binary=False):
    """Probabilities from logits: a sigmoid, or a softmax over the last dimension.

    >>> torch.distributions.utils.logits_to_probs(torch.zeros(2))
    tensor([0.5000, 0.5000])
    """
    return torch.sigmoid(logits) if is_binary else F.softmax(logits, dim=-1)


def clamp_probs(probs):
    """Probabilities kept a rounding error away from 0 and 1.

    >>> torch.distributions.utils.clamp_probs(torch.tensor([0.0])) > 0
    tensor([True])
    """
    eps = _finfo(probs).eps
    return probs.clamp(min=eps, max=1 - eps)


def probs_to_logits(probs, is_binary=False):
    """Logits from probabilities.

    >>> torch.distributions.utils.probs_to_logits(torch.tensor([0.5]), is_binary=True)
    tensor([0.])
    """
    clamped = clamp_probs(probs)
    if is_binary:
        return torch.log(clamped) - torch.log1p(-clamped)
    return torch.log(clamped)


class lazy_property:
    """A property that is computed when first read, and kept.

    >>> torch.distributions.Bernoulli(0.5).logits
    tensor(0.)
    """

    def __init__(self, wrapped):
        self.wrapped = wrapped
        update_wrapper(self, wrapped)

    def __get__(self, instance, owner=None):
        if instance is None:
            return _lazy_property_and_property(self.wrapped)
        with torch.enable_grad():
            value = self.wrapped(instance)
        setattr(instance, self.wrapped.__name__, value)
        return value


class _lazy_property_and_property(lazy_property, property):
    """What a class shows for a lazy property, for tools that read properties."""

    def __init__(self, wrapped):
        property.__init__(self, wrapped)


def tril_matrix_to_vec(mat, diag=0):
    """The lower triangle of matrices as vectors, row by row.

    >>> torch.distributions.utils.tril_matrix_to_vec(torch.tensor([[1.0, 0.0], [2.0, 3.0]]))
    tensor([1., 2., 3.])
    """
    n = mat.shape[-1]
    if not -n <= diag < n:
        raise ValueError(f"diag ({diag}) provided is outside [{-n}, {n - 1}].")
    mask = torch.ones(n, n, dtype=torch.bool, device=mat.device).tril(diag)
    rows, columns = mask.nonzero(as_tuple=True)
    return mat[..., rows, columns]


def vec_to_tril_matrix(vec, diag=0):
    """Matrices whose lower triangles are the given vectors, zero above.

    >>> torch.distributions.utils.vec_to_tril_matrix(torch.tensor([1.0, 2.0, 3.0]))
    tensor([[1., 0.],
            [2., 3.]])
    """
    # d (d + 1) / 2 numbers up to the diagonal, shifted by diag
    count = vec.shape[-1]
    n = (
        -(1 + 2 * diag) + ((1 + 2 * diag) ** 2 + 8 * count + 4 * abs(diag) * (diag + 1)) ** 0.5
    ) / 2
    if round(n) - n > torch.finfo(vec.dtype).eps:
        raise ValueError(
            f"The size of last dimension is {count} which cannot be expressed as "
            "the lower triangular part of a square D x D matrix."
        )
    n = round(n.real) if isinstance(n, complex) else round(n)
    mask = torch.ones(n, n, dtype=torch.bool, device=vec.device).tril(diag)
    rows, columns = mask.nonzero(as_tuple=True)
    matrix = torch.zeros(vec.shape[:-1] + (n, n), dtype=vec.dtype, device=vec.device)
    matrix[..., rows, columns] = vec
    return matrix
