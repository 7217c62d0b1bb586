"""What one call on the CPU takes beside its operands: its results, and little more.

The kernel's mark of the most resident memory is cleared before the call and read after it. It may
be off by some tens of pages, so that operands are of many MiB and the limits of one.
"""

import ctypes
import gc
from pathlib import Path

import pytest

SPARE_BYTES = 1 << 20
PR_SET_THP_DISABLE = 41
MARK = Path("/proc/self/clear_refs")


def status_bytes(name):
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) * 1024
    raise OSError(name)


def bytes_of(result):
    tensors = result if isinstance(result, (tuple, list)) else (result,)
    return sum(each.numel() * each.element_size() for each in tensors if each is not None)


@pytest.fixture
def spare(torch):
    """How many bytes more than its results a call takes, on one thread, after a first one."""
    if not MARK.exists():
        pytest.skip("this kernel has no mark of the most resident memory")
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    libc = ctypes.CDLL(None)
    libc.prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0)  # huge pages count what nobody touched

    def measure(call):
        call()
        gc.collect()
        torch.cpu.empty_cache()
        MARK.write_text("5")
        before = status_bytes("VmRSS")
        result = call()
        return status_bytes("VmHWM") - before - bytes_of(result)

    yield measure
    libc.prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0)
    torch.set_num_threads(threads)


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "uint8"])
@pytest.mark.parametrize("op", ["sort", "argsort", "topk", "median", "kthvalue"])
def test_lines_that_are_not_contiguous_are_not_copied_whole(torch, spare, op, dtype):
    a = (torch.rand(2048, 2048) * 100).to(getattr(torch, dtype))
    arguments = {"topk": (7,), "kthvalue": (7,)}.get(op, ())
    assert spare(lambda: getattr(a, op)(*arguments, dim=0)) < SPARE_BYTES


@pytest.mark.parametrize("op", ["softmax", "log_softmax"])
def test_softmax_of_long_columns_copies_no_tensor(torch, spare, op):
    a = torch.randn(4096, 1024)
    assert spare(lambda: getattr(a, op)(0)) < SPARE_BYTES


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("op", ["var", "std"])
def test_moments_of_columns_copy_no_tensor(torch, spare, op, dtype):
    a = torch.rand(2048, 2048).to(getattr(torch, dtype))
    assert spare(lambda: getattr(a, op)(0)) < SPARE_BYTES
    b = a.view(16, 128, 2048)
    assert spare(lambda: getattr(b, op)(1)) < SPARE_BYTES


def test_a_mask_makes_its_indices_only(torch, spare):
    a = torch.rand(2048, 2048)
    chosen = a < 0.5
    indices = 2 * 8 * int(chosen.sum())
    assert spare(lambda: a[chosen]) < indices + SPARE_BYTES


def test_one_index_of_each_dim_makes_no_offsets(torch, spare):
    a = torch.rand(2048, 2048)
    i = torch.randint(2048, (1 << 22,))
    assert spare(lambda: a[i, i]) < SPARE_BYTES


@pytest.mark.parametrize("name", ["RMSprop", "Adadelta", "Rprop", "ASGD", "NAdam", "RAdam"])
def test_an_optimizer_has_temporaries_of_few_parameters_at_a_time(torch, spare, name):
    params = [torch.nn.Parameter(torch.randn(256, 256)) for _ in range(64)]  # 16 MiB
    for p in params:
        p.grad = torch.randn_like(p)
    optimizer = getattr(torch.optim, name)(params)
    assert spare(optimizer.step) < 3 * SPARE_BYTES


def test_many_small_parameters_are_stepped_as_one_would_be(torch):
    params = [torch.nn.Parameter(torch.full((40, 40), float(i))) for i in range(30)]
    for p in params:
        p.grad = p.detach() + 1
    alone = torch.nn.Parameter(torch.full((40, 40), 17.0))
    alone.grad = torch.full((40, 40), 18.0)
    for _ in range(3):
        torch.optim.RMSprop(params).step()
        torch.optim.RMSprop([alone]).step()
    assert torch.equal(params[17], alone)


def test_a_sum_of_sparse_tensors_makes_the_sum_only(torch, spare):
    n, count = 10_000, 1 << 19
    a, b = (
        torch.sparse_coo_tensor(torch.randint(n, (2, count)), torch.rand(count), (n, n)).coalesce()
        for _ in range(2)
    )

    def add():
        made = a + b
        return made.indices(), made.values()

    assert spare(add) < SPARE_BYTES


def test_a_sparse_tensor_becomes_dense_entry_by_entry(torch, spare):
    count = 1 << 20
    a = torch.sparse_coo_tensor(torch.randint(1000, (2, count)), torch.rand(count), (1000, 1000))
    assert spare(a.to_dense) < SPARE_BYTES


@pytest.mark.parametrize("op", ["fft", "ifft", "rfft"])
def test_transforms_work_in_what_their_thread_keeps(torch, spare, op):
    a = torch.randn(4096, 1000)
    lines = a if op == "rfft" else torch.complex(a, a)
    assert spare(lambda: getattr(torch.fft, op)(lines)) < SPARE_BYTES // 4


def test_mse_loss_keeps_its_operands_only(torch, spare):
    x, y = torch.randn(2048, 2048, requires_grad=True), torch.randn(2048, 2048)

    def step():
        torch.nn.functional.mse_loss(x, y).backward()

    assert spare(lambda: torch.nn.functional.mse_loss(x, y).detach()) < (16 << 20) + SPARE_BYTES
    step()  # x.grad is there
    assert spare(lambda: step() or x.new_empty(0)) < 2 * (16 << 20) + SPARE_BYTES
