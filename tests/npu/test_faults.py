"""Every call to CANN fails in turn: a clear error, nothing lost, the next op works."""

import collections
import gc
import itertools

import pytest

FAILED = 507899  # an internal error: none that a caller could recover from


def train(torch, rows=6, steps=2):
    """A loop like a training step's: products, activations, reductions, updates in place, reads."""
    torch.manual_seed(0)
    x = torch.randn(rows, 4).to("npu")
    w = torch.randn(4, 3).to("npu")
    losses = []
    for _ in range(steps):
        y = (x @ w).relu()
        loss = (y * y).mean()
        w -= 0.1 * (x.t() @ y)
        losses.append(loss.item())
    side = torch.npu.Stream()
    with torch.npu.stream(side):
        side.wait_stream(torch.npu.default_stream())
        z = torch.cat([x, x * 2]).sort(0).values[::2].contiguous()
    event = torch.npu.Event()
    event.record(side)
    event.synchronize()
    return losses, w.cpu(), z.cpu()


def calls_of(torch, simulator, rows):
    """How often the loop calls each function."""
    simulator.clear_calls()
    train(torch, rows)
    torch.npu.synchronize()
    return collections.Counter(e.function for e in simulator.calls() if e.kind == "call")


def settle(torch, code):
    """Waits for everything; an error that nobody was told yet is told now."""
    gc.collect()
    for device in (0, 1):
        try:
            torch.npu.synchronize(device)
        except RuntimeError as error:
            assert str(code) in str(error)


@pytest.mark.parametrize("known", [True, False], ids=["planned", "new"])
def test_every_call_fails_in_turn(torch, simulator, known):
    sizes = itertools.repeat(6) if known else itertools.count(7)
    expected = train(torch)
    settle(torch, 0)
    before = torch.npu.memory_allocated()
    counts = calls_of(torch, simulator, next(sizes))
    assert counts["aclnnMm"] == 4
    assert known == (counts["aclnnMmGetWorkspaceSize"] == 0)
    told = 0
    for function, count in counts.items():
        for number in range(1, count + 1):
            try:
                with simulator.faults(f"call:{function}:{number}:{FAILED}"):
                    train(torch, next(sizes))
            except RuntimeError as error:
                told += 1
                assert str(FAILED) in str(error), f"{function}, call {number}: {error}"
            settle(torch, FAILED)
            losses, w, z = train(torch)
            assert losses == expected[0], f"after {function}, call {number}"
            assert torch.equal(w, expected[1]) and torch.equal(z, expected[2])
            settle(torch, 0)
            assert torch.npu.memory_allocated() == before, f"{function}, call {number}, leaks"
    assert told > len(counts)


def test_every_task_fails_in_turn(torch, simulator):
    """On the device, where it shows at the next wait."""
    expected = train(torch)
    simulator.clear_calls()
    train(torch)
    tasks = [entry.function for entry in simulator.calls() if entry.kind == "task"]
    assert "aclnnMm" in tasks
    for number in range(1, len(tasks) + 1):
        with (
            simulator.faults(f"task:*:{number}:507015"),
            pytest.raises(RuntimeError, match="507015"),
        ):
            train(torch)
            torch.npu.synchronize()
        settle(torch, 507015)
        assert train(torch)[0] == expected[0], number
