"""NpuAllocator: torch's rules, the counters, and the driver's calls replaced from Python."""

import gc
import threading
import weakref

import pytest

from tests.memory.conftest import stats_of

MIB = 1 << 20


# --- without a device ---------------------------------------------------------------------------


def test_no_device_is_needed_to_make_one(torch, clean_conf):
    from mindtorch_v2._backends.npu.allocator import NpuAllocator

    allocator = NpuAllocator(device_id=3)
    assert allocator.device_id == 3
    assert allocator.memory_stats()["allocated_bytes.all.current"] == 0
    assert allocator.malloc(0) == 0
    allocator.free(0)
    allocator.synchronize()
    allocator.empty_cache()
    allocator._maybe_collect_garbage()
    if not torch.npu.is_available():
        for call in (lambda: allocator.malloc(1), lambda: allocator._raw_malloc(1),
                     lambda: allocator._raw_free(1), allocator._mem_get_info):  # fmt: skip
            with pytest.raises(RuntimeError, match="npu:3") as caught:
                call()
            assert not isinstance(caught.value, torch.OutOfMemoryError)


# --- memory -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "request_, allocated, reserved",
    [(1, 512, 2 * MIB), (512, 512, 2 * MIB), (513, 1024, 2 * MIB), (MIB, MIB, 2 * MIB),
     (MIB + 1, MIB + 512, 20 * MIB), (10485248, 10485248, 20 * MIB), (10485249, 10 * MIB, 10 * MIB),
     (10485761, 10486272, 12 * MIB), (21 * MIB, 22 * MIB, 22 * MIB),
     (209715201, 209715712, 211812352)],
)  # fmt: skip
def test_sizes_are_torchs(allocator, request_, allocated, reserved):
    allocator.malloc(request_)
    keys = ("allocated_bytes.all.current", "reserved_bytes.all.current",
            "requested_bytes.all.current")  # fmt: skip
    assert stats_of(allocator, *keys) == (allocated, reserved, request_)


def test_torchs_measured_sequence(allocator):
    keys = [
        f"{metric}.all.current"
        for metric in ("allocated_bytes", "active_bytes", "requested_bytes", "reserved_bytes",
                       "inactive_split_bytes", "inactive_split", "segment")
    ]  # fmt: skip

    def row():
        return stats_of(allocator, *keys)

    first = allocator.malloc(3 * MIB)
    assert row() == (3 * MIB, 3 * MIB, 3 * MIB, 20 * MIB, 17 * MIB, 1, 1)
    second = allocator.malloc(3 * MIB)
    assert row() == (6 * MIB, 6 * MIB, 6 * MIB, 20 * MIB, 14 * MIB, 1, 1)
    allocator.free(first)
    assert row() == (3 * MIB, 3 * MIB, 3 * MIB, 20 * MIB, 17 * MIB, 2, 1)
    allocator.free(second)
    assert row() == (0, 0, 0, 20 * MIB, 0, 0, 1)
    allocator.empty_cache()
    assert row() == (0, 0, 0, 0, 0, 0, 0)


def test_another_stream_delays_reuse(allocator, npu):
    keys = ("allocated_bytes.all.current", "active_bytes.all.current",
            "requested_bytes.all.current", "inactive_split_bytes.all.current",
            "inactive_split.all.current")  # fmt: skip
    ptr = allocator.malloc(700)
    allocator.record_stream(ptr, 5)
    npu.pending.add(5)
    allocator.free(ptr)
    assert ("record", 5) in npu.calls
    assert stats_of(allocator, *keys) == (0, 1024, 700, 2096128, 1)
    assert allocator.malloc(600) != ptr
    assert stats_of(allocator, *keys) == (1024, 2048, 1300, 2095104, 1)
    npu.pending.clear()
    assert allocator.malloc(100) == ptr
    assert stats_of(allocator, *keys) == (1536, 1536, 700, 2095616, 2)


def test_streams_have_memory_of_their_own(allocator):
    a = allocator.malloc(1000, stream=1)
    allocator.free(a)
    assert allocator.malloc(1000, stream=2) != a
    assert allocator.malloc(1000, stream=1) == a


def test_streams_may_be_any_object(allocator, npu):
    class Stream:
        npu_stream = 77

    side, other = object(), "other"
    ptr = allocator.malloc(100, stream=side)
    allocator.record_stream(ptr, side)  # its own: nothing to wait for
    allocator.record_stream(ptr, other)
    allocator.record_stream(ptr, Stream())
    allocator.record_stream(ptr, None)
    npu.pending.update({other, 77, None})
    allocator.free(ptr)
    recorded = [call[1] for call in npu.calls if call[0] == "record"]
    assert recorded == [other, 77, None]
    assert stats_of(allocator, "active.all.current", "allocation.all.current") == (1, 0)
    allocator.synchronize()
    assert stats_of(allocator, "active.all.current") == (0,)
    assert allocator.malloc(100, stream=side) == ptr
    with pytest.raises(TypeError, match="unhashable"):
        allocator.malloc(1, stream=[])


def test_a_stream_may_be_named_with_the_free(allocator, npu):
    ptr = allocator.malloc(100)
    npu.pending.add("side")
    allocator.free(ptr, stream="side")
    assert stats_of(allocator, "active.all.current") == (1,)
    allocator.synchronize()
    assert stats_of(allocator, "active.all.current") == (0,)


