"""The op cases on devices that libraries bring along, each in a process of its own.

`pytest tests/ops tests/autograd/test_device_gradients.py --device toy` runs all of them.
"""

import subprocess
import sys

import pytest

from tests.support import devices

PARTS = {
    "values": ["tests/ops/test_ops.py", "-k", "test_values and float32"],
    "refusals": ["tests/ops/test_ops.py", "-k", "test_values and float64 and pipeline"],
    "results": ["tests/ops/test_ops.py", "-k", "test_inplace or test_out or test_views"],
    "gradients": ["tests/autograd/test_device_gradients.py"],
}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize("device", devices.ALL)
def test_op_cases(device, part):
    options = ["-q", "-x", "-p", "no:cacheprovider", "-n", "0", "-m", "slow or not slow"]
    modes = ["--mode", "eager", "--mode", "pipeline"]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, "--device", device, *modes, *PARTS[part]],
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-2000:]
    assert " passed" in done.stdout
