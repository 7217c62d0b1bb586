"""Layers that multiply bfloat16 by the machine's own instructions, against the same in float32."""

from __future__ import annotations

import mindtorch_v2 as torch
import pytest
from mindtorch_v2 import nn

F = nn.functional
ROUNDING = 2.0**-8


def _expect_close(got, expected):
    assert got.dtype == torch.bfloat16
    bound = 1.05 * ROUNDING * expected.abs() + 2e-5 * expected.abs().max()
    assert bool(((got.float() - expected).abs() <= bound).all())


def _values(*sizes):
    return torch.randn(*sizes).to(torch.bfloat16)


def _run(function, tensors, grad=None):
    leaves = [None if t is None else t.detach().requires_grad_() for t in tensors]
    out = function(*leaves)
    if grad is None:
        grad = _values(*out.shape)
    out.backward(grad.to(out.dtype))
    return out.detach(), [None if t is None else t.grad for t in leaves], grad


@pytest.fixture(params=[1, 3], autouse=True)
def _threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    torch.manual_seed(11)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize("has_bias", [True, False])
@pytest.mark.parametrize(
    ("op", "sizes", "weight", "settings"),
    [
        (F.conv1d, (3, 9, 70), (20, 9, 5), {}),
        (F.conv1d, (2, 8, 41), (12, 4, 3), {"stride": 3, "groups": 2, "padding": 2}),
        (F.conv2d, (2, 16, 17, 40), (33, 16, 3, 3), {"padding": 1}),
        (F.conv2d, (3, 8, 12, 13), (16, 8, 3, 3), {"stride": 2, "padding": 1}),
        (F.conv2d, (2, 8, 20, 9), (5, 8, 3, 2), {"dilation": 2, "stride": (1, 3)}),
        (F.conv2d, (2, 40, 7, 7), (24, 40, 1, 1), {}),
        (F.conv2d, (1, 130, 9, 33), (6, 130, 3, 3), {"padding": 1}),
        (F.conv2d, (2, 8, 6, 8), (8, 1, 3, 3), {"groups": 8}),
        (F.conv3d, (2, 5, 6, 7, 8), (7, 5, 2, 3, 3), {"padding": 1, "stride": (2, 1, 2)}),
        (F.conv_transpose2d, (3, 16, 9, 10), (16, 8, 4, 4), {"stride": 2, "padding": 1}),
        (F.conv_transpose2d, (2, 8, 5, 6), (8, 6, 1, 2), {"stride": 3, "output_padding": 1}),
    ],
)
def test_convolutions(op, sizes, weight, settings, has_bias):
    channels = weight[1] * settings.get("groups", 1) if op is F.conv_transpose2d else weight[0]
    tensors = [_values(*sizes), _values(*weight) / 4, _values(channels) if has_bias else None]

    def convolve(x, w, b):
        return op(x, w, b, **settings)

    out, grads, grad = _run(convolve, tensors)
    wide = [None if t is None else t.float() for t in tensors]
    expected, expected_grads, _ = _run(convolve, wide, grad)
    _expect_close(out, expected)
    for got, want in zip(grads, expected_grads, strict=True):
        if want is not None:
            _expect_close(got, want)


def test_convolution_of_other_layouts():
    x, w = _values(2, 12, 11, 16).permute(0, 3, 2, 1), _values(3, 3, 16, 20).permute(3, 2, 0, 1)
    _expect_close(F.conv2d(x, w), F.conv2d(x.float(), w.float()))


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("queries", "keys", "size", "value_size"),
    [(9, 9, 8, 8), (100, 100, 64, 64), (97, 300, 33, 20), (33, 515, 80, 70)],
)
def test_attention(queries, keys, size, value_size, causal):
    keys = queries if causal else keys
    q, k, v = (
        _values(2, 3, queries, size),
        _values(2, 3, keys, size),
        _values(2, 3, keys, value_size),
    )
    out = F.scaled_dot_product_attention(q, k, v, is_causal=causal)
    expected = F.scaled_dot_product_attention(q.float(), k.float(), v.float(), is_causal=causal)
    # Weights are rounded, too: an average of values is off by as much as one of them.
    assert out.dtype == torch.bfloat16
    bound = ROUNDING * (expected.abs() + v.float().abs().max() / 2)
    assert bool(((out.float() - expected).abs() <= bound).all())


def test_attention_of_rows_that_see_nothing():
    q, k, v = _values(1, 20, 16), _values(1, 40, 16), _values(1, 40, 16)
    mask = torch.ones(20, 40, dtype=torch.bool)
    mask[3] = False
    out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
    assert bool((out[0, 3] == 0).all())
    assert bool(out.isfinite().all())


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_layers(kind):
    layer = kind(40, 32).to(torch.bfloat16)
    wide = kind(40, 32)
    wide.load_state_dict({name: value.float() for name, value in layer.state_dict().items()})
    x = _values(6, 5, 40)
    narrow_x, wide_x = x.detach().requires_grad_(), x.float().requires_grad_()
    out, expected = layer(narrow_x)[0], wide(wide_x)[0]
    assert out.dtype == torch.bfloat16
    assert bool(((out.float() - expected).abs() <= 0.02).all())
    grad = _values(*out.shape)
    out.backward(grad)
    expected.backward(grad.float())
    largest = wide_x.grad.abs().max()
    assert bool(((narrow_x.grad.float() - wide_x.grad).abs() <= 0.03 * largest).all())
