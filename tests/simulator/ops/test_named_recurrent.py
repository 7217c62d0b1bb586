"""Recurrent layers by name against NumPy; their gradients against differences."""

import numpy as np
import pytest

from .named import run
from .values import random

STEPS, BATCH, INPUT, HIDDEN = 4, 2, 3, 5
STATES = (STEPS, BATCH, HIDDEN)
CLOSE = {"rtol": 1e-4, "atol": 1e-5}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def order(reverse):
    return range(STEPS)[::-1] if reverse else range(STEPS)


def lstm(x, w, b, h, c, reverse=False, mask=None):
    """y, h, c, i, j, f, o, tanh(c) of every step."""
    traces = [np.zeros(STATES) for _ in range(8)]
    for t in order(reverse):
        i, f, j, o = np.split(np.concatenate([x[t], h], 1) @ w + b, 4, 1)
        i, f, j, o = sigmoid(i), sigmoid(f), np.tanh(j), sigmoid(o)
        new = f * c + i * j
        there = np.ones_like(h) if mask is None else mask[t]
        c = np.where(there, new, c)
        h = np.where(there, o * np.tanh(new), h)
        for trace, value in zip(traces, (h * there, h, c, i, j, f, o, np.tanh(new)), strict=True):
            trace[t] = value
    return traces


def lstm_inputs():
    sizes = [(STEPS, BATCH, INPUT), (INPUT + HIDDEN, 4 * HIDDEN), (4 * HIDDEN,)]
    sizes += [(1, BATCH, HIDDEN)] * 2
    return [random(size, "f32", seed, -1, 1) for seed, size in enumerate(sizes)]


@pytest.mark.parametrize("apart", [False, True])
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_lstm(npu, apart, reverse, masked):
    x, w, b, h, c = lstm_inputs()
    mask = None
    if masked:  # the second sequence has two steps
        mask = np.ones(STATES)
        mask[2:, 1] = 0
    expected = lstm(x, w, b, h[0], c[0], reverse, mask)
    weights = [w[:INPUT], w[INPUT:]] if apart else [w]
    given = [x, *weights, b, mask, h, c]
    found = run(
        npu,
        "DynamicRNNV2" if apart else "DynamicRNN",
        [(value, "f32") for value in given],
        [(STATES, "f32")] * 8,
        {"direction": "REDIRECTIONAL" if reverse else "UNIDIRECTIONAL"},
    )
    for values, want in zip(found, expected, strict=True):
        np.testing.assert_allclose(values, want, **CLOSE)


def differences(function, inputs):
    """How the function's value changes with each number of each input."""
    gradients = []
    for k, values in enumerate(inputs):
        gradient = np.zeros(values.shape)
        for place in np.ndindex(*values.shape):
            sides = []
            for step in (1e-5, -1e-5):
                moved = [value.astype(np.float64) for value in inputs]
                moved[k][place] += step
                sides.append(function(*moved))
            gradient[place] = (sides[0] - sides[1]) / 2e-5
        gradients.append(gradient)
    return gradients


@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("apart", [False, True])
def test_lstm_backward(npu, reverse, masked, apart):
    x, w, b, h, c = lstm_inputs()
    mask = np.ones(STATES)
    if masked:
        mask[2:, 1] = 0
    dy = random(STATES, "f32", 9)
    dh, dc = random(h.shape, "f32", 10), random(h.shape, "f32", 11)
    last = order(reverse)[-1]

    def loss(x, w, b, h, c):
        y, states, cells, *_ = lstm(x, w, b, h[0], c[0], reverse, mask)
        return (y * dy).sum() + (states[last] * dh[0]).sum() + (cells[last] * dc[0]).sum()

    dx, dw, db, dh0, dc0 = differences(loss, [x, w, b, h, c])
    y, *rest = lstm(x, w, b, h[0], c[0], reverse, mask)
    states, cells, i, j, f, o, tanhc = rest
    weights = [w[:INPUT], w[INPUT:]] if apart else [w, b]
    given = [x, *weights, y, h, c, states, cells, dy, dh, dc, i, j, f, o, tanhc]
    given.append(mask if masked else np.zeros(()))
    found = run(
        npu,
        "DynamicRNNV2Grad" if apart else "DynamicRNNGrad",
        [(value, "f32") for value in given],
        [(value.shape, "f32") for value in (*weights[: 1 + apart], b, x, h, c)],
        {"direction": "REDIRECTIONAL" if reverse else "UNIDIRECTIONAL"},
    )
    parts = [dw[:INPUT], dw[INPUT:]] if apart else [dw]
    for values, want in zip(found, (*parts, db, dx, dh0, dc0), strict=True):
        np.testing.assert_allclose(values, want, rtol=2e-3, atol=2e-4)


def gru(x, wi, wh, bi, bh, h):
    """h, update, reset, new and the state's part of new of every step."""
    traces = [np.zeros(STATES) for _ in range(5)]
    for t in range(STEPS):
        xr, xz, xn = np.split(x[t] @ wi + bi, 3, 1)
        hr, hz, hn = np.split(h @ wh + bh, 3, 1)
        r, z = sigmoid(xr + hr), sigmoid(xz + hz)
        n = np.tanh(xn + r * hn)
        h = (1 - z) * n + z * h
        for trace, value in zip(traces, (h, z, r, n, hn), strict=True):
            trace[t] = value
    return traces


def gru_inputs():
    sizes = [(STEPS, BATCH, INPUT), (INPUT, 3 * HIDDEN), (HIDDEN, 3 * HIDDEN)]
    sizes += [(3 * HIDDEN,), (3 * HIDDEN,), (1, BATCH, HIDDEN)]
    return [random(size, "f32", seed, -1, 1) for seed, size in enumerate(sizes)]


GATES = {"gate_order": "rzh", "direction": "UNIDIRECTIONAL"}


def test_gru(npu):
    inputs = gru_inputs()
    h, *rest = gru(*inputs[:5], inputs[5][0])
    given = [*inputs[:5], None, inputs[5]]
    outputs = [(STATES, "f32")] * 6
    found = run(npu, "DynamicGRUV2", [(value, "f32") for value in given], outputs, GATES)
    for values, want in zip(found, (h, h, *rest), strict=True):
        np.testing.assert_allclose(values, want, **CLOSE)


def test_gru_backward(npu):
    inputs = gru_inputs()
    dy, dh = random(STATES, "f32", 9), random((BATCH, HIDDEN), "f32", 10)

    def loss(*values):
        states = gru(*values[:5], values[5][0])[0]
        return (states * dy).sum() + (states[-1] * dh).sum()

    dx, dwi, dwh, dbi, dbh, dh0 = differences(loss, inputs)
    h, *rest = gru(*inputs[:5], inputs[5][0])
    given = [*inputs[:3], h, inputs[5], h, dy, dh, *rest]
    expected = (dwi, dwh, dbi, dbh, dx, dh0)
    outputs = [(value.shape, "f32") for value in expected]
    found = run(npu, "DynamicGRUV2Grad", [(value, "f32") for value in given], outputs, GATES)
    for values, want in zip(found, expected, strict=True):
        np.testing.assert_allclose(values, want, rtol=2e-3, atol=2e-4)
