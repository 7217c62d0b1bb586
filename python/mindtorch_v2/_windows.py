"""Windows for the analysis of signals."""

import math

import mindtorch_v2 as torch


def _window(name, length, periodic, options, values):
    """`values(n, length)` for n = 0, 1, ...; a periodic window is cut off one longer."""
    dtype = options.get("dtype") or torch.get_default_dtype()
    if not dtype.is_floating_point:
        raise RuntimeError(f"{name} expects floating point dtypes, got: {dtype}")
    if length < 0:
        raise RuntimeError(
            f"{name} requires non-negative window_length, got window_length={length}"
        )
    requires_grad = options.pop("requires_grad", False)
    options = {**options, "dtype": dtype}
    if length < 2:
        window = torch.ones(length, **options)
    else:
        whole = length + 1 if periodic else length
        window = values(torch.arange(whole, **options), whole).narrow(0, 0, length)
        if window.numel() != whole:
            window = window.clone()
    return window.requires_grad_(requires_grad)


def _options(dtype, layout, device, pin_memory, requires_grad):
    if layout not in (None, torch.strided):
        raise RuntimeError("windows are strided tensors")
    options = {"dtype": dtype, "device": device, "requires_grad": requires_grad}
    if pin_memory:
        options["pin_memory"] = pin_memory
    return options


def bartlett_window(
    window_length,
    periodic=True,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
):
    """A triangle from 0 to 1 and back.

    >>> torch.bartlett_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """

    def values(n, length):
        return 1 - (n * (2 / (length - 1)) - 1).abs()

    options = _options(dtype, layout, device, pin_memory, requires_grad)
    return _window("bartlett_window", window_length, periodic, options, values)


def blackman_window(
    window_length,
    periodic=True,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
):
    """Blackman's window: a sum of two cosines.

    >>> torch.blackman_window(4).round(decimals=2)
    tensor([0.0000, 0.3400, 1.0000, 0.3400])
    """

    def values(n, length):
        angle = n * (math.pi / (length - 1))
        return ((angle * 4).cos() * 0.08 - (angle * 2).cos() * 0.5 + 0.42).clamp(min=0)

    options = _options(dtype, layout, device, pin_memory, requires_grad)
    return _window("blackman_window", window_length, periodic, options, values)


def hamming_window(
    window_length,
    periodic=True,
    alpha=0.54,
    beta=0.46,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
):
    """alpha - beta cos(2 pi n / (N - 1)).

    >>> torch.hamming_window(4)
    tensor([0.0800, 0.5400, 1.0000, 0.5400])
    """

    def values(n, length):
        return (n * (2 * math.pi / (length - 1))).cos() * -beta + alpha

    options = _options(dtype, layout, device, pin_memory, requires_grad)
    return _window("hamming_window", window_length, periodic, options, values)


def hann_window(
    window_length,
    periodic=True,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
):
    """The square of a sine.

    >>> torch.hann_window(4)
    tensor([0.0000, 0.5000, 1.0000, 0.5000])
    """

    def values(n, length):
        return (n * (2 * math.pi / (length - 1))).cos() * -0.5 + 0.5

    options = _options(dtype, layout, device, pin_memory, requires_grad)
    return _window("hann_window", window_length, periodic, options, values)


def kaiser_window(
    window_length,
    periodic=True,
    beta=12.0,
    *,
    dtype=None,
    layout=None,
    device=None,
    pin_memory=False,
    requires_grad=False,
):
    """Kaiser's window: a Bessel function of an ellipse.

    >>> torch.kaiser_window(3, periodic=False, beta=0.0)
    tensor([1., 1., 1.])
    """

    def values(n, length):
        half = (length - 1) / 2
        place = (n - half) / half
        norm = torch.i0(torch.tensor(beta, dtype=torch.float64)).item()
        return torch.i0(beta * (1 - place**2).clamp(min=0).sqrt()) / norm

    options = _options(dtype, layout, device, pin_memory, requires_grad)
    return _window("kaiser_window", window_length, periodic, options, values)
