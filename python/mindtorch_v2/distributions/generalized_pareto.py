"""The generalized Pareto distribution."""

import math
from numbers import Number

import mindtorch_v2 as torch
from mindtorch_v2.distributions import constraints
from mindtorch_v2.distributions.distribution import Distribution
from mindtorch_v2.distributions.utils import broadcast_all

__all__ = ["GeneralizedPareto"]


class GeneralizedPareto(Distribution):
    """Numbers above `loc`; `concentration` says how heavy the tail is.

    >>> torch.distributions.GeneralizedPareto(0.0, 1.0, 0.5).mean
    tensor(2.)
    """

    arg_constraints = {
        "loc": constraints.real,
        "scale": constraints.positive,
        "concentration": constraints.real,
    }
    has_rsample = True

    def __init__(self, loc, scale, concentration, validate_args=None):
        self.loc, self.scale, self.concentration = broadcast_all(loc, scale, concentration)
        numbers = all(isinstance(value, Number) for value in (loc, scale, concentration))
        super().__init__(torch.Size() if numbers else self.loc.size(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(
            GeneralizedPareto,
            _instance,
            batch_shape,
            loc=self.loc.expand(batch_shape),
            scale=self.scale.expand(batch_shape),
            concentration=self.concentration.expand(batch_shape),
        )

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        return self.icdf(torch.rand(shape, dtype=self.loc.dtype, device=self.loc.device))

    def _split(self):
        """Where the tail is exponential, and concentrations that can be divided by."""
        is_exponential = torch.isclose(self.concentration, torch.zeros_like(self.concentration))
        safe = torch.where(is_exponential, torch.ones_like(self.concentration), self.concentration)
        return is_exponential, safe

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        z = self._z(value)
        is_exponential, k = self._split()
        power = 1 / k + torch.ones_like(z)
        tail = -power * torch.log1p(k * z)
        return -self.scale.log() + torch.where(is_exponential, -z, tail)

    def log_survival_function(self, value):
        """The logarithm of the chance of a larger number."""
        if self._validate_args:
            self._validate_sample(value)
        z = self._z(value)
        is_exponential, k = self._split()
        return torch.where(is_exponential, -z, -torch.log1p(k * z) / k)

    def log_cdf(self, value):
        """The logarithm of the distribution function."""
        return torch.log1p(-torch.exp(self.log_survival_function(value)))

    def cdf(self, value):
        return torch.exp(self.log_cdf(value))

    def icdf(self, value):
        is_exponential, k = self._split()
        logu = torch.log1p(-value)
        tail = self.loc + self.scale * torch.expm1(-k * logu) / k
        return torch.where(is_exponential, self.loc - self.scale * logu, tail)

    def _z(self, x):
        return (x - self.loc) / self.scale

    @property
    def mean(self):
        k = self.concentration
        valid = k < 1
        safe = torch.where(valid, k, 0.5)
        result = self.loc + self.scale / (1 - safe)
        return torch.where(valid, result, torch.full_like(result, math.inf))

    @property
    def variance(self):
        k = self.concentration
        valid = k < 0.5
        safe = torch.where(valid, k, 0.25)
        result = self.scale**2 / ((1 - safe) ** 2 * (1 - 2 * safe))
        return torch.where(valid, result, torch.full_like(result, math.inf))

    def entropy(self):
        entropy = torch.log(self.scale) + self.concentration + 1
        return torch.broadcast_to(entropy, self._batch_shape)

    @property
    def mode(self):
        return self.loc

    @constraints.dependent_property(is_discrete=False, event_dim=0)
    def support(self):
        upper = self.loc - self.scale / self.concentration
        bounded = torch.where(self.concentration < 0, upper, torch.full_like(self.loc, math.inf))
        if bool((self.concentration >= 0).all()):
            return constraints.greater_than_eq(self.loc)
        return constraints.interval(self.loc, bounded)
