"""What goes wrong on an NPU: a clear error, nothing lost, no hang, and the next op works."""

import collections
import gc
import itertools

import pytest

FAILED = 507899  # an internal error: none that a caller could recover from


def train(torch, rows=6, steps=2):
    """A loop like a training step's: products, activations, reductions, updates in place, reads,
    pinned inputs and a second stream.
    """
    torch.manual_seed(0)
    x = torch.randn(rows, 4).pin_memory().to("npu", non_blocking=True)
    w = torch.randn(4, 3).to("npu")
    losses = []
    for _ in range(steps):
        y = (x @ w).relu()
        loss = (y.softmax(1) * y).mean()
        w -= 0.1 * (x.t() @ y)
        losses.append(loss.item())
    side = torch.npu.Stream()
    with torch.npu.stream(side):
        side.wait_stream(torch.npu.default_stream())
        z = torch.cat([x, x * 2]).sort(0).values[::2].contiguous()
        x.record_stream(side)
    event = torch.npu.Event(enable_timing=True)
    event.record(side)
    event.synchronize()
    return losses, w.cpu(), z.cpu()


def calls_of(torch, simulator, rows):
    """How often the loop calls each function."""
    simulator.clear_calls()
    train(torch, rows)
    torch.npu.synchronize()
    return collections.Counter(e.function for e in simulator.calls() if e.kind == "call")


def synchronize(torch, code):
    """Waits for both devices; errors not yet raised are raised here."""
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
    synchronize(torch, 0)
    before = torch.npu.memory_allocated()
    counts = calls_of(torch, simulator, next(sizes))
    assert counts["aclnnMm"] == 4
    assert known == (counts["aclnnMmGetWorkspaceSize"] == 0)
    raised = 0
    for function, count in counts.items():
        for number in range(1, count + 1):
            try:
                with simulator.faults(f"call:{function}:{number}:{FAILED}"):
                    train(torch, next(sizes))
            except RuntimeError as error:
                raised += 1
                assert str(FAILED) in str(error), f"{function}, call {number}: {error}"
            synchronize(torch, FAILED)
            losses, w, z = train(torch)
            assert losses == expected[0], f"after {function}, call {number}"
            assert torch.equal(w, expected[1]) and torch.equal(z, expected[2])
            synchronize(torch, 0)
            assert torch.npu.memory_allocated() == before, f"{function}, call {number}, leaks"
    assert raised > len(counts)


@pytest.mark.parametrize("code", [507015, FAILED])
def test_every_task_fails_in_turn(torch, simulator, code):
    """On the device, where it shows at the next wait."""
    expected = train(torch)
    simulator.clear_calls()
    train(torch)
    tasks = [entry.function for entry in simulator.calls() if entry.kind == "task"]
    assert "aclnnMm" in tasks
    for number in range(1, len(tasks) + 1):
        with (
            simulator.faults(f"task:*:{number}:{code}"),
            pytest.raises(RuntimeError, match=str(code)),
        ):
            train(torch)
            torch.npu.synchronize()
        synchronize(torch, code)
        assert train(torch)[0] == expected[0], number


def test_errors_name_op_shapes_dtypes_code_and_text(torch, simulator):
    x, y = torch.ones(2, 3, device="npu"), torch.ones(3, 4, device="npu")
    with (
        simulator.faults("call:aclnnMatmul:1:561003 call:aclnnMm:1:561003"),
        pytest.raises(
            torch.AcceleratorError, match="561003.*ACLNN_ERR_INNER_FIND_KERNEL_ERROR"
        ) as error,
    ):
        x @ y
    assert isinstance(error.value, RuntimeError) and error.value.error_code == 561003
    assert "float32[2, 3], float32[3, 4]" in str(error.value)
    assert "a fault was set" in str(error.value)
