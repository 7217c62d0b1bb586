"""Less than the best instructions of the machine, for those who ask for it."""

import os
import subprocess
import sys

import mindtorch_v2 as torch
import pytest

PROGRAM = """
import mindtorch_v2 as torch
x = torch.arange(1000.0)
print(torch.backends.cpu.get_cpu_capability(), x.sin().mul(x).sum().item(), (x + x).max().item())
"""
BETTER = {"AVX512": ["AVX512", "AVX2", "DEFAULT"], "AVX2": ["AVX2", "DEFAULT"]}


@pytest.mark.parametrize("wanted", ["auto", "avx2", "default"])
def test_no_more_than_asked_for(wanted):
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM],
        env={**os.environ, "MINDTORCH_CPU_CAPABILITY": wanted},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    found, total, most = done.stdout.split()
    machine = torch.backends.cpu.get_cpu_capability()
    allowed = BETTER.get(machine, [machine])
    assert found == (wanted.upper() if wanted.upper() in allowed else allowed[0])
    assert float(most) == 1998.0
    x = torch.arange(1000.0, dtype=torch.float64)
    assert float(total) == pytest.approx(x.sin().mul(x).sum().item(), rel=1e-3)
