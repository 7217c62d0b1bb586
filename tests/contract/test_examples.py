"""Every example runs."""

import os
import pathlib
import subprocess
import sys

import pytest

EXAMPLES = sorted((pathlib.Path(__file__).parents[2] / "examples").glob("*.py"))
TOUR = EXAMPLES[0].with_name("tour.py")


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, tmp_path):
    done = subprocess.run([sys.executable, path], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout


NPU = {
    "auto": "There is no card here: what follows runs on a simulated NPU.",
    "sim": "MINDTORCH_NPU=sim: what follows runs on a simulated NPU.",
    "off": "MINDTORCH_NPU=off: no NPU is used.",
}


@pytest.mark.parametrize("choice", NPU)
def test_the_tour_says_what_its_npu_is(choice, tmp_path):
    """Where CANN cannot be, and with every report of the simulator an end with an error."""
    done = subprocess.run(
        [sys.executable, TOUR],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env={
            **{name: value for name, value in os.environ.items() if "ASCEND" not in name},
            "MINDTORCH_NPU": choice,
            "MINDTORCH_SIM_CHECKS": "all",
            "MINDTORCH_SIM_ABORT": "1",
        },
    )
    assert done.returncode == 0, done.stderr
    text = done.stdout.split("The same programs on an NPU")[1]
    assert text.strip().startswith(NPU[choice])
    assert ("device='npu:0'" in text) == (choice != "off")


def test_there_are_examples():
    assert EXAMPLES
