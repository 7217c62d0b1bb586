"""Nodes and edges of the graph; hooks on what it saves and on several gradients."""

import weakref

import pytest

from tests.autograd.run import make_tests
from tests.nn.scenario import Scenarios, error

scenario = Scenarios()


@scenario([True, True, False, "MulBackward0", "AccumulateGrad", True, {"mine": 1}])
def nodes(torch):
    Node = torch.autograd.graph.Node
    x = torch.ones(1, requires_grad=True)
    y = x * 2
    leaf = y.grad_fn.next_functions[0][0]
    y.grad_fn.metadata["mine"] = 1
    return [
        isinstance(y.grad_fn, Node), isinstance(leaf, Node), isinstance(x, Node),
        y.grad_fn.name(), type(leaf).__name__, leaf.variable is x, y.grad_fn.metadata,
    ]  # fmt: skip


@scenario([["pre", "post"], [40.0], [2.0]])
def hooks_of_nodes(torch):
    seen = []
    x = torch.ones(1, requires_grad=True)
    y = x * 2

    def before(grads):
        seen.append("pre")
        return tuple(g * 2 for g in grads)

    def after(inputs, outputs):
        seen.append("post")
        return tuple(None if g is None else g * 10 for g in inputs)

    handles = [y.grad_fn.register_prehook(before), y.grad_fn.register_hook(after)]
    y.backward(retain_graph=True)
    first = x.grad.tolist()
    for handle in handles:
        handle.remove()
    x.grad = None
    y.backward()
    return [seen, first, x.grad.tolist()]


@scenario([["pack", "pack", "unpack", "unpack"], [6.0]])
def saved_tensors_hooks(torch):
    seen = []

    def pack(tensor):
        seen.append("pack")
        return tensor.tolist()

    def unpack(values):
        seen.append("unpack")
        return torch.tensor(values)

    x = torch.tensor([3.0], requires_grad=True)
    with torch.autograd.graph.saved_tensors_hooks(pack, unpack):
        y = x * x
    (x * x).sum()  # outside
    y.backward()
    return [seen, x.grad.tolist()]


@scenario([[6.0], [6.0]])
def save_on_cpu(torch):
    result = []
    for pin in (False, True):
        x = torch.tensor([3.0], requires_grad=True)
        with torch.autograd.graph.save_on_cpu(pin_memory=pin and torch.accelerator.is_available()):
            y = x * x
        y.backward()
        result.append(x.grad.tolist())
    return result


@scenario([("RuntimeError", "not here"), ("RuntimeError", "nor here"), ("RuntimeError", "not here"),
           None])  # fmt: skip
def disabled_hooks(torch):
    graph = torch.autograd.graph

    def use():
        with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
            pass

    result = []
    with graph.disable_saved_tensors_hooks("not here"):
        result.append(error(use))
        with graph.disable_saved_tensors_hooks("nor here"):
            result.append(error(use))
        result.append(error(use))
    return [*result, error(use)]


@scenario([[[2.0], [3.0]], [[2.0], None], 2, True])
def all_of_several_grads(torch):
    seen = []
    x, y = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)

    def hook(grads):
        seen.append([None if g is None else g.tolist() for g in grads])

    handle = torch.autograd.graph.register_multi_grad_hook((x, y), hook)
    (2 * x + 3 * y).backward()
    (2 * x).backward()
    handle.remove()
    (2 * x + 3 * y).backward()
    is_handle = isinstance(handle, torch.utils.hooks.RemovableHandle)
    return [*seen, len(seen), is_handle]


@scenario([[1, 1], ("ValueError", "Expects mode to be one of ('all', 'any') but got some")])
def any_of_several_grads(torch):
    counts = []
    x, y = torch.ones(1, requires_grad=True), torch.ones(1, requires_grad=True)
    register = torch.autograd.graph.register_multi_grad_hook
    register((x, y), lambda grad: counts.append(grad.numel()), mode="any")
    for _ in range(2):
        (x + y).backward()
    return [counts, error(register, (x, y), print, mode="some")]


@scenario([("RuntimeError", "It is not possible to get the gradient edge for a Tensor that does "
            "not require gradients"), 0, 1, "AccumulateGrad"])  # fmt: skip
def edges(torch):
    edge = torch.autograd.graph.get_gradient_edge
    x = torch.arange(4.0).requires_grad_()
    values = x.view(2, 2).unbind()
    return [
        error(edge, torch.ones(1)),
        edge(values[0]).output_nr,
        edge(values[1]).output_nr,
        type(edge(x).node).__name__,
    ]


@scenario([1, 2, 1])
def versions(torch):
    x, y = torch.ones(2), torch.ones(2)
    increment = torch.autograd.graph.increment_version
    increment(x)
    first = x._version
    increment([x, y])
    return [first, x._version, y._version]


test_gives, test_torch_agrees = make_tests(scenario)


def test_an_edge_keeps_the_node_of_a_custom_function(torch):
    class Double(torch.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, grad):
            return grad * 2

    x = torch.ones(1, requires_grad=True)
    edge = torch.autograd.graph.get_gradient_edge(Double.apply(x))
    assert torch.autograd.grad(edge, x, torch.ones(1))[0].tolist() == [2.0]


def test_removed_hooks_are_let_go(torch):
    class Hook:
        def __call__(self, grads):
            pass

    hook, x = Hook(), torch.ones(1, requires_grad=True)
    seen = weakref.ref(hook)
    handle = torch.autograd.graph.register_multi_grad_hook([x], hook)
    handle.remove()
    del hook, handle
    assert seen() is None


def test_changed_saved_tensors_are_no_option(torch):
    with pytest.raises(NotImplementedError, match="clone a tensor"):
        torch.autograd.graph.allow_mutation_on_saved_tensors()
