"""torch_npu on the simulator. Only in the environment of `make test-torch-npu`."""

import ctypes
import importlib.util
import json
import os
import sys

import pytest

THERE = importlib.util.find_spec("torch_npu") is not None and "ASCEND_HOME_PATH" in os.environ
collect_ignore_glob = [] if THERE else ["test_*.py"]

if THERE:
    os.environ.setdefault("MINDTORCH_SIM_DEVICES", "2")
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    import torch
    import torch_npu  # noqa: F401

    # Found by its name alone, as torch_npu finds it.
    _simulator = ctypes.CDLL("libascendcl.so")
    _simulator.mtsim_take_reports.restype = ctypes.c_void_p
    _simulator.mtsim_free.argtypes = [ctypes.c_void_p]


def _take_reports():
    torch.npu.synchronize()  # not every device: torch_npu fails later where one has no stream yet
    address = _simulator.mtsim_take_reports()
    lines = ctypes.string_at(address).decode().splitlines()
    _simulator.mtsim_free(address)
    return [f"{report['check']}: {report['text']}" for report in map(json.loads, lines)]


@pytest.fixture(autouse=THERE)
def reports():
    """What the simulator's checks found since the last call. What a test leaves fails it."""
    torch.manual_seed(0)
    yield _take_reports
    assert _take_reports() == []


@pytest.fixture
def program(tmp_path):
    """Runs a program in a process of its own, with its own environment; what it printed."""
    import subprocess

    def run(text, **environment):
        path = tmp_path / "program.py"
        path.write_text(text)
        done = subprocess.run(
            [sys.executable, str(path)],
            env=os.environ | environment,
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout, done.stderr

    return run
