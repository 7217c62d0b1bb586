"""backward and grad: their results, their arguments, and what they refuse."""

import warnings

import pytest

from tests.autograd.run import make_tests
from tests.nn.scenario import Scenarios, error

scenario = Scenarios()


def leaf(torch, *values):
    return torch.tensor(list(values), requires_grad=True)


@scenario([[2.0, 4.0], [4.0, 8.0], [1.0, 1.0]])
def gradients_accumulate(torch):
    x = leaf(torch, 1.0, 2.0)
    seen = []
    for _ in range(2):
        (x * x).sum().backward()
        seen.append(x.grad.tolist())
    x.grad = None
    x.sum().backward()
    return [*seen, x.grad.tolist()]


@scenario([3.0, 40.0])
def given_gradients(torch):
    x = leaf(torch, 1.0, 2.0)
    y = x * x
    y.backward(torch.tensor([0.5, 0.5]))
    first = x.grad.sum().item()
    x.grad = None
    torch.autograd.backward([x * 2, x * 3], [torch.ones(2), torch.tensor([2.0, 10.0])])
    return [first, x.grad.sum().item()]


@scenario([[2.0], None, [3.0], [2.0]])
def only_some_inputs(torch):
    x, w = leaf(torch, 3.0), leaf(torch, 2.0)
    y = x * w
    y.backward(inputs=[x], retain_graph=True)
    seen = [x.grad.tolist(), w.grad]
    torch.autograd.backward(y, inputs=w)
    return [*seen, w.grad.tolist(), x.grad.tolist()]


@scenario([[27.0], [18.0], [6.0], None])
def higher_derivatives(torch):
    x = leaf(torch, 3.0)
    seen, y = [], x * x * x
    for last in (False, False, True):
        (y,) = torch.autograd.grad(y, x, create_graph=not last)
        seen.append(y.tolist())
    return [*seen, x.grad]


@scenario([[[2.0], None], [[2.0], [0.0]], {"a": [2.0], "b": [1.0]}, True])
def forms_of_grad(torch):
    x, unused = leaf(torch, 1.0), leaf(torch, 5.0)
    grad = torch.autograd.grad
    first = grad(x * 2, [x, unused], allow_unused=True)
    second = grad(x * 2, [x, unused], materialize_grads=True)
    third = grad(x * 2 + unused, {"a": x, "b": unused})
    zeros = grad(x * 2, [x, unused], materialize_grads=True, create_graph=True)[1]
    return [
        [first[0].tolist(), first[1]],
        [g.tolist() for g in second],
        {name: g.tolist() for name, g in third.items()},
        zeros.requires_grad,
    ]


