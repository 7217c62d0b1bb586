"""Device memory without a device: `python examples/memory_replay.py`.

A small program asks an allocator for memory, step by step a little more, as text generation does.
The calls to the driver are replaced by Python functions that only count, so no NPU is needed. What
happened is recorded, written to a file, and played again under other settings.
"""

from __future__ import annotations

import pathlib
import tempfile

import mindtorch_v2 as torch
from mindtorch_v2 import memory
from mindtorch_v2._backends.npu.allocator import NpuAllocator

MIB = 1 << 20
STEPS = 160


class CountedDevice:
    """The driver's calls of a device that has only addresses."""

    def __init__(self, total: int) -> None:
        self.total = total
        self.sizes: dict[int, int] = {}
        self.next = 1 << 32

    def raw_malloc(self, size: int) -> tuple[int, int]:
        if sum(self.sizes.values()) + size > self.total:
            raise RuntimeError("the device is full")
        address, self.next = self.next, self.next + size
        self.sizes[address] = size
        return address, size

    def raw_free(self, address: int) -> None:
        del self.sizes[address]

    def attach(self, allocator: NpuAllocator) -> NpuAllocator:
        allocator._raw_malloc = self.raw_malloc
        allocator._raw_free = self.raw_free
        allocator._mem_get_info = lambda: (self.total - sum(self.sizes.values()), self.total)
        return allocator


def generate(allocator: NpuAllocator) -> None:
    """A sequence grows: each step copies the cache of keys and values into a larger one."""
    weights = [allocator.malloc(24 * MIB) for _ in range(8)]
    cache = allocator.malloc(12 * MIB)
    for step in range(1, STEPS):
        for _ in range(12):
            scratch = [allocator.malloc(size) for size in (4096, 600_000, 3 * MIB)]
            for pointer in scratch:
                allocator.free(pointer)
        larger = allocator.malloc(12 * MIB + step * MIB)
        allocator.free(cache)
        cache = larger
    for pointer in (cache, *weights):
        allocator.free(pointer)


def main() -> None:
    device = CountedDevice(total=64 << 30)
    allocator = device.attach(NpuAllocator())
    # torch.npu's functions look the allocator up here. With an NPU this line is not needed.
    torch.npu._get_allocator = lambda device=None: allocator

    torch.npu.memory._record_memory_history()
    generate(allocator)
    print(torch.npu.memory_summary(abbreviated=True))

    with tempfile.TemporaryDirectory() as folder:
        recording = pathlib.Path(folder) / "run.pickle"
        torch.npu.memory._dump_snapshot(recording)
        print(f"$ python -m mindtorch_v2.memory replay {recording.name}\n")
        memory.main(["replay", str(recording)])
    torch.npu.memory._record_memory_history(None)


if __name__ == "__main__":
    main()
