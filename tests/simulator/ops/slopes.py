"""Gradients of NumPy functions by difference quotients, in float64."""

import numpy as np


def gradient(f, x, grad):
    """d sum(f(x) * grad) / dx."""
    x = np.array(x, np.float64)
    result = np.zeros_like(x)
    step = 1e-5
    for place in np.ndindex(x.shape):
        old = x[place]
        x[place] = old + step
        up = np.sum(f(x) * grad)
        x[place] = old - step
        down = np.sum(f(x) * grad)
        x[place] = old
        result[place] = (up - down) / (2 * step)
    return result
