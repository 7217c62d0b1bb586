"""What the tests on simulated NPUs share.

A process chooses its NPUs once: the tests of this folder need `MINDTORCH_NPU=sim`. Those in
`processes/` start programs of their own and belong to the run without it.
"""

import os

import pytest

from tests.npu.graph_windows import Log

SIMULATED = os.environ.get("MINDTORCH_NPU") == "sim"
collect_ignore_glob = ["processes/test_*.py"] if SIMULATED else ["test_*.py"]


@pytest.fixture(autouse=True)
def first_device(torch):
    """Each test in this process starts on the default stream of the first device."""
    if SIMULATED:
        torch.npu.set_device(0)
        torch.npu.set_stream(torch.npu.default_stream())


@pytest.fixture
def simulator(torch):
    """The simulator's controls, with an empty call log; as at the start when the test ends."""
    torch.npu.synchronize()
    torch.npu.simulator.set(log=True)
    torch.npu.simulator.clear_calls()
    yield torch.npu.simulator
    torch.npu.simulator.release()
    torch.npu.simulator.reset()


@pytest.fixture
def called(simulator):
    """Names of the functions that a piece of code called, in order."""

    def of(action):
        simulator.clear_calls()
        action()
        return [call.function for call in simulator.calls() if call.kind == "call"]

    return of


@pytest.fixture
def log(torch, simulator):
    """The calls of each window; no graph of an earlier test is left."""
    torch.npu.empty_cache()
    return Log(torch, simulator)
