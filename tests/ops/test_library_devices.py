"""The op cases on devices that libraries bring along, each in a process of its own.

`pytest tests/ops --device toy` runs all of them.
"""

import subprocess
import sys

import pytest

from tests.support import library_devices
from tests.support.simulated import run

PARTS = {
    "values": ["tests/ops/test_ops.py", "-k", "test_values and float32"],
    "refusals": ["tests/ops/test_ops.py", "-k", "test_values and float64 and pipeline"],
    "gradients": ["tests/ops/test_device_gradients.py"],
    "targets": ["tests/ops/test_ops.py", "-k", "test_inplace or test_out"],
    "mistakes": ["tests/ops/test_ops.py", "-k", "test_views or test_bad or test_unsupported"],
}
LONG = {"targets", "mistakes"}


@pytest.mark.parametrize(
    "part", [pytest.param(p, marks=pytest.mark.slow if p in LONG else ()) for p in PARTS]
)
@pytest.mark.parametrize("kind", library_devices.ALL)
def test_op_cases(kind, part):
    options = ["-q", "-x", "-p", "no:cacheprovider", "-n", "0", "-m", "slow or not slow"]
    modes = ["--mode", "eager", "--mode", "pipeline"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--device", kind, *modes, *PARTS[part]],
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert " passed" in done.stdout


def test_a_device_has_a_name_and_refuses_in_it():
    run(
        """
from tests.support import library_devices
try:
    torch.ones(2, device="toy")
    raise SystemExit("there is a toy before it is loaded")
except RuntimeError as error:
    assert "toy" in str(error)
library_devices.load("toy")
library_devices.load("toy")
x = torch.arange(6.0, device="toy").reshape(2, 3).requires_grad_()
assert x.device == torch.device("toy:0") and repr(x.device) == "device(type='toy', index=0)"
(x @ x.t()).sum().backward()
assert x.grad.device.type == "toy" and x.grad.tolist() == [[6.0, 10.0, 14.0]] * 2
for call, op in (
    (lambda: torch.ones(2, dtype=torch.float64, device="toy"), "ones"),
    (lambda: x.detach().sum(dtype=torch.float64), "sum.dim_IntList"),
    (lambda: x.detach() * torch.ones(2, 3, dtype=torch.float64), None),
):
    try:
        call()
    except NotImplementedError as error:
        taken = "it takes bool, int8, int32, int64, bfloat16, float32"
        want = f"Could not run '{op}' on device toy:0 for torch.float64: {taken}"
        assert str(error) == want, error
    except RuntimeError as error:
        assert op is None and "same device" in str(error), error
    else:
        raise SystemExit(f"{op} was not refused")
try:
    torch.tensor([1.0], device="toy") / torch.tensor([2.0], device="toy").double()
except NotImplementedError as error:
    assert "on device toy:0 for torch.float64" in str(error)
"""
    )


def test_a_device_has_a_module_with_streams():
    run(
        """
import sys
import types
from mindtorch_v2 import _device_module
from tests.support import library_devices
library_devices.load("toy")
toy = sys.modules["mindtorch_v2.toy"] = types.ModuleType("mindtorch_v2.toy")
vars(toy).update(_device_module.make_functions("toy"))
assert toy.device_count() == 1 and toy.current_device() == 0
x = torch.ones(1000, device="toy")
stream = toy.Stream()
with toy.stream(stream):
    y = x + 1
stream.synchronize()
toy.synchronize()
assert y.cpu().tolist() == [2.0] * 1000
"""
    )
