"""A tour of tensors, on the CPU and on an NPU: `make demo`, or `python examples/tour.py`.

Each stop is a function that can be read on its own. What it prints is what it shows.
"""

from __future__ import annotations

import textwrap
import time

import mindtorch_v2 as torch
import numpy as np
from shared.npu import choose as choose_npu

WIDTH = 92


def show(label: str, value: object) -> None:
    """Prints `label -> value`, with further lines of the value below the first."""
    lines = str(value).splitlines() or [""]
    head = f"  {label} -> "
    print(head + lines[0])
    for line in lines[1:]:
        print(" " * len(head) + line)


def say(text: str) -> None:
    print(textwrap.fill(text, WIDTH, initial_indent="  ", subsequent_indent="  "))


def creation() -> None:
    """Creating tensors"""
    show("torch.tensor([[1, 2], [3, 4]])", torch.tensor([[1, 2], [3, 4]]))
    show("torch.zeros(2, 3)", torch.zeros(2, 3))
    show("torch.arange(0, 10, 3)", torch.arange(0, 10, 3))
    show("torch.linspace(0, 1, 5)", torch.linspace(0, 1, 5))
    show("torch.full((3,), 7.5)", torch.full((3,), 7.5))
    show("torch.eye(2, dtype=torch.int64)", torch.eye(2, dtype=torch.int64))


def dtypes() -> None:
    """Dtypes and promotion"""
    ints = torch.tensor([1, 2, 3])
    floats = torch.tensor([0.5, 0.5, 0.5])
    show("int64 + float32", (ints + floats).dtype)
    show("int64 / int64", (ints / ints).dtype)
    show("int64 + 2", (ints + 2).dtype)
    show("int64 * 2.0", (ints * 2.0).dtype)
    half = floats.to(torch.bfloat16)
    show("bfloat16 + float16", (half + floats.to(torch.float16)).dtype)
    show("torch.finfo(torch.bfloat16).max", torch.finfo(torch.bfloat16).max)


def broadcasting() -> None:
    """Broadcasting: sizes of one stretch to fit"""
    column = torch.arange(3).reshape(3, 1)
    row = torch.arange(4)
    show("column (3, 1) * 10 + row (4,)", column * 10 + row)
    table = torch.tensor([[2.0, 4.0], [6.0, 8.0]])
    show("table - table.mean(0)", table - table.mean(0))


def views() -> None:
    """Views share memory"""
    base = torch.arange(6)
    grid = base.view(2, 3)
    turned = grid.t()
    grid[0, 0] = 100
    show("base, after grid[0, 0] = 100", base)
    show("turned = grid.t()", turned)
    show("turned.stride()", turned.stride())
    show("one storage", base.data_ptr() == turned.data_ptr())
    turned.mul_(-1)
    show("base, after turned.mul_(-1)", base)
    copy = turned.contiguous()
    show("turned.contiguous() is a copy", copy.data_ptr() != turned.data_ptr())


def indexing() -> None:
    """Indexing"""
    a = torch.arange(12).reshape(3, 4)
    show("a", a)
    show("a[1]", a[1])
    show("a[:, ::2]", a[:, ::2])
    show("a[..., -1]", a[..., -1])
    show("a[[2, 0]]", a[[2, 0]])
    show("a[a % 5 == 0]", a[a % 5 == 0])
    a[a > 8] = 0
    show("a, after a[a > 8] = 0", a)
    show("a.gather(1, [[3], [2], [1]])", a.gather(1, torch.tensor([[3], [2], [1]])))


def reductions() -> None:
    """Reductions and sorting"""
    a = torch.tensor([[3.0, 1.0, 2.0], [9.0, 7.0, 8.0]])
    show("a.sum()", a.sum())
    show("a.mean(dim=1, keepdim=True)", a.mean(dim=1, keepdim=True))
    values, indices = a.max(dim=1)
    show("a.max(dim=1)", f"{values} at {indices}")
    show("a.softmax(dim=1).sum(1)", a.softmax(dim=1).sum(1))
    show("a.cumsum(dim=1)", a.cumsum(dim=1))
    show("a.flatten().sort().values", a.flatten().sort().values)
    show("torch.tensor([1, 3, 1, 2]).unique()", torch.tensor([1, 3, 1, 2]).unique())


def products() -> None:
    """Matrix products"""
    a = torch.tensor([[1.0, 2.0], [3.0, 4.0]])
    show("a @ a", a @ a)
    batch = torch.arange(12.0).reshape(3, 2, 2)
    show("(batch @ a).shape", (batch @ a).shape)
    show("trace, einsum('ii', a)", torch.einsum("ii", a))
    show("row dots, einsum('ij,ij->i', a, a)", torch.einsum("ij,ij->i", a, a))


def random_numbers() -> None:
    """Random numbers: the same seed gives torch's own sequence"""
    torch.manual_seed(0)
    show("torch.rand(4)", torch.rand(4))
    torch.manual_seed(0)
    show("torch.rand(4), seeded again", torch.rand(4))
    generator = torch.Generator().manual_seed(42)
    show("torch.randperm(8), own generator", torch.randperm(8, generator=generator))
    big = torch.randn(100_000)
    show("mean and std of 100,000 normals", f"{big.mean().item():+.4f}, {big.std().item():.4f}")


