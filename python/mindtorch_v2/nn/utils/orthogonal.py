"""Weights with orthonormal rows or columns, as a parametrization."""

import mindtorch_v2 as torch
from mindtorch_v2.nn.modules.module import Module
from mindtorch_v2.nn.utils import parametrize

_MAPS = ("matrix_exp", "cayley", "householder")


def _is_orthogonal(matrix):
    rows, columns = matrix.shape[-2:]
    identity = torch.eye(columns, dtype=matrix.dtype, device=matrix.device)
    error = 10 * rows * torch.finfo(matrix.dtype).eps
    return torch.allclose(matrix.mH @ matrix, identity, atol=error)


def _made_orthogonal(matrix):
    """Q of matrix = Q R where the diagonal of R is positive."""
    q, r = torch.linalg.qr(matrix)
    return q * r.diagonal(dim1=-2, dim2=-1).sgn().unsqueeze(-2)


class _Orthogonal(Module):
    """From any matrix to an orthogonal one, times `base` where there is one."""

    def __init__(self, weight, orthogonal_map, *, use_trivialization=True):
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError("The householder parametrization does not support complex tensors.")
        self.orthogonal_map = orthogonal_map
        self.shape = weight.shape
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X):
        is_wide = X.size(-2) < X.size(-1)
        X = X.mT if is_wide else X
        Q = self._reflections(X) if self.orthogonal_map == "householder" else self._rotation(X)
        if getattr(self, "base", None) is not None:
            Q = self.base @ Q
        return Q.mT if is_wide else Q

    def _rotation(self, X):
        """Of the skew-symmetric matrix that the lower triangle of X makes."""
        rows, columns = X.shape[-2:]
        lower = X.tril()
        if rows != columns:
            lower = torch.nn.functional.pad(lower, (0, rows - columns))
        A = lower - lower.mH
        if self.orthogonal_map == "matrix_exp":
            Q = torch.linalg.matrix_exp(A)
        else:
            identity = torch.eye(rows, dtype=A.dtype, device=A.device)
            Q = torch.linalg.solve(identity - A / 2, identity + A / 2)
        return Q[..., :columns]

    def _reflections(self, X):
        """Of the vectors below the diagonal of X, whose signs are those of the columns."""
        A = X.tril(-1)
        tau = 2.0 / (1.0 + (A * A).sum(dim=-2))
        Q = torch.linalg.householder_product(A, tau)
        return Q * X.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)

    @torch.no_grad()
    def right_inverse(self, Q):
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. "
                f"Got a tensor of shape {Q.shape}."
            )
        is_wide = Q.size(-2) < Q.size(-1)
        Q = Q.mT if is_wide else Q
        X = self._with_base(Q) if hasattr(self, "base") else self._without_base(Q)
        return X.mT if is_wide else X

    def _without_base(self, Q):
        if self.orthogonal_map != "householder":
            raise NotImplementedError(
                "It is not possible to assign to the matrix exponential or the Cayley "
                "parametrizations when use_trivialization=False."
            )
        A, tau = torch.geqrf(Q)
        diagonal = A.diagonal(dim1=-2, dim2=-1)
        diagonal.sign_()
        # A reflection that does nothing is one with the other sign.
        diagonal[tau == 0.0] *= -1
        return A

    def _with_base(self, Q):
        rows, columns = Q.shape[-2:]
        if rows == columns:
            self.base = Q.clone() if _is_orthogonal(Q) else _made_orthogonal(Q)
        else:
            rest = torch.randn(*Q.shape[:-2], rows, rows - columns, dtype=Q.dtype, device=Q.device)
            self.base = _made_orthogonal(torch.cat([Q, rest], dim=-1))
        # Signs of minus one: what the reflections of no vector need, and nothing to the others.
        X = torch.zeros_like(Q)
        X.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
        return X


def orthogonal(module, name="weight", orthogonal_map=None, *, use_trivialization=True):
    """Trains a weight among the matrices whose rows or columns, the fewer, are orthonormal.

    >>> layer = torch.nn.utils.parametrizations.orthogonal(torch.nn.Linear(3, 2))
    >>> torch.allclose(layer.weight @ layer.weight.T, torch.eye(2), atol=1e-5)
    True
    """
    weight = getattr(module, name, None)
    if not isinstance(weight, torch.Tensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    if weight.ndim < 2:
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.ndim} dimensions."
        )
    if orthogonal_map is None:
        is_square = weight.size(-2) == weight.size(-1)
        orthogonal_map = "matrix_exp" if is_square or weight.is_complex() else "householder"
    if orthogonal_map not in _MAPS:
        raise ValueError(
            'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". '
            f"Got: {orthogonal_map}"
        )
    made = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    parametrize.register_parametrization(module, name, made, unsafe=True)
    return module
