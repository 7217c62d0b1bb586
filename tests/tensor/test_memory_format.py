"""Memory formats, and how results lie in memory."""

import pytest

# --- memory formats -----------------------------------------------------------------------------


def images(torch):
    return torch.arange(2 * 3 * 4 * 5, dtype=torch.float32).view(2, 3, 4, 5)


def test_channels_last(torch):
    x = images(torch)
    y = x.contiguous(memory_format=torch.channels_last)
    assert y.shape == x.shape and y.stride() == (60, 1, 15, 3)
    assert torch.equal(x, y)
    assert y.is_contiguous(memory_format=torch.channels_last) and not y.is_contiguous()
    assert x.is_contiguous() and not x.is_contiguous(memory_format=torch.channels_last)
    assert y.contiguous(memory_format=torch.channels_last) is y
    assert x.to(memory_format=torch.channels_last).stride() == y.stride()
    assert y.contiguous().stride() == (60, 20, 5, 1)


def test_channels_last_is_kept_by_pointwise_ops(torch):
    y = images(torch).contiguous(memory_format=torch.channels_last)
    for made in (
        y + 1,
        y.relu(),
        y.exp(),
        y.clone(),
        y * y,
        torch.zeros_like(y),
        y.to(torch.float64),
        y > 3,
    ):
        assert made.stride() == y.stride()
    other = images(torch)
    assert (y + other).stride() == y.stride()
    assert (other + y).stride() == other.stride()
    assert y.add_(1).stride() == (60, 1, 15, 3)


def test_making_in_a_format(torch):
    fmt = torch.channels_last
    assert torch.empty(2, 3, 4, 5, memory_format=fmt).stride() == (60, 1, 15, 3)
    assert torch.empty_like(images(torch), memory_format=fmt).stride() == (60, 1, 15, 3)
    assert images(torch).clone(memory_format=fmt).stride() == (60, 1, 15, 3)
    three = torch.channels_last_3d
    assert torch.empty(2, 3, 4, 5, 6, memory_format=three).stride() == (360, 1, 90, 18, 3)
    y = images(torch).contiguous(memory_format=fmt)
    assert torch.empty_like(y, memory_format=torch.contiguous_format).stride() == (60, 20, 5, 1)
    assert torch.empty_like(y, memory_format=torch.preserve_format).stride() == y.stride()


def test_formats_that_do_not_fit(torch):
    with pytest.raises(RuntimeError, match="required rank 4 tensor to use channels_last format"):
        torch.ones(2, 3).contiguous(memory_format=torch.channels_last)
    with pytest.raises(RuntimeError, match="required rank 5 tensor to use channels_last_3d format"):
        torch.ones(2, 3).contiguous(memory_format=torch.channels_last_3d)
    with pytest.raises(TypeError):
        torch.ones(2, 3).contiguous(memory_format="channels_last")


def test_format_names(torch):
    assert repr(torch.channels_last) == str(torch.channels_last) == "torch.channels_last"
    assert repr(torch.contiguous_format) == "torch.contiguous_format"
    assert isinstance(torch.preserve_format, torch.memory_format)


# --- strides of results -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make, stride",
    [
        (lambda t, x: x.t() + 1, (1, 4)),
        (lambda t, x: x.t() + x.t(), (1, 4)),
        (lambda t, x: x.t() + t.ones(4, 3), (1, 4)),
        (lambda t, x: t.ones(4, 3) + x.t(), (3, 1)),
        (lambda t, x: x[:, ::2] + 1, (2, 1)),
        (lambda t, x: x[:1].expand(3, 4) + 1, (4, 1)),
        (lambda t, x: x.t() + t.ones(3), (1, 4)),
        (lambda t, x: t.ones(3) + x.t(), (1, 4)),
        (lambda t, x: x.t().exp(), (1, 4)),
        (lambda t, x: x.t().to(t.int32), (1, 4)),
        (lambda t, x: t.where(x.t() > 3, x.t(), 0), (1, 4)),
        (lambda t, x: x.t().sum(1, keepdim=True).expand(4, 3).clone(), (3, 1)),
        (lambda t, x: t.cat([x.t(), x.t()]), (3, 1)),
        (lambda t, x: x.t() @ x, (4, 1)),
    ],
)
def test_strides_of_results(torch, make, stride):
    x = torch.arange(12.0).view(3, 4)
    assert make(torch, x).stride() == stride
