"""Streams, events and asynchrony of torch.npu, on simulated devices."""

import pytest

from tests.contract.simulated import run


def test_streams_come_from_a_pool():
    run(
        """
streams = [torch.npu.Stream() for _ in range(33)]
assert len(set(streams)) == 32 and streams[32] == streams[0]
assert hash(streams[32]) == hash(streams[0]) and streams[0] != streams[1]
default = torch.npu.default_stream()
assert default == torch.npu.current_stream() and default.stream_id == default.npu_stream == 0
assert (streams[0].stream_id, streams[1].stream_id) == (3, 35)
assert isinstance(default, torch.npu.Stream) and isinstance(default, torch.Stream)
assert streams[0].device == torch.device("npu:0") and streams[0].device_index == 0
assert torch.npu.Stream("npu:1").device == torch.device("npu:1")
again = torch.npu.Stream(stream_id=streams[1].stream_id, device_index=0, device_type=20)
assert again == streams[1]
same = torch.npu.ExternalStream(streams[1].npu_stream)
assert same == streams[1] == torch.npu.get_stream_from_external(streams[1].npu_stream)
assert repr(default) == "<torch.npu.Stream device=npu:0 npu_stream=0x0>"
least, greatest = torch.npu.stream_priority_range()
assert (least, greatest) == torch.npu.Stream.priority_range() == (0, -3)
assert torch.npu.Stream(priority=-2).priority == -2
assert torch.npu.Stream(priority=5).priority == 0 and torch.npu.Stream(priority=-9).priority == -3
"""
    )


def test_the_current_stream():
    run(
        """
import threading
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
    thread.start(); thread.join()
    assert seen[0].stream_id == 0
assert torch.npu.current_stream().stream_id == 0
with a, b, a:
    assert torch.npu.current_stream() == a
torch.npu.set_stream(b)
assert torch.npu.current_device() == 1 and torch.npu.current_stream() == b
torch.npu.set_stream(None)
assert torch.npu.current_stream() == b
"""
    )


def test_events():
    run(
        """
import pytest
s = torch.npu.Stream()
e = torch.npu.Event()
assert e.query() and e.device is None and "uninitialized" in repr(e)
e.synchronize(); e.wait(); s.wait_event(e)
torch.npu.simulator.set(latency=2000)
with s:
    x = torch.ones(3, device="npu")
    e.record()
assert not e.query() and e.device == torch.device("npu:0") and e.npu_event != 0
e.wait(torch.npu.current_stream())
y = x + 1
assert y.tolist() == [2, 2, 2] and e.query()
assert torch.npu.simulator.reports() == []
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
made = s.record_event()
assert isinstance(made, torch.npu.Event) and isinstance(made, torch.Event)
made.synchronize()
general = torch.Event("npu", enable_timing=True)
general.record()
general.synchronize()
"""
    )


def test_ops_do_not_wait():
    """Every op returns while the device has not begun; the wait is where a value is read."""
    run(
        """
s = torch.npu.simulator
x = torch.ones(4, 4, device="npu")
torch.npu.synchronize()
s.hang()
s.set(log=True)
y = (x @ x + 1).relu().sum(1).softmax(0)
z = torch.cat([y, y])[::2].clone()
z += 1
assert not torch.npu.current_stream().query()
names = [call.function for call in s.calls()]
assert not any("Synchronize" in name for name in names), names
s.release()
assert z.tolist() == [1.25] * 4
"""
    )


@pytest.mark.parametrize("variable", ["ACL_LAUNCH_BLOCKING", "ASCEND_LAUNCH_BLOCKING"])
@pytest.mark.parametrize("value", ["1", "0"])
def test_blocking_launches_wait_after_each_op(variable, value):
    run(
        f"""
x = torch.ones(3, device="npu")
s = torch.npu.simulator
s.set(log=True)
y = x + x
z = y * x
names = [c.function for c in s.calls() if c.kind == "call"]
wanted = ["aclnnAdd", "aclrtSynchronizeStream", "aclnnMul", "aclrtSynchronizeStream"]
if {value!r} == "0":
    wanted = wanted[::2]
assert [name for name in names if name in wanted] == wanted, names
assert sum("Synchronize" in name for name in names) == (2 if {value!r} == "1" else 0)
""",
        **{variable: value},
    )


def test_with_blocking_launches_an_error_shows_at_its_line():
    program = """
import traceback
torch.npu.simulator.set(faults="task:aclnnMul:1:507015")
try:
    x = torch.ones(3, device="npu")
    y = x * x  # line 7
    z = y + 1
    torch.npu.synchronize()
except RuntimeError as error:
    print(traceback.extract_tb(error.__traceback__)[0].lineno, "507015" in str(error))
"""
    assert run(program) == "9 True\n"
    assert run(program, ACL_LAUNCH_BLOCKING="1") == "7 True\n"


