"""torch.nn.init: torch's numbers for the same seed."""

import math
import warnings

import mindtorch_v2
import pytest

from tests.nn.compare import assert_same
from tests.nn.scenario import Scenarios, error

CALLS = [
    "uniform_(t, -1, 2)",
    "normal_(t, 1.0, 2.0)",
    "trunc_normal_(t, 0.5, 2.0, -1.0, 3.0)",
    "trunc_normal_(t)",
    "trunc_normal_(t, 0.0, 1.0, 1.0, 1.5)",
    "constant_(t, 0.3)",
    "ones_(t)",
    "zeros_(t)",
    "eye_(t)",
    "dirac_(torch.empty(4, 2, 3))",
    "dirac_(torch.empty(4, 2, 3, 3), groups=2)",
    "xavier_uniform_(t)",
    "xavier_uniform_(torch.empty(4, 2, 3, 3), gain=2.0)",
    "xavier_normal_(t, 0.5)",
    "kaiming_uniform_(t)",
    "kaiming_uniform_(t, a=0.3, mode='fan_out')",
    "kaiming_normal_(t, nonlinearity='relu')",
    "kaiming_normal_(torch.empty(4, 2, 3), mode='fan_out', nonlinearity='tanh')",
    "orthogonal_(t)",
    "orthogonal_(torch.empty(3, 5), gain=2)",
    "orthogonal_(torch.empty(4, 2, 3))",
    "sparse_(t, 0.3, std=0.1)",
    "normal_(t, generator=torch.Generator().manual_seed(5))",
]


def run(torch, call):
    torch.manual_seed(3)
    t = torch.empty(20, 5)
    return eval(f"torch.nn.init.{call}", {"torch": torch, "t": t})


@pytest.mark.parametrize("call", CALLS)
def test_like_torch(torch_gives, call):
    assert_same(run(mindtorch_v2, call), torch_gives(run, call), rtol=1e-5, atol=1e-6)


scenario = Scenarios()


@scenario([
    [1, 1, 5 / 3, math.sqrt(2), math.sqrt(2 / (1 + 0.01**2)), math.sqrt(2 / 1.25), 0.75],
    ("ValueError", "Unsupported nonlinearity swish"),
    ("ValueError", "negative_slope True not a valid number"),
    ("ValueError", "Fan in and fan out can not be computed for tensor with fewer than 2 "
     "dimensions"),
    ("ValueError", "Mode fan not supported, please use one of ['fan_in', 'fan_out']"),
    ("ValueError", "Only tensors with 2 dimensions are supported"),
    ("ValueError", "Only tensors with 3, 4, or 5 dimensions are supported"),
    ("ValueError", "Only tensors with 2 or more dimensions are supported"),
    ["`nn.init.normal` is now deprecated in favor of `nn.init.normal_`."],
])  # fmt: skip
def gains_and_errors(torch):
    init = torch.nn.init
    gain = init.calculate_gain
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        init.normal(torch.empty(2))
    return [
        [gain("linear"), gain("conv2d"), gain("tanh"), gain("relu"), gain("leaky_relu"),
         gain("leaky_relu", 0.5), gain("selu")],
        error(gain, "swish"),
        error(gain, "leaky_relu", True),
        error(init.xavier_uniform_, torch.empty(3)),
        error(init.kaiming_normal_, torch.empty(3, 3), mode="fan"),
        error(init.eye_, torch.empty(3)),
        error(init.dirac_, torch.empty(3, 3)),
        error(init.orthogonal_, torch.empty(3)),
        [str(w.message) for w in caught],
    ]  # fmt: skip


@scenario([
    [[-0.0043, 0.3097, -0.4752], [-0.4249, -0.2224, 0.1548]],
    [-0.0114, 0.4578],
    [-0.0043, 0.3097],
    [1.541, -0.2934],
    [-0.0037, 0.2682],
    [-0.0053, 0.3793],
])  # fmt: skip
def first_values(torch):
    def seeded(make):
        torch.manual_seed(0)
        return make()

    nn = torch.nn
    linear = seeded(lambda: nn.Linear(3, 2))
    values = [
        linear.weight,
        linear.bias,
        seeded(lambda: nn.Conv1d(1, 2, 3)).weight.flatten()[:2],
        seeded(lambda: nn.Embedding(3, 2)).weight[0],
        seeded(lambda: nn.GRU(2, 4)).weight_ih_l0[0],
        seeded(lambda: nn.Linear(2, 2)).weight[0],
    ]
    return [(v.detach() * 10000).round().div(10000).tolist() for v in values]


def close(value, expected):
    if isinstance(expected, list):
        return len(value) == len(expected) and all(map(close, value, expected))
    if isinstance(expected, float):
        return abs(value - expected) < 2e-4
    return value == expected


@pytest.mark.parametrize(("function", "expected"), scenario.all)
def test_expected(torch, function, expected):
    assert close(function(torch), expected), function(torch)


@pytest.mark.parametrize(("function", "expected"), scenario.all)
def test_expected_in_torch(oracle, function, expected):
    assert close(function(oracle), expected), function(oracle)
