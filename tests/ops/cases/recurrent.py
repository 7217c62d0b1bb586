"""Recurrent networks and their cells."""

import numpy as np

from tests.ops.case import FLOATS, INTS_AND_BOOL, OpCase, S, T, V, bad

GATES = {"lstm": 4, "gru": 3, "rnn_tanh": 1, "rnn_relu": 1}
NEAR = {
    "float16": (2e-2, 1e-2),
    "bfloat16": (1e-1, 6e-2),
    "float32": (1e-5, 1e-5),
    "float64": (1e-11, 1e-11),
}


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def step(mode, x, states, w_ih, w_hh, b_ih=0, b_hh=0, w_hr=None):
    """The states after one step."""
    hidden = states[0]
    of_input, of_hidden = x @ w_ih.T + b_ih, hidden @ w_hh.T + b_hh
    if mode == "lstm":
        take, keep, update, give = np.split(of_input + of_hidden, 4, axis=1)
        cell = sigmoid(keep) * states[1] + sigmoid(take) * np.tanh(update)
        hidden = sigmoid(give) * np.tanh(cell)
        return [hidden if w_hr is None else hidden @ w_hr.T, cell]
    if mode == "gru":
        (reset, keep, update), (reset_h, keep_h, update_h) = (
            np.split(part, 3, axis=1) for part in (of_input, of_hidden)
        )
        update = np.tanh(update + sigmoid(reset + reset_h) * update_h)
        keep = sigmoid(keep + keep_h)
        return [(1 - keep) * update + keep * hidden]
    return [np.tanh(of_input + of_hidden) if mode == "rnn_tanh" else
            np.maximum(of_input + of_hidden, 0)]  # fmt: skip


def layer(mode, rows, sizes, states, weights, reverse):
    """Each sequence by itself: the outputs as rows, and the last states."""
    begins = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    outputs = np.zeros((len(rows), states[0].shape[1]))
    finals = [np.array(state, dtype=float) for state in states]
    for number in range(len(finals[0])):
        at = [begin + number for begin, size in zip(begins, sizes, strict=True) if number < size]
        own = [state[number : number + 1] for state in finals]
        for row in reversed(at) if reverse else at:
            own = step(mode, rows[row : row + 1], own, *weights)
            outputs[row] = own[0][0]
        for state, last in zip(finals, own, strict=True):
            state[number] = last[0]
    return outputs, finals


def network(mode, rows, sizes, hx, params, has_biases, num_layers, bidirectional):
    hx = list(hx) if mode == "lstm" else [hx]
    projected = mode == "lstm" and hx[0].shape[-1] != hx[1].shape[-1]
    each = 2 + 2 * has_biases + projected
    finals = []
    for number in range(num_layers):
        outputs = []
        for direction in range(1 + bidirectional):
            place = number * (1 + bidirectional) + direction
            weights = list(params[place * each : (place + 1) * each])
            if projected and not has_biases:
                weights[2:2] = [0, 0]
            output, last = layer(
                mode, rows, sizes, [state[place] for state in hx], weights, direction == 1
            )
            outputs.append(output)
            finals.append(last)
        rows = np.concatenate(outputs, axis=1)
    return rows, *(np.stack(states) for states in zip(*finals, strict=True))


def dense(mode):
    def oracle(input, hx, params, has_biases, layers, dropout, train, bidirectional, batch_first):
        x = input.swapaxes(0, 1) if batch_first else input
        rows = x.reshape(-1, x.shape[2])
        output, *states = network(
            mode, rows, [x.shape[1]] * len(x), hx, params, has_biases, layers, bidirectional
        )
        output = output.reshape(*x.shape[:2], output.shape[1])
        return output.swapaxes(0, 1) if batch_first else output, *states

    return oracle


def packed(mode):
    def oracle(data, sizes, hx, params, has_biases, layers, dropout, train, bidirectional):
        return network(
            mode, data, list(sizes.ravel()), hx, params, has_biases, layers, bidirectional
        )

    return oracle


def cell(mode):
    def oracle(input, hx, w_ih, w_hh, b_ih=None, b_hh=None):
        biases = [0 if bias is None else bias for bias in (b_ih, b_hh)]
        states = step(mode, input, list(hx) if mode == "lstm" else [hx], w_ih, w_hh, *biases)
        return tuple(states) if len(states) > 1 else states[0]

    return oracle


def small(*shape):
    """Values that keep the states of a few steps near 1, also those of relu."""
    return T(shape, -0.3, 0.3)


def params(mode, inputs, units, bias=True, layers=1, directions=1, projected=0):
    gates = GATES[mode] * units
    shown = projected or units
    made = []
    for number in range(layers):
        width = inputs if number == 0 else shown * directions
        for _ in range(directions):
            made += [small(gates, width), small(gates, shown)]
            made += [small(gates), small(gates)] if bias else []
            made += [small(projected, units)] if projected else []
    return made


def states(mode, count, batch, units, projected=0):
    hidden = small(count, batch, projected or units)
    return (hidden, small(count, batch, units)) if mode == "lstm" else hidden


def call(mode, first, batch, inputs, units, *last, bias=True, layers=1, both=False, projected=0):
    directions = 2 if both else 1
    return S(
        *first,
        states(mode, layers * directions, batch, units, projected),
        params(mode, inputs, units, bias, layers, directions, projected),
        bias,
        layers,
        0.0,
        False,
        both,
        *last,
    )


