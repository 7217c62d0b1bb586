"""torch.signal.windows against formulas written with NumPy."""

import mindtorch_v2 as torch
import numpy as np
import pytest

windows = torch.signal.windows


def cosines(*factors):
    return lambda n, last: sum(
        (-1) ** i * a * np.cos(2 * np.pi * i * n / last) for i, a in enumerate(factors)
    )


FORMULAS = {
    "bartlett": lambda n, last: 1 - abs(2 * n / last - 1),
    "blackman": cosines(0.42, 0.5, 0.08),
    "cosine": lambda n, last: np.sin(np.pi * (n + 0.5) / (last + 1)),
    "exponential": lambda n, last: np.exp(-abs(n - last / 2)),
    "gaussian": lambda n, last: np.exp(-((n - last / 2) ** 2) / 2),
    "general_hamming": cosines(0.54, 0.46),
    "hamming": cosines(0.54, 0.46),
    "hann": cosines(0.5, 0.5),
    "kaiser": lambda n, last: (
        np.i0(12 * np.sqrt(np.clip(1 - (2 * n / last - 1) ** 2, 0, 1))) / np.i0(12)
    ),
    "nuttall": cosines(0.3635819, 0.4891775, 0.1365995, 0.0106411),
}


@pytest.mark.parametrize("name", FORMULAS)
@pytest.mark.parametrize("sym", [True, False])
def test_windows(name, sym):
    window = getattr(windows, name)
    for count in (2, 3, 8):
        values = window(count, sym=sym, dtype=torch.float64)
        expected = FORMULAS[name](np.arange(count), count - 1 if sym else count)
        np.testing.assert_allclose(values.numpy(), expected, atol=1e-12)
    assert window(0, sym=sym).shape == (0,) and window(1, sym=sym).tolist() == [1.0]
    assert window(3, sym=sym, requires_grad=True).requires_grad
    with pytest.raises(ValueError, match=f"{name} requires non-negative window length, got M=-1"):
        window(-1)
    with pytest.raises(ValueError, match="expects float32 or float64 dtypes, got: torch.float16"):
        window(3, dtype=torch.float16)


def test_options_of_windows():
    np.testing.assert_allclose(
        windows.general_cosine(4, a=[0.3, 0.5, 0.2], dtype=torch.float64).numpy(),
        cosines(0.3, 0.5, 0.2)(np.arange(4), 3),
    )
    values = windows.exponential(4, center=1.0, tau=2.0, sym=False)
    np.testing.assert_allclose(values.numpy(), np.exp(-abs(np.arange(4) - 1) / 2), rtol=1e-6)
    for call, error in (
        (lambda: windows.exponential(4, center=1.0), ValueError),
        (lambda: windows.exponential(4, tau=0), ValueError),
        (lambda: windows.gaussian(4, std=-1), ValueError),
        (lambda: windows.kaiser(4, beta=-1), ValueError),
        (lambda: windows.general_cosine(4, a=3), TypeError),
        (lambda: windows.general_cosine(4, a=[]), ValueError),
    ):
        with pytest.raises(error):
            call()
