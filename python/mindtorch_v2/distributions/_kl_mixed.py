"""Divergences of distributions of two kinds: the cross entropy less the entropy of p.

The cross entropy of q needs a few expectations under p: moments, or the mean of a logarithm.
"""

import math

import mindtorch_v2 as torch
from mindtorch_v2.distributions.bernoulli import Bernoulli
from mindtorch_v2.distributions.beta import Beta
from mindtorch_v2.distributions.binomial import Binomial
from mindtorch_v2.distributions.continuous_bernoulli import ContinuousBernoulli
from mindtorch_v2.distributions.exponential import Exponential
from mindtorch_v2.distributions.gamma import Gamma
from mindtorch_v2.distributions.gumbel import Gumbel
from mindtorch_v2.distributions.kl import _infinite_like, _x_log_x, register_kl
from mindtorch_v2.distributions.laplace import Laplace
from mindtorch_v2.distributions.normal import Normal
from mindtorch_v2.distributions.pareto import Pareto
from mindtorch_v2.distributions.poisson import Poisson
from mindtorch_v2.distributions.uniform import Uniform
from mindtorch_v2.distributions.utils import euler_constant

_UNIT = (Beta, ContinuousBernoulli)
_HALF_LINE = (Exponential, Gamma)
_LINE = (Gumbel, Laplace, Normal)

# Where q is zero and p is not.
_INFINITE = [
    *((p, Pareto) for p in (*_UNIT, *_HALF_LINE, *_LINE)),
    *((p, q) for p in (*_HALF_LINE, *_LINE, Pareto) for q in (*_UNIT, Uniform)),
    *((p, q) for p in _LINE for q in _HALF_LINE),
    (Poisson, Bernoulli),
    (Poisson, Binomial),
]


def _kl_infinite(p, q):
    return _infinite_like(p.mean)


for _pair in _INFINITE:
    register_kl(*_pair)(_kl_infinite)


def _mean_log(p):
    """E[log x]."""
    if isinstance(p, Beta):
        return p.concentration1.digamma() - (p.concentration1 + p.concentration0).digamma()
    if isinstance(p, Exponential):
        return -p.rate.log() - euler_constant
    if isinstance(p, Pareto):
        return p.scale.log() + p.alpha.reciprocal()
    return (_x_log_x(p.high) - _x_log_x(p.low)) / (p.high - p.low) - 1


def _infinite_where(outside, result):
    return torch.where(outside, torch.full_like(result, torch.inf), result)


@register_kl(Bernoulli, Poisson)
def _kl_bernoulli_poisson(p, q):
    return -p.entropy() - (p.probs * q.rate.log() - q.rate)


def _kl_normal(p, q):
    squares = p.variance + (p.mean - q.loc).pow(2)
    cross = q.scale.log() + 0.5 * math.log(2 * math.pi) + squares / (2 * q.scale.pow(2))
    return cross - p.entropy()


for _kind in (*_UNIT, *_HALF_LINE, Gumbel, Laplace, Uniform):
    register_kl(_kind, Normal)(_kl_normal)


@register_kl(Pareto, Normal)
def _kl_pareto_normal(p, q):
    return _infinite_where(p.alpha <= 2, _kl_normal(p, q))


def _kl_exponential(p, q):
    return -q.rate.log() + q.rate * p.mean - p.entropy()


for _kind in (*_UNIT, Gamma):
    register_kl(_kind, Exponential)(_kl_exponential)


@register_kl(Pareto, Exponential)
def _kl_pareto_exponential(p, q):
    return _infinite_where(p.alpha <= 1, _kl_exponential(p, q))


@register_kl(Uniform, Exponential)
def _kl_uniform_exponential(p, q):
    return _infinite_where(p.low < q.support.lower_bound, _kl_exponential(p, q))


def _kl_gamma(p, q):
    constant = q.concentration.lgamma() - q.concentration * q.rate.log()
    cross = constant - (q.concentration - 1) * _mean_log(p) + q.rate * p.mean
    return cross - p.entropy()


for _kind in (Beta, Exponential):
    register_kl(_kind, Gamma)(_kl_gamma)


