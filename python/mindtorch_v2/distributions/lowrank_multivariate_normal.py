"""The multivariate normal distribution with a covariance of low rank."""

import math

import mindtorch_v2 as torch
from mindtorch_v2.distributions import constraints
from mindtorch_v2.distributions.distribution import Distribution
from mindtorch_v2.distributions.multivariate_normal import _batch_mahalanobis, _batch_mv
from mindtorch_v2.distributions.utils import _standard_normal, lazy_property

__all__ = ["LowRankMultivariateNormal"]


def _capacitance_tril(factor, diagonal):
    """The Cholesky factor of I + W^T D^-1 W, a small matrix that stands for the large one."""
    scaled = factor.mT / diagonal.unsqueeze(-2)
    small = torch.matmul(scaled, factor).contiguous()
    identity = torch.eye(factor.size(-1), dtype=small.dtype, device=small.device)
    return torch.linalg.cholesky(small + identity)


def _log_det(diagonal, capacitance_tril):
    """log |W W^T + D|, by the matrix determinant lemma."""
    small = capacitance_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)
    return 2 * small + diagonal.log().sum(-1)


def _mahalanobis(factor, diagonal, vectors, capacitance_tril):
    """x^T (W W^T + D)^-1 x, by Woodbury's formula."""
    scaled = factor.mT / diagonal.unsqueeze(-2)
    projected = _batch_mv(scaled, vectors)
    whole = (vectors.pow(2) / diagonal).sum(-1)
    return whole - _batch_mahalanobis(capacitance_tril, projected)


class LowRankMultivariateNormal(Distribution):
    """A normal vector with covariance cov_factor @ cov_factor.T + diag(cov_diag).

    >>> normal = torch.distributions.LowRankMultivariateNormal(
    ...     torch.zeros(2), torch.tensor([[1.0], [0.0]]), torch.ones(2)
    ... )
    >>> normal.variance
    tensor([2., 1.])
    """

    arg_constraints = {
        "loc": constraints.real_vector,
        "cov_factor": constraints.independent(constraints.real, 2),
        "cov_diag": constraints.independent(constraints.positive, 1),
    }
    support = constraints.real_vector
    has_rsample = True

    def __init__(self, loc, cov_factor, cov_diag, validate_args=None):
        if loc.dim() < 1:
            raise ValueError("loc must be at least one-dimensional.")
        event_shape = loc.shape[-1:]
        if cov_factor.dim() < 2:
            raise ValueError(
                "cov_factor must be at least two-dimensional, "
                "with optional leading batch dimensions"
            )
        if cov_factor.shape[-2:-1] != event_shape:
            raise ValueError(
                f"cov_factor must be a batch of matrices with shape {event_shape[0]} x m"
            )
        if cov_diag.shape[-1:] != event_shape:
            raise ValueError(f"cov_diag must be a batch of vectors with shape {event_shape}")
        loc_ = loc.unsqueeze(-1)
        cov_diag_ = cov_diag.unsqueeze(-1)
        try:
            loc_, self.cov_factor, cov_diag_ = torch.broadcast_tensors(loc_, cov_factor, cov_diag_)
        except RuntimeError as e:
            raise ValueError(
                f"Incompatible batch shapes: loc {loc.shape}, cov_factor {cov_factor.shape}, "
                f"cov_diag {cov_diag.shape}"
            ) from e
        self.loc = loc_[..., 0]
        self.cov_diag = cov_diag_[..., 0]
        self._unbroadcasted_cov_factor = cov_factor
        self._unbroadcasted_cov_diag = cov_diag
        self._capacitance_tril = _capacitance_tril(cov_factor, cov_diag)
        super().__init__(self.loc.shape[:-1], event_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        batch_shape = torch.Size(batch_shape)
        loc_shape = batch_shape + self.event_shape
        return self._expanded(
            LowRankMultivariateNormal,
            _instance,
            batch_shape,
            loc=self.loc.expand(loc_shape),
            cov_diag=self.cov_diag.expand(loc_shape),
            cov_factor=self.cov_factor.expand(loc_shape + self.cov_factor.shape[-1:]),
            _unbroadcasted_cov_factor=self._unbroadcasted_cov_factor,
            _unbroadcasted_cov_diag=self._unbroadcasted_cov_diag,
            _capacitance_tril=self._capacitance_tril,
        )

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @lazy_property
    def variance(self):
        squares = self._unbroadcasted_cov_factor.pow(2).sum(-1) + self._unbroadcasted_cov_diag
        return squares.expand(self._batch_shape + self._event_shape)

    def _matrix_shape(self):
        return self._batch_shape + self._event_shape + self._event_shape

    @lazy_property
    def scale_tril(self):
        # D**(1/2) times the factor of I + D**(-1/2) W W^T D**(-1/2), which is well conditioned
        root = self._unbroadcasted_cov_diag.sqrt().unsqueeze(-1)
        scaled = self._unbroadcasted_cov_factor / root
        inner = torch.matmul(scaled, scaled.mT).contiguous()
        identity = torch.eye(inner.size(-1), dtype=inner.dtype, device=inner.device)
        return (root * torch.linalg.cholesky(inner + identity)).expand(self._matrix_shape())

    @lazy_property
    def covariance_matrix(self):
        factor = self._unbroadcasted_cov_factor
        covariance = torch.matmul(factor, factor.mT) + torch.diag_embed(
            self._unbroadcasted_cov_diag
        )
        return covariance.expand(self._matrix_shape())

    @lazy_property
    def precision_matrix(self):
        # Woodbury's formula
        scaled = self._unbroadcasted_cov_factor.mT / self._unbroadcasted_cov_diag.unsqueeze(-2)
        inner = torch.linalg.solve_triangular(self._capacitance_tril, scaled, upper=False)
        precision = torch.diag_embed(self._unbroadcasted_cov_diag.reciprocal()) - (inner.mT @ inner)
        return precision.expand(self._matrix_shape())

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        factor_shape = shape[:-1] + self.cov_factor.shape[-1:]
        options = {"dtype": self.loc.dtype, "device": self.loc.device}
        noise_factor = _standard_normal(factor_shape, **options)
        noise_diagonal = _standard_normal(shape, **options)
        return (
            self.loc
            + _batch_mv(self._unbroadcasted_cov_factor, noise_factor)
            + self._unbroadcasted_cov_diag.sqrt() * noise_diagonal
        )

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        distance = _mahalanobis(
            self._unbroadcasted_cov_factor,
            self._unbroadcasted_cov_diag,
            value - self.loc,
            self._capacitance_tril,
        )
        log_det = _log_det(self._unbroadcasted_cov_diag, self._capacitance_tril)
        constant = self._event_shape[0] * math.log(2 * math.pi)
        return -0.5 * (constant + log_det + distance)

    def entropy(self):
        log_det = _log_det(self._unbroadcasted_cov_diag, self._capacitance_tril)
        entropy = 0.5 * (self._event_shape[0] * (1.0 + math.log(2 * math.pi)) + log_det)
        return entropy if not self._batch_shape else entropy.expand(self._batch_shape)
