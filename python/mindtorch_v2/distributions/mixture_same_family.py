"""Mixtures of distributions of one family."""

import mindtorch_v2 as torch
from mindtorch_v2.distributions import Categorical, constraints
from mindtorch_v2.distributions.constraints import MixtureSameFamilyConstraint
from mindtorch_v2.distributions.distribution import Distribution

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A mixture: a `Categorical` chooses one of the last batch dimension of the components.

    >>> weights = torch.distributions.Categorical(torch.ones(2))
    >>> parts = torch.distributions.Normal(torch.tensor([-1.0, 3.0]), torch.ones(2))
    >>> torch.distributions.MixtureSameFamily(weights, parts).mean
    tensor(1.)
    """

    arg_constraints = {}
    has_rsample = False

    def __init__(self, mixture_distribution, component_distribution, validate_args=None):
        self._mixture_distribution = mixture_distribution
        self._component_distribution = component_distribution
        if not isinstance(mixture_distribution, Categorical):
            raise ValueError(
                " The Mixture distribution needs to be an  instance of "
                "torch.distributions.Categorical"
            )
        if not isinstance(component_distribution, Distribution):
            raise ValueError(
                "The Component distribution need to be an instance of "
                "torch.distributions.Distribution"
            )
        component_batch = component_distribution.batch_shape[:-1]
        for ours, theirs in zip(
            reversed(mixture_distribution.batch_shape), reversed(component_batch), strict=False
        ):
            if ours != 1 and theirs != 1 and ours != theirs:
                raise ValueError(
                    f"`mixture_distribution.batch_shape` "
                    f"({mixture_distribution.batch_shape}) is not compatible with "
                    f"`component_distribution.batch_shape`({component_batch})"
                )
        count = mixture_distribution.logits.shape[-1]
        components = component_distribution.batch_shape[-1]
        if count is not None and components is not None and count != components:
            raise ValueError(
                f"`mixture_distribution component` ({count}) does not equal "
                f"`component_distribution.batch_shape[-1]` ({components})"
            )
        self._num_component = count
        event_shape = component_distribution.event_shape
        self._event_ndims = len(event_shape)
        super().__init__(component_batch, event_shape, validate_args=validate_args)

    def expand(self, batch_shape, _instance=None):
        batch_shape = torch.Size(batch_shape)
        return self._expanded(
            MixtureSameFamily,
            _instance,
            batch_shape,
            _component_distribution=self._component_distribution.expand(
                batch_shape + (self._num_component,)
            ),
            _mixture_distribution=self._mixture_distribution.expand(batch_shape),
            _num_component=self._num_component,
            _event_ndims=self._event_ndims,
        )

    @constraints.dependent_property
    def support(self):
        return MixtureSameFamilyConstraint(self._component_distribution.support)

    @property
    def mixture_distribution(self):
        return self._mixture_distribution

    @property
    def component_distribution(self):
        return self._component_distribution

    def _weights(self):
        probs = self.mixture_distribution.probs
        return probs.reshape(probs.shape + (1,) * self._event_ndims)

    @property
    def mean(self):
        return torch.sum(
            self._weights() * self.component_distribution.mean, dim=-1 - self._event_ndims
        )

    @property
    def variance(self):
        # The mean of the variances and the variance of the means.
        weights = self._weights()
        dim = -1 - self._event_ndims
        mean_of_variances = torch.sum(weights * self.component_distribution.variance, dim=dim)
        centred = self.component_distribution.mean - self._pad(self.mean)
        return mean_of_variances + torch.sum(weights * centred.pow(2.0), dim=dim)

    def cdf(self, x):
        x = self._pad(x)
        return torch.sum(
            self.component_distribution.cdf(x) * self.mixture_distribution.probs, dim=-1
        )

    def log_prob(self, x):
        if self._validate_args:
            self._validate_sample(x)
        log_prob = self.component_distribution.log_prob(self._pad(x))
        log_weights = torch.log_softmax(self.mixture_distribution.logits, dim=-1)
        return torch.logsumexp(log_prob + log_weights, dim=-1)

    def sample(self, sample_shape=()):
        with torch.no_grad():
            sample_shape = torch.Size(sample_shape)
            gather_dim = len(sample_shape) + len(self.batch_shape)
            chosen = self.mixture_distribution.sample(sample_shape)
            samples = self.component_distribution.sample(sample_shape)
            shape = chosen.shape + (1,) * (1 + self._event_ndims)
            repeats = (1,) * (len(chosen.shape) + 1) + tuple(self.event_shape)
            indices = chosen.reshape(shape).repeat(torch.Size(repeats))
            return torch.gather(samples, gather_dim, indices).squeeze(gather_dim)

    def _pad(self, x):
        return x.unsqueeze(-1 - self._event_ndims)

    def __repr__(self):
        return (
            f"MixtureSameFamily(\n  {self.mixture_distribution},\n  {self.component_distribution})"
        )
