"""Results and gradients have the same bits however many threads compute them."""

import mindtorch_v2 as torch
import mindtorch_v2.nn.functional as F
import pytest

ROWS = [(2048, 64), (3, 40000), (64, 2048), (9000, 20)]
IMAGES = [(8, 256, 7, 7), (16, 24, 30, 30), (1, 3, 300, 300)]


def _layer_norm(x, weight, bias):
    return F.layer_norm(x, x.shape[-1:], weight, bias)


def _rms_norm(x, weight, bias):
    return F.rms_norm(x, x.shape[-1:], weight) + bias


def _batch_norm(x, weight, bias):
    return F.batch_norm(x, None, None, weight, bias, training=True)


def _batch_norm_of_channels_last(x, weight, bias):
    return _batch_norm(x.contiguous(memory_format=torch.channels_last), weight, bias)


def _instance_norm(x, weight, bias):
    return F.instance_norm(x, None, None, weight, bias)


def _loss(x, weight, bias):
    classes = torch.arange(x.shape[0]) * 7919 % x.shape[1]
    return F.nll_loss(x * weight + bias, classes)


CASES = [(function, size, -1) for function in (_layer_norm, _rms_norm, _loss) for size in ROWS]
CASES += [
    (function, size, 1)
    for function in (_batch_norm, _batch_norm_of_channels_last, _instance_norm)
    for size in IMAGES
]
CASES += [(_batch_norm, (2048, 64), 1)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize(("function", "size", "dim"), CASES)
def test_bits_do_not_depend_on_threads(function, size, dim, dtype):
    torch.manual_seed(0)
    made = [torch.randn(size), torch.randn(size[dim]), torch.randn(size[dim])]
    inputs = [each.to(dtype).requires_grad_() for each in made]
    grad = torch.randn(function(*inputs).shape).to(dtype)
    threads = torch.get_num_threads()
    expected = None
    try:
        for count in (1, 2, 3, 7):
            torch.set_num_threads(count)
            output = function(*inputs)
            found = [output, *torch.autograd.grad(output, inputs, grad)]
            expected = expected or found
            for value, first in zip(found, expected, strict=True):
                assert torch.equal(value, first), count
    finally:
        torch.set_num_threads(threads)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_a_missing_pixel_changes_no_other_sums(dtype):
    """Gradients of filters that such a pixel does not reach are those of a whole image."""
    torch.manual_seed(0)
    x = torch.randn(3, 17, 14, 14, dtype=dtype)
    weight = torch.randn(8, 17, 5, 3, dtype=dtype, requires_grad=True)
    grad = torch.randn(3, 8, 16, 14, dtype=dtype)
    threads = torch.get_num_threads()
    found = []
    try:
        for count in (1, 2, 5):
            torch.set_num_threads(count)
            for pixel in (0.0, float("nan")):
                x[1, 3, 5, 5] = pixel
                output = F.conv2d(x, weight, padding=3, dilation=(1, 3))
                found.append(torch.autograd.grad(output, weight, grad)[0])
    finally:
        torch.set_num_threads(threads)
    for index in range(2, 6):
        assert torch.equal(found[index].nan_to_num(), found[index % 2].nan_to_num())
    assert torch.equal(found[1].isnan().any(0).any(-1).any(-1).nonzero(), torch.tensor([[3]]))
