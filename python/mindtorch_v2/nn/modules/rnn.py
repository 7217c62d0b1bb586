"""Recurrent layers over whole sequences: RNN, LSTM, GRU."""

import math
import numbers
import warnings

import mindtorch_v2 as torch
from mindtorch_v2.nn import init
from mindtorch_v2.nn.modules.module import Module
from mindtorch_v2.nn.modules.rnn_cells import (  # torch's files look for them here
    GRUCell,
    LSTMCell,
    RNNCell,
    RNNCellBase,
)
from mindtorch_v2.nn.parameter import Parameter
from mindtorch_v2.nn.utils.rnn import PackedSequence

__all__ = ["GRU", "LSTM", "RNN", "RNNBase"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
_NETWORKS = {
    "LSTM": torch.lstm,
    "GRU": torch.gru,
    "RNN_TANH": torch.rnn_tanh,
    "RNN_RELU": torch.rnn_relu,
}


class RNNBase(Module):
    """Parameters, checks and the loop over layers of RNN, LSTM and GRU.

    >>> list(torch.nn.RNN(2, 3).state_dict())
    ['weight_ih_l0', 'weight_hh_l0', 'bias_ih_l0', 'bias_hh_l0']
    """

    __constants__ = [
        "mode",
        "input_size",
        "hidden_size",
        "num_layers",
        "bias",
        "batch_first",
        "dropout",
        "bidirectional",
        "proj_size",
    ]
    # LSTM keeps a cell besides the hidden state.
    _has_cell = False

    def __init__(
        self,
        mode,
        input_size,
        hidden_size,
        num_layers=1,
        bias=True,
        batch_first=False,
        dropout=0.0,
        bidirectional=False,
        proj_size=0,
        device=None,
        dtype=None,
    ):
        super().__init__()
        self.mode = mode
        self.input_size, self.hidden_size, self.num_layers = input_size, hidden_size, num_layers
        self.bias, self.batch_first, self.dropout = bias, batch_first, float(dropout)
        self.bidirectional, self.proj_size = bidirectional, proj_size
        self._check_settings(dropout)
        if mode not in _GATES:
            raise ValueError("Unrecognized RNN mode: " + mode)
        gates = _GATES[mode] * hidden_size
        output = proj_size if proj_size > 0 else hidden_size
        self._flat_weights_names, self._all_weights = [], []
        for layer in range(num_layers):
            width = input_size if layer == 0 else output * self._directions
            for suffix in ("", "_reverse")[: self._directions]:
                shapes = {"weight_ih": (gates, width), "weight_hh": (gates, output)}
                if bias:
                    shapes |= {"bias_ih": (gates,), "bias_hh": (gates,)}
                if proj_size > 0:
                    shapes |= {"weight_hr": (proj_size, hidden_size)}
                names = []
                for name, shape in shapes.items():
                    names.append(f"{name}_l{layer}{suffix}")
                    empty = torch.empty(shape, device=device, dtype=dtype)
                    setattr(self, names[-1], Parameter(empty))
                self._flat_weights_names += names
                self._all_weights.append(names)
        self.reset_parameters()

    def _check_settings(self, dropout):
        if (
            not isinstance(dropout, numbers.Number)
            or not 0 <= dropout <= 1
            or isinstance(dropout, bool)
        ):
            raise ValueError(
                "dropout should be a number in range [0, 1] "
                "representing the probability of an element being zeroed"
            )
        if dropout > 0 and self.num_layers == 1:
            warnings.warn(
                "dropout option adds dropout after all but last "
                "recurrent layer, so non-zero dropout expects "
                f"num_layers greater than 1, but got dropout={dropout} and "
                f"num_layers={self.num_layers}",
                stacklevel=4,
            )
        if not isinstance(self.hidden_size, int):
            raise TypeError(
                f"hidden_size should be of type int, got: {type(self.hidden_size).__name__}"
            )
        if self.hidden_size <= 0:
            raise ValueError("hidden_size must be greater than zero")
        if self.num_layers <= 0:
            raise ValueError("num_layers must be greater than zero")
        if self.proj_size < 0:
            raise ValueError(
                "proj_size should be a positive integer or zero to disable projections"
            )
        if self.proj_size >= self.hidden_size:
            raise ValueError("proj_size has to be smaller than hidden_size")

    @property
    def _directions(self):
        return 2 if self.bidirectional else 1

    @property
    def all_weights(self):
        """The parameters, layer by layer and direction by direction."""
        return [[getattr(self, name) for name in names] for names in self._all_weights]

    @property
    def _flat_weights(self):
        return [getattr(self, name) for name in self._flat_weights_names]

    def _update_flat_weights(self):
        """Does nothing: `_flat_weights` are always the parameters as they are."""

    def flatten_parameters(self):
        """Does nothing: no kernel here asks for weights in one piece."""

    def reset_parameters(self):
        """Gives the parameters first values again."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self):
        text = f"{self.input_size}, {self.hidden_size}"
        if self.proj_size != 0:
            text += f", proj_size={self.proj_size}"
        if self.num_layers != 1:
            text += f", num_layers={self.num_layers}"
        if self.bias is not True:
            text += f", bias={self.bias}"
        if self.batch_first is not False:
            text += f", batch_first={self.batch_first}"
        if self.dropout != 0:
            text += f", dropout={self.dropout}"
        if self.bidirectional is not False:
            text += f", bidirectional={self.bidirectional}"
        return text

    # --- checks -------------------------------------------------------------------------------

    def check_input(self, input, batch_sizes):
        """Refuses an input that does not fit."""
        if input.dtype != self._flat_weights[0].dtype:
            raise ValueError(
                f"RNN input dtype ({input.dtype}) does not match weight dtype "
                f"({self._flat_weights[0].dtype}). Convert input: input.to("
                f"{self._flat_weights[0].dtype}), or convert model: "
                f"model.to({input.dtype})"
            )
        wanted = 2 if batch_sizes is not None else 3
        if input.dim() != wanted:
            raise RuntimeError(f"input must have {wanted} dimensions, got {input.dim()}")
        if self.input_size != input.size(-1):
            raise RuntimeError(
                "input.size(-1) must be equal to input_size. "
                f"Expected {self.input_size}, got {input.size(-1)}"
            )

    def _state_shapes(self, batch):
        """Expected shapes of the hidden state and the cell."""
        count = self.num_layers * self._directions
        output = self.proj_size if self.proj_size > 0 else self.hidden_size
        return (count, batch, output), (count, batch, self.hidden_size)

    def check_hidden_size(self, hx, expected, msg="Expected hidden size {}, got {}"):
        """Refuses a state of another shape."""
        if tuple(hx.shape) != tuple(expected):
            raise RuntimeError(msg.format(expected, list(hx.shape)))

    # --- forward ------------------------------------------------------------------------------

    def forward(self, input, hx=None):
        if isinstance(input, PackedSequence):
            return self._forward_packed(input, hx)
        if input.dim() not in (2, 3):
            raise ValueError(
                f"{self._get_name()}: Expected input to be 2D or 3D, got {input.dim()}D instead"
            )
        batched = input.dim() == 3
        batch_first = self.batch_first and batched
        if not batched:
            input = input.unsqueeze(1)
        states = self._states(hx, input, input.size(0 if batch_first else 1), batched)
        self.check_input(input, None)
        output, states = self._run((input,), states, batch_first)
        if not batched:
            output = output.squeeze(1)
            states = tuple(state.squeeze(1) for state in states)
        return output, states if self._has_cell else states[0]

    def _forward_packed(self, packed, hx):
        data, batch_sizes, sorted_indices, unsorted_indices = packed
        states = self._states(hx, data, int(batch_sizes[0]), True, sorted_indices)
        self.check_input(data, batch_sizes)
        output, states = self._run((data, batch_sizes), states)
        if unsorted_indices is not None:
            states = tuple(state.index_select(1, unsorted_indices) for state in states)
        made = PackedSequence(output, batch_sizes, sorted_indices, unsorted_indices)
        return made, states if self._has_cell else states[0]

    def _states(self, hx, input, batch, batched, order=None):
        """(hidden,) or (hidden, cell) to start with, with a batch dimension."""
        shapes = self._state_shapes(batch)[: 2 if self._has_cell else 1]
        if hx is None:
            return tuple(
                torch.zeros(shape, dtype=input.dtype, device=input.device) for shape in shapes
            )
        given = tuple(hx) if self._has_cell else (hx,)
        wanted = 3 if batched else 2
        if any(state.dim() != wanted for state in given):
            dims = ", ".join(f"{state.dim()}-D" for state in given)
            self._refuse_dims("2-D input" if not batched else "3-D input", wanted, dims)
        if not batched:
            given = tuple(state.unsqueeze(1) for state in given)
        if order is not None:
            given = tuple(state.index_select(1, order) for state in given)
        texts = ("Expected hidden[0] size {}, got {}", "Expected hidden[1] size {}, got {}")
        for state, shape, text in zip(given, shapes, texts, strict=False):
            if self._has_cell:
                self.check_hidden_size(state, shape, text)
            else:
                self.check_hidden_size(state, shape)
        return given

    def _refuse_dims(self, kind, wanted, dims):
        if self._has_cell:
            shape = "batched" if wanted == 3 else "unbatched"
            raise RuntimeError(
                f"For {shape} {kind}, hx and cx should also be {wanted}-D but got ({dims}) tensors"
            )
        name = "batched" if wanted == 3 else "unbatched"
        raise RuntimeError(f"For {name} {kind}, hx should also be {wanted}-D but got {dims} tensor")

    def _run(self, input, states, *batch_first):
        """(outputs of the last layer, states): input is that of torch.lstm and its like."""
        output, *states = _NETWORKS[self.mode](
            *input,
            states if self._has_cell else states[0],
            self._flat_weights,
            self.bias,
            self.num_layers,
            self.dropout,
            self.training,
            self.bidirectional,
            *batch_first,
        )
        return output, tuple(states)


class RNN(RNNBase):
    """h' = tanh(input @ weight_ih.T + bias_ih + h @ weight_hh.T + bias_hh), step by step.

    >>> output, h = torch.nn.RNN(2, 3)(torch.ones(4, 1, 2))
    >>> output.shape, h.shape
    (torch.Size([4, 1, 3]), torch.Size([1, 1, 3]))
    """

    def __init__(self, input_size, hidden_size, num_layers=1, nonlinearity="tanh", *args, **kwargs):
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'."
            )
        mode = f"RNN_{nonlinearity.upper()}"
        super().__init__(mode, input_size, hidden_size, num_layers, *args, **kwargs)
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Long short-term memory: gates decide what the cell keeps, takes in and gives out.

    >>> output, (h, c) = torch.nn.LSTM(2, 3)(torch.ones(4, 1, 2))
    >>> output.shape, c.shape
    (torch.Size([4, 1, 3]), torch.Size([1, 1, 3]))
    """

    _has_cell = True

    def __init__(self, *args, **kwargs):
        super().__init__("LSTM", *args, **kwargs)


class GRU(RNNBase):
    """Gated recurrent units: gates decide how much of the hidden state is kept.

    >>> output, h = torch.nn.GRU(2, 3)(torch.ones(4, 1, 2))
    >>> output.shape
    torch.Size([4, 1, 3])
    """

    def __init__(self, *args, **kwargs):
        if "proj_size" in kwargs:
            raise ValueError("proj_size argument is only supported for LSTM, not RNN or GRU")
        super().__init__("GRU", *args, **kwargs)
