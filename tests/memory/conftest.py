"""An NPU made of Python functions, for the tests of device memory."""

import pytest


class FakeNpu:
    """Gives the driver's calls of an allocator: events finish when the test says so."""

    def __init__(self, total=1 << 40):
        self.total = total
        self.segments = {}
        self.calls = []
        self.pending = set()  # streams whose work goes on
        self.next = 1 << 40

    def attach(self, allocator):
        """Replaces every raw call on the object."""
        for name in ("raw_malloc", "raw_free", "mem_get_info", "sync_device", "record_event",
                     "event_complete"):  # fmt: skip
            setattr(allocator, f"_{name}", getattr(self, name))
        return allocator

    def used(self):
        return sum(self.segments.values())

    def raw_malloc(self, size):
        self.calls.append(("malloc", size))
        if self.used() + size > self.total:
            raise RuntimeError("device is full")
        address = self.next
        self.next += -(-size // 4096) * 4096
        self.segments[address] = size
        return address, size

    def raw_free(self, ptr):
        self.calls.append(("free", ptr))
        del self.segments[ptr]

    def mem_get_info(self):
        return self.total - self.used(), self.total

    def sync_device(self):
        self.calls.append(("sync",))
        self.pending.clear()

    def record_event(self, stream):
        self.calls.append(("record", stream))
        return stream

    def event_complete(self, event):
        return event not in self.pending

    def names(self):
        """The calls so far, without their arguments."""
        return [call[0] for call in self.calls]


def stats_of(allocator, *keys):
    stats = allocator.memory_stats()
    return tuple(stats[key] for key in keys)


@pytest.fixture
def clean_conf(monkeypatch):
    """No alloc conf in the environment; no conf, fraction or allocator remembered."""
    from mindtorch_v2._backends import device_allocator
    from mindtorch_v2._backends.npu import allocator

    monkeypatch.setattr(device_allocator, "_fractions", {})
    table = device_allocator.AllocatorTable(allocator.NpuAllocator)
    monkeypatch.setattr(allocator, "get_allocator", table)

    for variable in ("MINDTORCH_NPU_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF",
                     "PYTORCH_NPU_ALLOC_CONF", "PYTORCH_ALLOC_CONF"):  # fmt: skip
        monkeypatch.delenv(variable, raising=False)
    allocator._reset_alloc_conf_for_test()
    yield monkeypatch
    allocator._reset_alloc_conf_for_test()


@pytest.fixture
def npu():
    """A fake device with room for everything; a test may set npu.total."""
    return FakeNpu()


@pytest.fixture
def allocator(npu, clean_conf):
    """An NpuAllocator over the fake device."""
    from mindtorch_v2._backends.npu.allocator import NpuAllocator

    return npu.attach(NpuAllocator())


@pytest.fixture
def npu_module(torch, allocator, monkeypatch):
    """torch.npu with the allocator above behind it."""
    monkeypatch.setattr(torch.npu, "_get_allocator", lambda device=None: allocator)
    yield torch.npu
    torch.npu.memory._record_memory_history(None)
