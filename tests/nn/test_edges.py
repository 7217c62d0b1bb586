"""Arguments at the edge of what functions of torch.nn take."""

import pytest


@pytest.mark.parametrize("n", [1, 2, 3])
def test_a_stride_of_none_is_the_window(torch, n):
    x = torch.arange(4.0**n).view(1, 1, *[4] * n)
    pool = getattr(torch.nn.functional, f"avg_pool{n}d")
    assert torch.equal(pool(x, 2, None), pool(x, 2))
    assert torch.equal(pool(x, 2, stride=None), pool(x, 2))
    with pytest.raises(TypeError):
        pool(x, None)


@pytest.mark.parametrize("between", ["nearest", "nearest-exact", "bilinear", "bicubic"])
def test_images_without_elements(torch, between):
    with pytest.raises(RuntimeError, match="sizes should be greater than 0"):
        torch.nn.functional.interpolate(torch.ones(1, 1, 8, 9), size=0, mode=between)


def test_bags_beyond_the_input(torch):
    with pytest.raises(RuntimeError, match="can not be greater than input's length 3"):
        torch.nn.functional.embedding_bag(
            torch.tensor([1, 2, 0]), torch.ones(5, 3), torch.tensor([0, 7])
        )


def test_a_hook_frees_what_is_being_unpacked(torch):
    class Keep(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x, x * 2, x * 3)
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            return grad

    calls = []

    def unpack(x):
        if not calls:
            calls.append(1)
            y.sum().backward()
        return x

    x = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(lambda x: x.clone(), unpack):
        y = Keep.apply(x)
    assert [each.tolist() for each in y.grad_fn.saved_tensors] == [[1.0] * 2, [2.0] * 2, [3.0] * 2]