def interop() -> None:
    """NumPy and DLPack: the same bytes, no copy"""
    array = np.arange(4, dtype=np.float32)
    tensor = torch.from_numpy(array)
    array[0] = 42
    show("tensor, after array[0] = 42", tensor)
    show("tensor.numpy()", tensor.numpy())
    show("np.asarray(tensor) * 2", np.asarray(tensor) * 2)
    received = np.from_dlpack(torch.arange(3))
    show("np.from_dlpack(torch.arange(3))", received)
    show("torch.from_dlpack(array)", torch.from_dlpack(array))


def errors() -> None:
    """Errors that explain"""
    a = torch.zeros(2, 3)
    attempts = {
        "zeros(2, 3) + zeros(4)": lambda: a + torch.zeros(4),
        "zeros(2, 3) @ zeros(2, 3)": lambda: a @ a,
        "zeros(2, 3).view(4)": lambda: a.view(4),
        "zeros(2, 3)[2]": lambda: a[2],
        "zeros(2, 3).sum(dim=5)": lambda: a.sum(dim=5),
        "torch.ones(2, device='npu')": lambda: torch.ones(2, device="npu"),
    }
    for label, attempt in attempts.items():
        try:
            attempt()
        except Exception as error:
            text = textwrap.shorten(str(error).splitlines()[0], 150, placeholder=" ...")
            wrapped = textwrap.wrap(f"{type(error).__name__}: {text}", WIDTH - 6)
            print(f"  {label}")
            for line in wrapped:
                print(f"      {line}")


def least_squares() -> None:
    """A line through noisy points, by gradient descent"""
    torch.manual_seed(1)
    x = torch.rand(200) * 4 - 2
    y = 1.5 * x - 0.7 + 0.1 * torch.randn(200)
    design = torch.stack((x, torch.ones(200)), dim=1)
    weights = torch.zeros(2)
    for step in range(101):
        residual = design @ weights - y
        if step % 25 == 0:
            loss = (residual**2).mean().item()
            show(
                f"step {step:3}",
                f"loss {loss:.4f}, slope {weights[0]:.3f}, offset {weights[1]:.3f}",
            )
        # The gradient of the mean squared residual, written by hand.
        weights -= 0.1 * (2 / len(y)) * (design.t() @ residual)
    say("The points were drawn from slope 1.5 and offset -0.7.")


def clusters() -> None:
    """k-means: three clusters found again"""
    torch.manual_seed(7)
    centres = torch.tensor([[0.0, 0.0], [4.0, 0.0], [2.0, 3.0]])
    points = torch.cat([centre + 0.4 * torch.randn(300, 2) for centre in centres])
    # Start from the first point, then twice from the point furthest from all chosen so far.
    found = points[:1]
    for _ in range(2):
        nearest = ((points[:, None] - found) ** 2).sum(-1).amin(1)
        found = torch.cat((found, points[nearest.argmax()][None]))
    for _ in range(10):
        nearest = ((points[:, None] - found) ** 2).sum(-1).argmin(1)
        found = torch.stack([points[nearest == k].mean(0) for k in range(3)])
    show("centres", found[found[:, 0].argsort()])
    show("sizes", nearest.bincount())


def timing() -> None:
    """How long one small op takes"""
    a, b = torch.rand(16), torch.rand(16)
    rounds = 20_000
    for label, function in {
        "a + b, 16 elements": lambda: a + b,
        "a.view(4, 4)": lambda: a.view(4, 4),
        "a.sum()": lambda: a.sum(),
    }.items():
        start = time.perf_counter_ns()
        for _ in range(rounds):
            function()
        elapsed_ns = time.perf_counter_ns() - start
        show(label, f"{elapsed_ns / rounds:.0f} ns per call, from Python")
    big = torch.rand(1 << 22)
    start = time.perf_counter_ns()
    (big + big).sum()
    show("(big + big).sum(), 4M elements", f"{(time.perf_counter_ns() - start) / 1e6:.1f} ms")
    say("`make bench` compares with torch.")


def npu() -> None:
    """The same programs on an NPU"""
    there_is_one, remark = choose_npu()
    if remark:
        say(remark)
    if not there_is_one:
        return
    show("torch.npu.get_device_name()", torch.npu.get_device_name())
    with torch.device("npu"):
        least_squares()
        clusters()
        image = torch.rand(64, 64)
        side = torch.npu.Stream()
        side.wait_stream(torch.npu.current_stream())
        with torch.npu.stream(side):
            blurred = (image + image.roll(1, 0) + image.roll(1, 1)) / 3
        torch.npu.current_stream().wait_stream(side)
        show("means, one made on another stream", torch.stack((image.mean(), blurred.mean())))
    show("torch.npu.memory_allocated()", f"{torch.npu.memory_allocated()} bytes")
    show("torch.npu.max_memory_allocated()", f"{torch.npu.max_memory_allocated()} bytes")


STOPS = (
    creation,
    dtypes,
    broadcasting,
    views,
    indexing,
    reductions,
    products,
    random_numbers,
    interop,
    errors,
    least_squares,
    clusters,
    timing,
    npu,
)


def main() -> None:
    start = time.perf_counter()
    print(f"mindtorch_v2 {torch.__version__}: a tour of tensors")
    for number, stop in enumerate(STOPS, 1):
        print(f"\n{number}. {stop.__doc__}")
        stop()
    print(f"\nThe tour took {time.perf_counter() - start:.1f} s.")


if __name__ == "__main__":
    main()
