"""Layers give in a pipeline what they give at once: values, running statistics, random numbers."""

import warnings

import pytest

from tests.nn import layers
from tests.nn.compare import World, assert_same

CASES = [case for case in layers.ALL if case[1] is not None]


def run(torch, layer, inputs):
    world = World(torch)
    module = world.module(layer)
    args, kwargs = world.arguments(inputs)
    torch.manual_seed(1)
    return module(*args, **kwargs), module.state_dict()


@pytest.mark.parametrize(("layer", "inputs"), CASES, ids=lambda text: str(text)[:60])
def test_layer(torch, layer, inputs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        at_once = run(torch, layer, inputs)
        with torch.pipeline():
            deferred = run(torch, layer, inputs)
    assert_same(deferred, at_once, rtol=1e-6, atol=1e-6)
