"""torch.distributions: samples, densities, moments and divergences."""

import math

import pytest

from tests.distributions.configurations import CONFIGURATIONS, label, make

each = pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=label)


def read(property_of, name):
    try:
        return getattr(property_of, name)
    except NotImplementedError:
        return None


@each
def test_samples_lie_in_the_support_and_have_a_density(torch, configuration):
    torch.manual_seed(1)
    distribution = make(torch, configuration)
    samples = distribution.sample((7, 2))
    assert samples.shape == (7, 2, *distribution.batch_shape, *distribution.event_shape)
    assert bool(distribution.support.check(samples).all())
    log_prob = distribution.log_prob(samples)
    assert log_prob.shape == (7, 2, *distribution.batch_shape)
    assert bool(log_prob.isfinite().all())


@each
def test_moments_are_those_of_many_samples(torch, configuration):
    torch.manual_seed(2)
    distribution = make(torch, configuration)
    mean, variance = read(distribution, "mean"), read(distribution, "variance")
    if mean is None or variance is None or configuration[0] == "VonMises":
        return
    samples = distribution.sample((4000,)).double()
    finite = variance.isfinite() & mean.isfinite()
    allowed = 6 * (variance / 4000).sqrt()
    assert bool(((samples.mean(0) - mean).abs() <= allowed)[finite].all())


@each
def test_expand_keeps_the_density(torch, configuration):
    torch.manual_seed(3)
    distribution = make(torch, configuration)
    samples = distribution.sample((3,))
    wide = distribution.expand((3, *distribution.batch_shape))
    assert wide.batch_shape == (3, *distribution.batch_shape)
    assert wide.event_shape == distribution.event_shape
    assert torch.allclose(wide.log_prob(samples), distribution.log_prob(samples), atol=1e-5)


@each
def test_entropy_is_the_mean_of_minus_log_prob(torch, configuration):
    torch.manual_seed(4)
    distribution = make(torch, configuration)
    try:
        entropy = distribution.entropy()
    except NotImplementedError:
        return
    surprise = -distribution.log_prob(distribution.sample((4000,))).double()
    allowed = 6 * surprise.std(0) / math.sqrt(4000) + 1e-4
    assert bool(((surprise.mean(0) - entropy).abs() <= allowed).all())


@each
def test_icdf_undoes_cdf(torch, configuration):
    distribution = make(torch, configuration)
    places = torch.tensor([0.1, 0.5, 0.9]).reshape(3, *[1] * len(distribution.batch_shape))
    try:
        values = distribution.icdf(places.expand(3, *distribution.batch_shape))
        back = distribution.cdf(values)
    except NotImplementedError:
        return
    assert torch.allclose(back, places.expand_as(back), atol=1e-4)


@each
def test_gradients_reach_the_parameters(torch, configuration):
    torch.manual_seed(5)
    name, args, kwargs = configuration
    if not any(isinstance(value, list) for value in args):
        return
    leaves = []

    def leaf(value):
        if not isinstance(value, list):
            return value
        leaves.append(torch.tensor(value).requires_grad_())
        return leaves[-1]

    args = [leaf(value) for value in args]
    kwargs = {key: leaf(value) for key, value in kwargs.items()}
    distribution = getattr(torch.distributions, name)(*args, **kwargs)
    loss = distribution.log_prob(distribution.sample((3,))).sum()
    if distribution.has_rsample:
        loss = loss + distribution.rsample((3,)).square().sum()
    loss.backward()
    assert all(x.grad is None or bool(x.grad.isfinite().all()) for x in leaves)
    assert any(x.grad is not None and bool((x.grad != 0).any()) for x in leaves)


# torch's numbers for seed 0.
SAMPLES = {
    "_standard_gamma": (
        ([0.3, 1.0, 7.0, 40.0],),
        [5.9069516e-06, 0.1189837, 7.0894022, 35.9684296],
    ),
    "_sample_dirichlet": (
        ([[0.5, 1.0, 4.0], [3.0, 0.2, 9.0]],),
        [
            [0.00019242313283029944, 0.02900485135614872, 0.9708027243614197],
            [0.16183535754680634, 0.006945376750081778, 0.8312192559242249],
        ],
    ),
    "poisson": (([0.5, 4.0, 30.0, 300.0],), [2.0, 5.0, 26.0, 282.0]),
    "binomial": (([10.0, 100.0, 30.0, 1000.0], [0.2, 0.7, 0.9, 0.03]), [5.0, 75.0, 27.0, 28.0]),
}


@pytest.mark.parametrize("name", SAMPLES)
def test_numbers_of_a_seed(torch, name):
    arguments, want = SAMPLES[name]
    torch.manual_seed(0)
    got = getattr(torch, name)(*(torch.tensor(argument) for argument in arguments))
    assert torch.allclose(got, torch.tensor(want), rtol=1e-6)


