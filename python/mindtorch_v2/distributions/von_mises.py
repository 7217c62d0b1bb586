"""The von Mises distribution."""

import math

import mindtorch_v2 as torch
from mindtorch_v2.distributions import constraints
from mindtorch_v2.distributions.distribution import Distribution
from mindtorch_v2.distributions.utils import broadcast_all, lazy_property

__all__ = ["VonMises"]


def _log_i0(x):
    return x.abs() + torch.special.i0e(x).log()


def _log_i1(x):
    return x.abs() + torch.special.i1e(x).log()


def _draw_by_rejection(loc, concentration, proposal_r, shape):
    """Best and Fisher's method (1979), for all places until each has its number."""
    x = torch.empty(shape, dtype=loc.dtype, device=loc.device)
    done = torch.zeros(shape, dtype=torch.bool, device=loc.device)
    while not done.all():
        u1, u2, u3 = torch.rand((3, *shape), dtype=loc.dtype, device=loc.device).unbind()
        z = torch.cos(math.pi * u1)
        f = (1 + proposal_r * z) / (proposal_r + z)
        c = concentration * (proposal_r - f)
        accept = ((c * (2 - c) - u2) > 0) | ((c / u2).log() + 1 - c >= 0)
        if accept.any():
            x = torch.where(accept, (u3 - 0.5).sign() * f.acos(), x)
            done = done | accept
    return (x + math.pi + loc) % (2 * math.pi) - math.pi


class VonMises(Distribution):
    """Angles around `loc`; the larger the concentration, the closer.

    >>> torch.distributions.VonMises(torch.tensor([1.0]), torch.tensor([1.0])).mean
    tensor([1.])
    """

    arg_constraints = {"loc": constraints.real, "concentration": constraints.positive}
    support = constraints.real
    has_rsample = False

    def __init__(self, loc, concentration, validate_args=None):
        self.loc, self.concentration = broadcast_all(loc, concentration)
        super().__init__(self.loc.shape, torch.Size(), validate_args)

    def log_prob(self, value):
        if self._validate_args:
            self._validate_sample(value)
        cosine = self.concentration * torch.cos(value - self.loc)
        return cosine - math.log(2 * math.pi) - _log_i0(self.concentration)

    @lazy_property
    def _loc(self):
        return self.loc.to(torch.double)

    @lazy_property
    def _concentration(self):
        return self.concentration.to(torch.double)

    @lazy_property
    def _proposal_r(self):
        kappa = self._concentration
        tau = 1 + (1 + 4 * kappa**2).sqrt()
        rho = (tau - (2 * tau).sqrt()) / (2 * kappa)
        proposal = (1 + rho**2) / (2 * rho)
        # The formula loses its digits where kappa is small.
        taylor = 1 / kappa + kappa
        return torch.where(kappa < 1e-5, taylor, proposal)

    @torch.no_grad()
    def sample(self, sample_shape=()):
        shape = self._extended_shape(sample_shape)
        return _draw_by_rejection(self._loc, self._concentration, self._proposal_r, shape).to(
            self.loc.dtype
        )

    def expand(self, batch_shape, _instance=None):
        try:
            return super().expand(batch_shape)
        except NotImplementedError:
            validate_args = self.__dict__.get("_validate_args")
            return type(self)(
                self.loc.expand(batch_shape),
                self.concentration.expand(batch_shape),
                validate_args=validate_args,
            )

    @property
    def mean(self):
        return self.loc

    @property
    def mode(self):
        return self.loc

    @lazy_property
    def variance(self):
        """The circular variance."""
        return 1 - (_log_i1(self.concentration) - _log_i0(self.concentration)).exp()