@register_kl(Pareto, Gamma)
def _kl_pareto_gamma(p, q):
    return _infinite_where(p.alpha <= 1, _kl_gamma(p, q))


@register_kl(Uniform, Gamma)
def _kl_uniform_gamma(p, q):
    return _infinite_where(p.low < q.support.lower_bound, _kl_gamma(p, q))


def _kl_gumbel(p, q, mean_exp):
    """`mean_exp` is E[exp(-(x - loc) / scale)]."""
    return q.scale.log() + (p.mean - q.loc) / q.scale + mean_exp - p.entropy()


@register_kl(Exponential, Gumbel)
def _kl_exponential_gumbel(p, q):
    product = p.rate * q.scale
    return _kl_gumbel(p, q, torch.exp(q.loc / q.scale) * product / (product + 1))


@register_kl(Gamma, Gumbel)
def _kl_gamma_gumbel(p, q):
    base = 1 + (p.rate * q.scale).reciprocal()
    return _kl_gumbel(p, q, torch.exp(q.loc / q.scale) * base.pow(-p.concentration))


@register_kl(Normal, Gumbel)
def _kl_normal_gumbel(p, q):
    exponent = (q.loc - p.loc) / q.scale + 0.5 * (p.scale / q.scale).pow(2)
    return _kl_gumbel(p, q, torch.exp(exponent))


@register_kl(Uniform, Gumbel)
def _kl_uniform_gumbel(p, q):
    low = torch.exp((q.loc - p.low) / q.scale)
    high = torch.exp((q.loc - p.high) / q.scale)
    return _kl_gumbel(p, q, q.scale / (p.high - p.low) * (low - high))


@register_kl(Normal, Laplace)
def _kl_normal_laplace(p, q):
    distance = p.loc - q.loc
    ratio = distance / p.scale
    near = math.sqrt(2 / math.pi) * p.scale * torch.exp(-0.5 * ratio.pow(2))
    mean_distance = near + distance * torch.erf(math.sqrt(0.5) * ratio)
    return torch.log(2 * q.scale) + mean_distance / q.scale - p.entropy()


def _kl_uniform(p, q):
    return torch.log(q.high - q.low) - p.entropy()


@register_kl(Beta, Uniform)
def _kl_beta_uniform(p, q):
    outside = (q.low > p.support.lower_bound) | (q.high < p.support.upper_bound)
    return _infinite_where(outside, _kl_uniform(p, q))


@register_kl(ContinuousBernoulli, Uniform)
def _kl_continuous_bernoulli_uniform(p, q):
    outside = (q.low >= p.support.lower_bound) | (q.high <= p.support.upper_bound)
    return _infinite_where(outside, _kl_uniform(p, q))


@register_kl(Beta, ContinuousBernoulli)
def _kl_continuous_bernoulli(p, q):
    cross = -p.mean * q.logits - torch.log1p(-q.probs) - q._cont_bern_log_norm()
    return cross - p.entropy()


@register_kl(Uniform, ContinuousBernoulli)
def _kl_uniform_continuous_bernoulli(p, q):
    outside = (p.high >= q.support.upper_bound) | (p.low <= q.support.lower_bound)
    return _infinite_where(outside, _kl_continuous_bernoulli(p, q))


@register_kl(Uniform, Beta)
def _kl_uniform_beta(p, q):
    rest = 1 - p.high, 1 - p.low
    mean_log_rest = (_x_log_x(rest[1]) - _x_log_x(rest[0])) / (p.high - p.low) - 1
    log_beta = (
        q.concentration1.lgamma()
        + q.concentration0.lgamma()
        - (q.concentration1 + q.concentration0).lgamma()
    )
    cross = (
        log_beta - (q.concentration1 - 1) * _mean_log(p) - (q.concentration0 - 1) * mean_log_rest
    )
    outside = (p.high > q.support.upper_bound) | (p.low < q.support.lower_bound)
    return _infinite_where(outside, cross - p.entropy())


@register_kl(Uniform, Pareto)
def _kl_uniform_pareto(p, q):
    cross = (q.alpha + 1) * _mean_log(p) - q.alpha.log() - q.alpha * q.scale.log()
    return _infinite_where(p.low < q.support.lower_bound, cross - p.entropy())
