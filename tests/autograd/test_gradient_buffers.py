"""Which memory a gradient has: none is copied that nobody else can see."""

import mindtorch_v2 as torch
import pytest


def recorded_ops(pipeline):
    return [op["op_name"] for op in pipeline.debug_dump()["entries"]]


def gradient_seen_by_hook(tensor, make_loss):
    seen = []
    tensor.register_hook(lambda grad: seen.append((grad.data_ptr(), grad.stride())))
    make_loss().backward()
    return seen[0]


@pytest.mark.parametrize("bias", [True, False])
def test_the_gradient_of_a_linear_weight_has_the_weights_layout(bias):
    layer = torch.nn.Linear(6, 4, bias=bias)
    pointer, stride = gradient_seen_by_hook(layer.weight, lambda: layer(torch.ones(3, 6)).sum())
    assert stride == layer.weight.stride() == layer.weight.grad.stride()
    assert layer.weight.grad.data_ptr() == pointer


def test_the_gradient_of_a_transposed_leaf_has_its_layout():
    x = torch.ones(3, 5).t().requires_grad_()
    (x @ torch.ones(3, 2)).sum().backward()
    assert x.grad.stride() == x.stride() == (1, 5)
    (torch.ones(2, 5) @ x).sum().backward()
    assert x.grad.tolist() == [[4.0] * 3] * 5


def test_a_gradient_that_is_a_view_of_its_own_memory_is_not_copied_and_is_no_view():
    x = torch.ones(2, 3, requires_grad=True)
    pointer, _ = gradient_seen_by_hook(x, lambda: x.view(6).exp().sum())
    assert x.grad.data_ptr() == pointer
    assert not x.grad._is_view()


def test_two_leaves_never_share_a_gradient():
    a = torch.ones(2, 3, requires_grad=True)
    b = torch.ones(6, requires_grad=True)
    (a.view(6) + b).sum().backward()
    a.grad.add_(1)
    assert b.grad.tolist() == [1.0] * 6


def test_the_users_gradient_is_copied():
    x = torch.ones(3, requires_grad=True)
    given = torch.ones(3)
    (x * 1).backward(given)
    x.view(3).backward(given)
    assert x.grad.data_ptr() != given.data_ptr()
    assert given.tolist() == [1.0] * 3
    assert x.grad.tolist() == [2.0] * 3


def test_a_pipeline_clones_no_fresh_gradient():
    with torch.pipeline() as pipeline:
        w = torch.ones(4, 4, requires_grad=True)
        (torch.ones(3, 4) @ w).sum().backward()
        assert "clone" not in recorded_ops(pipeline)
    assert w.grad.tolist() == [[3.0] * 4] * 4
    with torch.pipeline() as pipeline:
        a = torch.ones(2, 3, requires_grad=True)
        b = torch.ones(2, 3, requires_grad=True)
        (a + b).sum().backward()
    a.grad.add_(1)
    assert b.grad.tolist() == [[1.0] * 3] * 2
