"""Distributions with their arguments, as data: lists become tensors."""

COVARIANCE = [[2.0, 0.5], [0.5, 1.0]]
TRIANGLE = [[1.2, 0.0], [0.3, 0.8]]

# name: (positional arguments, keyword arguments). A tuple is a distribution.
CONFIGURATIONS = [
    ("Bernoulli", [[0.2, 0.7]], {}),
    ("Bernoulli", [], {"logits": [0.2, -0.7]}),
    ("Beta", [[0.5, 2.0], [1.0, 3.0]], {}),
    ("Binomial", [10, [0.2, 0.7]], {}),
    ("Binomial", [[100.0, 30.0]], {"logits": [0.2, 0.7]}),
    ("Categorical", [[0.2, 0.3, 0.5]], {}),
    ("Categorical", [], {"logits": [[0.2, 0.3, 0.5], [1.0, 2.0, -1.0]]}),
    ("Cauchy", [[0.0, 1.0], [1.0, 2.0]], {}),
    ("Chi2", [[1.0, 3.0]], {}),
    ("ContinuousBernoulli", [[0.2, 0.5, 0.7]], {}),
    ("Dirichlet", [[0.5, 1.0, 4.0]], {}),
    ("Dirichlet", [[[0.5, 0.7], [2.0, 4.0]]], {}),
    ("Exponential", [[0.5, 2.0]], {}),
    ("FisherSnedecor", [[3.0, 5.0], [6.0, 8.0]], {}),
    ("Gamma", [[0.3, 1.0, 7.0], [1.0, 2.0, 3.0]], {}),
    ("GeneralizedPareto", [[0.0, 1.0], [1.0, 2.0], [0.2, -0.3]], {}),
    ("Geometric", [[0.2, 0.7]], {}),
    ("Gumbel", [[0.0, 1.0], [1.0, 2.0]], {}),
    ("HalfCauchy", [[1.0, 2.0]], {}),
    ("HalfNormal", [[1.0, 2.0]], {}),
    ("Independent", [("Normal", [[0.0, 1.0], [1.0, 2.0]], {}), 1], {}),
    ("InverseGamma", [[1.5, 3.0], [1.0, 2.0]], {}),
    ("Kumaraswamy", [[1.5, 2.0], [1.5, 3.0]], {}),
    ("LKJCholesky", [3, [1.0, 2.0]], {}),
    ("Laplace", [[0.0, 1.0], [1.0, 2.0]], {}),
    ("LogNormal", [[0.0, 1.0], [1.0, 0.5]], {}),
    ("LogisticNormal", [[0.0, 1.0], [1.0, 0.5]], {}),
    ("LowRankMultivariateNormal", [[0.0, 1.0, 2.0], [[1.0], [0.5], [0.2]], [1.0, 2.0, 0.5]], {}),
    (
        "MixtureSameFamily",
        [("Categorical", [[0.3, 0.7]], {}), ("Normal", [[0.0, 3.0], [1.0, 2.0]], {})],
        {},
    ),
    ("Multinomial", [5, [0.2, 0.3, 0.5]], {}),
    ("MultivariateNormal", [[0.0, 1.0], COVARIANCE], {}),
    ("MultivariateNormal", [[0.0, 1.0]], {"scale_tril": TRIANGLE}),
    ("MultivariateNormal", [[0.0, 1.0]], {"precision_matrix": COVARIANCE}),
    ("NegativeBinomial", [[3.0, 5.0], [0.2, 0.7]], {}),
    ("Normal", [0.5, 2.0], {}),
    ("Normal", [[0.0, 1.0], [1.0, 2.0]], {}),
    ("OneHotCategorical", [[0.2, 0.3, 0.5]], {}),
    ("OneHotCategoricalStraightThrough", [[[0.2, 0.8], [0.5, 0.5]]], {}),
    ("Pareto", [[1.0, 2.0], [3.0, 1.5]], {}),
    ("Poisson", [[0.5, 4.0, 30.0]], {}),
    ("RelaxedBernoulli", [[1.5], [0.3, 0.6]], {}),
    ("RelaxedOneHotCategorical", [[1.5], [0.3, 0.6, 0.1]], {}),
    ("StudentT", [[1.5, 3.0, 5.0]], {}),
    ("Uniform", [[0.0, 1.0], [2.0, 5.0]], {}),
    ("VonMises", [[0.0, 1.0], [1.0, 4.0]], {}),
    ("Weibull", [[1.0, 2.0], [1.5, 3.0]], {}),
    ("Wishart", [[4.0], [COVARIANCE]], {}),
]


def make(torch, configuration):
    """The distribution of a package."""

    def argument(value):
        if isinstance(value, tuple):
            return make(torch, value)
        return torch.tensor(value) if isinstance(value, list) else value

    name, args, kwargs = configuration
    args = [argument(value) for value in args]
    kwargs = {key: argument(value) for key, value in kwargs.items()}
    return getattr(torch.distributions, name)(*args, **kwargs)


def label(configuration):
    name, _, kwargs = configuration
    return "-".join([name, *kwargs])
