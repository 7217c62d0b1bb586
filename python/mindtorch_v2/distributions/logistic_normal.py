"""The logistic-normal distribution."""

from mindtorch_v2.distributions import constraints
from mindtorch_v2.distributions.independent import Independent
from mindtorch_v2.distributions.normal import Normal
from mindtorch_v2.distributions.transformed_distribution import TransformedDistribution
from mindtorch_v2.distributions.transforms import StickBreakingTransform

__all__ = ["LogisticNormal"]


class LogisticNormal(TransformedDistribution):
    """Normal vectors that break a stick: points of the simplex.

    >>> torch.distributions.LogisticNormal(torch.zeros(2), torch.ones(2)).event_shape
    torch.Size([3])
    """

    arg_constraints = {"loc": constraints.real, "scale": constraints.positive}
    support = constraints.simplex
    has_rsample = True

    def __init__(self, loc, scale, validate_args=None):
        base = Normal(loc, scale, validate_args=validate_args)
        if not base.batch_shape:
            base = base.expand([1])
        super().__init__(base, StickBreakingTransform(), validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        new = self._get_checked_instance(LogisticNormal, _instance)
        return super().expand(batch_shape, _instance=new)

    def _normal(self):
        base = self.base_dist
        return base.base_dist if isinstance(base, Independent) else base

    @property
    def loc(self):
        return self._normal().loc

    @property
    def scale(self):
        return self._normal().scale
