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


@pytest.mark.parametrize(("layer", "inputs"), CASES, ids=lambda text: str(text)[:60])
def test_whole_module(layer, inputs):
    torch = pytest.importorskip("torch")
    file = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        theirs = World(torch).eval(layer).eval()
        torch.save(theirs, file)
        file.seek(0)
        ours = mindtorch_v2.load(file, weights_only=False)
        assert type(ours).__module__.startswith("mindtorch_v2.nn.modules.")
        assert repr(ours) == repr(theirs)
        assert_same(ours.state_dict(), theirs.state_dict(), rtol=0, atol=0)
        if inputs is not None:
            results = []
            for library, module in ((mindtorch_v2, ours), (torch, theirs)):
                args, kwargs = World(library).arguments(inputs)
                with library.no_grad():
                    results.append(module(*args, **kwargs))
            assert_same(*results)


def test_checkpoint():
    torch = pytest.importorskip("torch")
    model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4))
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 10)
    model(torch.randn(5, 3)).square().sum().backward()
    optimizer.step()
    schedule.step()
    file = io.BytesIO()
    parts = {"model": model, "optimizer": optimizer, "schedule": schedule}
    torch.save({name: part.state_dict() for name, part in parts.items()}, file)
    file.seek(0)
    state = mindtorch_v2.load(file)
    nn, optim = mindtorch_v2.nn, mindtorch_v2.optim
    ours = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4))
    our_optimizer = optim.AdamW(ours.parameters())
    our_schedule = optim.lr_scheduler.CosineAnnealingLR(our_optimizer, 10)
    ours.load_state_dict(state["model"])
    our_optimizer.load_state_dict(state["optimizer"])
    our_schedule.load_state_dict(state["schedule"])
    for mine, other in zip(ours.parameters(), model.parameters(), strict=True):
        mine.grad = mindtorch_v2.tensor(other.grad.tolist())
    for part in (optimizer, our_optimizer, schedule, our_schedule):
        part.step()
    assert our_schedule.get_last_lr() == pytest.approx(schedule.get_last_lr())
    assert_same(ours.state_dict(), model.state_dict())
