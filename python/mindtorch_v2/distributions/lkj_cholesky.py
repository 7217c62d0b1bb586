"""The LKJ distribution of correlation matrices."""

import math

import mindtorch_v2 as torch
from mindtorch_v2.distributions import Beta, constraints
from mindtorch_v2.distributions.distribution import Distribution
from mindtorch_v2.distributions.utils import broadcast_all

__all__ = ["LKJCholesky"]


class LKJCholesky(Distribution):
    """Cholesky factors of correlation matrices; the larger `concentration`, the nearer to I.

    Samples are made by the onion method of Lewandowski, Kurowicka and Joe (2009).

    >>> torch.distributions.LKJCholesky(3).event_shape
    torch.Size([3, 3])
    """

    arg_constraints = {"concentration": constraints.positive}
    support = constraints.corr_cholesky

    def __init__(self, dim, concentration=1.0, validate_args=None):
        if dim < 2:
            raise ValueError(
                f"Expected dim to be an integer greater than or equal to 2. Found dim={dim}."
            )
        self.dim = dim
        (self.concentration,) = broadcast_all(concentration)
        batch_shape = self.concentration.size()
        event_shape = torch.Size((dim, dim))
        # The squared length of each row without its last number.
        marginal = self.concentration + 0.5 * (self.dim - 2)
        offset = torch.arange(
            self.dim - 1, dtype=self.concentration.dtype, device=self.concentration.device
        )
        offset = torch.cat([offset.new_zeros((1,)), offset])
        self._beta = Beta(offset + 0.5, marginal.unsqueeze(-1) - 0.5 * offset)
        super().__init__(batch_shape, event_shape, validate_args)

    def expand(self, batch_shape, _instance=None):
        batch_shape = torch.Size(batch_shape)
        return self._expanded(
            LKJCholesky,
            _instance,
            batch_shape,
            dim=self.dim,
            concentration=self.concentration.expand(batch_shape),
            _beta=self._beta.expand(batch_shape + (self.dim,)),
        )

    def sample(self, sample_shape=()):
        y = self._beta.sample(sample_shape).unsqueeze(-1)
        u_normal = torch.randn(
            self._extended_shape(sample_shape), dtype=y.dtype, device=y.device
        ).tril(-1)
        u_hypersphere = u_normal / u_normal.norm(dim=-1, keepdim=True)
        # The first row has no direction.
        u_hypersphere[..., 0, :].fill_(0.0)
        w = torch.sqrt(y) * u_hypersphere
        eps = torch.finfo(w.dtype).tiny
        diagonal = torch.clamp(1 - torch.sum(w**2, dim=-1), min=eps).sqrt()
        w += torch.diag_embed(diagonal)
        return w

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        diagonal = value.diagonal(dim1=-1, dim2=-2)[..., 1:]
        order = torch.arange(2, self.dim + 1, device=self.concentration.device)
        order = 2 * (self.concentration - 1).unsqueeze(-1) + self.dim - order
        unnormalized = torch.sum(order * diagonal.log(), dim=-1)
        # Page 1999 of the paper.
        less_one = self.dim - 1
        alpha = self.concentration + 0.5 * less_one
        denominator = torch.lgamma(alpha) * less_one
        numerator = torch.mvlgamma(alpha - 0.5, less_one)
        pi_constant = 0.5 * less_one * math.log(math.pi)
        return unnormalized - (pi_constant + numerator - denominator)
