"""Memory formats, the CPU memory pool, and threads."""

import ctypes
import threading

import numpy as np
import pytest

# --- memory formats -----------------------------------------------------------------------------


def images(torch):
    return torch.arange(2 * 3 * 4 * 5, dtype=torch.float32).view(2, 3, 4, 5)


def test_channels_last(torch):
    x = images(torch)
    y = x.contiguous(memory_format=torch.channels_last)
    assert y.shape == x.shape and y.stride() == (60, 1, 15, 3)
    assert torch.equal(x, y)
    assert y.is_contiguous(memory_format=torch.channels_last) and not y.is_contiguous()
    assert x.is_contiguous() and not x.is_contiguous(memory_format=torch.channels_last)
    assert y.contiguous(memory_format=torch.channels_last) is y
    assert x.to(memory_format=torch.channels_last).stride() == y.stride()
    assert y.contiguous().stride() == (60, 20, 5, 1)


def test_channels_last_is_kept_by_pointwise_ops(torch):
    y = images(torch).contiguous(memory_format=torch.channels_last)
    for made in (
        y + 1,
        y.relu(),
        y.exp(),
        y.clone(),
        y * y,
        torch.zeros_like(y),
        y.to(torch.float64),
        y > 3,
    ):
        assert made.stride() == y.stride()
    other = images(torch)
    assert (y + other).stride() == y.stride()
    assert (other + y).stride() == other.stride()
    assert y.add_(1).stride() == (60, 1, 15, 3)


def test_making_in_a_format(torch):
    fmt = torch.channels_last
    assert torch.empty(2, 3, 4, 5, memory_format=fmt).stride() == (60, 1, 15, 3)
    assert torch.empty_like(images(torch), memory_format=fmt).stride() == (60, 1, 15, 3)
    assert images(torch).clone(memory_format=fmt).stride() == (60, 1, 15, 3)
    three = torch.channels_last_3d
    assert torch.empty(2, 3, 4, 5, 6, memory_format=three).stride() == (360, 1, 90, 18, 3)
    y = images(torch).contiguous(memory_format=fmt)
    assert torch.empty_like(y, memory_format=torch.contiguous_format).stride() == (60, 20, 5, 1)
    assert torch.empty_like(y, memory_format=torch.preserve_format).stride() == y.stride()


def test_formats_that_do_not_fit(torch):
    with pytest.raises(RuntimeError, match="required rank 4 tensor to use channels_last format"):
        torch.ones(2, 3).contiguous(memory_format=torch.channels_last)
    with pytest.raises(RuntimeError, match="required rank 5 tensor to use channels_last_3d format"):
        torch.ones(2, 3).contiguous(memory_format=torch.channels_last_3d)
    with pytest.raises(TypeError):
        torch.ones(2, 3).contiguous(memory_format="channels_last")


def test_format_names(torch):
    assert repr(torch.channels_last) == str(torch.channels_last) == "torch.channels_last"
    assert repr(torch.contiguous_format) == "torch.contiguous_format"
    assert isinstance(torch.preserve_format, torch.memory_format)


# --- strides of results -------------------------------------------------------------------------


@pytest.mark.parametrize(
    "make, stride",
    [
        (lambda t, x: x.t() + 1, (1, 4)),
        (lambda t, x: x.t() + x.t(), (1, 4)),
        (lambda t, x: x.t() + t.ones(4, 3), (1, 4)),
        (lambda t, x: t.ones(4, 3) + x.t(), (3, 1)),
        (lambda t, x: x[:, ::2] + 1, (2, 1)),
        (lambda t, x: x[:1].expand(3, 4) + 1, (4, 1)),
        (lambda t, x: x.t() + t.ones(3), (1, 4)),
        (lambda t, x: t.ones(3) + x.t(), (1, 4)),
        (lambda t, x: x.t().exp(), (1, 4)),
        (lambda t, x: x.t().to(t.int32), (1, 4)),
        (lambda t, x: t.where(x.t() > 3, x.t(), 0), (1, 4)),
        (lambda t, x: x.t().sum(1, keepdim=True).expand(4, 3).clone(), (3, 1)),
        (lambda t, x: t.cat([x.t(), x.t()]), (3, 1)),
        (lambda t, x: x.t() @ x, (4, 1)),
    ],
)
def test_strides_of_results(torch, make, stride):
    x = torch.arange(12.0).view(3, 4)
    assert make(torch, x).stride() == stride


