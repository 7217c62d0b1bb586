"""Options and fixtures shared by all Python tests."""

import os

import pytest

from tests.support import devices, library_devices, recorded, stale_rows
from tests.support.recorded import (  # noqa: F401
    TORCH_INSTALLED,
    oracle,
    torch_answers,
    torch_gives,
)

# What a plain run covers. A new device or mode joins every op case by one word here.
DEVICES = ("cpu",)
MODES = ("eager", "pipeline")


def pytest_addoption(parser):
    parser.addoption(
        "--device",
        action="append",
        default=None,
        help="run the op cases and the folders of tests/support/devices.py on this device; for op "
        "cases it may be given more than once (default: cpu)",
    )
    parser.addoption(
        "--mode",
        action="append",
        default=None,
        help="run the op cases in this mode, eager or pipeline; may be given more than once",
    )
    parser.addoption(
        "--left-to-the-cpu",
        action="store_true",
        help="of the folders run only what tests/support/devices.py leaves to the CPU; a row fails "
        "if all its tests pass",
    )
    recorded.pytest_addoption(parser)


def pytest_configure(config):
    if config.getoption("--device") not in (None, ["cpu"]):
        config.pluginmanager.register(stale_rows.StaleRows(config), "stale_rows")


def pytest_collection_modifyitems(config, items):
    recorded.leave_out_the_oracle(config, items)
    devices.leave_to_the_cpu(config, items)


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem):
    """What a device is known to refuse is no failure."""
    try:
        return (yield)
    except NotImplementedError as error:
        if devices.device_for(pyfuncitem) and (reason := devices.refusal(str(error))):
            pytest.xfail(reason)
        raise


def default_modes(metafunc):
    """On a simulated device every case in both modes takes too long for `make test-quick`."""
    if set(metafunc.config.getoption("--device") or DEVICES) <= {"cpu"}:
        return MODES
    eager, *others = MODES
    return [eager, *(pytest.param(mode, marks=pytest.mark.slow) for mode in others)]


def pytest_generate_tests(metafunc):
    if "device" in metafunc.fixturenames:
        metafunc.parametrize("device", metafunc.config.getoption("--device") or DEVICES)
    if "mode" in metafunc.fixturenames:
        metafunc.parametrize("mode", metafunc.config.getoption("--mode") or default_modes(metafunc))


@pytest.fixture(autouse=True)
def load_device(request):
    """A device that a library brings along is there where a test runs on it."""
    if "device" in request.fixturenames:
        library_devices.load(request.getfixturevalue("device"))


@pytest.fixture
def torch():
    """The package under test, under the name its users give it."""
    import mindtorch_v2

    return mindtorch_v2


@pytest.fixture(autouse=True)
def default_device(request):
    """The device of tensors that a test makes without naming one."""
    device = devices.device_for(request.node)
    if device is None:
        yield "cpu"
        return
    import mindtorch_v2

    library_devices.load(device)
    mindtorch_v2.set_default_device(device)
    yield device
    mindtorch_v2.set_default_device(None)


@pytest.fixture(autouse=True)
def no_reports():
    """On simulated NPUs, no check may have found anything in a test."""
    yield
    if os.environ.get("MINDTORCH_NPU") != "sim":
        return
    from mindtorch_v2 import npu

    if npu.simulator.is_enabled() and npu.is_initialized():
        npu.synchronize()
        found = npu.simulator.reports()
        npu.simulator.clear_reports()
        assert not found


@pytest.fixture
def default_dtype(torch):
    """Sets the default dtype for one test and puts the old one back."""
    before = torch.get_default_dtype()
    yield torch.set_default_dtype
    torch.set_default_dtype(before)
