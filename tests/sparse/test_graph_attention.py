"""The graph attention network of examples/ has the losses that torch gives it."""

import json
import os
import pathlib
import subprocess
import sys

import pytest

from tests.sparse.record_losses import ARGUMENTS, PROGRAM, numbers

EXPECTED = json.loads(pathlib.Path(__file__).with_name("losses.json").read_text())


@pytest.mark.parametrize(("place", "tolerance"), [("cpu", 1e-5), ("npu", 1e-4)])
def test_losses(place, tolerance):
    environment = {**os.environ, "MINDTORCH_NPU": "sim" if place == "npu" else "off"}
    done = subprocess.run(
        [sys.executable, str(PROGRAM), *ARGUMENTS, "--device", place],
        capture_output=True,
        text=True,
        env=environment,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = numbers(done.stdout)
    assert EXPECTED[0] > EXPECTED[-2]
    assert found == pytest.approx(EXPECTED, rel=tolerance, abs=2e-6)
