"""Convolutions of images whose channels lie beside each other, against those of contiguous ones."""

import mindtorch_v2 as torch
import numpy as np
import pytest
from mindtorch_v2 import nn

LAYERS = {
    "1x1": lambda: nn.Conv2d(24, 20, 1),
    "1x1 without a bias": lambda: nn.Conv2d(24, 20, 1, bias=False),
    "1x1, stride": lambda: nn.Conv2d(24, 20, 1, 2),
    "1x1, transposed": lambda: nn.ConvTranspose2d(24, 20, 1),
    "1x1, transposed and larger": lambda: nn.ConvTranspose2d(
        24, 20, 1, output_padding=1, dilation=2
    ),
    "3x3": lambda: nn.Conv2d(24, 20, 3, padding=1),
    "3x3, stride": lambda: nn.Conv2d(24, 16, 3, 2, 1),
    "3x3, groups": lambda: nn.Conv2d(24, 64, 3, padding=1, groups=4),
    "3x3, groups of odd channels": lambda: nn.Conv2d(24, 128, 3, padding=2, dilation=2, groups=8),
    "5x4, transposed": lambda: nn.ConvTranspose2d(24, 32, (5, 4), 2, 1),
    "depthwise": lambda: nn.Conv2d(24, 24, 3, padding=1, groups=24),
    "depthwise, stride and dilation": lambda: nn.Conv2d(24, 24, (5, 3), 2, 4, 2, groups=24),
    "depthwise, transposed": lambda: nn.ConvTranspose2d(24, 24, 4, 2, 1, groups=24, bias=False),
    "depthwise, wide": lambda: nn.Conv2d(24, 24, (1, 7), padding=(0, 9), groups=24),
    "two filters of each channel": lambda: nn.Conv2d(24, 48, 3, padding=1, groups=24),
}


@pytest.fixture(params=[1, 3])
def threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16"])
@pytest.mark.parametrize("size", [(1, 1), (5, 3), (9, 17)])
@pytest.mark.parametrize("name", LAYERS)
def test_channels_may_lie_beside_each_other(name, size, dtype, threads):
    torch.manual_seed(0)
    layer = LAYERS[name]()
    layer = layer.to(getattr(torch, dtype))
    x = torch.randn(2, 24, *size).to(getattr(torch, dtype))
    results = []
    for layout in (torch.contiguous_format, torch.channels_last):
        layer = layer.to(memory_format=layout)
        layer.zero_grad()
        given = x.clone(memory_format=layout).requires_grad_()
        result = layer(given)
        assert result.is_contiguous(memory_format=layout)
        result.backward(torch.ones_like(result))
        gradients = [given.grad, *(p.grad for p in layer.parameters())]
        results.append([each.detach().double().cpu().numpy() for each in (result, *gradients)])
    for found, wanted in zip(*results, strict=True):
        close = 0.05 if "16" in dtype else 1e-4
        np.testing.assert_allclose(found, wanted, rtol=close, atol=close * abs(wanted).max())


def test_depthwise_channels_of_a_volume(threads):
    layer = nn.Conv3d(17, 17, 3, padding=1, stride=(1, 2, 1), groups=17)
    x = torch.randn(2, 17, 4, 5, 9)
    found = layer(x.contiguous(memory_format=torch.channels_last_3d))
    np.testing.assert_allclose(
        found.detach().cpu().numpy(), layer(x).detach().cpu().numpy(), rtol=1e-4, atol=1e-5
    )


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_infinite_pixels_stay_where_they_are(dtype, threads):
    x = torch.zeros(1, 3, 6, 40, dtype=getattr(torch, dtype))
    x[0, 1, 2, 0] = float("inf")
    layer = nn.Conv2d(3, 3, 3, padding=1, groups=3).to(x.dtype)
    x.requires_grad_()
    layer(x)[0, 0].sum().backward()
    assert layer.weight.grad[0].isfinite().all() and layer.weight.grad[2].isfinite().all()
    assert layer(x)[0, 1, :, 2:].isfinite().all()


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("sizes", [(70, 7, 7), (200, 3, 3), (33, 1, 40)])
@pytest.mark.parametrize("groups", [1, 2])
def test_many_filters_of_one_small_image(sizes, groups, dtype):
    """Filters are divided among threads where there are not enough rows."""
    torch.manual_seed(0)
    filters, *size = sizes
    layer = nn.Conv2d(64, filters * groups, 3, padding=1, groups=groups).to(getattr(torch, dtype))
    x = torch.randn(1, 64, *size).to(getattr(torch, dtype))
    before = torch.get_num_threads()
    results = []
    for threads in (1, 2, 16):
        torch.set_num_threads(threads)
        results.append(layer(x).detach())
    torch.set_num_threads(before)
    assert torch.equal(results[0], results[1]) and torch.equal(results[0], results[2])
    wide = nn.Conv2d(64, filters * groups, 3, padding=1, groups=groups).double()
    wide.load_state_dict(layer.double().state_dict())
    close = 0.02 if dtype == "bfloat16" else 1e-4
    np.testing.assert_allclose(
        results[0].double().cpu().numpy(),
        wide(x.double()).detach().cpu().numpy(),
        rtol=close,
        atol=close,
    )


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("channels", [5, 8])
@pytest.mark.parametrize("filters", [5, 16, 40])
def test_volumes_of_small_planes(filters, channels, dtype, threads):
    """Planes are taken together, and taps beyond an edge are left out."""
    torch.manual_seed(0)
    layer = nn.Conv3d(channels, filters, (3, 3, 5), (1, 2, 1), (2, 1, 2)).double()
    layer = layer.to(getattr(torch, dtype)).double()  # numbers of this dtype
    x = torch.randn(11, channels, 3, 7, 7).to(getattr(torch, dtype)).double()
    results = []
    for each in (torch.float64, getattr(torch, dtype)):
        given = x.to(each).clone().requires_grad_()
        own = layer.to(each)
        own.zero_grad()
        result = own(given)
        result.backward(torch.ones_like(result))
        gradients = [given.grad, *(p.grad for p in own.parameters())]
        results.append([each.detach().double().cpu().numpy() for each in (result, *gradients)])
    for wanted, found in zip(*results, strict=True):
        close = 0.01 if dtype == "bfloat16" else 1e-5
        np.testing.assert_allclose(found, wanted, rtol=close, atol=close * abs(wanted).max())


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
@pytest.mark.parametrize("sides", [1, 2, 3])
@pytest.mark.parametrize("padding", [1, 2])
def test_transposed_results_without_elements(torch_gives, padding, sides, dtype):
    """As torch's own kernels say it: oneDNN, which it may use instead, gives an empty result."""
    operands = (1, 3, *[1] * sides), (3, 4, *[2] * sides)

    def refusal(library):
        operation = getattr(library.nn.functional, f"conv_transpose{sides}d")
        x, weight = (library.ones(sizes, dtype=getattr(library, dtype)) for sizes in operands)
        with pytest.raises(RuntimeError, match="Output size is too small") as caught:
            operation(x, weight, padding=padding)
        return str(caught.value)

    assert refusal(torch) == torch_gives(refusal)


def test_transposed_results_of_an_empty_batch():
    result = torch.nn.functional.conv_transpose2d(
        torch.ones(0, 3, 2, 1), torch.ones(3, 4, 2, 2), padding=1
    )
    assert result.shape == (0, 4, 1, 0)
