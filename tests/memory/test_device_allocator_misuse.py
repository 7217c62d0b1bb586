"""NpuAllocator in the hands of programs that do what they should not, or all at once."""

import gc
import os
import subprocess
import sys
import threading

import pytest

MIB = 1 << 20


def run(program):
    """Runs a program of its own, which must end well. What it keeps to the end may be named."""
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == "" or result.stderr.startswith("nanobind: leaked"), result.stderr


PRELUDE = """
import threading
from mindtorch_v2._backends.npu.allocator import NpuAllocator

def make():
    allocator = NpuAllocator()
    place = iter(range(1 << 40, 1 << 50, 1 << 30))
    allocator._raw_malloc = lambda size: (next(place), size)
    allocator._raw_free = lambda ptr: None
    allocator._mem_get_info = lambda: (1 << 45, 1 << 45)
    return allocator
"""


# --- arguments ----------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [-1, -(1 << 70)])
def test_negative_sizes(allocator, size):
    for call in (allocator.malloc, allocator._enforce_memory_fraction):
        with pytest.raises(ValueError, match=f"must not be negative, but got {size}"):
            call(size)


@pytest.mark.parametrize("size", [1 << 60, 1 << 63, 1 << 64, 1 << 200])
def test_sizes_beyond_every_device(torch, allocator, npu, size):
    with pytest.raises(torch.OutOfMemoryError, match="NPU out of memory.*more than 1EB"):
        allocator.malloc(size)
    assert npu.calls == []


@pytest.mark.parametrize("bad", [1.5, "1", b"1", []])
def test_sizes_and_pointers_are_integers(allocator, bad):
    for call in (allocator.malloc, allocator.free, allocator.owns):
        with pytest.raises(TypeError, match="integer"):
            call(bad)


def test_numpy_integers_are_integers(allocator):
    import numpy

    ptr = allocator.malloc(numpy.int64(1000))
    allocator.free(numpy.uint64(ptr))
    allocator.free(numpy.int32(0))


@pytest.mark.parametrize("pointer", [-1, 1, 1 << 63, 1 << 64, -(1 << 64), 1 << 100])
def test_pointers_of_nobody(allocator, pointer):
    assert not allocator.owns(pointer)
    allocator.record_stream(pointer, 5)
    with pytest.raises(RuntimeError, match=f"invalid device pointer: {pointer}$"):
        allocator.free(pointer)