# --- the pool -----------------------------------------------------------------------------------


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


# --- threads ------------------------------------------------------------------------------------


def in_threads(count, work):
    """Runs work(number) in many threads at once; the first error is raised here."""
    errors = []
    start = threading.Barrier(count)

    def run(number):
        try:
            start.wait()
            work(number)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(n,)) for n in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_many_threads_compute(torch):
    def work(number):
        array = np.arange(300, dtype=np.float64).reshape(20, 15) + number
        x = torch.from_numpy(array.copy())
        for turn in range(60):
            y = (x * 2 + turn).t().contiguous()
            assert torch.equal(y, torch.from_numpy((array * 2 + turn).T.copy()))
            assert y.sum().item() == (array * 2 + turn).sum()
            assert (x @ x.t()).shape == (20, 20)
            assert x[x > 100].numel() == (array > 100).sum()
            assert x.sort(1, descending=True).values[0, 0].item() == array[0].max()
            x.add_(0)

    in_threads(8, work)


def test_threads_share_a_tensor(torch):
    shared = torch.arange(10000.0)

    def work(number):
        for _ in range(50):
            assert shared.sum().item() == 49995000
            assert shared[number::10].shape == (1000,)
            assert (shared + number)[0].item() == number

    in_threads(8, work)
    assert shared._version == 0


def test_threads_free_what_others_made(torch):
    pools = [[torch.full((n + 1,), n) for n in range(300)] for _ in range(6)]

    def work(number):
        mine = pools[number]
        theirs = pools[(number + 1) % 6]
        for n in range(300):
            value = mine[n] + 1
            assert value[0].item() == n + 1
            theirs[n] = theirs[n].clone() if n % 2 else theirs[n]
            del value

    in_threads(6, work)


def test_large_ops_in_threads(torch):
    """Ops big enough to use the library's own threads, from several of the user's."""
    x = torch.ones(1 << 18)

    def work(number):
        for _ in range(5):
            assert (x + number).sum().item() == (1 + number) * (1 << 18)
            assert x.exp().shape == (1 << 18,)

    in_threads(4, work)


def test_set_num_threads(torch):
    before = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        assert torch.get_num_threads() == 1
        one = torch.ones(1 << 18).sum().item()
        torch.set_num_threads(2)
        assert torch.get_num_threads() == 2
        assert torch.ones(1 << 18).sum().item() == one
        with pytest.raises(RuntimeError, match="positive"):
            torch.set_num_threads(0)
        with pytest.raises((TypeError, RuntimeError)):
            torch.set_num_threads(1.5)
    finally:
        torch.set_num_threads(before)


def test_default_dtype_is_seen_by_threads(torch, default_dtype):
    default_dtype(torch.float64)
    seen = []
    in_threads(2, lambda number: seen.append(torch.ones(1).dtype))
    assert seen == [torch.float64] * 2


def test_generators_in_threads(torch):
    """Every number is drawn once: the default generator is locked."""
    torch.manual_seed(0)
    expected = set(torch.rand(4000, dtype=torch.float64).tolist())
    torch.manual_seed(0)
    drawn = []
    in_threads(
        4,
        lambda number: drawn.extend(
            torch.rand(10, dtype=torch.float64).tolist() for _ in range(100)
        ),
    )
    flat = [value for piece in drawn for value in piece]
    assert len(set(flat)) == 4000 and set(flat) == expected
