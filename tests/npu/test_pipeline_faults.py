"""Every call to CANN that a flush makes fails in turn: the error names the op, no leak, no hang."""

import collections
import gc
import itertools

import pytest

FAILED = 507899  # an internal error: none that a caller could recover from
MEGABYTE = 1 << 20

# A trace of several kinds of ops: name, function, operands.
OPS = (
    ("product", lambda torch, x, w: x @ w, ("x", "w")),
    ("active", lambda torch, product: product.relu(), ("product",)),
    ("scaled", lambda torch, product: product * 2 + 1, ("product",)),
    ("total", lambda torch, active: active.sum(0), ("active",)),
    ("joined", lambda torch, x: torch.cat([x, x]), ("x",)),
    ("ordered", lambda torch, joined: joined.sort(0).values, ("joined",)),
    ("picked", lambda torch, ordered: ordered[::2].contiguous(), ("ordered",)),
    ("drawn", lambda torch, x: torch.rand(x.shape, device="npu"), ("x",)),
    ("written", lambda torch, scaled: scaled.clone().mul_(0.5), ("scaled",)),
    ("chosen", lambda torch, total, active: torch.where(active > 0, active, total),
     ("total", "active")),
    ("alone", lambda torch, w: w.exp(), ("w",)),
)  # fmt: skip


@pytest.fixture
def launched(monkeypatch):
    """Each op is a call of its own, also in a trace that repeats."""
    monkeypatch.setenv("MINDTORCH_NPU_PIPELINE_GRAPHS", "0")


class RecordedOps:
    """The ops above, recorded; the index of each in the trace, and those that it depends on."""

    def __init__(self, torch, pipe, rows):
        torch.manual_seed(3)
        self.values = {"x": inputs(torch, rows, 4), "w": inputs(torch, 4, 3)}
        torch.npu.synchronize()  # the inputs are there
        self.numbers = {"x": set(), "w": set()}
        for name, make, operands in OPS:
            first = pipe.pending_count()
            self.values[name] = make(torch, *(self.values[operand] for operand in operands))
            own = set(range(first, pipe.pending_count()))
            self.numbers[name] = own.union(*(self.numbers[operand] for operand in operands))

    def results(self):
        return {name: self.values[name] for name, _, _ in OPS}


def inputs(torch, rows, columns):
    return torch.arange(float(rows * columns), device="npu").reshape(rows, columns) / 7 - 1


def eager(torch, rows):
    torch.manual_seed(3)
    values = {"x": inputs(torch, rows, 4), "w": inputs(torch, 4, 3)}
    for name, make, operands in OPS:
        values[name] = make(torch, *(values[operand] for operand in operands))
    return {name: values[name].cpu() for name, _, _ in OPS}


def error_of(action):
    try:
        action()
    except RuntimeError as error:
        return str(error)
    return None


def synchronize(torch):
    """Waits for both devices; errors not yet raised are raised here."""
    gc.collect()
    for device in (0, 1):
        text = error_of(lambda device=device: torch.npu.synchronize(device))
        assert text is None or str(FAILED) in text
    gc.collect()


def flush_with_fault(torch, simulator, rows, fault):
    """A trace whose flush has a fault; what the flush raised, and the pipeline's error."""
    with torch.pipeline() as pipe:
        recorded = RecordedOps(torch, pipe, rows)
        with simulator.faults(fault):
            raised = error_of(pipe.flush)
        assert pipe.pending_count() == 0
        error = pipe.last_error()
        assert (raised is None) == (error is None)
        if raised is not None:
            assert str(FAILED) in raised and error.message in raised
            assert error.backend == "npu:0" and error.callsite["file"] == __file__
            assert error.op_name in pipe.format_error("short")
    return recorded, raised, error


def check_results(torch, recorded, raised, error, expected):
    """What depended on the op that failed raises what the flush raised, each time; the rest does
    so too, or is right."""
    for name, tensor in recorded.results().items():
        texts = [error_of(tensor.cpu) for _ in range(2)]
        assert texts[0] == texts[1], name
        if error is not None and error.op_seq in recorded.numbers[name]:
            assert texts[0] is not None, f"{name} has a value, without {error.op_name}"
        if texts[0] is None:
            assert torch.equal(tensor.cpu(), expected[name]), name
        else:
            assert texts[0] == raised, name


def check_next_trace(torch, expected, case):
    with torch.pipeline() as pipe:
        recorded = RecordedOps(torch, pipe, 6)
    for name, tensor in recorded.results().items():
        assert torch.equal(tensor.cpu(), expected[name]), f"{name} after {case}"
    assert pipe.last_error() is None


@pytest.mark.parametrize("known", [True, False], ids=["planned", "new"])
def test_every_call_of_a_flush_fails_in_turn(torch, simulator, launched, known):
    sizes = itertools.repeat(6) if known else itertools.count(731)  # sizes that no other test has
    expected = eager(torch, 6)
    synchronize(torch)
    before = torch.npu.memory_allocated()

    with torch.pipeline() as pipe:
        recorded = RecordedOps(torch, pipe, next(sizes))
        simulator.clear_calls()
        pipe.flush()
        calls = simulator.calls()
    counts = collections.Counter(call.function for call in calls if call.kind == "call")
    assert counts["aclnnMm"] == 1
    assert known == (counts["aclnnMmGetWorkspaceSize"] == 0)
    del recorded

    told_of = set()
    for function, count in counts.items():
        for number in range(1, count + 1):
            case = f"{function}, call {number}"
            rows = next(sizes)
            fault = f"call:{function}:{number}:{FAILED}"
            torch.npu.empty_cache()  # a graph that is replayed calls nothing else
            recorded, raised, error = flush_with_fault(torch, simulator, rows, fault)
            if error is not None:
                told_of.add(error.op_name)
            synchronize(torch)
            check_results(torch, recorded, raised, error, expected if known else eager(torch, rows))
            del recorded
            synchronize(torch)
            assert torch.npu.memory_allocated() == before, f"{case} leaks"
            check_next_trace(torch, expected, case)
    assert {"mm", "relu", "sum", "cat", "sort", "exp", "where"} <= told_of


