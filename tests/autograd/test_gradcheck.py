"""gradcheck accepts right gradients and refuses wrong ones."""

import pytest

from tests.autograd.run import make_tests
from tests.nn.scenario import Scenarios, error

scenario = Scenarios()


def doubles(torch, *shape):
    count = max(1, int(torch.tensor(shape).prod())) if shape else 1
    values = torch.arange(1, count + 1).double().reshape(shape) * 0.3
    return values.requires_grad_()


def function(torch, forward, backward):
    class Made(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *args):
            ctx.save_for_backward(*args)
            return forward(*args)

        @staticmethod
        def backward(ctx, *grads):
            return backward(ctx, *grads)

    return Made.apply


@scenario([True] * 8)
def right_gradients(torch):
    check, again = torch.autograd.gradcheck, torch.autograd.gradgradcheck
    x, y = doubles(torch, 3), doubles(torch, 2, 3)
    return [
        check(torch.sin, x),
        check(torch.sin, (x,), fast_mode=True),
        check(lambda x, y: (x * y, y.sum()), (x, y)),
        check(lambda x, n: x * n, (x, 3)),
        check(lambda x: x.argmax(), x),
        check(torch.sin, x, check_batched_grad=True, check_grad_dtypes=True),
        again(torch.sin, x),
        again(lambda x, y: x * y, (x, y), gen_non_contig_grad_outputs=True, fast_mode=True),
    ]


@scenario([
    "Jacobian mismatch for output 0 with respect to input 0,",
    "Jacobian mismatch for output 0 with respect to input 1,",
    "Jacobian mismatch for output 0 with respect to input 0,",
    "Numerical gradient for function expected to be zero",
    False,
    "Jacobian mismatch for output 0 with respect to input 0,",
])  # fmt: skip
def wrong_gradients(torch):
    check, x = torch.autograd.gradcheck, doubles(torch, 3)
    wrong = function(torch, lambda x: x * 2, lambda ctx, grad: grad * 3)
    one_wrong = function(torch, lambda x, y: x * y, lambda ctx, grad: (
        grad * ctx.saved_tensors[1], grad))  # fmt: skip
    # Right at the first time, wrong at the second.
    second = function(torch, lambda x: x * x, lambda ctx, grad: (
        2 * ctx.saved_tensors[0].detach() * grad))  # fmt: skip
    calls = [
        (check, wrong, x),
        (check, one_wrong, (x, doubles(torch, 3))),
        (check, wrong, x, {"fast_mode": True}),
        (check, lambda x: x.detach() * 2, x),
        (check, wrong, x, {"raise_exception": False}),
        (torch.autograd.gradgradcheck, second, x),
    ]
    result = []
    for call, f, inputs, *options in calls:
        try:
            result.append(call(f, inputs, **(options[0] if options else {})))
        except RuntimeError as raised:
            assert type(raised).__name__ == "GradcheckError"
            result.append(str(raised).splitlines()[0])
    return result


@scenario([
    "backward not multiplied by grad_output",
    "Backward is not reentrant, i.e., running backward with same input and grad_output multiple "
    "times gives different values",
    True,
])  # fmt: skip
def odd_gradients(torch):
    check, x = torch.autograd.gradcheck, doubles(torch, 3)
    offset = function(torch, lambda x: x * 2, lambda ctx, grad: grad * 2 + 1e-7)
    calls = []

    def drift(ctx, grad):
        calls.append(1)
        return grad * (2 + 1e-9 * len(calls))

    drifting = function(torch, lambda x: x * 2, drift)
    return [
        error(check, offset, x)[1],
        error(check, drifting, x)[1].partition(",  although")[0].partition(", although")[0],
        check(drifting, x, nondet_tol=1e-6),
    ]


@scenario([
    ("ValueError", "gradcheck expects at least one input tensor to require gradient, but none of "
     "them have requires_grad=True."),
    ("RuntimeError", "The 0th input has a dimension with stride 0. gradcheck only supports inputs "
     "that are non-overlapping to be able to compute the numerical gradients correctly. You should "
     "call .contiguous on the input before passing it to gradcheck."),
    ("AssertionError", "Expected at least one of check_forward_ad or check_backward_ad to be True"),
])  # fmt: skip
def mistakes(torch):
    check, x = torch.autograd.gradcheck, doubles(torch, 3)
    expanded = x.detach()[:1].expand(3).requires_grad_()
    return [
        error(check, torch.sin, x.detach()),
        error(check, torch.sin, expanded),
        error(check, torch.sin, x, check_backward_ad=False),
    ]


@scenario([True, ("RuntimeError", "a leaf Variable that requires grad is being used in an in-place "
                  "operation.")])  # fmt: skip
def functions_in_place(torch):
    check, x = torch.autograd.gradcheck, doubles(torch, 2)
    return [check(lambda x: x.clone().mul_(2), x), error(check, lambda x: x.mul_(2), x)]


test_gives, test_torch_agrees = make_tests(scenario)


def test_single_precision_is_warned_about(torch):
    x = torch.ones(2, requires_grad=True)
    with pytest.warns(UserWarning, match="is not a double precision floating point"):
        torch.autograd.gradcheck(lambda x: x * 2, x, eps=1e-2, atol=1e-2)


def test_missing_gradients_count_as_zeros(torch):
    class Two(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.set_materialize_grads(False)
            return x * 1, x * 1

        @staticmethod
        def backward(ctx, first, second):
            if first is None and second is None:
                return torch.ones(2, dtype=torch.float64)  # wrong
            return (0 if first is None else first) + (0 if second is None else second)

    x = doubles(torch, 2)
    assert torch.autograd.gradcheck(Two.apply, x, check_undefined_grad=False)
    with pytest.raises(RuntimeError, match="Expected all input grads to be undefined or zero"):
        torch.autograd.gradcheck(Two.apply, x)


def test_forward_mode_is_refused(torch):
    with pytest.raises(NotImplementedError, match="no forward mode"):
        torch.autograd.gradcheck(torch.sin, doubles(torch, 2), check_forward_ad=True)
