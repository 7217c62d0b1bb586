"""Fourier transforms."""

import itertools

import numpy as np

from ..case import Case, In, Out
from ..values import random

NORMS = {1: "backward", 2: "forward", 3: "ortho"}


def rfft():
    """Real and imaginary parts lie in a last dim of their own."""
    made = [Case("aclRfft1D", [In([1, 2, 3, 4], "f32"), 4, 0, 1,
                               Out([[10, 0], [-2, 2], [-2, 0]], "f32")], "fixed")]  # fmt: skip
    for (shape, dim), n, norm in itertools.product(
        [((7,), 0), ((3, 8), -1), ((2, 6, 3), 1), ((5, 2, 3, 2), 0)], (-1, 1, 4, 5, 12, 97), NORMS
    ):
        x = random(shape, "f32", 1)
        spectrum = np.fft.rfft(x, None if n == -1 else n, dim, NORMS[norm])
        out = Out(np.stack([spectrum.real, spectrum.imag], -1), "f32", (1e-5, 1e-5))
        name = f"{shape} {dim} {n} {norm}"
        made.append(Case("aclRfft1D", [In(x, "f32"), n, dim, norm, out], name))
    return made


def long_rfft():
    """A prime number of values, and the most that there may be."""
    made = []
    for n in (4099, 262139, 262144):
        x = random((n,), "f32", 1)
        spectrum = np.fft.rfft(x.astype(np.float64))
        out = Out(np.stack([spectrum.real, spectrum.imag], -1), "f32", (1e-4, 1e-3))
        arguments = [In(x, "f32"), n, 0, 1, out]
        made.append(Case("aclRfft1D", arguments, f"{n}", ("contiguous",)))
    return made


OPS = {"aclRfft1D": rfft, "aclRfft1D of many": long_rfft}
