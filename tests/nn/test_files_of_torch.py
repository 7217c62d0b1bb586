"""Whole modules, state dicts and optimizer states that torch saved are loaded and go on."""

import io
import warnings

import mindtorch_v2
import pytest

from tests.nn import layers
from tests.nn.compare import World, assert_same

pytestmark = pytest.mark.filterwarnings("ignore")
CASES = [
    case
    for case in dict(layers.ALL).items()
    # Lazy modules hold hooks of torch's own; torch's CrossMapLRN2d is no LocalResponseNorm.
    if "Lazy" not in case[0] and "CrossMapLRN2d" not in case[0]
]


def saved(torch, what):
    file = io.BytesIO()
    torch.save(what, file)
    return file.getvalue()


def result_of(library, module, inputs):
    args, kwargs = World(library).arguments(inputs)
    with library.no_grad():
        return module(*args, **kwargs)


def module_of(torch, layer, inputs):
    """The file of a module, and what it holds and gives."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        module = World(torch).module(layer).eval()
        data = saved(torch, module)
        state = {name: tensor.clone() for name, tensor in module.state_dict().items()}
        result = None if inputs is None else result_of(torch, module, inputs)
    return data, repr(module), state, result


@pytest.mark.parametrize(("layer", "inputs"), CASES, ids=lambda text: str(text)[:60])
def test_whole_module(torch_gives, layer, inputs):
    data, text, state, expected = torch_gives(module_of, layer, inputs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours = mindtorch_v2.load(io.BytesIO(data), weights_only=False)
        ours.to(mindtorch_v2.get_default_device())
        assert type(ours).__module__.startswith("mindtorch_v2.nn.modules.")
        assert repr(ours) == text
        assert_same(ours.state_dict(), state, rtol=0, atol=0)
        if inputs is not None:
            assert_same(result_of(mindtorch_v2, ours, inputs), expected)


def training(library):
    """A model in the middle of its training, and a step further."""
    library.manual_seed(0)
    model = library.nn.Sequential(library.nn.Linear(3, 4), library.nn.BatchNorm1d(4))
    optimizer = library.optim.AdamW(model.parameters(), lr=0.1)
    schedule = library.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    return {"model": model, "optimizer": optimizer, "schedule": schedule}


def checkpoint_of(torch):
    parts = training(torch)
    model, optimizer, schedule = parts.values()
    model(torch.randn(5, 3)).square().sum().backward()
    optimizer.step()
    schedule.step()
    data = saved(torch, {name: part.state_dict() for name, part in parts.items()})
    grads = [p.grad.tolist() for p in model.parameters()]
    optimizer.step()
    schedule.step()
    return data, grads, dict(model.state_dict()), schedule.get_last_lr()


def test_checkpoint(torch_gives):
    data, grads, expected, rates = torch_gives(checkpoint_of)
    state, parts = mindtorch_v2.load(io.BytesIO(data)), training(mindtorch_v2)
    for name, part in parts.items():
        part.load_state_dict(state[name])
    for parameter, grad in zip(parts["model"].parameters(), grads, strict=True):
        parameter.grad = mindtorch_v2.tensor(grad)
    parts["optimizer"].step()
    parts["schedule"].step()
    assert parts["schedule"].get_last_lr() == pytest.approx(rates)
    assert_same(parts["model"].state_dict(), expected)