@pytest.mark.parametrize(
    "read", ["x.to('cpu')", "x.cpu()", "x[0].item()", "x.tolist()", "repr(x)", "bool(x[0] == 2)",
             "torch.equal(x, x)", "float(x[0])", "torch.zeros(3).copy_(x)"]
)  # fmt: skip
def test_reading_waits_for_its_own_stream_only(read):
    run(
        f"""
s = torch.npu.simulator
other = torch.npu.Stream()
with other:
    busy = torch.ones(3, device="npu")
side = torch.npu.Stream()
with side:
    x = torch.ones(3, device="npu")
torch.npu.synchronize()
s.set(log=True)
with side:
    x.add_(1)
    [number] = {{c.stream for c in s.calls() if c.kind == "call"}} - {{None}}
    s.hang(2 if number == 1 else 1)  # the other stream
    with other:
        busy.add_(1)
    value = {read}
waits = [c for c in s.calls() if "Synchronize" in c.function and c.kind == "call"]
assert waits and {{c.stream for c in waits}} == {{number}}, waits
assert not other.query()
s.release()
assert s.reports() == []
"""
    )


def test_to_cpu_waits_before_its_bytes_are_read():
    run(
        """
s = torch.npu.simulator
x = torch.ones(3, device="npu")
s.set(log=True, latency=1000)
assert (x + 1).to("cpu").tolist() == [2, 2, 2]
names = [c.function for c in s.calls() if c.stream is not None and c.kind == "call"]
assert names[-2:] == ["aclrtMemcpyAsync", "aclrtSynchronizeStream"], names
assert names.count("aclrtSynchronizeStream") == 1
"""
    )


def test_other_threads_run_while_one_waits():
    run(
        """
import threading
s = torch.npu.simulator
x = torch.ones(3, device="npu")
torch.npu.synchronize()
for wait in (lambda: x.tolist(), lambda: x[0].item(), torch.npu.synchronize,
             lambda: torch.npu.current_stream().synchronize(), x.cpu,
             lambda: torch.npu.current_stream().record_event().synchronize()):
    s.hang()
    x.add_(1)
    threading.Timer(0.02, s.release).start()  # needs the interpreter while the other waits
    wait()
"""
    )


def test_needless_waits_can_be_found():
    run(
        """
import pytest, warnings
x = torch.ones(3, device="npu")
assert torch.npu.get_sync_debug_mode() == 0
torch.npu.set_sync_debug_mode("warn")
with pytest.warns(UserWarning, match="synchronizing"):
    x.tolist()
with warnings.catch_warnings():
    warnings.simplefilter("error")
    y = x + 1
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
"""
    )


# Pinned memory and copies that do not wait.


def test_pinned_memory():
    run(
        """
import pytest
x = torch.arange(6.0).reshape(2, 3)
assert not x.is_pinned()
p = x.pin_memory()
assert p.is_pinned() and p[1:].is_pinned() and p.tolist() == x.tolist()
assert p.pin_memory() is p and torch.npu.pin_memory(p) is p and torch.npu.is_pinned(p)
assert x.t().pin_memory().stride() == (1, 3)
assert torch.empty(3, pin_memory=True).is_pinned() and torch.ones(2, pin_memory=True).is_pinned()
assert torch.tensor([1, 2], pin_memory=True).is_pinned()
assert p.untyped_storage().is_pinned() and not x.storage().is_pinned()
assert not x.npu().is_pinned()
with pytest.raises(RuntimeError, match="only dense CPU tensors can be pinned"):
    x.npu().pin_memory()
stats = torch.npu.host_memory_stats()
assert stats["allocations.current"] > 0
"""
    )


def test_copies_from_pinned_memory_do_not_wait():
    run(
        """
s = torch.npu.simulator
p = torch.ones(1000).pin_memory()
out = torch.empty(1000, pin_memory=True)
x = torch.zeros(1000, device="npu")
torch.npu.synchronize()
s.set(log=True)
s.hang()
y = p.to("npu", non_blocking=True)
x.copy_(p, non_blocking=True)
z = (x + y).to("cpu", non_blocking=True)
out.copy_(x, non_blocking=True)
assert z.is_pinned()
assert not any("Synchronize" in c.function for c in s.calls())
s.release()
torch.npu.synchronize()
assert z.sum().item() == 2000 and out.sum().item() == 1000
assert s.reports() == []
"""
    )


def test_copies_from_pageable_memory_may_be_changed_at_once():
    run(
        """
s = torch.npu.simulator
x = torch.ones(1000)
y = torch.empty(1000, device="npu")
torch.npu.synchronize()
s.hang()
y.copy_(x, non_blocking=True)
x.zero_()
s.release()
assert y.sum().item() == 1000
"""
    )


def test_pinned_memory_is_not_reused_while_a_copy_needs_it():
    run(
        """
s = torch.npu.simulator
p = torch.ones(1000).pin_memory()
x = torch.zeros(1000, device="npu")
torch.npu.synchronize()
s.hang()
x.copy_(p, non_blocking=True)
address = p.data_ptr()
del p
q = torch.empty(1000, pin_memory=True)
assert q.data_ptr() != address
s.release()
assert x.sum().item() == 1000
"""
    )
