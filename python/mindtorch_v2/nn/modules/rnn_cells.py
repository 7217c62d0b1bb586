"""One step of a recurrent network as a module: RNNCell, LSTMCell, GRUCell."""

import math

import mindtorch_v2 as torch
from mindtorch_v2.nn import init
from mindtorch_v2.nn.modules.module import Module
from mindtorch_v2.nn.parameter import Parameter

__all__ = ["GRUCell", "LSTMCell", "RNNCell", "RNNCellBase"]

_CELLS = {
    "GRU": torch.gru_cell,
    "RNN_TANH": torch.rnn_tanh_cell,
    "RNN_RELU": torch.rnn_relu_cell,
}


class RNNCellBase(Module):
    """Parameters and checks of the cells."""

    __constants__ = ["input_size", "hidden_size", "bias"]

    def __init__(self, input_size, hidden_size, bias, num_chunks, device=None, dtype=None):
        super().__init__()
        self.input_size, self.hidden_size, self.bias = input_size, hidden_size, bias
        gates = num_chunks * hidden_size

        def empty(*shape):
            return Parameter(torch.empty(shape, device=device, dtype=dtype))

        self.weight_ih, self.weight_hh = empty(gates, input_size), empty(gates, hidden_size)
        if bias:
            self.bias_ih, self.bias_hh = empty(gates), empty(gates)
        else:
            self.register_parameter("bias_ih", None)
            self.register_parameter("bias_hh", None)
        self.reset_parameters()

    def reset_parameters(self):
        """Gives the parameters first values again."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if getattr(self, "nonlinearity", "tanh") != "tanh":
            text += f", nonlinearity={self.nonlinearity}"
        return text

    def _advance(self, mode, input, states):
        """The states after the step; with or without a batch, as the input."""
        if input.dim() not in (1, 2):
            raise ValueError(
                f"{self._get_name()}: Expected input to be 1D or 2D, got {input.dim()}D instead"
            )
        name = "hidden" if mode != "LSTM" else "hx[{}]"
        for i, state in enumerate(states or ()):
            if state.dim() not in (1, 2):
                raise ValueError(
                    f"{self._get_name()}: Expected {name.format(i)} to be 1D or 2D, "
                    f"got {state.dim()}D instead"
                )
        batched = input.dim() == 2
        input = input if batched else input.unsqueeze(0)
        if states is None:
            zeros = torch.zeros(
                input.size(0), self.hidden_size, dtype=input.dtype, device=input.device
            )
            states = (zeros, zeros)
        elif not batched:
            states = [state.unsqueeze(0) for state in states]
        weights = (self.weight_ih, self.weight_hh, self.bias_ih, self.bias_hh)
        if mode == "LSTM":
            states = torch.lstm_cell(input, states, *weights)
        else:
            states = [_CELLS[mode](input, states[0], *weights)]
        return states if batched else [state.squeeze(0) for state in states]


class RNNCell(RNNCellBase):
    """One step of RNN.

    >>> torch.nn.RNNCell(2, 3)(torch.ones(4, 2)).shape
    torch.Size([4, 3])
    """

    __constants__ = ["input_size", "hidden_size", "bias", "nonlinearity"]

    def __init__(
        self,
        input_size,
        hidden_size,
        bias=True,
        nonlinearity="tanh",
        device=None,
        dtype=None,
    ):
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input, hx=None):
        if self.nonlinearity not in ("tanh", "relu"):
            raise RuntimeError(f"Unknown nonlinearity: {self.nonlinearity}")
        mode = f"RNN_{self.nonlinearity.upper()}"
        return self._advance(mode, input, None if hx is None else [hx])[0]


class LSTMCell(RNNCellBase):
    """One step of LSTM.

    >>> h, c = torch.nn.LSTMCell(2, 3)(torch.ones(4, 2))
    >>> h.shape, c.shape
    (torch.Size([4, 3]), torch.Size([4, 3]))
    """

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input, hx=None):
        return tuple(self._advance("LSTM", input, hx))


class GRUCell(RNNCellBase):
    """One step of GRU.

    >>> torch.nn.GRUCell(2, 3)(torch.ones(4, 2)).shape
    torch.Size([4, 3])
    """

    def __init__(self, input_size, hidden_size, bias=True, device=None, dtype=None):
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input, hx=None):
        return self._advance("GRU", input, None if hx is None else [hx])[0]
