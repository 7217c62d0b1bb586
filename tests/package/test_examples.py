"""Every example runs."""

import json
import os
import pathlib
import re
import subprocess
import sys

import pytest

EXAMPLES = sorted((pathlib.Path(__file__).parents[2] / "examples").glob("*.py"))
TOUR = EXAMPLES[0].with_name("tour.py")
TRANSFORMER = TOUR.with_name("transformer.py")


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


def run_on_npu(path, choice, folder):
    """Where CANN cannot be, and with every report of the simulator an end with an error."""
    done = subprocess.run(
        [sys.executable, path],
        cwd=folder,
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
    return done.stdout


@pytest.mark.parametrize("choice", NPU)
def test_the_tour_says_what_its_npu_is(choice, tmp_path):
    text = run_on_npu(TOUR, choice, tmp_path).split("The same programs on an NPU")[1]
    assert text.strip().startswith(NPU[choice])
    assert ("device='npu:0'" in text) == (choice != "off")


@pytest.mark.parametrize("choice", NPU)
def test_the_transformer_says_what_its_npu_is(choice, tmp_path):
    lines = run_on_npu(TRANSFORMER, choice, tmp_path).splitlines()
    assert lines[1] == NPU[choice]
    assert (len(lines) > 2) == (choice != "off")


def test_the_transformer_shows_both_modes(tmp_path):
    """The same scores, a table of the memory, and a trace with the passes and their ops."""
    text = run_on_npu(TRANSFORMER, "sim", tmp_path)
    for mode in ("eager", "pipeline"):
        assert re.search(rf"^{mode} +[0-9.]+ ms +[0-9]+ KiB$", text, re.MULTILINE)
    assert "difference between the two results: 0\n" in text
    assert "NPU memory summary" in text
    path = tmp_path / "transformer_trace.json"
    assert str(path) in text
    events = json.loads(path.read_text())["traceEvents"]
    spans = {event["name"]: event for event in events if event["ph"] == "X"}
    tasks = [event for event in events if event["name"].startswith("aclnn") and event["dur"] > 0]
    for mode in ("eager", "pipeline"):
        begin = spans[mode]["ts"]
        assert any(begin <= task["ts"] <= begin + spans[mode]["dur"] for task in tasks)


def test_there_are_examples():
    assert EXAMPLES
