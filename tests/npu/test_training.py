"""Training on an NPU: the CPU's losses, and what a fault in a step leaves behind."""

import collections
import contextlib
import gc

import numpy
import pytest

from tests.training.programs import PROGRAMS, losses

FAILED = 507899  # an internal error: none that a caller could recover from


@pytest.mark.parametrize("name", PROGRAMS)
def test_losses(torch, name):
    eager = losses(torch, name, device="npu")
    numpy.testing.assert_allclose(eager, losses(torch, name), rtol=1e-4)
    deferred = losses(torch, name, device="npu", pipeline=True)
    numpy.testing.assert_allclose(deferred, eager, rtol=1e-6)


def step(torch, mode):
    """The first step of a small network: its loss and the new weights."""
    nn = torch.nn
    torch.manual_seed(0)
    tokens = torch.arange(6).npu()
    model = nn.Sequential(
        nn.Embedding(6, 4), nn.LayerNorm(4), nn.Linear(4, 8), nn.GELU(), nn.Linear(8, 6)
    ).npu()
    optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
    with torch.pipeline() if mode == "pipeline" else contextlib.nullcontext():
        loss = nn.functional.cross_entropy(model(tokens), tokens.flip(0))
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
    return loss.item(), [p.tolist() for p in model.parameters()]


def settle(torch):
    """Waits for both devices; errors not yet raised are raised here."""
    for device in (0, 1):
        try:
            torch.npu.synchronize(device)
        except RuntimeError as error:
            assert str(FAILED) in str(error)


@pytest.mark.parametrize("kind", ["call", "task"])
def test_every_call_of_a_step_fails_in_turn(torch, simulator, mode, kind):
    """An error that tells the code, no memory lost, and the next step is right."""
    expected = step(torch, mode)
    gc.collect()
    before = torch.npu.memory_allocated()
    simulator.clear_calls()
    step(torch, mode)
    settle(torch)
    counts = collections.Counter(each.function for each in simulator.calls() if each.kind == kind)
    assert counts["aclnnMm"] == 4  # gradients of inputs and weights of two layers
    raised = 0
    for function, count in counts.items():
        for number in range(1, count + 1):
            case = f"{function}, {kind} {number}"
            try:
                with simulator.faults(f"{kind}:{function}:{number}:{FAILED}"):
                    step(torch, mode)
            except RuntimeError as error:
                raised += 1
                assert str(FAILED) in str(error), f"{case}: {error}"
            settle(torch)
            assert torch.npu.memory_allocated() == before, f"{case}, leaks"
            assert step(torch, mode) == expected, f"after {case}"
    assert raised > len(counts)
