"""Deferred ops on NPUs: what eager gives."""

import contextlib
import math
import threading
import time

import pytest


def test_random_numbers_are_the_same_deferred(torch):
    def draw():
        torch.manual_seed(3)
        first = torch.rand(5, device="npu")
        torch.rand(7, device="npu")
        return first, torch.randn(5, device="npu"), torch.randperm(9, device="npu")

    expected = draw()
    with torch.pipeline():
        got = draw()
    for ours, theirs in zip(got, expected, strict=True):
        assert torch.equal(ours, theirs)


def test_waits_and_events_run_what_is_recorded(torch, simulator):
    a = torch.ones(8, device="npu")
    with torch.pipeline() as pipe:
        b = a + 1
        torch.npu.synchronize()
        assert not b._pending and pipe.last_flush_reason == "synchronize"
        c = a * 3
        torch.npu.Event().record()
        assert not c._pending
    assert b.tolist() == [2] * 8 and c.tolist() == [3] * 8


def test_what_nobody_can_see_is_not_computed(torch, called):
    a = torch.ones(8, device="npu")
    kept = []

    def block():
        with torch.pipeline():
            a * 3
            kept.append(a + 1)

    functions = called(block)
    assert "aclnnAdds" in functions
    assert not [name for name in functions if name.startswith("aclnnMul")]
    assert kept[0].tolist() == [2] * 8


@pytest.mark.parametrize("name", ["abs", "hypot", "gelu"])
def test_dtypes_that_an_op_does_not_take_are_told_at_the_call(torch, name):
    call = {
        "abs": lambda: torch.abs(torch.ones(3, dtype=torch.bool, device="npu")),
        "hypot": lambda: torch.hypot(*[torch.ones(3, dtype=torch.int64, device="npu")] * 2),
        "gelu": lambda: torch.nn.functional.gelu(torch.ones(3, device="npu").double()),
    }[name]
    with pytest.raises(NotImplementedError):
        call()
    with torch.pipeline() as pipe, pytest.raises(NotImplementedError):
        call()
    assert pipe.last_error() is None


# --- streams ---


def ops_and_streams(simulator, name):
    return [call.stream for call in simulator.calls(name) if call.kind == "call"]


def number_of(simulator, stream):
    """The id that the call log has for a stream."""
    simulator.clear_calls()
    stream.synchronize()
    (call,) = simulator.calls("aclrtSynchronizeStream")
    return call.stream


def test_ops_run_on_the_stream_they_were_recorded_on(torch, simulator):
    a = torch.ones(8, device="npu")
    side = torch.npu.Stream()
    torch.npu.synchronize()
    main_number = number_of(simulator, torch.npu.current_stream())
    side_number = number_of(simulator, side)
    assert main_number != side_number
    simulator.clear_calls()
    with torch.npu.stream(side), torch.pipeline():
        b = a + 1
        c = b * 3
    assert ops_and_streams(simulator, "aclnnAdds") == [side_number]
    assert ops_and_streams(simulator, "aclnnMuls") == [side_number]
    side.synchronize()
    assert c.tolist() == [6] * 8


def test_switching_streams_runs_what_is_recorded(torch, simulator):
    a = torch.ones(8, device="npu")
    side = torch.npu.Stream()
    torch.npu.synchronize()
    main_number = number_of(simulator, torch.npu.current_stream())
    side_number = number_of(simulator, side)
    with torch.pipeline() as pipe:
        b = a + 1
        with torch.npu.stream(side):
            assert not b._pending and pipe.last_flush_reason == "stream"
            c = a * 3
            assert c._pending
        assert not c._pending
        d = a.exp()
        simulator.clear_calls()
    assert ops_and_streams(simulator, "aclnnExp") == [main_number]
    with torch.pipeline():
        simulator.clear_calls()
        b = a + 1
        with torch.npu.stream(side):
            c = a * 3
    assert ops_and_streams(simulator, "aclnnAdds") == [main_number]
    assert ops_and_streams(simulator, "aclnnMuls") == [side_number]
    torch.npu.synchronize()
    assert b.tolist() == [2] * 8 and c.tolist() == [3] * 8 and d[0].item() > 2


def in_thread(action):
    results = []
    thread = threading.Thread(target=lambda: results.append(action()))
    thread.start()
    thread.join(30)
    assert not thread.is_alive()
    return results[0]


def test_a_backward_pass_on_the_current_stream_runs_nothing(torch, simulator):
    with torch.npu.stream(torch.npu.Stream()):
        pass  # from now on this thread has chosen a stream
    x = torch.ones(4, device="npu", requires_grad=True)
    with torch.pipeline() as pipe:
        (x * 2).exp().sum().backward()
        assert x.grad._pending and pipe.flush_id == 0
    assert x.grad.tolist() == pytest.approx([2 * math.exp(2)] * 4)


def test_another_thread_that_reads_uses_the_streams_of_the_recorder(torch, simulator):
    a = torch.ones(8, device="npu")
    side = torch.npu.Stream()
    torch.npu.synchronize()
    side_number = number_of(simulator, side)
    with torch.npu.stream(side), torch.pipeline() as pipe:
        b = a + 1
        simulator.clear_calls()

        def read():
            own = torch.npu.current_stream()
            b.data_ptr()  # makes it run, on the recorder's stream
            assert torch.npu.current_stream() == own
            return own

        assert in_thread(read) != side
        assert not b._pending and pipe.last_flush_reason == "read"
        assert ops_and_streams(simulator, "aclnnAdds") == [side_number]
    side.synchronize()
    assert b.tolist() == [2] * 8


