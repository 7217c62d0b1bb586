# Written by tools/make_stubs.py: run `make stubs` after a change.
from typing import NamedTuple

from mindtorch_v2._C import Tensor

class _gru_layer(NamedTuple):
    output: Tensor
    h_n: Tensor
    gates: Tensor

class _gru_layer_backward(NamedTuple):
    grad_from_input: Tensor
    grad_from_hidden: Tensor
    grad_h0: Tensor

class _lstm_layer(NamedTuple):
    output: Tensor
    h_n: Tensor
    c_n: Tensor
    gates: Tensor
    cells: Tensor

class _lstm_layer_backward(NamedTuple):
    grad_gates: Tensor
    grad_h0: Tensor
    grad_c0: Tensor
    grad_hidden: Tensor

class _rnn_layer(NamedTuple):
    output: Tensor
    h_n: Tensor

class _rnn_layer_backward(NamedTuple):
    grad_gates: Tensor
    grad_h0: Tensor

class aminmax(NamedTuple):
    min: Tensor
    max: Tensor

class cummax(NamedTuple):
    values: Tensor
    indices: Tensor

class cummin(NamedTuple):
    values: Tensor
    indices: Tensor

class kthvalue(NamedTuple):
    values: Tensor
    indices: Tensor

class max(NamedTuple):
    values: Tensor
    indices: Tensor

class median(NamedTuple):
    values: Tensor
    indices: Tensor

class min(NamedTuple):
    values: Tensor
    indices: Tensor

class mode(NamedTuple):
    values: Tensor
    indices: Tensor

class nanmedian(NamedTuple):
    values: Tensor
    indices: Tensor

class sort(NamedTuple):
    values: Tensor
    indices: Tensor

class topk(NamedTuple):
    values: Tensor
    indices: Tensor
