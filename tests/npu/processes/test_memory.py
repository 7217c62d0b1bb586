"""torch.npu's figures of memory, those of a device whose tensors make them."""

from tests.support.simulated import run


def test_tensors_are_counted():
    run(
        """
assert torch.npu.memory_allocated() == torch.npu.memory_reserved() == 0
assert not torch.npu.is_initialized()  # asking does not use the device
x = torch.empty(1000, device="npu")
assert torch.npu.is_initialized()
assert torch.npu.memory_allocated() == 4096 and torch.npu.memory_reserved() == 2 << 20
y = torch.empty(1 << 20, device="npu:1")
assert torch.npu.memory_allocated() == 4096 and torch.npu.memory_allocated("npu:1") == 4 << 20
stats = torch.npu.memory_stats(torch.device("npu", 1))
assert stats["requested_bytes.all.current"] == 4 << 20 and stats["num_device_alloc"] == 1
del x
assert torch.npu.memory_allocated() == 0 and torch.npu.max_memory_allocated() == 4096
torch.npu.reset_peak_memory_stats()
assert torch.npu.max_memory_allocated() == 0 and torch.npu.max_memory_reserved() == 2 << 20
torch.npu.empty_cache()
assert torch.npu.memory_reserved() == 0 and torch.npu.memory_reserved(1) > 0
assert "Allocated memory" in torch.npu.memory_summary()
"""
    )


def test_snapshots_show_the_blocks_of_tensors_and_their_lines():
    run(
        """
torch.npu.memory._record_memory_history()
x = torch.empty(1000, device="npu")  # line 4
y = torch.empty(1000, device="npu:1")
[segment] = torch.npu.memory_snapshot()["segments"]
[block] = [b for b in segment["blocks"] if b["state"] == "active_allocated"]
assert block["address"] == x.data_ptr() and block["requested_size"] == 4000
assert block["frames"][0]["line"] == 4
assert {s["device"] for s in torch.npu.memory_segments()} == {0, 1}
snapshot = torch.npu.memory._snapshot()
assert [e["action"] for e in snapshot["device_traces"][1]][:2] == ["segment_alloc", "alloc"]
"""
    )


def test_mem_get_info_is_what_the_runtime_says():
    run(
        """
torch.npu.simulator.set(log=True)
free, total = torch.npu.mem_get_info("npu:0")
assert len(torch.npu.simulator.calls("aclrtGetMemInfo")) == 1
assert total == 1 << 30 and free <= total
x = torch.empty(1 << 24, device="npu")
assert torch.npu.mem_get_info(torch.device("npu:0"))[0] == free - (64 << 20)
assert torch.npu.mem_get_info(1) == (total, total)
""",
        MINDTORCH_SIM_MEMORY="1G",
    )


def test_raw_memory():
    run(
        """
import pytest
p = torch.npu.caching_allocator_alloc(1000)
assert torch.npu.memory_allocated() == 1024
q = torch.npu.caching_allocator_alloc(5000, device=1, stream=torch.npu.Stream(1))
assert torch.npu.memory_allocated(1) == 5120
for pointer in (p, q):
    torch.npu.caching_allocator_delete(pointer)
assert torch.npu.memory_allocated() == torch.npu.memory_allocated(1) == 0
with pytest.raises(RuntimeError, match="invalid device pointer"):
    torch.npu.caching_allocator_delete(p)
"""
    )


def test_a_limit_of_memory():
    run(
        """
import pytest
torch.npu.set_per_process_memory_fraction(0.5)
assert torch.npu.get_per_process_memory_fraction() == 0.5
with pytest.raises(torch.OutOfMemoryError, match="npu|NPU"):
    torch.empty(600 << 20, dtype=torch.uint8, device="npu")
torch.empty(600 << 20, dtype=torch.uint8, device="npu:1")
""",
        MINDTORCH_SIM_MEMORY="1G",
    )


def test_pools_keep_tensors_apart():
    run(
        """
pool = torch.npu.MemPool()
with torch.npu.use_mem_pool(pool):
    x = torch.empty(1000, device="npu")
y = torch.empty(1000, device="npu")
[segment] = pool.snapshot()
assert segment["address"] <= x.data_ptr() < segment["address"] + segment["total_size"]
assert not segment["address"] <= y.data_ptr() < segment["address"] + segment["total_size"]
"""
    )


def test_tests_may_replace_the_allocator():
    run(
        """
class Dummy:
    def memory_stats(self):
        return {"allocated_bytes.all.current": 7}
torch.npu.init()
torch.npu._get_allocator = lambda device=None: Dummy()
assert torch.npu.memory_allocated() == 7
"""
    )


def test_an_allocator_of_ones_own_uses_the_device():
    run(
        """
from mindtorch_v2._backends.npu.allocator import NpuAllocator
free = torch.npu.mem_get_info()[0]
allocator = NpuAllocator(0)
side = torch.npu.Stream()
pointer = allocator.malloc(1 << 21)
assert torch.npu.mem_get_info()[0] == free - (20 << 20)
allocator.record_stream(pointer, side)
allocator.free(pointer)
allocator.synchronize()
allocator.empty_cache()
assert torch.npu.mem_get_info()[0] == free
assert allocator._mem_get_info()[1] == torch.npu.mem_get_info()[1]
"""
    )


def test_deferred_frees_follow_the_streams_wait():
    """First the stream's wait, then the frees, in order."""
    run(
        """
from mindtorch_v2._backends.npu.allocator import NpuAllocator
from mindtorch_v2._backends.npu.runtime import get_runtime
raw = NpuAllocator(0)._raw_malloc
(p, _), (q, _) = raw(1024), raw(1024)
runtime = get_runtime(0)
torch.npu.simulator.set(log=True)
runtime.defer_free(p)
runtime.defer_free(q)
assert torch.npu.simulator.calls() == []
runtime.synchronize()
calls = torch.npu.simulator.calls()
assert [c.function for c in calls] == ["aclrtSynchronizeStream", "aclrtFree", "aclrtFree"]
assert [c.arguments["devPtr"] for c in calls[1:]] == [hex(p), hex(q)]
assert torch.npu.simulator.reports() == []
"""
    )


def test_record_stream_keeps_memory_from_reuse():
    run(
        """
torch.npu.simulator.set(print=False)
side = torch.npu.Stream()
def program(recorded):
    x = torch.ones(1000, device="npu")
    side.wait_stream(torch.npu.current_stream())
    with side:
        y = x + 1
    if recorded:
        x.record_stream(side)
    address = x.data_ptr()
    del x
    z = torch.zeros(1000, device="npu")
    reused = z.data_ptr() == address
    torch.npu.synchronize()
    return reused
number = torch.npu.simulator.calls
assert program(recorded=False)
assert [r.check for r in torch.npu.simulator.reports()] == ["races"]
torch.npu.simulator.clear_reports()
torch.npu.simulator.hang(1)
import threading
threading.Timer(0.05, torch.npu.simulator.release).start()
assert not program(recorded=True)
assert torch.npu.simulator.reports() == []
"""
    )
