"""Gradients of every layer and loss, by its parameters and inputs, against torch's."""

import warnings

import mindtorch_v2
import pytest

from tests.nn import layers
from tests.nn.compare import World, assert_same

pytestmark = pytest.mark.filterwarnings("ignore")
CASES = [case for case in layers.ALL if case[1] is not None]


def tensors(value):
    """The tensors in arguments or results, nested as these are."""
    if hasattr(value, "detach"):
        return [value]
    if isinstance(value, dict):
        value = list(value.values())
    return [t for item in value for t in tensors(item)] if isinstance(value, (tuple, list)) else []


def replaced(value, change):
    """The same arguments with other tensors."""
    if hasattr(value, "detach"):
        return change(value)
    if type(value) in (tuple, list):
        return type(value)(replaced(item, change) for item in value)
    if isinstance(value, dict):
        return {key: replaced(item, change) for key, item in value.items()}
    return value


def gradients(library, layer, inputs):
    """Of a weighted sum of the outputs."""
    world = World(library)
    leaves = []

    def with_gradient(tensor):
        is_refused = "SoftMarginLoss" in layer and leaves  # torch has none by the target
        if not tensor.is_floating_point() or is_refused:
            return tensor
        leaves.append(tensor.requires_grad_())
        return tensor * 1  # layers that work in place may not write to a leaf

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = world.module(layer)
        args, kwargs = replaced(world.arguments(inputs), with_gradient)
        library.manual_seed(1)
        total = 0
        for output in tensors(module(*args, **kwargs)):
            if output.requires_grad:
                weights = library.arange(output.numel(), dtype=output.dtype).cos()
                total = total + (output.flatten() * weights).sum()
        total.backward()
    grads = {name: p.grad for name, p in module.named_parameters()}
    grads |= {f"input {i}": leaf.grad for i, leaf in enumerate(leaves)}
    return {
        name: grad.to_dense() if getattr(grad, "is_sparse", False) else grad
        for name, grad in grads.items()
    }


@pytest.mark.parametrize(("layer", "inputs"), CASES, ids=lambda text: str(text)[:60])
def test_layer(torch_gives, layer, inputs):
    theirs = torch_gives(gradients, layer, inputs)
    ours = gradients(mindtorch_v2, layer, inputs)
    assert list(ours) == list(theirs)
    for name, grad in theirs.items():
        assert (ours[name] is None) == (grad is None), name
        assert_same(ours[name], grad, rtol=1e-4, atol=1e-5)