def test_pointers_of_others(allocator):
    allocator.record_stream(12345, 1)  # as torch: ignored
    for bad in (12345, 1):
        with pytest.raises(RuntimeError, match="invalid device pointer"):
            allocator.free(bad)
    ptr = allocator.malloc(1)
    assert allocator.owns(ptr) and not allocator.owns(ptr + 512)
    allocator.free(ptr)
    with pytest.raises(RuntimeError, match="invalid device pointer"):
        allocator.free(ptr)
    with pytest.raises(RuntimeError, match="invalid device pointer: -1"):
        allocator.free(-1)


def test_max_split_size_is_kept_to(allocator):
    allocator.max_split_size = 30 * MIB
    ptr = allocator.malloc(40 * MIB)
    assert stats_of(allocator, "oversize_allocations.current", "oversize_segments.current") == (
        1,
        1,
    )
    allocator.free(ptr)
    small = allocator.malloc(2 * MIB)  # must not cut the large block
    assert stats_of(allocator, "segment.all.current") == (2,)
    assert allocator.malloc(35 * MIB) == ptr  # within max_non_split_rounding
    allocator.free(small)


def test_counters_can_be_reset(allocator):
    ptr = allocator.malloc(3 * MIB)
    allocator.malloc(100)
    allocator.free(ptr)
    keys = ("allocated_bytes.all.peak", "allocated_bytes.all.allocated", "num_device_alloc",
            "allocated_bytes.all.freed")  # fmt: skip
    assert stats_of(allocator, *keys) == (3 * MIB + 512, 3 * MIB + 512, 2, 3 * MIB)
    allocator.reset_peak_memory_stats()
    assert stats_of(allocator, *keys) == (512, 3 * MIB + 512, 2, 3 * MIB)
    allocator.reset_accumulated_memory_stats()
    assert stats_of(allocator, *keys) == (512, 0, 0, 0)


def test_both_names_of_a_metric(allocator):
    allocator.malloc(5)
    for part in ("all.current", "small_pool.peak", "all.allocated"):
        assert stats_of(allocator, f"allocated.{part}", f"allocation.{part}") == (1, 1)


# --- what tests may look at and change ----------------------------------------------------------


def test_stats_are_live_and_writable(allocator):
    stats = allocator._stats
    assert stats["allocation.all.current"] == 0
    allocator.malloc(100)
    assert stats["allocation.all.current"] == 1
    stats["num_ooms"] = 7
    stats["allocation.all.current"] = 10
    assert allocator.memory_stats()["num_ooms"] == 7
    allocator.malloc(100)
    assert allocator.memory_stats()["allocation.all.current"] == 11
    stats.update({"reserved_bytes.all.current": 5})
    assert stats["reserved_bytes.all.current"] == 5
    assert len(stats) == len(list(stats)) >= 134
    with pytest.raises(KeyError):
        stats["no.such.key"]
    with pytest.raises(TypeError):
        del stats["num_ooms"]


def test_cached_blocks_are_shown_and_used(allocator):
    from mindtorch_v2._backends.npu.allocator import Block

    assert set(allocator._cached) == {"small_pool", "large_pool"}
    ptr = allocator.malloc(1000)
    [rest] = allocator._cached["small_pool"]
    assert (rest.ptr, rest.size, rest.pool) == (ptr + 1024, 2 * MIB - 1024, "small_pool")
    allocator._cached["large_pool"].append(Block(1 << 50, 2 * MIB, 0, "large_pool", 9))
    [large] = allocator._cached["large_pool"]
    assert large == Block(1 << 50, 2 * MIB, 0, "large_pool", 9)
    assert allocator.malloc(2 * MIB, stream=9) == 1 << 50
    assert allocator._cached["large_pool"] == []
    with pytest.raises(ValueError):
        allocator._cached["small_pool"].append(Block(0, 0, 0, "small_pool", None))


def test_block_has_its_five_fields():
    from mindtorch_v2._backends.npu.allocator import Block

    block = Block(1, 2, 3, "small_pool", 4)
    assert (block.ptr, block.size, block.requested, block.pool, block.stream) == (
        1, 2, 3, "small_pool", 4)  # fmt: skip
    named = Block(ptr=1, size=2, requested=3, pool="small_pool", stream=4)
    assert block == named and block != Block(1, 2, 3, "small_pool", 5) and block != 1


# --- life and threads ---------------------------------------------------------------------------


def test_memory_goes_back_when_the_allocator_does(npu, clean_conf):
    from mindtorch_v2._backends.npu.allocator import NpuAllocator

    allocator = npu.attach(NpuAllocator())
    allocator.malloc(1)
    allocator.free(allocator.malloc(5 * MIB))
    assert len(npu.segments) == 2
    gone = weakref.ref(allocator)
    del allocator
    gc.collect()
    assert gone() is None and npu.segments == {}


def test_a_closed_allocator_says_so(allocator):
    allocator._close()
    with pytest.raises(RuntimeError, match="closed"):
        allocator.malloc(1)


def test_threads(allocator, npu):
    """Many threads on streams of their own, through the Python driver."""
    errors = []

    def work(number):
        try:
            held = []
            for turn in range(200):
                held.append(allocator.malloc((turn * 977 + number) % (3 * MIB) + 1, stream=number))
                if turn % 5 == 0:
                    allocator.record_stream(held[-1], number + 1)
                if turn % 3 == 0:
                    allocator.free(held.pop(turn % len(held)))
                if turn % 50 == 0:
                    allocator.empty_cache()
            for ptr in held:
                allocator.free(ptr)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    allocator.synchronize()
    allocator.empty_cache()
    assert stats_of(allocator, "allocated_bytes.all.current", "active_bytes.all.current",
                    "reserved_bytes.all.current") == (0, 0, 0)  # fmt: skip
    assert npu.segments == {}
