"""Gradients of every op case in float32, on each device and in each mode: those of the CPU."""

import contextlib

import pytest

from tests.autograd.gradients import Gradients, difference
from tests.autograd.test_op_gradients import DIFFERENTIABLE, RANDOM
from tests.conftest import DEVICES, MODES
from tests.ops import harness
from tests.ops.harness import Runtime
from tests.ops.test_ops import name_of
from tests.ops.unsupported import is_unsupported, lacks_gradient
from tests.support import library_devices

FLOAT = "float32"
CASES = [case for case in DIFFERENTIABLE if FLOAT in case.dtypes and case.name not in RANDOM]


def pytest_generate_tests(metafunc):
    places = [
        (device, mode)
        for device in metafunc.config.getoption("--device") or DEVICES
        for mode in metafunc.config.getoption("--mode") or MODES
        if (device, mode) != ("cpu", "eager")
    ]
    metafunc.parametrize("place", places, ids="-".join)


def gradients(torch, device, mode, case, arrays):
    """Those of a call; or the error, of cases that have none."""
    runtime = Runtime(torch, device)
    torch.manual_seed(1234)
    try:
        with torch.pipeline() if mode == "pipeline" else contextlib.nullcontext():
            return Gradients(runtime, case, arrays, "contiguous").first
    except (RuntimeError, NotImplementedError) as error:
        return error


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_gradients_are_the_cpus(torch, case, place):
    device, mode = place
    library_devices.load(device)
    for number, sample in harness.samples_for(case, FLOAT):
        if is_unsupported(case, FLOAT, sample, device):
            continue
        arrays = harness.build_arrays(case, sample, FLOAT)
        want = gradients(torch, "cpu", "eager", case, arrays)
        got = gradients(torch, device, mode, case, arrays)
        if lacks_gradient(case, device) and not harness.any_empty(*arrays):
            assert isinstance(got, NotImplementedError) and f"on device {device}" in str(got)
            continue
        if isinstance(want, Exception) or isinstance(got, Exception):
            assert repr(got) == repr(want), f"sample {number}"
            continue
        problem = difference(got, want, (1e-4, 1e-5))
        assert problem is None, f"sample {number}: {problem}"
