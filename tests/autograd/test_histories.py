"""Which history a tensor has after it, its base or a view of it was written."""

import pytest


def test_views_in_place_are_recorded(torch):
    weight = torch.arange(9.0).reshape(3, 3)
    x = torch.arange(9.0).reshape(3, 3).requires_grad_()
    y = x * 1
    y.t_()
    (y * weight).sum().backward()
    assert x.grad.tolist() == weight.T.tolist()


def test_an_older_view_of_what_is_transposed_in_place(torch):
    x = torch.ones(2, 3, requires_grad=True)
    y = x * 1
    view = y[:, 1:]
    y.t_()
    y.unsqueeze_(1)
    (view * 2).sum().backward()
    assert x.grad.tolist() == [[0, 2, 2], [0, 2, 2]]


def test_a_saved_output_keeps_its_place_among_several(torch):
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            double, cube = x * 2, x**3
            ctx.save_for_backward(cube, x)
            return double, cube

        @staticmethod
        def backward(ctx, of_double, of_cube):
            cube, x = ctx.saved_tensors
            return 2 * of_double + of_cube * 3 * cube / x

    x = torch.tensor([0.25, 0.5, 0.75], requires_grad=True)
    _, cube = Cube.apply(x)
    (grad,) = torch.autograd.grad(cube.sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(grad.sum(), x)
    assert second.tolist() == pytest.approx([1.5, 3.0, 4.5])


def test_a_dirty_input_that_is_the_second_output(torch):
    class AddOne(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x, y):
            y.add_(1)
            ctx.mark_dirty(y)
            return x * 2, y

        @staticmethod
        def backward(ctx, first, second):
            return first * 2, second * 5

    x, start = (torch.ones(1, requires_grad=True) for _ in range(2))
    first, second = AddOne.apply(x, start * 1)
    (first * 3 + second * 7).sum().backward()
    assert (x.grad.item(), start.grad.item(), second.output_nr) == (6, 35, 1)


def test_what_is_dirty_must_be_returned(torch):
    class Forgets(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.mark_dirty(x)
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad

    with pytest.raises(RuntimeError, match="were not returned as output"):
        Forgets.apply(torch.ones(1, requires_grad=True) * 1)


def test_second_derivative_of_logcumsumexp(torch):
    x = torch.tensor([0.2, 0.7, 0.5, 0.95], dtype=torch.float64, requires_grad=True)
    weight = torch.tensor([1.0, 2, 3, 4], dtype=torch.float64)
    (grad,) = torch.autograd.grad((x.logcumsumexp(0) * weight).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad((grad * weight).sum(), x)
    assert second.tolist() == pytest.approx([-2.430234, -0.446506, 1.145275, 1.731465], abs=1e-5)


def test_hooks_stay_with_the_value_they_were_registered_on(torch):
    seen = []
    y = torch.ones(1, requires_grad=True) * 2
    y.register_hook(lambda grad: seen.append(("before", grad.item())))
    y.mul_(3)
    y.register_hook(lambda grad: seen.append(("after", grad.item())))
    y.sum().backward()
    assert seen == [("after", 1.0), ("before", 3.0)]


def test_retained_gradients_are_of_the_last_value(torch):
    x = torch.ones(4, requires_grad=True)
    base = x * 2
    base.retain_grad()
    base[:2].mul_(3)
    base.sum().backward()
    assert base.grad.tolist() == [1, 1, 1, 1]
    view = (x * 2)[:2]
    view.retain_grad()
    view.mul_(3)
    (view * 5).sum().backward()
    assert view.grad.tolist() == [5, 5]


def test_an_edge_names_an_output_that_there_is(torch):
    y = torch.ones(3, requires_grad=True) * 2
    for output in (7, -1):
        edge = torch.autograd.graph.GradientEdge(y.grad_fn, output)
        with pytest.raises(IndexError):
            torch.autograd.grad((y * 3).sum(), [edge], allow_unused=True)


@pytest.mark.parametrize("block", ["no_grad", "inference_mode"])
def test_views_made_without_gradients_are_not_written_with_them(torch, block):
    y = torch.ones(4, requires_grad=True) * 1
    with getattr(torch, block)():
        view = y[:2]
    with pytest.raises(RuntimeError, match="modified inplace with grad mode enabled"):
        view.mul_(2)


def test_a_view_made_before_its_base_requires_grad(torch):
    base = torch.zeros(4)
    view = base[:2]
    base.requires_grad_()
    assert view.requires_grad
    with pytest.raises(RuntimeError, match="a view of a leaf"):
        view.add_(1)


def test_one_of_several_views_is_not_written(torch):
    weight = torch.ones(3, requires_grad=True)
    for make in (torch.unbind, lambda x: x.split(1), lambda x: x.chunk(2)):
        first = make(torch.zeros(2, 3))[0]
        with pytest.raises(RuntimeError, match="returns multiple views"):
            first.mul_(weight)


def test_inference_tensors_are_not_written_outside(torch):
    with torch.inference_mode():
        x = torch.ones(3)
    assert x[0].is_inference() and x.detach().is_inference()
    assert not x.clone().is_inference()
    with pytest.raises(RuntimeError, match="Inplace update to inference tensor"):
        x.add_(1)


def test_an_argument_returned_as_it_is_is_a_view(torch):
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad * 10

    x = torch.ones(2, requires_grad=True)
    y = Same.apply(x * 1)
    assert y._is_view()
    y.sum().backward()
    assert x.grad.tolist() == [10, 10]
    with pytest.raises(RuntimeError, match="custom Function"):
        Same.apply(x * 1).add_(1)


def test_tensors_that_require_grad_are_not_resized(torch):
    with pytest.raises(RuntimeError, match="cannot resize variables that require grad"):
        torch.ones(2, requires_grad=True).resize_(3)


def test_truth_written_to_a_float_has_no_gradient(torch):
    x = torch.ones(2, requires_grad=True)
    y = x * 2
    y.gt_(1.0)
    y.sum().backward()
    assert x.grad.tolist() == [0, 0]


def test_new_data_keeps_the_count_of_versions(torch):
    x, weight = torch.ones(3, requires_grad=True), torch.ones(3, requires_grad=True)
    with torch.no_grad():
        x.add_(0)
    loss = (x * weight).sum()
    x.data = torch.full((3,), 2.0)
    loss.backward()
    assert weight.grad.tolist() == [2, 2, 2]
