"""Transforms to and from lower triangles."""

import mindtorch_v2 as torch
from mindtorch_v2.distributions import constraints
from mindtorch_v2.distributions._transform import Transform
from mindtorch_v2.distributions.utils import tril_matrix_to_vec, vec_to_tril_matrix


class LowerCholeskyTransform(Transform):
    """Any matrix to a lower triangle with a positive diagonal.

    >>> torch.distributions.LowerCholeskyTransform()(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.lower_cholesky

    def __eq__(self, other):
        return isinstance(other, LowerCholeskyTransform)

    __hash__ = object.__hash__

    def _call(self, x):
        return x.tril(-1) + x.diagonal(dim1=-2, dim2=-1).exp().diag_embed()

    def _inverse(self, y):
        return y.tril(-1) + y.diagonal(dim1=-2, dim2=-1).log().diag_embed()


class PositiveDefiniteTransform(Transform):
    """Any matrix to a positive definite one.

    >>> torch.distributions.PositiveDefiniteTransform()(torch.zeros(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.independent(constraints.real, 2)
    codomain = constraints.positive_definite

    def __eq__(self, other):
        return isinstance(other, PositiveDefiniteTransform)

    __hash__ = object.__hash__

    def _call(self, x):
        x = LowerCholeskyTransform()(x)
        return x @ x.mT

    def _inverse(self, y):
        y = torch.linalg.cholesky(y)
        return LowerCholeskyTransform().inv(y)


class CorrCholeskyTransform(Transform):
    """A vector to the Cholesky factor of a correlation matrix.

    tanh of the numbers are partial correlations; each row is filled so that its length is 1.

    >>> torch.distributions.CorrCholeskyTransform()(torch.zeros(1))
    tensor([[1., 0.],
            [0., 1.]])
    """

    domain = constraints.real_vector
    codomain = constraints.corr_cholesky
    bijective = True

    def _call(self, x):
        x = torch.tanh(x)
        eps = torch.finfo(x.dtype).eps
        x = x.clamp(min=-1 + eps, max=1 - eps)
        partial = vec_to_tril_matrix(x, diag=-1)
        # What the squares of a row so far leave of its length.
        rest = (1 - partial**2).sqrt().cumprod(-1)
        factor = partial + torch.eye(partial.shape[-1], dtype=x.dtype, device=x.device)
        return factor * torch.nn.functional.pad(rest[..., :-1], [1, 0], value=1)

    def _inverse(self, y):
        rest = 1 - torch.cumsum(y * y, dim=-1)
        shifted = torch.nn.functional.pad(rest[..., :-1], [1, 0], value=1)
        entries = tril_matrix_to_vec(y, diag=-1)
        t = entries / tril_matrix_to_vec(shifted, diag=-1).sqrt()
        # atanh, by logarithms that keep their digits near 1
        return (t.log1p() - t.neg().log1p()) / 2

    def log_abs_det_jacobian(self, x, y, intermediates=None):
        rest = 1 - (y * y).cumsum(dim=-1)
        row_terms = 0.5 * tril_matrix_to_vec(rest, diag=-2).log().sum(-1)
        tanh_terms = -2 * (x + torch.nn.functional.softplus(-2 * x) - 0.6931471805599453).sum(-1)
        return row_terms + tanh_terms

    def forward_shape(self, shape):
        if len(shape) < 1:
            raise ValueError("Too few dimensions on input")
        count = shape[-1]
        size = round((0.25 + 2 * count) ** 0.5 + 0.5)
        if size * (size - 1) // 2 != count:
            raise ValueError("Input is not a flattened lower-diagonal number")
        return shape[:-1] + (size, size)

    def inverse_shape(self, shape):
        if len(shape) < 2:
            raise ValueError("Too few dimensions on input")
        if shape[-2] != shape[-1]:
            raise ValueError("Input is not square")
        size = shape[-1]
        return shape[:-2] + (size * (size - 1) // 2,)
