"""Options and fixtures shared by all Python tests."""

import importlib.util

import pytest

# What a plain run covers. A new device or mode joins every op case by one word here.
DEVICES = ("cpu",)
MODES = ("eager",)

TORCH_INSTALLED = importlib.util.find_spec("torch") is not None


def pytest_addoption(parser):
    parser.addoption(
        "--device",
        action="append",
        default=None,
        help="run the op cases on this device; may be given more than once (default: cpu)",
    )
    parser.addoption(
        "--mode",
        action="append",
        default=None,
        help="run the op cases in this mode, eager or pipeline; may be given more than once",
    )


def pytest_generate_tests(metafunc):
    if "device" in metafunc.fixturenames:
        metafunc.parametrize("device", metafunc.config.getoption("--device") or DEVICES)
    if "mode" in metafunc.fixturenames:
        metafunc.parametrize("mode", metafunc.config.getoption("--mode") or MODES)


@pytest.fixture
def torch():
    """The package under test, under the name its users give it."""
    import mindtorch_v2

    return mindtorch_v2


@pytest.fixture
def default_dtype(torch):
    """Sets the default dtype for one test and puts the old one back."""
    before = torch.get_default_dtype()
    yield torch.set_default_dtype
    torch.set_default_dtype(before)
