"""einops: the examples of its documentation, against its own results for NumPy."""

import einops
import einops.layers.torch as layers
import numpy
import pytest
import torch

IMAGES = numpy.random.RandomState(0).standard_normal((6, 8, 8, 3)).astype(numpy.float32)

EXAMPLES = {
    "transpose": lambda x: einops.rearrange(x, "b h w c -> b c h w"),
    "stack rows": lambda x: einops.rearrange(x, "b h w c -> (b h) w c"),
    "grid": lambda x: einops.rearrange(x, "(b1 b2) h w c -> (b1 h) (b2 w) c", b1=2),
    "space to depth": lambda x: einops.rearrange(
        x, "b (h h1) (w w1) c -> b h w (c h1 w1)", h1=2, w1=2
    ),
    "list": lambda x: einops.rearrange(list(x), "b h w c -> h (b w) c"),
    "ellipsis": lambda x: einops.rearrange(x, "b ... c -> c ... b"),
    "mean": lambda x: einops.reduce(x, "b h w c -> h w c", "mean"),
    "max pooling": lambda x: einops.reduce(x, "b (h h2) (w w2) c -> h (b w) c", "max", h2=2, w2=2),
    "global": lambda x: x - einops.reduce(x, "b h w c -> b 1 1 c", "mean"),
    "min and sum": lambda x: einops.reduce(
        einops.reduce(x, "b h w c -> b c", "sum"), "b c -> c", "min"
    ),
    "repeat": lambda x: einops.repeat(x, "b h w c -> (b n) (h h2) w c", n=2, h2=2),
    "einsum": lambda x: einops.einsum(x, x, "b h w c, b h w d -> b c d"),
}


@pytest.mark.parametrize("name", EXAMPLES)
def test_functions(name, place):
    example = EXAMPLES[name]
    found = example(torch.from_numpy(IMAGES).to(place))
    assert isinstance(found, torch.Tensor) and found.device.type == place
    numpy.testing.assert_allclose(found.cpu().numpy(), example(IMAGES), rtol=1e-5, atol=1e-5)


def test_gradients_flow_through():
    x = torch.ones(2, 3, 4, requires_grad=True)
    y = einops.reduce(x, "a b c -> b", "mean")
    einops.repeat(y, "b -> b n", n=5).sum().backward()
    numpy.testing.assert_allclose(x.grad.numpy(), numpy.full((2, 3, 4), 5 / 8))


def test_pack_and_unpack():
    first, second = torch.ones(2, 3, 4), torch.zeros(2, 5, 6, 4)
    packed, shapes = einops.pack([first, second], "b * c")
    assert packed.shape == (2, 3 + 30, 4)
    left, right = einops.unpack(packed, shapes, "b * c")
    assert torch.equal(left, first) and torch.equal(right, second)
    assert einops.parse_shape(first, "b _ c") == {"b": 2, "c": 4}
    assert isinstance(einops.asnumpy(first), numpy.ndarray)


def test_wrong_shapes_name_the_pattern():
    with pytest.raises(einops.EinopsError, match="can't divide axis of length 6 in chunks of 4"):
        einops.rearrange(torch.ones(6, 2), "(a b) c -> a b c", b=4)


def test_layers():
    torch.manual_seed(0)
    model = torch.nn.Sequential(
        torch.nn.Conv2d(3, 6, kernel_size=3, padding=1),
        layers.Reduce("b c (h h2) (w w2) -> b c h w", "max", h2=2, w2=2),
        torch.nn.ReLU(),
        layers.Rearrange("b c h w -> b (c h w)"),
        torch.nn.Linear(6 * 4 * 4, 10),
        layers.EinMix("b (g i) -> b (g o)", weight_shape="g i o", bias_shape="g o", g=2, i=5, o=3),
    )
    x = torch.from_numpy(IMAGES).permute(0, 3, 1, 2)
    y = model(x)
    assert y.shape == (6, 6)
    y.square().sum().backward()
    assert all(p.grad is not None and p.grad.abs().sum() > 0 for p in model.parameters())
    again = torch.nn.Sequential(*model)
    again.load_state_dict(model.state_dict())
    assert torch.equal(again(x), y)


def test_compiled():
    compiled = torch.compile(EXAMPLES["max pooling"])
    numpy.testing.assert_allclose(
        compiled(torch.from_numpy(IMAGES)).numpy(), EXAMPLES["max pooling"](IMAGES)
    )
