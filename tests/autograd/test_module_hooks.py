"""Hooks of modules on gradients."""

from tests.autograd.run import make_tests
from tests.nn.scenario import Scenarios, error

scenario = Scenarios()


def scale(torch, factor=2.0):
    class Scale(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = torch.nn.Parameter(torch.tensor([factor]))

        def forward(self, x, other=None):
            return x * self.weight if other is None else (x * self.weight, other * 3)

    return Scale()


def plain(grads):
    return [None if g is None else g.tolist() for g in grads]


@scenario([[[[2.0]], [[1.0]]], [2.0], [3.0], "BackwardHookFunctionBackward"])
def full_hooks(torch):
    seen, m = [], scale(torch)
    m.register_full_backward_hook(
        lambda m, inputs, outputs: seen.extend([plain(inputs), plain(outputs)])
    )
    x = torch.tensor([3.0], requires_grad=True)  # fmt: skip
    y = m(x)
    y.backward()
    return [seen, x.grad.tolist(), m.weight.grad.tolist(), y.grad_fn.name()]


@scenario([[20.0], [3.0], [200.0], [30.0]])
def hooks_that_change_gradients(torch):
    x, m = torch.tensor([3.0], requires_grad=True), scale(torch)
    m.register_full_backward_hook(lambda m, inputs, outputs: (inputs[0] * 10,))
    m(x).backward()
    first = [x.grad.tolist(), m.weight.grad.tolist()]
    m.register_full_backward_pre_hook(lambda m, outputs: (outputs[0] * 10,))
    x.grad = m.weight.grad = None
    m(x).backward()
    return [*first, x.grad.tolist(), m.weight.grad.tolist()]


@scenario([["pre outer", "pre inner", "inner", "outer"], [["outer", [None], [[1.0]]]]])
def order(torch):
    seen, kept = [], []
    inner = scale(torch)
    outer = torch.nn.Sequential(scale(torch), inner)
    for name, m in (("outer", outer), ("inner", inner)):
        m.register_full_backward_pre_hook(lambda m, g, name=name: seen.append(f"pre {name}"))

        def hook(m, inputs, outputs, name=name):
            seen.append(name)
            if name == "outer":
                kept.append([name, plain(inputs), plain(outputs)])

        m.register_full_backward_hook(hook)
    outer(torch.ones(1)).backward()
    return [sorted(seen, key=lambda n: ("pre" not in n, "outer" in n) if "pre" not in n else
                   (False, "inner" in n)), kept]  # fmt: skip


@scenario([[[[2.0], [0.0]], [[1.0], None]], [[[0.0], [3.0]], [None, [1.0]]]])
def several_inputs_and_outputs(torch):
    seen, m = [], scale(torch)
    m.register_full_backward_hook(lambda m, *grads: seen.append([plain(g) for g in grads]))
    x = torch.tensor([1.0], requires_grad=True)
    m(x, torch.ones(1))[0].backward()
    y = torch.tensor([1.0], requires_grad=True)
    with torch.no_grad():
        m.weight.requires_grad_(False)
    m(torch.ones(1), y)[1].backward()
    return seen


@scenario([False, True, [[3.0]]])
def requires_grad_stays(torch):
    """An input that needs no gradient needs none inside either."""
    seen = []

    class Note(torch.nn.Module):
        def forward(self, x, y):
            seen.extend([x.requires_grad, y.requires_grad])
            return x * y

    m = Note()
    m.register_full_backward_hook(lambda m, inputs, outputs: seen.append(plain(inputs)[1:]))
    m(torch.tensor([3.0]), torch.tensor([2.0], requires_grad=True)).backward()
    return seen


@scenario([[2, 1], [10.0]])
def regular_hooks(torch):
    seen, m = [], torch.nn.Linear(1, 1, bias=False)
    with torch.no_grad():
        m.weight.fill_(10.0)

    class Product(torch.nn.Module):
        def forward(self, x):
            return x * m.weight[0]

    p = Product()
    p.register_backward_hook(lambda m, inputs, outputs: seen.extend([len(inputs), len(outputs)]))
    x = torch.ones(1, requires_grad=True)
    p(x).backward()
    return [seen, x.grad.tolist()]


@scenario([("RuntimeError", "Backward hook returned an invalid number of grad_input, got 2, but "
            "expected 1")])  # fmt: skip
def mistakes(torch):
    x, m = torch.ones(1, requires_grad=True), scale(torch)
    m.register_full_backward_hook(lambda m, inputs, outputs: (inputs[0], inputs[0]))
    return [error(m(x).backward)]


@scenario([[4.0], [6.0], 1])
def global_hooks(torch):
    seen, m, module = [], scale(torch), torch.nn.modules.module
    with module.register_module_full_backward_hook(lambda m, i, o: (seen.append(1), None)[1]):
        with module.register_module_full_backward_pre_hook(lambda m, g: (g[0] * 2,)):
            x = torch.tensor([3.0], requires_grad=True)
            m(x).backward()
    return [x.grad.tolist(), m.weight.grad.tolist(), len(seen)]


@scenario([True, True])
def copies_of_modules(torch):
    import copy

    m = scale(torch)
    m(torch.ones(1)).backward()
    other = copy.deepcopy(m)
    return [other.weight.requires_grad, other.weight.grad is None]


test_gives, test_torch_agrees = make_tests(scenario)