def dense_samples(mode):
    # The weights of 4 steps and 4 sequences are packed; the last sizes leave remainders.
    samples = [
        call(mode, [small(3, 2, 4)], 2, 4, 3, False),
        call(mode, [small(2, 3, 4)], 2, 4, 3, True),
        call(mode, [small(1, 1, 2)], 1, 2, 1, False, bias=False),
        call(mode, [small(3, 2, 2)], 2, 2, 3, False, both=True),
        call(mode, [small(3, 2, 2)], 2, 2, 3, False, layers=2, both=True, bias=False),
        call(mode, [small(5, 4, 3)], 4, 3, 5, False),
        call(mode, [small(4, 9, 3)], 9, 3, 17, False),
        call(mode, [small(6, 23, 5)], 23, 5, 33, False, both=True),
    ]
    if mode == "lstm":
        samples += [
            call(mode, [small(3, 2, 4)], 2, 4, 3, False, projected=2),
            call(mode, [small(5, 6, 4)], 6, 4, 5, False, projected=2, layers=2, both=True),
            call(mode, [small(3, 2, 4)], 2, 4, 3, False, projected=1, bias=False),
        ]
    return samples


def packed_samples(mode):
    def sizes(*values):
        return V(values, "int64", fixed=True, host=True)

    samples = [
        call(mode, [small(6, 2), sizes(3, 2, 1)], 3, 2, 3),
        call(mode, [small(6, 2), sizes(2, 2, 2)], 2, 2, 3, bias=False),
        call(mode, [small(7, 2), sizes(4, 2, 1)], 4, 2, 3, layers=2, both=True),
        call(mode, [small(29, 3), sizes(9, 8, 4, 4, 3, 1)], 9, 3, 17, both=True),
    ]
    if mode == "lstm":
        samples += [call(mode, [small(6, 2), sizes(3, 2, 1)], 3, 2, 3, both=True, projected=2)]
    return samples


def cell_samples(mode):
    def sample(batch, inputs, units, bias):
        both = (small(batch, units), small(batch, units))
        return S(
            small(batch, inputs),
            both if mode == "lstm" else both[0],
            *params(mode, inputs, units, bias),
        )

    return [sample(3, 2, 5, True), sample(1, 4, 1, False), sample(9, 3, 17, True)]


X = T((4, 3, 2))
GRU = params("gru", 2, 5)
MISTAKES = {
    # torch writes outside of its memory where the shapes of an LSTM do not fit.
    "lstm": [
        bad(RuntimeError, "lstm expects two hidden states", X, (T((1, 3, 5)),),
            params("lstm", 2, 5), True, 1, 0.0, False, False, False),
    ],
    "gru": [
        bad(RuntimeError, "got an incorrect number of RNN parameters", X, T((1, 3, 5)), GRU[:3],
            True, 1, 0.0, False, False, False),
        bad(RuntimeError, r"shapes cannot be multiplied \(12x4 and 2x15\)", T((4, 3, 4)),
            T((1, 3, 5)), GRU, True, 1, 0.0, False, False, False),
        bad(RuntimeError, "must match the size of tensor b", X, T((1, 2, 5)), GRU, True, 1, 0.0,
            False, False, False),
        bad(RuntimeError, "Expected more hidden states in stacked_rnn", X, T((1, 3, 5)), GRU, True,
            2, 0.0, False, False, False),
        bad(RuntimeError, "Odd number of params or hiddens", X, T((1, 3, 5)), GRU, True, 1, 0.0,
            False, True, False),
        bad(RuntimeError, "Expected sequence length to be larger than 0", T((0, 3, 2)),
            T((1, 3, 5)), GRU, True, 1, 0.0, False, False, False),
        bad(RuntimeError, "must have the same dtype, but got Double and Float",
            T((4, 3, 2), dtype="float64"), T((1, 3, 5)), GRU, True, 1, 0.0, False, False, False),
    ],
}  # fmt: skip
CELL_MISTAKES = {
    "lstm": [
        bad(RuntimeError, "lstm_cell expects two hidden states", T((3, 2)), (T((3, 5)),),
            *params("lstm", 2, 5)),
    ],
    "gru": [
        bad(RuntimeError, "input has inconsistent input_size: got 4 expected 2", T((3, 4)),
            T((3, 5)), *GRU),
        bad(RuntimeError, "Input batch size 3 doesn't match hidden0 batch size 2", T((3, 2)),
            T((2, 5)), *GRU),
        bad(RuntimeError, "hidden0 has inconsistent hidden_size: got 4, expected 5", T((3, 2)),
            T((3, 4)), *GRU),
        bad(IndexError, "Dimension out of range", T((2,)), T((5,)), *GRU),
    ],
}  # fmt: skip

CASES = [
    case
    for mode in GATES
    for results in [("same",) * (3 if mode == "lstm" else 2)]
    for case in (
        OpCase(
            mode, dense(mode), dense_samples(mode), FLOATS, results, NEAR, method=None,
            strides=False, optional=INTS_AND_BOOL, bad=MISTAKES.get(mode, ()),
        ),
        OpCase(
            mode, packed(mode), packed_samples(mode), FLOATS, results, NEAR, variant="data",
            method=None, strides=False, optional=INTS_AND_BOOL,
        ),
        OpCase(
            f"{mode}_cell", cell(mode), cell_samples(mode), FLOATS,
            ("same", "same") if mode == "lstm" else "same", NEAR, method=None, strides=False,
            optional=INTS_AND_BOOL, bad=CELL_MISTAKES.get(mode, ()),
        ),
    )
]  # fmt: skip
