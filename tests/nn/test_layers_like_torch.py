"""Every layer against torch's: repr, state dict, first values, outputs in training and after."""

import warnings

import mindtorch_v2
import pytest

from tests.nn import layers
from tests.nn.compare import World, assert_same

pytestmark = pytest.mark.filterwarnings("ignore")


def outcome(library, layer, inputs):
    world = World(library)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = world.module(layer)
        result = {"repr": repr(module), "first": module.state_dict()}
        result["first"] = {
            key: value.clone() if hasattr(value, "clone") and "Uninit" not in repr(value) else None
            for key, value in result["first"].items()
        }
        result["dtypes"] = [str(getattr(v, "dtype", "")) for v in result["first"].values()]
        result["children"] = [name for name, _ in module.named_modules()]
        result["parameters"] = [(n, p.requires_grad) for n, p in module.named_parameters()]
        if inputs is not None:
            for mode in (True, False):
                module.train(mode)
                args, kwargs = world.arguments(inputs)
                with library.no_grad():
                    library.manual_seed(1)
                    result[f"output {mode}"] = module(*args, **kwargs)
            result["last"] = module.state_dict()
            result["last repr"] = repr(module)
    return result


@pytest.mark.parametrize(("layer", "inputs"), layers.ALL, ids=lambda text: str(text)[:60])
def test_layer(torch_gives, layer, inputs):
    ours, theirs = outcome(mindtorch_v2, layer, inputs), torch_gives(outcome, layer, inputs)
    assert ours["repr"] == theirs["repr"]
    assert list(ours["first"]) == list(theirs["first"])
    assert ours["dtypes"] == theirs["dtypes"]
    assert ours["children"] == theirs["children"]
    assert ours["parameters"] == theirs["parameters"]
    assert_same(ours["first"], theirs["first"], rtol=1e-6, atol=1e-7)
    if inputs is not None:
        assert ours["last repr"] == theirs["last repr"]
        assert_same(ours["output True"], theirs["output True"])
        assert_same(ours["output False"], theirs["output False"])
        assert list(ours["last"]) == list(theirs["last"])
        assert_same(ours["last"], theirs["last"])
