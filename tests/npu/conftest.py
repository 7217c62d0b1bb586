import os

import pytest

collect_ignore_glob = [] if os.environ.get("MINDTORCH_NPU") == "sim" else ["test_*.py"]


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
