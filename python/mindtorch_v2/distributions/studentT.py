"""Student's t distribution."""

import math

import mindtorch_v2 as torch
from mindtorch_v2.distributions import constraints
from mindtorch_v2.distributions.chi2 import Chi2
from mindtorch_v2.distributions.distribution import Distribution
from mindtorch_v2.distributions.utils import _standard_normal, broadcast_all

__all__ = ["StudentT"]


class StudentT(Distribution):
    """Student's t distribution with `df` degrees of freedom, shifted and scaled.

    >>> torch.distributions.StudentT(torch.tensor([4.0])).variance
    tensor([2.])
    """

    arg_constraints = {
        "df": constraints.positive,
        "loc": constraints.real,
        "scale": constraints.positive,
    }
    support = constraints.real
    has_rsample = True

    def __init__(self, df, loc=0.0, scale=1.0, validate_args=None):
        self.df, self.loc, self.scale = broadcast_all(df, loc, scale)
        self._chi2 = Chi2(self.df)
        super().__init__(self.df.size(), validate_args=validate_args)

    @property
    def mean(self):
        mean = self.loc.clone()
        mean[self.df <= 1] = math.nan
        return mean

    @property
    def mode(self):
        return self.loc

    @property
    def variance(self):
        variance = self.df.clone()
        finite = self.df > 2
        variance[finite] = self.scale[finite].pow(2) * self.df[finite] / (self.df[finite] - 2)
        variance[(self.df <= 2) & (self.df > 1)] = math.inf
        variance[self.df <= 1] = math.nan
        return variance

    def expand(self, batch_shape, _instance=None):
        return self._expanded(
            StudentT,
            _instance,
            batch_shape,
            df=self.df.expand(batch_shape),
            loc=self.loc.expand(batch_shape),
            scale=self.scale.expand(batch_shape),
            _chi2=self._chi2.expand(batch_shape),
        )

    def rsample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        normal = _standard_normal(shape, dtype=self.df.dtype, device=self.df.device)
        chi2 = self._chi2.rsample(sample_shape)
        return self.loc + self.scale * (normal * torch.rsqrt(chi2 / self.df))

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        y = (value - self.loc) / self.scale
        normalizer = (
            self.scale.log()
            + 0.5 * self.df.log()
            + 0.5 * math.log(math.pi)
            + torch.lgamma(0.5 * self.df)
            - torch.lgamma(0.5 * (self.df + 1.0))
        )
        return -0.5 * (self.df + 1.0) * torch.log1p(y**2.0 / self.df) - normalizer

    def entropy(self):
        half = 0.5 * self.df
        log_beta = torch.lgamma(half) + math.lgamma(0.5) - torch.lgamma(0.5 * (self.df + 1))
        difference = torch.digamma(0.5 * (self.df + 1)) - torch.digamma(half)
        return self.scale.log() + 0.5 * (self.df + 1) * difference + 0.5 * self.df.log() + log_beta
