"""NpuAllocator when memory is short: the order of what is tried, garbage collection, limits."""

import gc

import pytest

from tests.memory.conftest import stats_of

MIB = 1 << 20


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