def test_every_task_of_a_flush_fails_in_turn(torch, simulator, launched):
    """On the device, after the flush: raised at the next wait."""
    expected = eager(torch, 6)
    synchronize(torch)
    before = torch.npu.memory_allocated()
    with torch.pipeline() as pipe:
        recorded = RecordedOps(torch, pipe, 6)
        simulator.clear_calls()
        torch.npu.synchronize()
        tasks = [call.function for call in simulator.calls() if call.kind == "task"]
    assert "aclnnMm" in tasks
    for number in range(1, len(tasks) + 1):
        with torch.pipeline() as pipe:
            recorded = RecordedOps(torch, pipe, 6)
            with simulator.faults(f"task:*:{number}:{FAILED}"):
                raised = error_of(torch.npu.synchronize)
        assert raised is not None and str(FAILED) in raised, number
        assert pipe.flush_id > 0 and not recorded.values["alone"]._pending
        del recorded
        synchronize(torch)
        assert torch.npu.memory_allocated() == before, f"task {number} leaks"
        check_next_trace(torch, expected, f"task {number}")


def test_an_earlier_tensor_that_a_failed_op_was_to_write(torch, simulator):
    kept = torch.ones(4, device="npu")
    with torch.pipeline() as pipe:
        bad = kept.exp()
        kept.add_(bad)
        with simulator.faults(f"call:aclnnExp:1:{FAILED}"):
            raised = error_of(pipe.flush)
        assert str(FAILED) in raised
        assert error_of(kept.cpu) == raised and error_of(bad.cpu) == raised
    assert kept.fill_(3).tolist() == [3] * 4


def test_a_block_that_ends_with_a_fault(torch, simulator):
    """Leaving the block raises, unless an exception leaves it already: the first error wins."""
    x = torch.ones(4, device="npu")
    with (
        simulator.faults(f"call:aclnnExp:1:{FAILED}"),
        pytest.raises(RuntimeError, match=str(FAILED)),
        torch.pipeline() as pipe,
    ):
        bad = x.exp()
    assert "exp" in pipe.format_error() and str(FAILED) in error_of(bad.cpu)
    with (
        simulator.faults(f"call:aclnnExp:1:{FAILED}"),
        pytest.raises(KeyError, match="mine"),
        torch.pipeline() as pipe,
    ):
        good, bad = x + 1, x.exp()
        raise KeyError("mine")
    assert good.tolist() == [2] * 4 and str(FAILED) in error_of(bad.cpu)


@pytest.fixture
def little_memory(torch, simulator):
    synchronize(torch)
    torch.npu.empty_cache()
    # What kernels keep beside the allocator is not the test's.
    free, total = torch.npu.mem_get_info()
    simulator.add_faults(f"memory:0:{64 * MEGABYTE + total - free}")
    yield
    simulator.clear_faults()
    gc.collect()
    torch.npu.empty_cache()


def test_a_trace_that_does_not_fit(torch, little_memory):
    before = torch.npu.memory_allocated()
    for _ in range(5):
        with torch.pipeline() as pipe:
            x = torch.ones(MEGABYTE, device="npu")
            kept = [x * number for number in range(30)]
            with pytest.raises(torch.OutOfMemoryError, match="NPU out of memory"):
                pipe.flush()
            number = pipe.last_error().op_seq
            assert 8 < number < 20 and pipe.last_error().op_name == "mul"
            for i, tensor in enumerate(kept):
                if i + 1 < number:  # the first op made x
                    assert tensor[-1].item() == i
                else:
                    with pytest.raises(torch.OutOfMemoryError):
                        tensor[-1].item()
            later = torch.ones(3, device="npu") + 1
        assert later.tolist() == [2] * 3
        del x, kept, tensor, later
        synchronize(torch)
        assert torch.npu.memory_allocated() == before


def test_results_that_nobody_keeps_need_no_memory_of_their_own(torch, little_memory):
    with torch.pipeline():
        x = torch.ones(MEGABYTE, device="npu")
        for _ in range(100):  # 400 MiB of results
            x = x + 1
    assert x[-1].item() == 101


def test_a_full_device_flushes_other_queues(torch, little_memory):
    """A queue keeps what its ops read alive: it is flushed before an allocation fails."""
    x = torch.ones(MEGABYTE, device="npu")
    held = [torch.ones(MEGABYTE, device="npu") for _ in range(8)]
    with torch.pipeline() as outer:
        total = held[0]
        while len(held) > 1:
            total.add_(held.pop())
        with torch.pipeline():
            results = [x + number for number in range(9)]
        assert outer.pending_count() == 0
        assert [each[0].item() for each in results] == list(range(1, 10))
    assert total[0].item() == 8
