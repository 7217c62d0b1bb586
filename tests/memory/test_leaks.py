"""Reference counts: 1,000 rounds of every op leave memory where it was.

Driven by the op cases, so that a new op is covered by its case file. Three measures: references to
the arguments, blocks that Python has handed out, and bytes that malloc and our own pool have.
"""

import ctypes
import gc
import sys

import pytest

from tests.ops import harness
from tests.ops.cases import FAMILIES, one_call_each
from tests.ops.harness import Runtime

ROUNDS = 1000
# Per 1,000 rounds. One leaked object in each round would be 1,000 blocks and at least 16,000 bytes.
BLOCKS_ALLOWED = 200
BYTES_ALLOWED = 8000


class MallInfo(ctypes.Structure):
    _fields_ = [
        (name, ctypes.c_size_t)
        for name in ("arena", "ordblks", "smblks", "hblks", "hblkhd", "usmblks", "fsmblks",
                     "uordblks", "fordblks", "keepcost")
    ]  # fmt: skip


def malloc_bytes() -> int:
    """Bytes in use according to glibc; 0 where it cannot say."""
    try:
        mallinfo2 = ctypes.CDLL(None).mallinfo2
    except AttributeError:
        return 0
    mallinfo2.restype = MallInfo
    info = mallinfo2()
    return info.uordblks + info.hblkhd


def pool_bytes(torch) -> int:
    """Bytes that live tensors hold, in the CPU pool and on the device of new tensors."""
    device = torch.get_default_device()
    if device.type == "cpu":
        return torch.cpu.memory_stats()["allocated_bytes"]
    torch.accelerator.synchronize()  # what is queued holds memory
    return torch.accelerator.memory_allocated() + torch.cpu.memory_stats()["allocated_bytes"]


@pytest.fixture(autouse=True)
def small_heap():
    """Keeps the collector from walking all modules in every measurement."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.fixture(autouse=True)
def no_notes_of_the_simulator(torch, default_device):
    """Its race check keeps what was done, which is no leak."""
    if default_device != "npu":
        yield
        return
    torch.npu.simulator.set(checks="memory,lifetime,leaks,uninitialized")
    yield
    torch.npu.synchronize()
    torch.npu.simulator.reset()


def tensors_in(module, *values):
    found = []
    harness.map_values(module.Tensor, found.append, list(values))
    return found


def measure(torch):
    gc.collect()
    held = pool_bytes(torch)
    return sys.getallocatedblocks(), malloc_bytes(), held


def rounds(count, call, *args):
    for _ in range(count):
        call(*args)


def leaks(torch, call, *args) -> str | None:
    """Calls a thousand times; says what grew. A second look forgives one-time growth."""
    rounds(30, call, *args)
    held = tensors_in(torch, *args)
    text = None
    for _ in range(3):
        references = [sys.getrefcount(tensor) for tensor in held]
        before = measure(torch)
        rounds(ROUNDS, call, *args)
        after = measure(torch)
        if [sys.getrefcount(tensor) for tensor in held] != references:
            return "references to an argument"
        blocks, in_malloc, in_pool = (b - a for a, b in zip(before, after, strict=True))
        if blocks > BLOCKS_ALLOWED:
            text = f"{blocks} Python blocks"
        elif in_malloc > BYTES_ALLOWED:
            text = f"{in_malloc} bytes of malloc"
        elif in_pool > 0:
            text = f"{in_pool} bytes of the pool"
        else:
            return None
    return text


@pytest.mark.parametrize("family", FAMILIES)
def test_a_thousand_rounds(torch, family):
    runtime = Runtime(torch)
    found = []
    for case in one_call_each(family):
        arguments = runtime.first_arguments(case)
        if arguments is None:
            continue
        try:
            runtime.call(case, *arguments)
        except Exception:
            continue  # the op cases report it
        text = leaks(torch, runtime.call, case, *arguments)
        if text:
            found.append(f"{case.label}: {text}")
    assert not found, "\n".join(found)


@pytest.mark.parametrize("family", ["unary", "binary", "reduce", "matmul", "shape", "indexing"])
def test_a_thousand_rounds_of_out(torch, family):
    runtime = Runtime(torch)
    found = []
    for case in one_call_each(family):
        arguments = runtime.first_arguments(case) if case.out else None
        if arguments is None:
            continue
        args, kwargs = arguments
        try:
            result = runtime.call(case, args, kwargs)
            out = result.clone() if runtime.is_tensor(result) else tuple(r.clone() for r in result)
            runtime.call(case, args, {**kwargs, "out": out})
        except Exception:
            continue
        text = leaks(torch, runtime.call, case, args, {**kwargs, "out": out})
        if text:
            found.append(f"{case.label}: {text}")
    assert not found, "\n".join(found)


def failing(call):
    try:
        call()
    except (RuntimeError, IndexError, TypeError, ValueError):
        return
    raise AssertionError("did not fail")


@pytest.mark.parametrize(
    "action",
    [
        lambda t, x: x + 1,
        lambda t, x: x.add_(1),
        lambda t, x: x[0],
        lambda t, x: x[:, 1],
        lambda t, x: x[x > 0],
        lambda t, x: x[t.tensor([0, 1])],
        lambda t, x: x.__setitem__(0, 1.0),
        lambda t, x: x.cpu().numpy(),
        lambda t, x: t.from_numpy(x.cpu().numpy()),
        lambda t, x: t.from_dlpack(x.__dlpack__()),
        lambda t, x: x.__dlpack__(),
        lambda t, x: x.tolist(),
        lambda t, x: x.shape,
        lambda t, x: x.stride(),
        lambda t, x: x.dtype,
        lambda t, x: x.device,
        lambda t, x: x.untyped_storage(),
        lambda t, x: x.storage(),
        lambda t, x: x.data,
        lambda t, x: list(x),
        lambda t, x: len(x),
        lambda t, x: x.sum().item(),
        lambda t, x: x == x,
        lambda t, x: t.tensor([[1.0, 2.0]]),
        lambda t, x: t.device("cpu:0"),
        lambda t, x: t.Generator().manual_seed(1),
        lambda t, x: t.get_rng_state(),
        lambda t, x: setattr(x, "note", object()),
        lambda t, x: setattr(x.view(4), "note", x),
        lambda t, x: x.to(t.float64),
        lambda t, x: repr(x),
        lambda t, x: failing(lambda: x + t.ones(3)),
        lambda t, x: failing(lambda: x[5]),
        lambda t, x: failing(lambda: x.view(3)),
        lambda t, x: failing(lambda: t.add(x)),
        lambda t, x: failing(lambda: t.add(x, "a")),
        lambda t, x: failing(lambda: t.tensor([[1], [1, 2]])),
        lambda t, x: failing(lambda: x.sum(9)),
        lambda t, x: failing(lambda: t.empty(-1)),
        lambda t, x: failing(lambda: t.exp(x, out=5.5)),
    ],
)
def test_a_thousand_rounds_of_the_object(torch, action):
    assert leaks(torch, action, torch, torch.ones(2, 2)) is None


def test_the_measure_sees_a_leak(torch):
    """What the tests above would say if an op kept its result or a reference."""
    kept = []
    assert leaks(torch, lambda: kept.append(torch.ones(1))) is not None
    x = torch.ones(2)
    assert leaks(torch, lambda value: kept.append(value), x) == "references to an argument"
