"""torch.nn.grad: gradients of convolutions as functions."""

import pytest


@pytest.mark.parametrize("n", [1, 2, 3])
@pytest.mark.parametrize(
    "options", [{}, {"stride": 2, "padding": 1}, {"dilation": 2, "groups": 2}], ids=str
)
def test_convolutions(torch, n, options):
    channels = 4 // options.get("groups", 1)
    x = torch.randn(2, 4, *[7] * n, requires_grad=True)
    w = torch.randn(6, channels, *[2] * n, requires_grad=True)
    y = getattr(torch.nn.functional, f"conv{n}d")(x, w, **options)
    grad = torch.randn_like(y)
    y.backward(grad)
    of_input = getattr(torch.nn.grad, f"conv{n}d_input")(x.shape, w, grad, **options)
    of_weight = getattr(torch.nn.grad, f"conv{n}d_weight")(x, w.shape, grad, **options)
    torch.testing.assert_close(of_input, x.grad)
    torch.testing.assert_close(of_weight, w.grad)