def test_the_timer_uses_the_streams_of_the_recorder(torch, simulator):
    a = torch.ones(8, device="npu")
    side = torch.npu.Stream()
    torch.npu.synchronize()
    side_number = number_of(simulator, side)
    simulator.clear_calls()
    with torch.npu.stream(side), torch.pipeline(max_wait_us=100):
        b = a + 1
        deadline = time.monotonic() + 30
        while b._pending and time.monotonic() < deadline:
            time.sleep(0.001)
        assert ops_and_streams(simulator, "aclnnAdds") == [side_number]
    side.synchronize()
    assert b.tolist() == [2] * 8


def test_two_devices_in_one_window(torch, simulator):
    a, b = torch.ones(8, device="npu:0"), torch.ones(8, device="npu:1")
    side = torch.npu.Stream(device="npu:1")
    torch.npu.synchronize(0)
    torch.npu.synchronize(1)
    numbers = [number_of(simulator, torch.npu.current_stream(0)), number_of(simulator, side)]
    with torch.npu.stream(side):  # of device 1, which is current now
        for _ in range(5):
            with torch.pipeline() as pipe:
                c, d = (a + 1) * 2, (b + 2) * 3
                e, f = c.relu(), d.relu()
                assert pipe.pending_count() == 6
                simulator.clear_calls()
                in_thread(pipe.flush)
            assert ops_and_streams(simulator, "aclnnAdds") == numbers
            assert ops_and_streams(simulator, "aclnnRelu") == numbers
            assert torch.npu.current_device() == 1
            side.synchronize()
            assert e.tolist() == [4] * 8 and f.tolist() == [9] * 8
            assert (e.device.index, f.device.index) == (0, 1)


# --- workspaces ---


def test_a_window_has_one_workspace(torch):
    """As large as the largest that an op of it needs."""
    small, large = torch.randn(64, 64).npu(), torch.randn(512, 512).npu()
    norm = torch.nn.functional.layer_norm

    def ops():
        return [norm(small, (64,)), norm(large, (512,)), small @ small, large @ large]

    def allocations(count):
        torch.npu.synchronize()
        before = torch.npu.memory_stats()["allocation.all.allocated"]
        torch.npu.reset_peak_memory_stats()
        level = torch.npu.memory_allocated()
        with torch.pipeline() as pipe:
            kept = ops()[:count]
            pipe.flush()
            stats = torch.npu.memory_stats()
        own = sum(each.numel() * 4 for each in kept)
        peak = torch.npu.max_memory_allocated() - level - own
        return stats["allocation.all.allocated"] - before, peak

    allocations(4)
    made, peak = allocations(4)
    of_rows = 2 * 2  # each norm also gives the mean and the deviation of its rows
    assert made == 4 + of_rows + 1
    assert 512 * 512 * 4 <= peak < 1.1 * 512 * 512 * 4


def test_a_result_takes_the_memory_of_an_operand_that_ends(torch):
    x, v = torch.randn(256, 256, device="npu"), torch.randn(256, 1, device="npu")
    expected = ((x @ x).relu() * 2).cpu() @ v.cpu()

    def peak(times):
        torch.npu.synchronize()
        before = torch.npu.memory_allocated()
        torch.npu.reset_peak_memory_stats()
        for _ in range(times):
            with torch.pipeline():
                y = ((x @ x).relu() * 2) @ v
        assert torch.allclose(y.cpu(), expected, rtol=1e-3, atol=1e-2)
        return torch.npu.max_memory_allocated() - before

    peak(1)  # plans, and what CANN keeps
    # One result and the workspace of a product; 3 without.
    assert peak(1) < 2.5 * 256 * 256 * 4


def test_a_number_on_the_host_is_not_taken_over(torch):
    host, device = torch.tensor(3.0), torch.tensor(5.0, device="npu")

    def program():
        return (torch.sin(host) + device) * 2

    for _ in range(3):
        with torch.pipeline():
            result = program()
        assert result.item() == program().item()


def test_streams_switch_inside_inner_blocks(torch):
    """What outer blocks have recorded runs before, on the stream it was recorded for."""
    side = torch.npu.Stream()
    x = torch.ones(300, 300, device="npu")
    torch.npu.synchronize()

    def program(block):
        with block():
            a = x
            for _ in range(4):
                a = a @ x * 1e-3
            with block(), torch.npu.stream(side):
                side.wait_stream(torch.npu.default_stream())
                b = a * 2
            torch.npu.default_stream().wait_stream(side)
            c = a + b
        return c

    assert torch.equal(program(torch.pipeline).cpu(), program(contextlib.nullcontext).cpu())


def test_synchronizing_inside_inner_blocks(torch):
    x = torch.ones(3, device="npu")
    with torch.pipeline() as outer:
        a = x + 1
        with torch.pipeline():
            b = x + 2
            torch.npu.synchronize()
            assert not a._pending and not b._pending
        assert outer.last_flush_reason == "synchronize"


@pytest.mark.parametrize("deferred", [False, True])
def test_record_stream_of_what_is_pending(torch, simulator, deferred):
    """The memory stays with the side stream until that is done, also if it was still to be made."""
    side = torch.npu.Stream()
    x = torch.ones(1000, device="npu")
    torch.npu.synchronize()
    with torch.pipeline() if deferred else contextlib.nullcontext():
        y = x + 1
        y.record_stream(side)
        assert not y._pending
        address = y.data_ptr()
    torch.npu.synchronize()
    simulator.hang(side)
    with torch.npu.stream(side):
        tripled = y * 3
    del y
    z = torch.zeros(1000, device="npu")
    assert z.data_ptr() != address
    simulator.release()
    torch.npu.synchronize()
    assert tripled.tolist() == [6] * 1000 and z.tolist() == [0] * 1000