def test_a_sample_moves_with_its_shape_as_its_place_says(torch):
    """-(d cdf / d shape) / pdf, by differences of the distribution function."""
    shape, step = torch.tensor([0.3, 1.0, 5.0, 60.0], dtype=torch.float64), 1e-5
    for factor in (0.2, 0.9, 1.0, 1.3, 2.0):
        x = shape * factor
        slope = (torch.igamma(shape + step, x) - torch.igamma(shape - step, x)) / (2 * step)
        density = torch.exp((shape - 1) * x.log() - x - shape.lgamma())
        got = torch._standard_gamma_grad(shape, x)
        assert torch.allclose((got * density), -slope, rtol=1e-5, atol=1e-9)


def test_bad_arguments(torch):
    with pytest.raises(ValueError, match="Expected parameter scale .* to satisfy the constraint"):
        torch.distributions.Normal(0.0, -1.0)
    with pytest.raises(ValueError, match="to be within the support"):
        torch.distributions.Exponential(1.0).log_prob(torch.tensor(-1.0))
    with pytest.raises(ValueError, match="Either `probs` or `logits`"):
        torch.distributions.Bernoulli()
    with pytest.raises(ValueError, match="must match event_shape"):
        torch.distributions.Dirichlet(torch.ones(3)).log_prob(torch.ones(2) / 2)
    unchecked = torch.distributions.Normal(0.0, -1.0, validate_args=False)
    assert float(unchecked.scale) == -1
    with pytest.raises(NotImplementedError, match="No KL"):
        torch.distributions.kl_divergence(
            torch.distributions.Cauchy(0.0, 1.0), torch.distributions.Normal(0.0, 1.0)
        )


def test_divergences_are_means_of_the_difference(torch):
    torch.manual_seed(6)
    d = torch.distributions
    pairs = [
        (d.Normal(0.0, 1.0), d.Normal(1.0, 2.0)),
        (d.Normal(0.0, 1.0), d.Laplace(1.0, 2.0)),
        (d.Normal(0.0, 0.5), d.Gumbel(1.0, 2.0)),
        (d.Gamma(2.0, 1.0), d.Gamma(3.0, 2.0)),
        (d.Gamma(2.0, 1.0), d.Exponential(0.5)),
        (d.Gamma(2.0, 3.0), d.Gumbel(0.5, 1.0)),
        (d.Beta(2.0, 3.0), d.Beta(1.0, 2.0)),
        (d.Beta(2.0, 3.0), d.Gamma(1.5, 2.0)),
        (d.Exponential(1.0), d.Gumbel(0.0, 1.0)),
        (d.Uniform(0.1, 0.6), d.Beta(2.0, 3.0)),
        (d.Uniform(2.0, 3.0), d.Pareto(1.0, 2.0)),
        (d.Pareto(1.0, 5.0), d.Gamma(2.0, 1.0)),
        (d.Gumbel(0.0, 1.0), d.Normal(0.5, 2.0)),
        (d.Laplace(0.0, 1.0), d.Laplace(1.0, 2.0)),
        (d.Poisson(3.0), d.Poisson(4.0)),
    ]
    for p, q in pairs:
        samples = p.sample((20000,))
        difference = (p.log_prob(samples) - q.log_prob(samples)).double()
        allowed = 6 * float(difference.std()) / math.sqrt(20000) + 1e-4
        assert abs(float(d.kl_divergence(p, q)) - float(difference.mean())) < allowed, (p, q)


def test_transforms_invert_and_know_their_jacobian(torch):
    d = torch.distributions
    x = torch.linspace(-1.5, 1.5, 7, dtype=torch.float64)
    normal = d.Normal(torch.zeros((), dtype=torch.float64), torch.ones((), dtype=torch.float64))
    transforms = [
        d.ExpTransform(),
        d.SigmoidTransform(),
        d.TanhTransform(),
        d.SoftplusTransform(),
        d.AffineTransform(1.0, -2.0),
        d.CumulativeDistributionTransform(normal),
        d.ComposeTransform([d.AffineTransform(1.0, 2.0), d.TanhTransform()]),
    ]
    for transform in transforms:
        y = transform(x)
        assert torch.allclose(transform.inv(y), x), transform
        slope = (transform(x + 1e-6) - transform(x - 1e-6)) / 2e-6
        got = transform.log_abs_det_jacobian(x, y)
        assert torch.allclose(got, slope.abs().log(), atol=1e-6), transform
    stick = d.StickBreakingTransform()
    assert torch.allclose(stick(x).sum(), torch.tensor(1.0, dtype=torch.float64))
    assert torch.allclose(stick.inv(stick(x)), x)
    assert repr(d.ExpTransform().inv) == "_InverseTransform(ExpTransform())"


def test_constraints_lead_to_transforms(torch):
    d, c = torch.distributions, torch.distributions.constraints
    x = torch.linspace(-2, 2, 5)
    for constraint in (
        c.positive, c.unit_interval, c.greater_than(2.0), c.less_than(-1.0),
        c.interval(1.0, 3.0), c.simplex, c.real, c.real_vector,
    ):  # fmt: skip
        for registry in (d.biject_to, d.transform_to):
            assert bool(constraint.check(registry(constraint)(x)).all()), constraint
    with pytest.raises(NotImplementedError, match="Cannot transform"):
        d.biject_to(c.boolean)
