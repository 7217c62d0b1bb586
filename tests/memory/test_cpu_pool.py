"""The CPU's memory pool."""

import ctypes


def resident_bytes():
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * 4096


def test_empty_cache_gives_memory_back(torch):
    big = [torch.ones(8 << 20) for _ in range(4)]  # 128 MiB in all
    held = resident_bytes()
    del big
    torch.cpu.empty_cache()
    assert resident_bytes() < held - (100 << 20)


def test_empty_cache_gives_back_what_malloc_would_keep(torch):
    """Blocks that malloc takes from the middle of its heap, and not from the system."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    libc.malloc.argtypes = [ctypes.c_size_t]
    libc.free.argtypes = [ctypes.c_void_p]
    *gap, end = [libc.malloc(100_000) for _ in range(3000)]
    for block in gap:
        libc.free(block)
    try:
        test_empty_cache_gives_memory_back(torch)
    finally:
        libc.free(end)


def test_a_large_result_reuses_memory(torch):
    """The pages of a freed tensor serve the next one of its size."""
    a = torch.ones(4 << 20)
    pointers = set()
    for _ in range(10):
        pointers.add((a + 1).data_ptr())
    assert len(pointers) <= 2
    torch.cpu.empty_cache()


def test_the_cache_is_bounded(torch):
    before = resident_bytes()
    for size in range(1, 40):
        torch.ones(size << 20)  # 4 MiB, 8 MiB, ... each of another size
    grown = resident_bytes() - before
    torch.cpu.empty_cache()
    assert grown < (2 << 30)
    assert resident_bytes() - before < (64 << 20)


def test_memory_is_aligned(torch):
    for size in (1, 3, 17, 1000, 1 << 20):
        assert torch.empty(size).data_ptr() % 64 == 0


def test_fresh_memory_is_never_shared(torch):
    kept = [torch.full((n % 50 + 1,), n, dtype=torch.int64) for n in range(2000)]
    for n, tensor in enumerate(kept):
        assert (tensor == n).all()
    for n in range(0, 2000, 2):
        kept[n] = None
    more = [torch.full((n % 50 + 1,), -n, dtype=torch.int64) for n in range(1000)]
    for n in range(1, 2000, 2):
        assert (kept[n] == n).all()
    for n, tensor in enumerate(more):
        assert (tensor == -n).all()
