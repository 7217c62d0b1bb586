"""Networks train and generate on torch_npu as they do on the CPU."""

import copy

import pytest
import torch
from torch.nn import functional as F

from tests.torch_npu import models


def losses(model, step, make_optimizer, steps=4):
    optimizer = make_optimizer(model.parameters())
    found = []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = step(model)
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def both(model, step, make_optimizer):
    """Losses on the CPU and on the NPU, from the same start."""
    other = copy.deepcopy(model).npu()
    wanted = losses(model, lambda m: step(m, "cpu"), make_optimizer)
    found = losses(other, lambda m: step(m, "npu"), make_optimizer)
    assert wanted[-1] < wanted[0]
    return wanted, found


@pytest.mark.parametrize("kind", [models.Rotary, models.Learned])
def test_transformers_train(kind):
    ids = torch.randint(0, models.VOCABULARY, (2, 9))

    def step(model, device):
        logits, _ = model(ids.to(device))
        return F.cross_entropy(
            logits[:, :-1].reshape(-1, models.VOCABULARY), ids[:, 1:].reshape(-1).to(device)
        )

    wanted, found = both(kind(), step, lambda p: torch.optim.AdamW(p, lr=3e-3))
    assert found == pytest.approx(wanted, abs=2e-4)


def test_a_transformer_generates():
    model = models.Rotary().eval()
    ids = torch.randint(0, models.VOCABULARY, (2, 5))
    wanted = model.generate(ids, 8)
    found = model.npu().generate(ids.npu(), 8)
    assert found.cpu().tolist() == wanted.tolist()


def test_a_convolutional_network_trains():
    x, y = torch.randn(4, 3, 16, 16), torch.tensor([0, 1, 2, 3])

    def step(model, device):
        return F.cross_entropy(model(x.to(device)), y.to(device))

    wanted, found = both(
        models.convolutional(), step, lambda p: torch.optim.SGD(p, lr=0.1, momentum=0.9)
    )
    assert found == pytest.approx(wanted, abs=1e-3)


def test_autocast_computes_in_half_precision():
    layer, x = torch.nn.Linear(8, 8), torch.randn(4, 8)
    wanted = layer(x)
    with torch.autocast("npu", dtype=torch.float16):
        found = layer.npu()(x.npu())
    assert found.dtype == torch.float16
    torch.testing.assert_close(found.float().cpu(), wanted, atol=1e-2, rtol=1e-2)


def test_training_with_scaled_gradients():
    """autocast with a GradScaler: an overflow leaves the parameters and halves the scale."""
    model = torch.nn.Linear(8, 4).npu()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.npu.amp.GradScaler(init_scale=2.0**10)
    x = torch.randn(16, 8, device="npu")
    for step in range(3):
        before = model.weight.detach().clone()
        optimizer.zero_grad()
        with torch.autocast("npu", dtype=torch.float16):
            loss = model(x).float().pow(2).mean()
        scaler.scale(loss * (float("inf") if step == 1 else 1.0)).backward()
        scaler.step(optimizer)
        scaler.update()
        assert torch.equal(before, model.weight) == (step == 1)
        assert scaler.get_scale() == (2.0**10 if step == 0 else 2.0**9)


@pytest.mark.parametrize("kind", [torch.nn.LSTM, torch.nn.GRU])
def test_recurrent_networks_train(kind):
    x, y = torch.randn(2, 5, 8), torch.randn(2, 5, 16)

    def step(model, device):
        return F.mse_loss(model(x.to(device))[0], y.to(device))

    wanted, found = both(kind(8, 16, batch_first=True), step, lambda p: torch.optim.SGD(p, lr=0.1))
    assert found == pytest.approx(wanted, abs=2e-3)
