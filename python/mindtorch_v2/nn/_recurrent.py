"""Steps and layers of recurrent networks, from matrix products and pointwise ops.

A layer multiplies all inputs by weight_ih at once and adds the biases; only the product with the
hidden state is done step by step. Its weight is transposed once: so the gradients of the steps are
summed before they are transposed.

A packed input (batch_sizes) holds the steps one after the other, each with the sequences that are
still running.
"""

import mindtorch_v2 as torch


def lstm_step(gates, cell):
    """(h, c) from the four gates and the cell."""
    ingate, forgetgate, update, outgate = gates.chunk(4, dim=-1)
    cell = forgetgate.sigmoid() * cell + ingate.sigmoid() * update.tanh()
    return outgate.sigmoid() * cell.tanh(), cell


def gru_step(from_input, from_hidden, hidden):
    """h from the three gates of either side."""
    reset_i, update_i, new_i = from_input.chunk(3, dim=-1)
    reset_h, update_h, new_h = from_hidden.chunk(3, dim=-1)
    reset, update = (reset_i + reset_h).sigmoid(), (update_i + update_h).sigmoid()
    new = (new_i + reset * new_h).tanh()
    return new + update * (hidden - new)


def input_product(mode, input, weight_ih, bias_ih, bias_hh):
    """What `step` takes of an input. A GRU multiplies its part of the hidden state, bias_hh too."""
    bias = bias_ih if mode == "GRU" or bias_ih is None else bias_ih + bias_hh
    return torch.nn.functional.linear(input, weight_ih, bias)


def step(mode, from_input, states, weight_hh_t, bias_hh, projection):
    """The states after one step; weight_hh_t is weight_hh.T."""
    hidden = states[0]
    if mode == "GRU":
        if bias_hh is None:
            from_hidden = hidden @ weight_hh_t
        else:
            from_hidden = torch.addmm(bias_hh, hidden, weight_hh_t)
        return [gru_step(from_input, from_hidden, hidden)]
    gates = torch.addmm(from_input, hidden, weight_hh_t)
    if mode == "LSTM":
        hidden, cell = lstm_step(gates, states[1])
        if projection is not None:
            hidden = torch.nn.functional.linear(hidden, projection)
        return [hidden, cell]
    return [gates.tanh() if mode == "RNN_TANH" else gates.relu()]


def run_layer(mode, input, states, weights, reverse, batch_sizes):
    """(outputs of all steps, states after the last) of one layer in one direction."""
    weight_ih, weight_hh, bias_ih, bias_hh, projection = weights
    from_input = input_product(mode, input, weight_ih, bias_ih, bias_hh)
    weight_hh_t = weight_hh.t()

    def advance(part, states):
        return step(mode, part, states, weight_hh_t, bias_hh, projection)

    if batch_sizes is None:
        return _run_steps(from_input, states, advance, reverse)
    parts = from_input.split(batch_sizes)
    return (_run_packed_back if reverse else _run_packed)(parts, states, advance, batch_sizes)


def _run_steps(from_input, states, advance, reverse):
    parts = from_input.unbind(0)
    outputs = []
    for part in reversed(parts) if reverse else parts:
        states = advance(part, states)
        outputs.append(states[0])
    return torch.stack(outputs[::-1] if reverse else outputs), states


def _run_packed(parts, states, advance, batch_sizes):
    """Sequences end from the last one on: their states are put aside when they do."""
    outputs, ended = [], []
    running = batch_sizes[0]
    for part, size in zip(parts, batch_sizes, strict=True):
        if size < running:
            ended.append([state[size:] for state in states])
            states = [state[:size] for state in states]
            running = size
        states = advance(part, states)
        outputs.append(states[0])
    ended.append(states)
    finals = [torch.cat(pieces[::-1]) for pieces in zip(*ended, strict=True)]
    return torch.cat(outputs), finals


def _run_packed_back(parts, states, advance, batch_sizes):
    """From the last step back, sequences start one by one."""
    first = states
    running = batch_sizes[-1]
    states = [state[:running] for state in first]
    outputs = []
    for part, size in zip(reversed(parts), reversed(batch_sizes), strict=True):
        if size > running:
            states = [
                torch.cat([state, begin[running:size]])
                for state, begin in zip(states, first, strict=True)
            ]
            running = size
        states = advance(part, states)
        outputs.append(states[0])
    return torch.cat(outputs[::-1]), states
