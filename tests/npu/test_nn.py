"""Layers and optimizers on an NPU give what they give on the CPU."""

import warnings

import pytest

from tests.nn import layers
from tests.nn.compare import World, assert_same
from tests.optim import cases

# These draw random numbers, which are a device's own.
RANDOM = ("Dropout", "dropout=0.", "RReLU", "TransformerEncoderLayer(4, 2, 8)",
          "TransformerDecoderLayer", "nn.Transformer(", "activation='gelu'")  # fmt: skip
LAYERS = [
    case
    for case in layers.LINEAR + layers.NORMS + layers.SEQUENCES + layers.LOSSES
    if case[1] is not None and "double" not in case[0] + case[1] and "float64" not in case[0]
    if not any(word in case[0] for word in RANDOM) and "Lazy" not in case[0]
]


def moved(value, device):
    if isinstance(value, (tuple, list)) and type(value) in (tuple, list):
        return type(value)(moved(item, device) for item in value)
    return value.to(device) if hasattr(value, "to") else value


def back(value):
    if hasattr(value, "cpu") and not isinstance(value, tuple):
        return value.cpu()
    if isinstance(value, (tuple, list)):
        return [back(item) for item in value]
    return value


@pytest.mark.parametrize(("layer", "inputs"), LAYERS, ids=lambda text: str(text)[:60])
def test_layer(torch, layer, inputs):
    results = []
    for device in ("cpu", "npu"):
        world = World(torch)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = world.eval(layer).to(device)
            args, kwargs = world.arguments(inputs)
            output = back(module(*moved(args, device), **kwargs))
        results.append((output, {k: v.cpu() for k, v in module.state_dict().items()}))
    assert_same(results[1], results[0], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("text", cases.OPTIMIZERS)
def test_optimizer(torch, text):
    results = []
    for device in ("cpu", "npu"):
        torch.manual_seed(0)
        model = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 2)).to(device)
        names = {"p": list(model.parameters()), "model": model, "torch": torch}
        optimizer = eval(f"torch.optim.{text}", names)
        for step in range(3):
            for p in model.parameters():
                p.grad = torch.full_like(p, 0.5) * p + step
            optimizer.step()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        results.append([p.detach().cpu() for p in model.parameters()])
        results[-1] += [p.grad.cpu() for p in model.parameters()]
    rtol, atol = (2e-2, 2e-3) if "Muon" in text else (1e-4, 1e-5)
    assert_same(results[1], results[0], rtol, atol)
