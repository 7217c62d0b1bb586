"""Every layer: keys and numbers as kept from torch, copies, and the state dict there and back."""

import copy
import pickle
import warnings

import pytest

from tests.nn import expected, layers
from tests.nn.compare import World, assert_same

pytestmark = pytest.mark.filterwarnings("ignore")


def test_every_layer_has_expectations():
    assert [(layer, inputs) for layer, inputs, _, _ in expected.read()] == layers.ALL


@pytest.mark.parametrize(
    ("layer", "inputs", "keys", "sums"), expected.read(), ids=lambda value: str(value)[:50]
)
def test_numbers(torch, layer, inputs, keys, sums):
    found_keys, found = expected.describe(torch, layer, inputs)
    assert found_keys == keys
    assert found == pytest.approx(sums, rel=1e-4, abs=1e-4, nan_ok=True)


@pytest.mark.parametrize("layer", dict.fromkeys(layer for layer, _ in layers.ALL))
def test_copies(torch, layer):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = World(torch).module(layer)
        fresh = World(torch).module(layer)
    for other in (copy.deepcopy(module), pickle.loads(pickle.dumps(module))):
        assert repr(other) == repr(module)
        assert list(other.state_dict()) == list(module.state_dict())
        if "Lazy" not in layer:
            assert_same(other.state_dict(), module.state_dict(), rtol=0, atol=0)
    if "Lazy" not in layer:
        with torch.no_grad():
            for p in fresh.parameters():
                p.zero_()
        assert str(fresh.load_state_dict(module.state_dict())) == "<All keys matched successfully>"
        assert_same(fresh.state_dict(), module.state_dict(), rtol=0, atol=0)


def test_lazy_layers_move_before_their_shapes_are_known(torch):
    layer = torch.nn.LazyBatchNorm1d().half().double()
    assert torch.nn.parameter.is_lazy(layer.running_mean) and layer.running_mean.persistent
    assert layer.running_mean.dtype is torch.float64
    layer.float().to(torch.get_default_device())(torch.ones(2, 4))
    assert layer.running_mean.shape == (4,) and layer.running_mean.dtype is torch.float32
