"""torch.func.functional_call, stack_module_state, torch.nn.utils.stateless."""

import re

import pytest


def make_tied(torch):
    class Tied(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = torch.nn.Linear(2, 2)
            self.weight = self.layer.weight
            self.register_buffer("count", torch.zeros(1))

        def forward(self, x):
            self.count = self.count + 1
            return self.layer(x) + self.weight.sum()

    return Tied()


def test_other_parameters(torch):
    layer = torch.nn.Linear(2, 1)
    before = layer.weight
    x = torch.tensor([1.0, 2.0])
    call = torch.func.functional_call
    result = call(layer, {"weight": torch.ones(1, 2), "bias": torch.ones(1)}, x)
    assert torch.equal(result, torch.tensor([4.0]))
    assert layer.weight is before
    result = call(
        layer, ({"weight": torch.ones(1, 2)}, {"bias": torch.zeros(1)}), kwargs={"input": x}
    )
    assert torch.equal(result, torch.tensor([3.0]))


def test_an_error_puts_parameters_back(torch):
    layer = torch.nn.Linear(2, 1)
    before = layer.weight
    with pytest.raises(RuntimeError):
        torch.func.functional_call(layer, {"weight": torch.ones(1, 2)}, torch.ones(3))
    assert layer.weight is before


def test_tied_weights_and_buffers(torch):
    net = make_tied(torch)
    x = torch.zeros(2)
    given = {"layer.weight": torch.ones(2, 2), "layer.bias": torch.zeros(2), "count": torch.ones(1)}
    assert torch.equal(torch.func.functional_call(net, given, x), torch.full((2,), 4.0))
    assert given["count"] == 2 and net.count == 0  # what the module set goes to the dict
    apart = torch.func.functional_call(net, given, x, tie_weights=False)
    torch.testing.assert_close(apart, net.weight.detach().sum().expand(2))
    with pytest.raises(ValueError, match=r"\['layer.weight', 'weight'\], which are tied"):
        torch.func.functional_call(
            net, {"layer.weight": torch.ones(2, 2), "weight": torch.zeros(2, 2)}, x
        )


def test_strict(torch):
    layer = torch.nn.Linear(2, 1)
    x = torch.ones(2)
    text = "for Linear:\n\tUnexpected key(s): 'a'.\n\tMissing key(s): 'bias', 'weight'."
    with pytest.raises(RuntimeError, match=re.escape(text)):
        torch.func.functional_call(layer, {"a": x}, x, strict=True)
    with pytest.raises(TypeError, match="3 is not an instance of torch.Tensor"):
        torch.func.functional_call(layer, {"weight": 3}, x)
    with pytest.raises(ValueError, match="appeared in multiple dictionaries"):
        torch.func.functional_call(layer, [{"weight": x}, {"weight": x}], x)
    with pytest.raises(ValueError, match="Expected parameter_and_buffer_dicts to be a dict"):
        torch.func.functional_call(layer, 3, x)


def test_gradients_by_parameters(torch):
    layer = torch.nn.Linear(2, 1)
    x = torch.tensor([3.0, 4.0])
    weights = dict(layer.named_parameters())
    grads = torch.func.grad(lambda w: torch.func.functional_call(layer, w, x).sum())(weights)
    assert torch.equal(grads["weight"], x[None])
    assert torch.equal(grads["bias"], torch.ones(1))


def test_ensembles(torch):
    nets = [torch.nn.Linear(4, 2) for _ in range(3)]
    parameters, buffers = torch.func.stack_module_state(nets)
    assert parameters["weight"].shape == (3, 2, 4) and parameters["weight"].requires_grad
    assert parameters["weight"].is_leaf
    x = torch.randn(5, 4)

    def run(parameters, buffers, x):
        return torch.func.functional_call(nets[0], (parameters, buffers), x)

    got = torch.vmap(run, in_dims=(0, 0, None))(parameters, buffers, x)
    torch.testing.assert_close(got, torch.stack([net(x) for net in nets]))


def test_ensembles_of_unlike_modules_are_refused(torch):
    stack = torch.func.stack_module_state
    with pytest.raises(RuntimeError, match="Expected at least one model, got 0"):
        stack([])
    with pytest.raises(RuntimeError, match="the same training/eval mode"):
        stack([torch.nn.Linear(1, 1), torch.nn.Linear(1, 1).eval()])
    with pytest.raises(RuntimeError, match="of the same class"):
        stack([torch.nn.Linear(1, 1), torch.nn.ReLU()])


def test_old_name(torch):
    layer = torch.nn.Linear(2, 1, bias=False)
    with pytest.warns(FutureWarning, match="is deprecated as of PyTorch 2.0"):
        result = torch.nn.utils.stateless.functional_call(
            layer, {"weight": torch.ones(1, 2)}, torch.ones(2)
        )
    assert torch.equal(result, torch.tensor([2.0]))


def test_functionalize_changes_nothing(torch):
    x = torch.ones(2)
    assert torch.equal(torch.func.functionalize(lambda a: a.add_(1))(x), torch.full((2,), 2.0))
    with pytest.raises(RuntimeError, match="invalid argument for remove"):
        torch.func.functionalize(torch.sin, remove="all")