def test_a_pointer_is_freed_by_one_of_many_threads(allocator):
    freed, refused = [], []

    def work(pointers):
        for ptr in pointers:
            try:
                allocator.free(ptr)
                freed.append(ptr)
            except RuntimeError:
                refused.append(ptr)

    pointers = [allocator.malloc(1000) for _ in range(300)]
    threads = [threading.Thread(target=work, args=(pointers,)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(freed) == sorted(pointers)
    assert len(refused) == 3 * len(pointers)
    assert allocator.memory_stats()["active.all.current"] == 0


def test_devices_have_no_negative_number(clean_conf):
    from mindtorch_v2._backends.npu.allocator import NpuAllocator

    with pytest.raises(ValueError, match="must not be negative"):
        NpuAllocator(-1)


def test_a_conf_that_is_no_text():
    program = PRELUDE + "print(NpuAllocator().max_split_size)"
    environment = {**os.environb, b"MINDTORCH_NPU_ALLOC_CONF": b"\xff\xfe:1,max_split_size_mb:8"}
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, timeout=60, env=environment
    )
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip() == str(8 * MIB).encode()
    assert b"UserWarning" in result.stderr and b"unknown key" in result.stderr


# --- the driver's calls ---------------------------------------------------------------------------


def test_a_raw_malloc_that_asks_again(allocator, npu):
    """No lock is held while Python runs: the call may use the allocator it serves."""
    inner = []
    sizes = [70 * MIB, 60 * MIB, 50 * MIB]

    def raw_malloc(size):
        if sizes:
            inner.append(allocator.malloc(sizes.pop()))
            allocator.empty_cache()
            allocator.snapshot()
        return npu.raw_malloc(size)

    allocator._raw_malloc = raw_malloc
    outer = allocator.malloc(20 * MIB)
    assert len({outer, *inner}) == 4
    for ptr in (outer, *inner):
        allocator.free(ptr)
    allocator.empty_cache()
    assert npu.segments == {}


def test_a_raw_malloc_without_end(allocator):
    allocator._raw_malloc = lambda size: (allocator.malloc(size), size)
    with pytest.raises(RecursionError):
        allocator.malloc(20 * MIB)
    del allocator._raw_malloc
    assert allocator.memory_stats()["reserved_bytes.all.current"] == 0


def test_a_raw_malloc_that_frees(allocator, npu):
    npu.total = 64 * MIB
    held = [allocator.malloc(40 * MIB)]

    def raw_malloc(size):
        while held:
            allocator.free(held.pop())
        return npu.raw_malloc(size)

    allocator._raw_malloc = raw_malloc
    ptr = allocator.malloc(50 * MIB)
    assert npu.used() == 50 * MIB
    allocator.free(ptr)


def test_every_call_may_raise(torch, allocator, npu):
    """Whatever a call raises comes out, or shows at the next synchronise; then all goes on."""

    class Strange(BaseException):
        pass

    def fail(*args):
        raise Strange

    names = ("_raw_malloc", "_mem_get_info", "_sync_device", "_record_event", "_event_complete")
    allocator.gc_threshold = 0.5
    for name in names:
        good = getattr(allocator, name)
        setattr(allocator, name, fail)
        raised = 0
        for action in (
            lambda: allocator.free(allocator.malloc(30 * MIB), "side"),
            lambda: allocator.malloc(40 * MIB),
            allocator.empty_cache,
            allocator.synchronize,
        ):
            try:
                action()
            except Strange:
                raised += 1
        assert raised > 0, name
        setattr(allocator, name, good)
        try:
            allocator.synchronize()
        except Strange:
            pass
        allocator.synchronize()
    for segment in allocator.snapshot()["segments"]:
        for block in segment["blocks"]:
            if block["state"] == "active_allocated":
                allocator.free(block["address"])
    allocator.empty_cache()
    assert npu.segments == {}


def test_out_of_memory_while_the_figures_fail(torch, allocator, npu):
    npu.total = 10 * MIB
    allocator._mem_get_info = lambda: 1 / 0
    with pytest.raises(torch.OutOfMemoryError) as caught:
        allocator.malloc(20 * MIB)
    assert "total capacity" not in str(caught.value)


def test_the_plain_class_can_go_without_its_methods():
    """The C++ class alone, deleted with memory in hand: nothing is called on a dead object."""
    program = """
import gc
from mindtorch_v2 import _C
allocator = _C._CachingAllocator()
allocator._raw_malloc = lambda size: (1 << 32, size)
allocator._mem_get_info = lambda: (1 << 40, 1 << 40)
allocator.malloc(10)
del allocator
gc.collect()
"""
    run(program)


# --- threads, the collector, and the end ----------------------------------------------------------


def test_threads_and_the_collector(torch, allocator, npu):
    """Unreachable objects that free memory, collected by threads that have run out of memory."""
    npu.total = 100 * MIB

    class Holder:
        def __init__(self):
            self.ptr = 0
            self.ptr = allocator.malloc(6 * MIB)
            self.self = self

        def __del__(self):
            allocator.free(self.ptr)

    errors, failures = [], []

    def work():
        try:
            for _ in range(150):
                try:
                    Holder()
                except torch.OutOfMemoryError:  # another thread was faster
                    failures.append(1)
                allocator.memory_stats()
        except Exception as error:
            errors.append(error)

    gc.disable()
    try:
        threads = [threading.Thread(target=work, daemon=True) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(60)
        assert not any(thread.is_alive() for thread in threads)
    finally:
        gc.enable()
    gc.collect()
    assert errors == []
    assert len(failures) < 30  # of 600
    assert allocator.memory_stats()["allocation.all.current"] == 0
    assert allocator.memory_stats()["num_ooms"] > 0


def test_settings_change_while_threads_allocate(allocator):
    stop = threading.Event()

    def work():
        while not stop.is_set():
            allocator.free(allocator.malloc(3 * MIB), "side")

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for step in range(300):
        allocator.max_split_size = None if step % 2 else 4 * MIB
        allocator.gc_threshold = None if step % 3 else 0.01
        allocator.memory_fraction = 1.0 if step % 5 else 0.9
        allocator._configure_history(step % 2 == 0, 3, 50, [], False)
        allocator._stats["reserved_bytes.all.current"] += 0
        len(allocator._cached["large_pool"])
    stop.set()
    for thread in threads:
        thread.join()
    allocator.synchronize()
    assert allocator.memory_stats()["active.all.current"] == 0


@pytest.mark.parametrize("python", ["snapshot", "malloc", "empty_cache"])
def test_leaving_while_threads_work(python):
    """Daemon threads are in the middle of a call when the interpreter ends."""
    action = {
        "malloc": "a.free(a.malloc(1 << 20), 'side')",
        "snapshot": "a.snapshot()",
        "empty_cache": "a.free(a.malloc(1 << 20)); a.empty_cache()",
    }[python]
    program = f"""{PRELUDE}
import time
a = make()
a._configure_history(True, 3, 100, [], False)
def work():
    while True:
        {action}
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.1)
"""
    for _ in range(3):
        run(program)


def test_leaving_in_any_order():
    program = f"""{PRELUDE}
import atexit, sys
class Late:
    def __init__(self):
        self.allocator = make()
        self.ptr = self.allocator.malloc(100)
    def __del__(self):
        ptr, self.ptr = self.ptr, 0
        self.allocator.free(ptr)
        self.allocator.malloc(1 << 22)
        self.allocator.empty_cache()
cycle = Late()
cycle.self = cycle
sys.late = Late()
atexit.register(Late().__del__)
a = make()
a.malloc(5)
a.back = lambda: a
threading.local().x = Late()
"""
    run(program)


def test_a_child_has_allocators_of_its_own():
    """After a fork the child goes on with what it has, and with new ones."""
    program = f"""{PRELUDE}
import os
a = make()
ptr = a.malloc(100)
child = os.fork()
a.free(ptr)
b = make()
b.free(b.malloc(1 << 22))
a.empty_cache()
assert a.memory_stats()["reserved_bytes.all.current"] == 0
if child:
    assert os.waitpid(child, 0)[1] == 0
"""
    run(program)
