"""NpuAllocator: torch's rules, the counters, and the driver's calls replaced from Python."""

import gc
import threading
import weakref

import pytest

MIB = 1 << 20


def stats_of(allocator, *keys):
    stats = allocator.memory_stats()
    return tuple(stats[key] for key in keys)


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


# --- running out --------------------------------------------------------------------------------


def test_a_failed_raw_malloc_is_tried_once_more(clean_conf):
    """Without a device, and with nothing replaced but _raw_malloc."""
    from mindtorch_v2._backends.npu.allocator import NpuAllocator

    allocator = NpuAllocator(device_id=0)
    calls = []

    def raw_malloc(size):
        calls.append(size)
        if len(calls) == 1:
            raise RuntimeError("no memory")
        return 1 << 32, size

    allocator._raw_malloc = raw_malloc
    assert allocator.malloc(512) == 1 << 32
    assert calls == [2 * MIB, 2 * MIB]
    assert stats_of(allocator, "num_ooms", "num_alloc_retries") == (1, 1)


def test_the_ladder_synchronises_and_empties_the_cache(allocator, npu):
    npu.total = 200 * MIB
    cached = allocator.malloc(100 * MIB)
    allocator.free(cached)
    npu.calls.clear()
    ptr = allocator.malloc(150 * MIB)
    names = npu.names()
    assert names[0] == "malloc" and names[-1] == "malloc" and names.count("malloc") == 2
    assert names.index("sync") < names.index("free")
    keys = ("num_ooms", "num_alloc_retries", "num_sync_all_streams", "num_device_alloc",
            "num_device_free")  # fmt: skip
    assert stats_of(allocator, *keys) == (1, 1, 1, 2, 1)
    allocator.free(ptr)


def test_out_of_memory_says_who_holds_it(torch, allocator, npu):
    npu.total = 200 * MIB
    allocator._configure_history(True, 3, 100, [], False)

    def holds_much():
        return allocator.malloc(150 * MIB)

    holds_much()
    with pytest.raises(torch.OutOfMemoryError) as caught:
        allocator.malloc(60 * MIB)
    assert isinstance(caught.value, RuntimeError)
    text = str(caught.value)
    assert "Tried to allocate 60.00 MiB" in text and "200.00 MiB" in text
    assert "holds_much" in text and __file__ in text and "150.00 MiB" in text
    assert str(caught.value.__cause__) == "device is full"
    assert torch.npu.OutOfMemoryError is torch.OutOfMemoryError
    allocator.malloc(50 * MIB)  # still usable


def test_out_of_memory_without_any_figures(torch, clean_conf):
    from mindtorch_v2._backends.npu.allocator import NpuAllocator

    allocator = NpuAllocator()

    def full(size):
        raise RuntimeError("full")

    allocator._raw_malloc = full
    with pytest.raises(torch.OutOfMemoryError, match="out of memory"):
        allocator.malloc(1)
    assert stats_of(allocator, "num_ooms", "allocation.all.current") == (1, 0)


def test_unreachable_python_objects_are_collected_before_failing(allocator, npu):
    npu.total = 200 * MIB

    class Holder:
        def __init__(self):
            self.ptr = allocator.malloc(150 * MIB)
            self.self = self

        def __del__(self):
            allocator.free(self.ptr)

    gc.disable()
    try:
        Holder()
        assert allocator.malloc(100 * MIB) > 0
    finally:
        gc.enable()


@pytest.mark.parametrize(
    "error", [ValueError, KeyboardInterrupt, MemoryError, NotImplementedError, RecursionError]
)
def test_other_exceptions_come_out_as_they_are(allocator, error):
    def broken(size):
        raise error("mine")

    good = allocator._raw_malloc
    allocator._raw_malloc = broken
    with pytest.raises(error, match="mine") as caught:
        allocator.malloc(1)
    assert type(caught.value) is error
    assert [entry.name for entry in caught.traceback][-1] == "broken"
    assert stats_of(allocator, "num_ooms", "segment.all.current") == (0, 0)
    allocator._raw_malloc = good
    assert allocator.malloc(1) > 0


def test_strange_answers_of_the_driver(torch, allocator):
    for answer, error in (("text", TypeError), ((), IndexError), (("a", 1), TypeError),
                          ((-1, 1), OverflowError), (None, torch.OutOfMemoryError),
                          ((0, 5), torch.OutOfMemoryError)):  # fmt: skip
        allocator._raw_malloc = lambda size, answer=answer: answer
        with pytest.raises(error):
            allocator.malloc(1)
    allocator._raw_malloc = lambda size: 1 << 33  # the address alone
    assert allocator.malloc(1) == 1 << 33


