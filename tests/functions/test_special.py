"""Derivatives of special functions by the one operand for which torch has them."""

import math

import pytest


@pytest.mark.parametrize("name", ("special.gammainc", "special.gammaincc", "special.zeta"))
def test_gradients_of_the_second_operand(torch, name):
    module, function = name.split(".")
    call = getattr(getattr(torch, module), function)
    first = torch.tensor([1.5, 2.0, 4.0], dtype=torch.float64)
    x = torch.tensor([0.5, 2.0, 7.0], dtype=torch.float64, requires_grad=True)
    call(first, x).sum().backward()
    with torch.no_grad():
        slope = (call(first, x + 1e-6) - call(first, x - 1e-6)) / 2e-6
    assert torch.allclose(x.grad, slope, rtol=1e-6)
    with pytest.raises(NotImplementedError, match="derivative for"):
        call(first.requires_grad_(), x).sum().backward()


def test_far_from_zero(torch):
    """Values of mpmath, where the oracles of the op cases lose their digits."""
    known = {
        "bessel_j0": (11.0, -0.171190300407196088),
        "bessel_j1": (11.0, -0.176785298956721501),
        "bessel_y0": (5.0, -0.308517625249033780),
        "bessel_y1": (4.75, 0.229225596738722158),
        "i0e": (200.0, 0.0282271599491119157),
        "modified_bessel_k1": (60.0, 1.42563202651710432e-27),
        "airy_ai": (-3.0, -0.378814293677658075),
        "erfcx": (25.0, 0.0225495724326413589),
        "log_ndtr": (-40.0, -804.608442013753788),
    }
    for name, (x, want) in known.items():
        got = getattr(torch.special, name)(torch.tensor(x, dtype=torch.float64))
        assert float(got) == pytest.approx(want, rel=1e-12), name


@pytest.mark.parametrize("name", ("float32", "float64"))
def test_lgamma_of_negative_numbers(torch, name):
    dtype = getattr(torch, name)
    x = -torch.cat([torch.linspace(0.01, 40.3, 5000, dtype=torch.float64), torch.tensor([1e-30])])
    x = x.to(dtype)
    found = torch.lgamma(x).to(torch.float64)
    wanted = torch.tensor([math.lgamma(float(v)) for v in x], dtype=torch.float64)
    spare = 4e-14 if name == "float64" else 0.6 * 2**-23
    assert ((found - wanted).abs() <= spare * wanted.abs().clamp(min=1)).all()
    poles = torch.tensor([0.0, -0.0, -1.0, -2.0, -40.0, -1e17, -torch.inf, torch.inf], dtype=dtype)
    assert (torch.lgamma(poles) == torch.inf).all()
    assert torch.lgamma(torch.tensor([torch.nan, -0.5], dtype=dtype)).isnan().tolist() == [1, 0]


def test_lgamma_keeps_its_digits_beside_its_zeros(torch):
    x = torch.tensor([-2.457, -2.75] * 8, dtype=torch.float64)
    known = torch.tensor([3.749630595809979e-05, 0.004487897535955774] * 8, dtype=torch.float64)
    assert torch.allclose(torch.lgamma(x), known, rtol=2e-15, atol=0)
