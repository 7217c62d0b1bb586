"""Windows of signals. With sym=False a window is periodic: one of M + 1 points without its last.

>>> torch.signal.windows.hann(5)
tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
"""

import math
from collections.abc import Iterable

import mindtorch_v2 as torch

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine",
    "general_hamming", "hamming", "hann", "kaiser", "nuttall",
]  # fmt: skip


class _Window:
    """The points of a window: M of them, and the options of the tensor that holds them."""

    def __init__(self, name, M, sym, dtype, layout, device, requires_grad):
        dtype = torch.get_default_dtype() if dtype is None else dtype
        if M < 0:
            raise ValueError(f"{name} requires non-negative window length, got M={M}")
        if layout is not torch.strided:
            raise ValueError(f"{name} is implemented for strided tensors only, got: {layout}")
        if dtype not in (torch.float32, torch.float64):
            raise ValueError(f"{name} expects float32 or float64 dtypes, got: {dtype}")
        self.M, self.requires_grad = M, requires_grad
        self.last = M if not sym and M > 1 else M - 1  # of a symmetric window
        self.options = {"dtype": dtype, "device": device}

    def points(self, start, step):
        """M numbers from `start` on."""
        return torch.arange(self.M, **self.options) * step + start

    def made(self, values):
        return values.requires_grad_() if self.requires_grad else values

    def short(self):
        """A window of no or one point: ones; None for longer ones."""
        return self.made(torch.ones(self.M, **self.options)) if self.M <= 1 else None


def _sum_of_cosines(window, coefficients):
    if window.M <= 1:
        return window.short()
    angles = window.points(0, 2 * math.pi / window.last)
    total = torch.zeros_like(angles)
    for i, factor in enumerate(coefficients):
        total = total + (-1) ** i * factor * torch.cos(angles * i)
    return window.made(total)


def exponential(
    M, *, center=None, tau=1.0, sym=True, dtype=None, layout=torch.strided, device=None,
    requires_grad=False,
):  # fmt: skip
    """exp(-|n - center| / tau); the center of a symmetric window is its middle.

    >>> torch.signal.windows.exponential(3)
    tensor([0.3679, 1.0000, 0.3679])
    """
    window = _Window("exponential", M, sym, dtype, layout, device, requires_grad)
    if tau <= 0:
        raise ValueError(f"Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ValueError("Center must be None for symmetric windows")
    if M == 0:
        return window.short()
    center = window.last / 2 if center is None else center
    return window.made(torch.exp(-torch.abs(window.points(-center / tau, 1 / tau))))


def cosine(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """sin(pi * (n + 0.5) / M).

    >>> torch.signal.windows.cosine(3)
    tensor([0.5000, 1.0000, 0.5000])
    """
    window = _Window("cosine", M, sym, dtype, layout, device, requires_grad)
    if M == 0:
        return window.short()
    step = math.pi / (window.last + 1)
    return window.made(torch.sin(window.points(step / 2, step)))


def gaussian(
    M, *, std=1.0, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False
):
    """exp(-(n - middle)² / (2 std²)).

    >>> torch.signal.windows.gaussian(3)
    tensor([0.6065, 1.0000, 0.6065])
    """
    window = _Window("gaussian", M, sym, dtype, layout, device, requires_grad)
    if std <= 0:
        raise ValueError(f"Standard deviation must be positive, got: {std} instead.")
    if M == 0:
        return window.short()
    step = 1 / (std * math.sqrt(2))
    return window.made(torch.exp(-(window.points(-window.last / 2 * step, step) ** 2)))


def kaiser(
    M, *, beta=12.0, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False
):
    """i0(beta * sqrt(1 - x²)) / i0(beta), for x from -1 to 1.

    >>> torch.signal.windows.kaiser(3, beta=2.0)
    tensor([0.4387, 1.0000, 0.4387])
    """
    window = _Window("kaiser", M, sym, dtype, layout, device, requires_grad)
    if beta < 0:
        raise ValueError(f"beta must be non-negative, got: {beta} instead.")
    if M <= 1:
        return window.short()
    beta = torch.tensor(beta, **window.options)
    x = window.points(-1, 2 / window.last)
    inside = torch.clamp(1 - x * x, min=0)
    return window.made(torch.i0(beta * torch.sqrt(inside)) / torch.i0(beta))


def bartlett(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
    """A triangle.

    >>> torch.signal.windows.bartlett(5)
    tensor([0.0000, 0.5000, 1.0000, 0.5000, 0.0000])
    """
    window = _Window("bartlett", M, sym, dtype, layout, device, requires_grad)
    if M <= 1:
        return window.short()
    return window.made(1 - torch.abs(window.points(-1, 2 / window.last)))


def general_cosine(
    M, *, a, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False
):
    """The sum of (-1)ⁱ a[i] cos(2 pi i n / (M - 1)).

    >>> torch.signal.windows.general_cosine(3, a=[0.5, 0.5])
    tensor([0., 1., 0.])
    """
    window = _Window("general_cosine", M, sym, dtype, layout, device, requires_grad)
    if M == 0:
        return window.short()
    if not isinstance(a, Iterable):
        raise TypeError("Coefficients must be a list/tuple")
    if not a:
        raise ValueError("Coefficients cannot be empty")
    return _sum_of_cosines(window, a)


def general_hamming(
    M, *, alpha=0.54, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False
):
    """alpha - (1 - alpha) cos(2 pi n / (M - 1)).

    >>> torch.signal.windows.general_hamming(3, alpha=0.5)
    tensor([0., 1., 0.])
    """
    window = _Window("general_hamming", M, sym, dtype, layout, device, requires_grad)
    return _sum_of_cosines(window, [alpha, 1 - alpha])


def _named(name, coefficients, text):
    def made(M, *, sym=True, dtype=None, layout=torch.strided, device=None, requires_grad=False):
        window = _Window(name, M, sym, dtype, layout, device, requires_grad)
        return _sum_of_cosines(window, coefficients)

    made.__name__ = made.__qualname__ = name
    made.__doc__ = text
    return made


hamming = _named(
    "hamming",
    [0.54, 0.46],
    """0.54 - 0.46 cos(2 pi n / (M - 1)).

    >>> torch.signal.windows.hamming(3)
    tensor([0.0800, 1.0000, 0.0800])
    """,
)
hann = _named(
    "hann",
    [0.5, 0.5],
    """0.5 - 0.5 cos(2 pi n / (M - 1)).

    >>> torch.signal.windows.hann(3)
    tensor([0., 1., 0.])
    """,
)
blackman = _named(
    "blackman",
    [0.42, 0.5, 0.08],
    """A sum of three cosines.

    >>> torch.signal.windows.blackman(5)[1:4]
    tensor([0.3400, 1.0000, 0.3400])
    """,
)
nuttall = _named(
    "nuttall",
    [0.3635819, 0.4891775, 0.1365995, 0.0106411],
    """A sum of four cosines, with low side lobes.

    >>> torch.signal.windows.nuttall(4).round(decimals=2)
    tensor([0.0000, 0.5300, 0.5300, 0.0000])
    """,
)
