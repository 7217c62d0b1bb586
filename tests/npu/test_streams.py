"""Streams, events and asynchrony of torch.npu, on simulated devices."""

import threading
import warnings

import pytest


def test_the_current_stream(torch):
    a, b = torch.npu.Stream(), torch.npu.Stream("npu:1")
    with torch.npu.stream(a):
        assert torch.npu.current_stream() == a and torch.npu.current_stream(1).stream_id == 0
        with torch.npu.stream(b):  # and its device
            assert torch.npu.current_device() == 1 and torch.npu.current_stream() == b
            assert torch.npu.current_stream(0) == a
        assert torch.npu.current_device() == 0 and torch.npu.current_stream() == a
        assert torch.npu.current_stream(1).stream_id == 0
        with torch.npu.stream(None):
            assert torch.npu.current_stream() == a
        seen = []
        thread = threading.Thread(target=lambda: seen.append(torch.npu.current_stream()))
        thread.start()
        thread.join()
        assert seen[0].stream_id == 0
    assert torch.npu.current_stream().stream_id == 0
    with a, b, a:
        assert torch.npu.current_stream() == a
    torch.npu.set_stream(b)
    assert torch.npu.current_device() == 1 and torch.npu.current_stream() == b
    torch.npu.set_stream(None)
    assert torch.npu.current_stream() == b


def test_events(torch, simulator):
    side = torch.npu.Stream()
    e = torch.npu.Event()
    assert e.query() and e.device is None and "uninitialized" in repr(e)
    e.synchronize()
    e.wait()
    side.wait_event(e)
    simulator.set(latency=2000)
    with side:
        x = torch.ones(3, device="npu")
        e.record()
    assert not e.query() and e.device == torch.device("npu:0") and e.npu_event != 0
    e.wait(torch.npu.current_stream())
    y = x + 1
    assert y.tolist() == [2, 2, 2] and e.query()
    with pytest.raises(RuntimeError, match="npu:0 does not match recording stream's device npu:1"):
        e.record(torch.npu.Stream("npu:1"))
    with pytest.raises(ValueError, match="enable_timing"):
        e.elapsed_time(e)
    start, end = torch.npu.Event(True), torch.npu.Event(enable_timing=True, blocking=True)
    with pytest.raises(ValueError, match="recorded"):
        start.elapsed_time(end)
    start.record()
    x.add_(1)
    end.record()
    with pytest.raises(RuntimeError, match="completed"):
        start.elapsed_time(end)
    end.synchronize()
    assert start.elapsed_time(end) >= 2
    made = side.record_event()
    assert isinstance(made, torch.npu.Event) and isinstance(made, torch.Event)
    made.synchronize()
    general = torch.Event("npu", enable_timing=True)
    general.record()
    general.synchronize()


def test_ops_do_not_wait(torch, simulator):
    """Every op returns while the device has not begun; the wait is where a value is read."""
    x = torch.ones(4, 4, device="npu")
    torch.npu.synchronize()
    simulator.hang()
    simulator.set(log=True)
    y = (x @ x + 1).relu().sum(1).softmax(0)
    z = torch.cat([y, y])[::2].clone()
    z += 1
    assert not torch.npu.current_stream().query()
    names = [call.function for call in simulator.calls()]
    assert not any("Synchronize" in name for name in names), names
    simulator.release()
    assert z.tolist() == [1.25] * 4


def test_to_cpu_waits_before_its_bytes_are_read(torch, simulator):
    x = torch.ones(3, device="npu")
    simulator.set(log=True, latency=1000)
    assert (x + 1).to("cpu").tolist() == [2, 2, 2]
    names = [c.function for c in simulator.calls() if c.stream is not None and c.kind == "call"]
    assert names[-2:] == ["aclrtMemcpyAsync", "aclrtSynchronizeStream"], names
    assert names.count("aclrtSynchronizeStream") == 1


def test_other_threads_run_while_one_waits(torch, simulator):
    x = torch.ones(3, device="npu")
    torch.npu.synchronize()
    for wait in (
        lambda: x.tolist(),
        lambda: x[0].item(),
        torch.npu.synchronize,
        lambda: torch.npu.current_stream().synchronize(),
        x.cpu,
        lambda: torch.npu.current_stream().record_event().synchronize(),
    ):
        simulator.hang()
        x.add_(1)
        threading.Timer(
            0.02, simulator.release
        ).start()  # needs the interpreter while the other waits
        wait()


def test_needless_waits_can_be_found(torch):
    x = torch.ones(3, device="npu")
    assert torch.npu.get_sync_debug_mode() == 0
    torch.npu.set_sync_debug_mode("warn")
    with pytest.warns(UserWarning, match="synchronizing"):
        x.tolist()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x.add(1)
        torch.npu.synchronize()
    torch.npu.set_sync_debug_mode(2)
    for wait in (x.cpu, x[0].item, torch.npu.current_stream().synchronize):
        with pytest.raises(RuntimeError, match="synchronizing"):
            wait()
    assert torch.npu.get_sync_debug_mode() == 2
    torch.npu.set_sync_debug_mode("default")
    assert x.tolist() == [1, 1, 1]
    with pytest.raises(RuntimeError, match="debug_mode"):
        torch.npu.set_sync_debug_mode("loud")


def test_pinned_memory(torch):
    x = torch.arange(6.0).reshape(2, 3)
    assert not x.is_pinned()
    p = x.pin_memory()
    assert p.is_pinned() and p[1:].is_pinned() and p.tolist() == x.tolist()
    assert p.pin_memory() is p and torch.npu.pin_memory(p) is p and torch.npu.is_pinned(p)
    assert x.t().pin_memory().stride() == (1, 3)
    assert (
        torch.empty(3, pin_memory=True).is_pinned() and torch.ones(2, pin_memory=True).is_pinned()
    )
    assert torch.tensor([1, 2], pin_memory=True).is_pinned()
    assert p.untyped_storage().is_pinned() and not x.storage().is_pinned()
    assert not x.npu().is_pinned()
    with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
        x.npu().pin_memory()
    stats = torch.npu.host_memory_stats()
    assert stats["allocations.current"] > 0


def test_copies_from_pinned_memory_do_not_wait(torch, simulator):
    p = torch.ones(1000).pin_memory()
    out = torch.empty(1000, pin_memory=True)
    x = torch.zeros(1000, device="npu")
    torch.npu.synchronize()
    simulator.set(log=True)
    simulator.hang()
    y = p.to("npu", non_blocking=True)
    x.copy_(p, non_blocking=True)
    z = (x + y).to("cpu", non_blocking=True)
    out.copy_(x, non_blocking=True)
    assert z.is_pinned()
    assert not any("Synchronize" in c.function for c in simulator.calls())
    simulator.release()
    torch.npu.synchronize()
    assert z.sum().item() == 2000 and out.sum().item() == 1000


def test_copies_from_pageable_memory_may_be_changed_at_once(torch, simulator):
    x = torch.ones(1000)
    y = torch.empty(1000, device="npu")
    torch.npu.synchronize()
    simulator.hang()
    y.copy_(x, non_blocking=True)
    x.zero_()
    simulator.release()
    assert y.sum().item() == 1000


def test_pinned_memory_is_not_reused_while_a_copy_needs_it(torch, simulator):
    p = torch.ones(1000).pin_memory()
    x = torch.zeros(1000, device="npu")
    torch.npu.synchronize()
    simulator.hang()
    x.copy_(p, non_blocking=True)
    address = p.data_ptr()
    del p
    q = torch.empty(1000, pin_memory=True)
    assert q.data_ptr() != address
    simulator.release()
    assert x.sum().item() == 1000
