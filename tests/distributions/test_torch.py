"""The same distributions in torch: numbers of a seed, densities, gradients, divergences."""

import importlib.util

import numpy as np
import pytest

from tests.distributions.configurations import CONFIGURATIONS, label, make

if importlib.util.find_spec("torch") is not None:
    import torch as reference

    def outcome(function, torch, *args):
        torch.manual_seed(7)
        try:
            value = function(torch, *args)
        except Exception as error:
            return type(error)
        if isinstance(value, torch.Tensor):
            return value.detach().numpy()
        return repr(value)

    def check(torch, function, *args, rtol=1e-4, atol=1e-5):
        want, got = outcome(function, reference, *args), outcome(function, torch, *args)
        if not isinstance(want, np.ndarray):
            assert got == want
            return
        assert isinstance(got, np.ndarray), got
        assert got.shape == want.shape and got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=rtol, atol=atol, equal_nan=True)

    @pytest.mark.filterwarnings("ignore")
    @pytest.mark.parametrize("configuration", CONFIGURATIONS, ids=label)
    def test_is_torchs(torch, configuration):
        for name in ("mean", "mode", "variance", "stddev", "batch_shape", "event_shape", "support"):
            check(torch, lambda t, name=name: getattr(make(t, configuration), name))
        check(torch, lambda t: repr(make(t, configuration)))
        if configuration[0] != "Wishart":  # torch draws again where nothing is singular
            check(torch, lambda t: make(t, configuration).sample())
            check(torch, lambda t: make(t, configuration).sample((20, 3)))
            check(torch, lambda t: make(t, configuration).rsample((4,)))
        check(torch, lambda t: make(t, configuration).entropy())
        check(torch, lambda t: make(t, configuration).enumerate_support())
        reference.manual_seed(3)
        values = make(reference, configuration).sample((6,)).numpy()
        for name in ("log_prob", "cdf"):
            check(
                torch, lambda t, name=name: getattr(make(t, configuration), name)(t.tensor(values))
            )
        check(torch, lambda t: make(t, configuration).log_prob(t.tensor(-1e30)))

    @pytest.mark.filterwarnings("ignore")
    def test_divergences_are_torchs(torch):
        made = {t: [make(t, each) for each in CONFIGURATIONS] for t in (reference, torch)}
        for i, p in enumerate(CONFIGURATIONS):
            for k, q in enumerate(CONFIGURATIONS):
                try:
                    check(
                        torch,
                        lambda t, i=i, k=k: t.distributions.kl_divergence(made[t][i], made[t][k]),
                    )
                except AssertionError as error:
                    raise AssertionError(f"{p[0]} and {q[0]}: {error}") from None
