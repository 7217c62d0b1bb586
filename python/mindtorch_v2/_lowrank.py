"""Decompositions of large matrices of low rank, by random projections (Halko et al., 2009)."""

import mindtorch_v2 as torch


class _Difference:
    """A - M by its products, so that A may stay sparse."""

    def __init__(self, A, M):
        self.A, self.M, self.shape, self.dtype, self.device = A, M, A.shape, A.dtype, A.device

    @property
    def mH(self):
        return _Difference(self.A.mH, self.M.mH)

    def to(self, dtype):
        return _Difference(self.A.to(dtype), self.M.to(dtype))

    def __matmul__(self, X):
        return self.A @ X - self.M @ X


def _range_of(A, q, niter):
    """Orthonormal columns that span nearly all that A maps to."""
    dtype = A.dtype if A.dtype.is_floating_point or A.dtype.is_complex else torch.float32
    A = A.to(dtype)
    seen = A @ torch.randn(A.shape[-1], q, dtype=dtype, device=A.device)
    basis = torch.linalg.qr(seen).Q
    for _ in range(2 if niter is None else niter):
        basis = torch.linalg.qr(A.mH @ basis).Q
        basis = torch.linalg.qr(A @ basis).Q
    return basis


def svd_lowrank(A, q=6, niter=2, M=None):
    """U, S and V of the q largest singular values of A - M, nearly.

    >>> torch.svd_lowrank(torch.ones(5, 4), q=1)[1].round(decimals=3)
    tensor([4.4720])
    """
    if M is not None:
        M = M.broadcast_to(A.shape)
        A = A - M if A.layout is torch.strided else _Difference(A, M)
    is_wide = A.shape[-2] < A.shape[-1]
    A = A.mH if is_wide else A
    basis = _range_of(A, 6 if q is None else q, niter)
    U, S, Vh = torch.linalg.svd((A.to(basis.dtype).mH @ basis).mH, full_matrices=False)
    U, V = basis @ U, Vh.mH
    return (V, S, U) if is_wide else (U, S, V)


def pca_lowrank(A, q=None, center=True, niter=2):
    """The q principal components of the rows of A: svd_lowrank of A without its mean.

    >>> torch.pca_lowrank(torch.eye(3), q=2)[1].round(decimals=3)
    tensor([1., 1.])
    """
    rows, columns = A.shape[-2:]
    if q is None:
        q = min(6, rows, columns)
    elif not 0 <= q <= min(rows, columns):
        raise ValueError(
            f"q(={q}) must be non-negative integer and not greater than "
            f"min(m, n)={min(rows, columns)}"
        )
    if not niter >= 0:
        raise ValueError(f"niter(={niter}) must be non-negative integer")
    if center and A.layout is not torch.strided:
        # The matrix stays sparse: its mean is taken from the products.
        mean = torch.sparse.sum(A.to_sparse(), -2).to_dense() / rows
        return svd_lowrank(A, q, niter, mean.unsqueeze(-2).expand(A.shape))
    if center:
        A = A - A.mean(dim=-2, keepdim=True)
    return svd_lowrank(A, q, niter)


def lu(A, pivot=True, get_infos=False, out=None):
    """torch.linalg.lu_factor, and with get_infos which matrices are singular.

    >>> torch.lu(torch.eye(2))[1]
    tensor([1, 2], dtype=torch.int32)
    """
    if get_infos:
        return torch.linalg.lu_factor_ex(A, pivot=pivot, out=out)
    return torch.linalg.lu_factor(A, pivot=pivot, out=out)
