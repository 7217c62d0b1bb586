"""Exponential families."""

import mindtorch_v2 as torch
from mindtorch_v2.distributions.distribution import Distribution

__all__ = ["ExponentialFamily"]


class ExponentialFamily(Distribution):
    """A distribution whose density is exp(<t(x), theta> - F(theta) + k(x)).

    The entropy and the divergence follow from F, its log normalizer, and F's gradient.

    >>> isinstance(torch.distributions.Gamma(1.0, 1.0), torch.distributions.ExponentialFamily)
    True
    """

    @property
    def _natural_params(self):
        raise NotImplementedError

    def _log_normalizer(self, *natural_params):
        raise NotImplementedError

    @property
    def _mean_carrier_measure(self):
        raise NotImplementedError

    def entropy(self):
        """The entropy, from the log normalizer and its gradient."""
        result = -self._mean_carrier_measure
        params = [p.detach().requires_grad_() for p in self._natural_params]
        log_normalizer = self._log_normalizer(*params)
        gradients = torch.autograd.grad(log_normalizer.sum(), params, create_graph=True)
        result += log_normalizer
        for param, gradient in zip(params, gradients, strict=True):
            result -= (param * gradient).reshape(self._batch_shape + (-1,)).sum(-1)
        return result
