"""Memory of NVIDIA GPUs."""

from mindtorch_v2._backends.device_allocator import AllocatorTable, DeviceAllocator


class CudaAllocator(DeviceAllocator):
    """Caches the memory of one GPU."""

    kind = "cuda"


get_allocator = AllocatorTable(CudaAllocator)


def mem_get_info(index):
    """(free, total) bytes of a GPU."""
    return get_allocator(index)._mem_get_info()
