"""Recurrent layers whose sequences and steps are computed in several pieces."""

import mindtorch_v2 as torch
import pytest
from mindtorch_v2 import nn
from mindtorch_v2.nn.utils.rnn import pack_sequence

NEAR = {
    torch.float64: (1e-10, 1e-10),
    torch.float32: (1e-4, 1e-4),
    torch.bfloat16: (0.1, 0.06),
}
# Sequences and steps: several groups of sequences, chunks of steps, few of either.
SIZES = [(150, 6), (9, 40), (3, 90), (130, 2)]


def _layer(kind, dtype):
    torch.manual_seed(0)
    layer = kind(24, 32).to(dtype)
    cell = {nn.LSTM: nn.LSTMCell, nn.GRU: nn.GRUCell, nn.RNN: nn.RNNCell}[kind](24, 32)
    names = [name.removesuffix("_l0") for name in layer.state_dict()]
    cell.load_state_dict(dict(zip(names, layer.state_dict().values(), strict=True)))
    return layer, cell.double()


def _stepped(cell, x):
    state, outputs = None, []
    for step in x.double():
        state = cell(step, state)
        outputs.append(state[0] if isinstance(state, tuple) else state)
    return torch.stack(outputs)


def _gradients(layer, x, grad):
    """Output, and gradients of input and weights."""
    x = x.detach().requires_grad_()
    output = layer(x)[0]
    return [output, *torch.autograd.grad(output, [x, *layer.parameters()], grad)]


@pytest.mark.parametrize("dtype", NEAR)
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_pieces_are_the_steps_of_a_cell(kind, size, dtype):
    layer, cell = _layer(kind, dtype)
    batch, steps = size
    x = torch.randn(steps, batch, 24).to(dtype)
    grad = torch.randn(steps, batch, 32).to(dtype)
    wide = x.detach().double().requires_grad_()
    expected = _stepped(cell, wide)
    expected_grad = torch.autograd.grad(expected, wide, grad.double())[0]
    output, x_grad, *_ = _gradients(layer, x, grad)
    rtol, atol = NEAR[dtype]
    torch.testing.assert_close(output.double(), expected, rtol=rtol, atol=atol)
    torch.testing.assert_close(x_grad.double(), expected_grad, rtol=rtol, atol=2 * atol)


@pytest.mark.parametrize("dtype", [*NEAR, torch.float16])
@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_bits_depend_neither_on_threads_nor_on_gradients(kind, size, dtype):
    torch.manual_seed(0)
    layer = kind(24, 32, bidirectional=True).to(dtype)
    batch, steps = size
    x = torch.randn(steps, batch, 24).to(dtype)
    grad = torch.randn(steps, batch, 64).to(dtype)
    threads = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        expected = _gradients(layer, x, grad)
        with torch.no_grad():
            assert torch.equal(layer(x)[0], expected[0])
        for count in (2, 3, 7):
            torch.set_num_threads(count)
            for found, value in zip(_gradients(layer, x, grad), expected, strict=True):
                assert torch.equal(found, value)
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize("dtype", NEAR)
@pytest.mark.parametrize("reverse", [False, True])
@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_packed_sequences_are_computed_each_by_itself(kind, reverse, dtype):
    torch.manual_seed(0)
    layer = kind(24, 32, bidirectional=reverse).to(dtype)
    sequences = [torch.randn(1 + i % 13, 24).to(dtype).requires_grad_() for i in range(100)]
    packed, states = layer(pack_sequence(sequences, enforce_sorted=False))
    output, lengths = nn.utils.rnn.pad_packed_sequence(packed)
    grads = torch.autograd.grad(output.sum(), sequences)
    hidden = states[0] if isinstance(states, tuple) else states
    rtol, atol = NEAR[dtype]
    for i in range(0, 100, 7):
        own, own_states = layer(sequences[i])
        own_hidden = own_states[0] if isinstance(own_states, tuple) else own_states
        own_grad = torch.autograd.grad(own.sum(), sequences[i])[0]
        torch.testing.assert_close(output[: lengths[i], i], own, rtol=rtol, atol=atol)
        torch.testing.assert_close(hidden[:, i], own_hidden, rtol=rtol, atol=atol)
        torch.testing.assert_close(grads[i], own_grad, rtol=rtol, atol=2 * atol)
