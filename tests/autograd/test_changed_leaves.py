"""Leaves that become other tensors while older graphs of them live, and gradients given in other
dtypes."""

import pytest

from tests.autograd.run import make_tests
from tests.nn.scenario import Scenarios, error

scenario = Scenarios()


def short(torch, dtype):
    return str(dtype).removeprefix("torch.")


@scenario(["float64", "float64"])
def a_module_in_another_dtype(torch):
    module = torch.nn.Linear(2, 2)
    kept = module(torch.ones(1, 2))
    kept.sum().backward()
    module.zero_grad()
    module.double()
    module(torch.ones(1, 2, dtype=torch.float64)).sum().backward()
    return [short(torch, each.grad.dtype) for each in module.parameters()]


@scenario([["float64", [2.0, 2.0]], "float32"])
def an_older_graph_still_ends_in_the_leaf_as_it_was(torch):
    x = torch.ones(2, requires_grad=True)
    kept = x * 2
    x.data = torch.ones(2, dtype=torch.float64)
    (x * 2).sum().backward()
    seen = [short(torch, x.grad.dtype), x.grad.tolist()]
    x.grad = None
    kept.sum().backward()
    return [seen, short(torch, x.grad.dtype)]


@scenario([["float64", "after"], False])
def hooks_of_a_leaf_stay(torch):
    x = torch.ones(2, requires_grad=True)
    kept = x * 2
    end = kept.grad_fn.next_functions[0][0]
    seen = []
    x.register_hook(lambda grad: seen.append(short(torch, grad.dtype)))
    x.register_post_accumulate_grad_hook(lambda _: seen.append("after"))
    end.register_hook(lambda *_: seen.append("the older end"))
    x.data = torch.ones(2, dtype=torch.float64)
    y = x * 2
    y.sum().backward()
    return [seen, y.grad_fn.next_functions[0][0] is end]


@scenario([4.0, 4.0])
def there_and_back(torch):
    x = torch.ones(2, requires_grad=True)
    kept = x * 2
    x.data = torch.ones(2, dtype=torch.float64)
    x.data = torch.ones(2)
    (kept + x * 2).sum().backward()
    return x.grad.tolist()


@scenario([2.0, 2.0, 2.0])
def set_to_another_shape(torch):
    x = torch.ones(2, requires_grad=True)
    kept = x * 2
    with torch.no_grad():
        x.set_(torch.ones(3))
    (x * 2).sum().backward()
    del kept
    return x.grad.tolist()


@scenario(
    (
        "RuntimeError",
        "data set to a tensor that requires gradients must be floating point or complex dtype",
    )
)
def integers_for_a_leaf(torch):
    x = torch.ones(2, requires_grad=True)
    return error(setattr, x, "data", torch.ones(2, dtype=torch.int64))


@scenario(
    (
        "RuntimeError",
        "The differentiated Tensor at index 0 appears to not have been used in the graph. Set "
        "allow_unused=True if this is the desired behavior.",
    )
)
def an_older_graph_does_not_lead_to_the_leaf_as_it_is(torch):
    x = torch.ones(2, requires_grad=True)
    kept = x * 2
    x.data = torch.ones(2, dtype=torch.float64)
    return error(torch.autograd.grad, kept.sum(), x)


@scenario(["float16", "float16", "float16", ["float16"]])
def given_gradients_have_the_dtype_of_what_they_are_of(torch):
    found = []
    for use in (lambda x: x @ x, lambda x: x):
        x = torch.ones(2, 2, dtype=torch.float16, requires_grad=True)
        use(x).backward(torch.ones(2, 2))
        found.append(short(torch, x.grad.dtype))
    x = torch.ones(2, 2, dtype=torch.float16, requires_grad=True)
    y = x @ x
    seen = []
    y.register_hook(lambda grad: seen.append(short(torch, grad.dtype)))
    (grad,) = torch.autograd.grad(y, x, torch.ones(2, 2, dtype=torch.float64))
    return [*found, short(torch, grad.dtype), seen]


@scenario(["float32", "float32"])
def given_gradients_of_integers_and_truths(torch):
    found = []
    for dtype in (torch.int64, torch.bool):
        x = torch.ones(2, 2, requires_grad=True)
        (x @ x).backward(torch.ones(2, 2, dtype=dtype))
        found.append(short(torch, x.grad.dtype))
    return found


@scenario(
    [
        (
            "RuntimeError",
            "For complex Tensors, both grad_output and output are required to have the same "
            "dtype. Mismatch in dtype: grad_output[0] has a dtype of torch.complex64 and output[0] "
            "has a dtype of torch.float32.",
        ),
        (
            "RuntimeError",
            "For complex Tensors, both grad_output and output are required to have the same "
            "dtype. Mismatch in dtype: grad_output[0] has a dtype of torch.float32 and output[0] "
            "has a dtype of torch.complex64.",
        ),
    ]
)
def given_gradients_that_are_complex_or_not(torch):
    found = []
    for dtype, other in ((torch.float32, torch.complex64), (torch.complex64, torch.float32)):
        x = torch.ones(2, dtype=dtype, requires_grad=True)
        found.append(error((x * 2).backward, torch.ones(2, dtype=other)))
    return found


@scenario(
    (
        "RuntimeError",
        "hook 'wider' has changed the type of value (was torch.HalfTensor got torch.FloatTensor)",
    )
)
def a_hook_that_changes_the_dtype(torch):
    x = torch.ones(2, dtype=torch.float16, device="cpu", requires_grad=True)

    def wider(grad):
        return grad.float()

    y = x * 2
    y.register_hook(wider)
    return error(y.backward, torch.ones(2, dtype=torch.float16, device="cpu"))


@scenario([[(True, False), (True, False)], (False, False)])
def hooks_that_pack_do_not_record(torch):
    seen = []

    def pack(tensor):
        seen.append((tensor.requires_grad, torch.is_grad_enabled()))
        return tensor * 2

    packed = []
    x = torch.ones(2, requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, lambda each: packed.append(each) or each):
        y = x * x
    y.sum().backward()
    return [seen, (packed[0].requires_grad, packed[0].grad_fn is not None)]


test_gives, test_torch_agrees = make_tests(scenario)


def test_a_gradient_on_another_device(torch):
    x = torch.ones(2, requires_grad=True)
    text = "^invalid gradient at index 0 - expected device .* but got meta$"
    with pytest.raises(RuntimeError, match=text):
        (x * 2).backward(torch.ones(2, device="meta"))