@scenario([[[2.0, 0.0], [0.0, 4.0], [2.0, 4.0]], [3, 2], None])
def batched_grads(torch):
    x, other = leaf(torch, 1.0, 2.0), leaf(torch, 1.0)
    weights = torch.tensor([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    found = torch.autograd.grad(
        x * x, [x, other], weights, is_grads_batched=True, allow_unused=True
    )
    return [found[0].tolist(), list(found[0].shape), found[1]]


@scenario([[6.0], [2.0], True])
def edges(torch):
    x = leaf(torch, 3.0)
    y = x * x
    edge = torch.autograd.graph.get_gradient_edge
    (found,) = torch.autograd.grad(y, edge(x), retain_graph=True)
    (other,) = torch.autograd.grad(edge(y), x, torch.tensor([1 / 3]))
    return [found.tolist(), other.tolist(), edge(x).node is edge(x).node]


GRAD_MISTAKES = [
    ("RuntimeError", "grad can be implicitly created only for scalar outputs"),
    (
        "RuntimeError",
        "Mismatch in shape: grad_output[0] has a shape of torch.Size([3]) and output[0] has a "
        "shape of torch.Size([2]).",
    ),
    ("RuntimeError", "got 2 tensors and 1 gradients"),
    ("TypeError", "gradients can be either Tensors or None, but got int"),
    ("RuntimeError", "`inputs` argument to `grad()` cannot be empty."),
    ("RuntimeError", "One of the differentiated Tensors does not require grad"),
    (
        "RuntimeError",
        "The differentiated Tensor at index 1 appears to not have been used in the graph. Set "
        "allow_unused=True if this is the desired behavior.",
    ),
    (
        "RuntimeError",
        "element 0 of tensors does not require grad and does not have a grad_fn",
    ),
    (
        "ValueError",
        "Expected allow_unused to be True or not passed when materialize_grads=True, but got: "
        "allow_unused=False.",
    ),
]


@scenario(GRAD_MISTAKES)
def mistakes_with_grad(torch):
    x, unused, grad = leaf(torch, 1.0, 2.0), leaf(torch, 1.0), torch.autograd.grad
    y = x * x
    return [
        error(grad, y, x),
        error(grad, y, x, torch.ones(3)),
        error(grad, [y, y], x, [torch.ones(2)]),
        error(grad, y, x, [3]),
        error(grad, y.sum(), []),
        error(grad, y.sum(), torch.ones(2)),
        error(grad, y.sum(), [x, unused]),
        error(grad, torch.ones(()), x),
        error(grad, y.sum(), x, allow_unused=False, materialize_grads=True),
    ]


BACKWARD_MISTAKES = [
    ("RuntimeError", "`inputs` argument to `backward()` cannot be empty."),
    (
        "RuntimeError",
        "`grad_tensors` and `grad_variables` (deprecated) arguments both passed to `backward()`. "
        "Please only use `grad_tensors`.",
    ),
    ("RuntimeError", "element 0 of tensors does not require grad and does not have a grad_fn"),
    ("RuntimeError", "grad can be implicitly created only for scalar outputs"),
    (
        "RuntimeError",
        "Trying to backward through the graph a second time (or directly access saved tensors "
        "after they have already been freed). Saved intermediate values of the graph are freed "
        "when you call .backward() or autograd.grad(). Specify retain_graph=True if you need to "
        "backward through the graph a second time or if you need to access saved tensors after "
        "calling backward.",
    ),
]


@scenario(BACKWARD_MISTAKES)
def mistakes_with_backward(torch):
    x = leaf(torch, 1.0, 2.0)
    y = (x * x).sum()
    found = [
        error(y.backward, inputs=[]),
        error(torch.autograd.backward, y, torch.ones(()), grad_variables=torch.ones(())),
        error(torch.ones(()).backward),
        error((x * 2).backward),
    ]
    y.backward()
    return [*found, error(y.backward)]


test_gives, test_torch_agrees = make_tests(scenario)


def test_warnings(torch):
    x = leaf(torch, 1.0)
    with pytest.warns(FutureWarning, match="`grad_variables` is deprecated"):
        torch.autograd.backward(x * 2, grad_variables=torch.ones(1))
    with pytest.warns(FutureWarning, match="only_inputs argument is deprecated"):
        torch.autograd.grad(x * 2, x, only_inputs=False)
    with pytest.warns(UserWarning, match="will create a reference cycle"):
        (x * x).sum().backward(create_graph=True)
    x.grad = None
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.autograd.grad((x * x).sum(), x, create_graph=True)


def test_batches_of_different_sizes(torch):
    x = leaf(torch, 1.0)
    with pytest.raises(RuntimeError, match=r"grad_output\[0\] has a shape of torch.Size\(\[4, 3\]"):
        torch.autograd.grad(x * x, x, torch.ones(4, 3), is_grads_batched=True)
    with pytest.raises(ValueError, match=r"same size in the mapped dimension, got sizes \[2, 3\]"):
        torch.autograd.grad(
            [x * x, x], x, [torch.ones(2, 1), torch.ones(3, 1)], is_grads_batched=True
        )
