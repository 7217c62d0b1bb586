"""Functions whose gradient the user writes."""

import pytest

from tests.autograd.run import make_tests
from tests.nn.scenario import Scenarios, error

scenario = Scenarios()


def cube(torch):
    class Cube(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x**3

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return 3 * x * x * grad

    return Cube


@scenario([[8.0], [12.0], [12.0], [24.0], "CubeBackward", "CubeBackward", True, False])
def save_for_backward(torch):
    x, Cube = torch.tensor([2.0], requires_grad=True), cube(torch)
    y = Cube.apply(x)
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    (second,) = torch.autograd.grad(first, x)
    Cube.apply(x).backward()
    Cube.apply(x).backward()
    with torch.no_grad():
        quiet = Cube.apply(x)
    return [
        y.tolist(), first.tolist(), second.tolist(), x.grad.tolist(), y.grad_fn.name(),
        type(y.grad_fn).__name__, y.requires_grad, quiet.requires_grad,
    ]  # fmt: skip


@scenario([[6.0], [3.0], [8.0], (True, False), (True, False)])
def setup_context(torch):
    seen = []

    class Scale(torch.autograd.Function):
        @staticmethod
        def forward(x, factor=3.0):
            return x * factor

        @staticmethod
        def setup_context(ctx, inputs, output):
            ctx.factor = inputs[1]
            seen.append(ctx.needs_input_grad)

        @staticmethod
        def backward(ctx, grad):
            return grad * ctx.factor, None

    x = torch.tensor([2.0], requires_grad=True)
    y = Scale.apply(x)
    y.backward()
    return [y.tolist(), x.grad.tolist(), Scale.apply(x, factor=4.0).tolist(), *seen]


@scenario([[4.0], [4.0], True, ("RuntimeError", "a leaf Variable that requires grad has been used "
           "in an in-place operation.")])  # fmt: skip
def mark_dirty(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            x.mul_(2)
            ctx.mark_dirty(x)
            return x

        @staticmethod
        def backward(ctx, grad):
            return 2 * grad

    x = torch.tensor([1.0], requires_grad=True)
    y = x * 2
    z = Double.apply(y)
    z.backward()
    return [y.tolist(), x.grad.tolist(), z is y, error(Double.apply, x)]


@scenario([True, False, False, [2.0, 2.0]])
def mark_non_differentiable(torch):
    class Sorted(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            values, places, half = x * 2, torch.tensor([1, 0]), x * 0.5
            ctx.mark_non_differentiable(places, half)
            return values, places, half

        @staticmethod
        def backward(ctx, grad, *others):
            return grad * 2

    x = torch.tensor([1.0, 2.0], requires_grad=True)
    results = Sorted.apply(x)
    results[0].sum().backward()
    return [*(r.requires_grad for r in results), x.grad.tolist()]


@scenario([[["Tensor", "Tensor"], 0.0], [["Tensor", "NoneType"], None]])
def materialized_grads(torch):
    def seen_with(flag):
        seen = []

        class Two(torch.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                ctx.set_materialize_grads(flag)
                return x * 1, x * 2

            @staticmethod
            def backward(ctx, first, second):
                seen.append([type(first).__name__, type(second).__name__])
                seen.append(None if second is None else second.sum().item())
                return first

        Two.apply(torch.ones(2, requires_grad=True))[0].sum().backward()
        return seen

    return [seen_with(True), seen_with(False)]


@scenario([[[1.0], [5.0]], [2.0], None])
def several_inputs_and_outputs(torch):
    class Mix(torch.autograd.Function):
        @staticmethod
        def forward(ctx, name, x, y, scale=None):
            ctx.name = name
            return x + y, (x * y).detach()

        @staticmethod
        def backward(ctx, total, product):
            return None, total * 2, None, None

    x, y = torch.tensor([2.0], requires_grad=True), torch.tensor([3.0], requires_grad=True)
    total, product = Mix.apply("mix", x, y)
    total.backward(retain_graph=True)
    return [[(total - 4).tolist(), (product - 1).tolist()], x.grad.tolist(), y.grad]


@scenario([[6.0], True, ("RuntimeError", "trying to differentiate twice a function that was marked "
           "with @once_differentiable")])  # fmt: skip
def once_differentiable(torch):
    class Square(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @torch.autograd.function.once_differentiable
        def backward(ctx, grad):
            return 2 * ctx.saved_tensors[0] * grad

    x = torch.tensor([3.0], requires_grad=True)
    start = torch.ones(1, requires_grad=True)
    (grad,) = torch.autograd.grad(Square.apply(x), x, start, create_graph=True)
    return [grad.tolist(), grad.requires_grad, error(grad.backward)]


@scenario([[3.0], ("RuntimeError", "Implementing both 'backward' and 'vjp' for a custom Function "
           "is not allowed. You should only implement one of them.")])  # fmt: skip
def vjp(torch):
    class Triple(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return 3 * x

        @staticmethod
        def vjp(ctx, grad):
            return 3 * grad

    class Both(Triple):
        @staticmethod
        def backward(ctx, grad):
            return grad

    x = torch.ones(1, requires_grad=True)
    Triple.apply(x).backward()
    return [x.grad.tolist(), error(Both.apply(x).backward)]


LEGACY = (
    "Legacy autograd function with non-static forward method is deprecated. Please use new-style "
    "autograd function with static forward method. (Example: "
    "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
)


@scenario([
    ("NotImplementedError", "You must implement the forward function for custom "
     "autograd.Function."),
    ("NotImplementedError", "You must implement either the backward or vjp method for your custom "
     "autograd.Function to use it with backward mode AD."),
    ("RuntimeError", LEGACY),
    ("NotImplementedError", "You must implement the jvp function for custom autograd.Function to "
     "use it with forward mode AD."),
    ("RuntimeError", "function WrongBackward returned an incorrect number of gradients (expected "
     "1, got 2)"),
])  # fmt: skip
def mistakes(torch):
    class Empty(torch.autograd.Function):
        pass

    class OneWay(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

    class Wrong(OneWay):
        @staticmethod
        def backward(ctx, grad):
            return grad, grad

    x = torch.ones(1, requires_grad=True)
    return [
        error(Empty.apply, x),
        error(OneWay.apply(x).backward),
        error(lambda: OneWay()(x)),
        error(OneWay.jvp, None),
        error(Wrong.apply(x).backward),
    ]


@scenario([[1.0], True, [1.0]])
def an_input_as_output(torch):
    class Same(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x

        @staticmethod
        def backward(ctx, grad):
            return grad

    x = torch.ones(1, requires_grad=True)
    y = Same.apply(x)
    y.backward()
    return [y.tolist(), y is not x and y.grad_fn is not None, x.grad.tolist()]


test_gives, test_torch_agrees = make_tests(scenario)


def test_instances_are_warned_about(torch):
    with pytest.warns(DeprecationWarning, match="should not be instantiated"):
        cube(torch)()
    with pytest.warns(DeprecationWarning):
        assert torch.autograd.function.InplaceFunction(inplace=True).inplace


def test_forward_mode_has_nothing_to_save(torch):
    class Named(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_forward(x, None)
            return x * 2

    assert Named.apply(torch.ones(1)).tolist() == [2.0]
    with pytest.raises(TypeError, match="tensors or None, not int"):
        torch.autograd.function.FunctionCtx().save_for_forward(3)
