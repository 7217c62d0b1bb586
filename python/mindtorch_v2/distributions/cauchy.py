"""The Cauchy distribution."""

import math
from numbers import Number

import mindtorch_v2 as torch
from mindtorch_v2.distributions import constraints
from mindtorch_v2.distributions.distribution import Distribution
from mindtorch_v2.distributions.utils import broadcast_all

__all__ = ["Cauchy"]


class Cauchy(Distribution):
    """A Cauchy distribution with median `loc` and half width `scale` at half height.

    >>> torch.distributions.Cauchy(0.0, 1.0).log_prob(torch.tensor(0.0))
    tensor(-1.1447)
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.real
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        self.loc, self.scale = broadcast_all(loc, scale)
        numbers = isinstance(loc, Number) and isinstance(scale, Number)
        super().__init__(torch.Size() if numbers else self.loc.size(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        return self._expanded(
            Cauchy,
            _instance,
            batch_shape,
            loc=self.loc.expand(batch_shape),
            scale=self.scale.expand(batch_shape),
        )

    def _everywhere(self, value):
        return torch.full(
            self._extended_shape(), value, dtype=self.loc.dtype, device=self.loc.device
        )

    @property
    def mean(self):
        return self._everywhere(math.nan)

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        return self._everywhere(math.inf)

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        noise = torch.empty(shape, dtype=self.loc.dtype, device=self.loc.device).cauchy_()
        return self.loc + noise * self.scale

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        distance = (value - self.loc) / self.scale
        return -math.log(math.pi) - self.scale.log() - (distance**2).log1p()

    def cdf(self, value):
        if self._validate_args:
            self._validate_sample(value)
        return torch.atan((value - self.loc) / self.scale) / math.pi + 0.5

    def icdf(self, value):
        return torch.tan(math.pi * (value - 0.5)) * self.scale + self.loc

    def entropy(self):
        return math.log(4 * math.pi) + self.scale.log()
