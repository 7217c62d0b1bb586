"""Arguments of torch.nn.functional that torch refuses, in its words, and results over nothing."""

import mindtorch_v2 as torch
import pytest

F = torch.nn.functional


@pytest.mark.parametrize("value", [1.5, -0.1, float("nan")])
@pytest.mark.parametrize("reduction", ["mean", "none"])
def test_binary_cross_entropy_takes_probabilities(value, reduction):
    wrong, right = torch.tensor([value, 0.5]), torch.tensor([0.0, 1.0])
    with pytest.raises(RuntimeError, match="all elements of input should be between 0 and 1"):
        F.binary_cross_entropy(wrong, right, reduction=reduction)
    with pytest.raises(RuntimeError, match="all elements of target should be between 0 and 1"):
        F.binary_cross_entropy(right, wrong, reduction=reduction)


def test_binary_cross_entropy_of_nothing():
    assert F.binary_cross_entropy(torch.ones(0), torch.ones(0)).isnan()


def test_batch_norm_settings():
    x, zeros, ones = torch.rand(2, 3), torch.zeros(3), torch.ones(3)
    for stats in ((zeros, None), (None, ones)):
        with pytest.raises(ValueError, match="must either both be None or neither be None"):
            F.batch_norm(x, *stats, training=True)
    with pytest.raises(ValueError, match="eps must be positive during training, but got 0"):
        torch.nn.BatchNorm1d(3, eps=0)(x)
    with pytest.raises(ValueError, match="eps must be non-negative, but got -1"):
        F.batch_norm(x, zeros, ones, eps=-1.0)
    assert torch.equal(F.batch_norm(x, zeros, ones, eps=0.0), x)


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("shape", [(0, 3), (0, 3, 4, 4)])
def test_batch_norm_of_no_samples(shape, training):
    weight, bias = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    x = torch.zeros(shape, requires_grad=True)
    y = F.batch_norm(x, torch.zeros(3), torch.ones(3), weight, bias, training=training)
    y.sum().backward()
    assert weight.grad.tolist() == bias.grad.tolist() == [0, 0, 0]
    assert x.grad.shape == shape


def test_convolution_needs_a_kernel():
    for size, text in (
        ((0, 3), "kernel_height: 0 kernel_width: 3"),
        ((0,), "kernel_height: 1 kernel_width: 0"),
    ):
        x = torch.ones(1, 2, *(4 for _ in size))
        function = (F.conv1d, F.conv2d)[len(size) - 1]
        with pytest.raises(RuntimeError, match=f"greater than zero, but got {text}"):
            function(x, torch.ones(3, 2, *size))
    with pytest.raises(RuntimeError, match="kernel size should be greater than zero"):
        F.conv_transpose2d(torch.ones(1, 2, 4, 4), torch.ones(2, 3, 0, 3))


def test_convolution_of_no_channels():
    # torch gives no channels, however many the weight has.
    assert F.conv2d(torch.ones(1, 0, 4, 4), torch.ones(3, 0, 3, 3)).shape == (1, 0, 2, 2)


@pytest.mark.parametrize("kind", ["reflect", "replicate", "circular"])
@pytest.mark.parametrize(
    ("shape", "pad"),
    [((1, 2, 4, 4), (1, 1)), ((4,), (1, 1)), ((1, 2, 4), ()), ((1, 2, 4, 4, 4), (1, 1, 1, 1))],
    ids=str,
)
def test_padding_that_does_not_fit_the_dims(kind, shape, pad):
    text = f"Padding size {len(pad)} is not supported for {len(shape)}D input tensor"
    with pytest.raises(NotImplementedError, match=text):
        F.pad(torch.ones(shape), pad, mode=kind)


@pytest.mark.parametrize("kind", ["reflect", "replicate"])
def test_padding_of_nothing(kind):
    with pytest.raises(RuntimeError, match="possibly 0 batch size and other non-zero dimensions"):
        F.pad(torch.ones(1, 2, 0), (1, 1), mode=kind)
    assert F.pad(torch.ones(0, 2, 3), (1, 1), mode=kind).shape == (0, 2, 5)