def test_a_free_that_fails_is_reported_and_survived(allocator, npu, monkeypatch):
    reported = []
    monkeypatch.setattr("sys.unraisablehook", lambda info: reported.append(info.exc_value))
    allocator.free(allocator.malloc(1))
    good = allocator._raw_free

    def broken(ptr):
        raise ValueError("lost")

    allocator._raw_free = broken
    allocator.empty_cache()
    assert [str(error) for error in reported] == ["lost"]
    allocator._raw_free = good
    assert allocator.malloc(1) > 0


def test_an_event_that_fails_shows_at_the_next_synchronise(allocator, npu):
    ptr = allocator.malloc(1)
    allocator.record_stream(ptr, 4)

    def broken(event):
        raise ValueError("event lost")

    allocator._event_complete = broken
    allocator.free(ptr)
    assert allocator.malloc(1) != ptr  # not taken for finished
    with pytest.raises(ValueError, match="event lost"):
        allocator.synchronize()
    allocator._event_complete = npu.event_complete
    allocator.synchronize()
    assert allocator.malloc(1) == ptr


# --- garbage collection and the fraction --------------------------------------------------------


def test_collector_trusts_the_statistics(clean_conf):
    """A block put into the cache by hand, and a count set by hand; no device."""
    from mindtorch_v2._backends.npu.allocator import Block, NpuAllocator

    allocator = NpuAllocator(device_id=0)
    freed = []
    allocator._raw_free = freed.append
    allocator._mem_get_info = lambda: (20, 100)
    allocator.gc_threshold = 0.5
    allocator._stats["reserved_bytes.all.current"] = 80
    allocator._cached["small_pool"].append(Block(1234, 16, 16, "small_pool", None))
    assert len(allocator._cached["small_pool"]) == 1
    assert allocator._cached["small_pool"][0].ptr == 1234
    allocator._maybe_collect_garbage()
    assert freed == [1234]
    assert list(allocator._cached["small_pool"]) == []


@pytest.mark.parametrize("pool", ["small_pool", "large_pool"])
@pytest.mark.parametrize("reserved, collected", [(80, True), (40, False)])
def test_collector_works_above_the_threshold(clean_conf, pool, reserved, collected):
    from mindtorch_v2._backends.npu.allocator import Block, NpuAllocator

    allocator = NpuAllocator()
    freed = []
    allocator._raw_free = freed.append
    allocator._mem_get_info = lambda: (20, 100)
    allocator.gc_threshold = 0.5
    allocator._cached[pool].append(Block(512, 16, 16, pool, None))
    allocator._stats["reserved_bytes.all.current"] = reserved
    allocator._maybe_collect_garbage()
    assert freed == ([512] if collected else [])


def test_collector_frees_the_oldest_first(allocator, npu):
    npu.total = 200 * MIB
    allocator.gc_threshold = 0.5
    a, b, c = (allocator.malloc(30 * MIB) for _ in range(3))
    for ptr in (b, a, c):
        allocator.free(ptr)
        allocator.free(allocator.malloc(100))
    npu.calls.clear()
    allocator.malloc(31 * MIB)  # 92 MiB reserved, 124 with it: no collection yet
    allocator.malloc(33 * MIB)
    assert [call for call in npu.calls if call[0] == "free"] == [("free", b)]
    assert "sync" not in npu.names()


def test_the_fraction_is_enforced(torch, clean_conf):
    from mindtorch_v2._backends.npu.allocator import NpuAllocator

    allocator = NpuAllocator(device_id=0)
    allocator._mem_get_info = lambda: (40, 100)
    allocator._stats["reserved_bytes.all.current"] = 60
    allocator._enforce_memory_fraction(50)  # no limit yet
    allocator.memory_fraction = 0.5
    with pytest.raises(RuntimeError) as caught:
        allocator._enforce_memory_fraction(50)
    assert isinstance(caught.value, torch.OutOfMemoryError)
    allocator._stats["reserved_bytes.all.current"] = 0
    allocator._enforce_memory_fraction(50)
    with pytest.raises(RuntimeError):
        allocator._enforce_memory_fraction(51)


def test_the_fraction_limits_raw_allocation_only(torch, allocator, npu):
    npu.total = 100 * MIB
    kept = allocator.malloc(40 * MIB)
    allocator.memory_fraction = 0.3
    allocator.free(kept)
    assert allocator.malloc(40 * MIB) == kept  # cached memory is not asked about
    npu.calls.clear()
    with pytest.raises(torch.OutOfMemoryError, match="30.00 MiB allowed"):
        allocator.malloc(1)
    assert "malloc" not in npu.names()
    allocator.memory_fraction = 1.0
    allocator.malloc(1)


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
