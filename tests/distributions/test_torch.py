"""The same distributions in torch: numbers of a seed, densities, gradients, divergences."""

import numpy as np
import pytest

from tests.distributions.configurations import CONFIGURATIONS, label, make
from tests.nn.compare import assert_same
from tests.support.devices import as_of_the_cpu, refusal

pytestmark = pytest.mark.filterwarnings("ignore")


def outcome(torch, function):
    torch.manual_seed(7)
    try:
        value = function(torch)
    except Exception as error:
        if refusal(str(error)):
            raise
        return type(error)
    if isinstance(value, torch.Tensor):
        return value.detach().cpu().numpy()
    return as_of_the_cpu(repr(value))


def compare(got, want):
    if isinstance(want, (str, type)):
        assert got == want
        return
    assert isinstance(got, np.ndarray), got
    assert got.shape == want.shape and got.dtype == want.dtype
    assert_same(got, want, rtol=1e-4, atol=1e-5)


@pytest.fixture
def check(torch, torch_gives):
    def ask(function, like_torch=True):
        ours, theirs = outcome(torch, function), torch_gives(outcome, function)
        if like_torch:
            compare(ours, theirs)

    return ask


@pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=label)
def test_is_torchs(check, torch_gives, configuration, default_device):
    for name in ("mean", "mode", "variance", "stddev", "batch_shape", "event_shape", "support"):
        check(lambda t, name=name: getattr(make(t, configuration), name))
    check(lambda t: repr(make(t, configuration)))
    # Other devices have other numbers; of Wishart's, torch draws again where nothing is singular.
    if configuration[0] != "Wishart":
        same = default_device == "cpu"
        check(lambda t: make(t, configuration).sample(), same)
        check(lambda t: make(t, configuration).sample((20, 3)), same)
        check(lambda t: make(t, configuration).rsample((4,)), same)
    check(lambda t: make(t, configuration).entropy())
    check(lambda t: make(t, configuration).enumerate_support())

    def samples(torch):
        torch.manual_seed(3)
        return make(torch, configuration).sample((6,)).tolist()

    values = np.array(torch_gives(samples), "float32")
    for name in ("log_prob", "cdf"):
        check(lambda t, name=name: getattr(make(t, configuration), name)(t.tensor(values)))
    check(lambda t: make(t, configuration).log_prob(t.tensor(-1e30)))


def divergences(torch):
    made = [make(torch, each) for each in CONFIGURATIONS]
    return {
        f"{i} {one[0]} and {k} {other[0]}": outcome(
            torch, lambda t, p=made[i], q=made[k]: t.distributions.kl_divergence(p, q)
        )
        for i, one in enumerate(CONFIGURATIONS)
        for k, other in enumerate(CONFIGURATIONS)
    }


def test_divergences_are_torchs(torch, torch_gives):
    ours = divergences(torch)
    for pair, want in torch_gives(divergences).items():
        try:
            compare(ours[pair], want)
        except AssertionError as error:
            raise AssertionError(f"{pair}: {error}") from None
