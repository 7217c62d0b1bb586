"""Less than the best instructions of the machine, for those who ask for it."""

import os
import pathlib
import platform
import subprocess
import sys

import mindtorch_v2 as torch
import pytest

PROGRAM = """
import mindtorch_v2 as torch
x = torch.arange(1000.0)
print(torch.backends.cpu.get_cpu_capability(), x.sin().mul(x).sum().item(), (x + x).max().item())
"""
# The second transform divides its lines by the lanes that registers had at the first. What comes
# between asks which instructions the machine has.
SAME_PROGRAM = """
import mindtorch_v2 as torch
x = torch.arange(53 * 49.0).reshape(53, 49)
first = torch.fft.rfft(x)
torch.backends.cpu.get_cpu_capability()
with torch.pipeline():
    y = (x + 1).sin().mul(x)
y.sum().item()
a = torch.ones(64, 64, dtype=torch.bfloat16)
a @ a
assert torch.equal(torch.fft.rfft(x), first)
"""
HALF_PROGRAM = """
import mindtorch_v2 as torch
for dtype in (torch.float16, torch.bfloat16):
    for x in (float("inf"), -float("inf"), float("nan"), 1e-7):
        a = torch.full((40, 40), x, dtype=dtype)
        for k in (1, 40):
            wanted = torch.full((40, 1), x).to(dtype) * k
            b = torch.ones(k, 1, dtype=dtype)
            torch.testing.assert_close(a[:, :k] @ b, wanted, equal_nan=True)
            torch.testing.assert_close(a[:, :k] @ b[:, 0], wanted[:, 0], equal_nan=True)
            torch.testing.assert_close(a[:k].T @ b, wanted, equal_nan=True)
            torch.testing.assert_close(a[0, :k] @ b[:, 0], wanted[0, 0], equal_nan=True)
"""
ROUNDING_PROGRAM = """
import numpy as np
import mindtorch_v2 as torch
halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
exact = halves.astype(np.float32)
wide = torch.from_numpy(halves) * 1.0
np.testing.assert_array_equal(torch.from_numpy(halves).float().numpy(), exact)
np.testing.assert_array_equal(wide.numpy(), halves)
# Each number, the middle between it and the next, and the neighbours of both.
finite = np.sort(exact[np.isfinite(exact)]).astype(np.float64)
points = np.concatenate([finite, (finite[1:] + finite[:-1]) / 2, [65520, -65520, 1e30, 1e-30]])
points = points.astype(np.float32)
points = np.concatenate([points, np.nextafter(points, np.float32(np.inf)),
                         np.nextafter(points, np.float32(-np.inf))])
with np.errstate(over="ignore"):
    wanted = points.astype(np.float16).view(np.uint16)
x = torch.from_numpy(points)
np.testing.assert_array_equal(x.half().numpy().view(np.uint16), wanted)
out = torch.empty(len(points), dtype=torch.float16)
torch.add(x, 0.0, out=out)
np.testing.assert_array_equal(out.abs().numpy().view(np.uint16), wanted & 0x7fff)
"""
BEST_FIRST = ["AVX512", "AVX2", "DEFAULT"]


def start(program, wanted):
    done = subprocess.run(
        [sys.executable, "-c", program],
        env={**os.environ, "MINDTORCH_CPU_CAPABILITY": wanted},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    return done


def run(program, wanted):
    return start(program, wanted).stdout


def best_on_this_machine():
    """By the system's word."""
    if platform.machine() != "x86_64":
        return "NEON"
    flags = set(
        pathlib.Path("/proc/cpuinfo").read_text().split("flags", 1)[1].split("\n")[0].split()
    )
    if {"avx512f", "avx512vl", "avx512bw", "avx512dq", "avx512cd"} <= flags:
        return "AVX512"
    return "AVX2" if {"avx2", "fma", "bmi2"} <= flags else "DEFAULT"


@pytest.mark.parametrize("wanted", ["auto", "avx2", "default"])
def test_no_more_than_asked_for_and_than_was_compiled(wanted):
    done = start(PROGRAM, wanted)
    found, total, most = done.stdout.split()
    compiled = torch._C._cpu_compiled_capabilities()
    best = best_on_this_machine()
    if best in BEST_FIRST:
        allowed = BEST_FIRST[BEST_FIRST.index(best) :]
        if wanted.upper() in allowed:
            allowed = allowed[allowed.index(wanted.upper()) :]
        assert found == next(name for name in allowed if name in compiled)
        assert (allowed[0] not in compiled) == ("MINDTORCH_CPU_TARGETS=all" in done.stderr)
    else:
        assert found == best and not done.stderr
    assert float(most) == 1998.0
    x = torch.arange(1000.0, dtype=torch.float64)
    assert float(total) == pytest.approx(x.sin().mul(x).sum().item(), rel=1e-3)


@pytest.mark.parametrize("wanted", ["auto", "avx2", "default"])
def test_the_same_instructions_all_along(wanted):
    run(SAME_PROGRAM, wanted)


@pytest.mark.parametrize("wanted", ["auto", "avx2", "default"])
def test_products_of_16_bit_floats_keep_special_numbers(wanted):
    run(HALF_PROGRAM, wanted)


@pytest.mark.parametrize("wanted", ["auto", "avx2", "default"])
def test_float16_is_rounded_as_numpy_rounds_it(wanted):
    run(ROUNDING_PROGRAM, wanted)
