# Written by tools/make_stubs.py: run `make stubs` after a change.
from typing import NamedTuple

from mindtorch_v2._C import Tensor

class _scaled_dot_product_flash_attention(NamedTuple):
    output: Tensor
    row_stats: Tensor

class _scaled_dot_product_flash_attention_backward(NamedTuple):
    grad_query: Tensor
    grad_key: Tensor
    grad_value: Tensor

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
