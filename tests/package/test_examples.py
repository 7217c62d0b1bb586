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
TRAINING = TOUR.with_name("train_gpt.py")
SHORT = {TRAINING: ("--steps", "4", "--write", "20")}  # arguments, where a whole run takes long


def command(path):
    """Programs that say `import torch` need the launcher, and run for a few steps only."""
    if re.search(r"^(import|from) torch\b", path.read_text(), re.MULTILINE):
        return [sys.executable, "-m", "mindtorch_v2", path, "--steps", "2"]
    return [sys.executable, path, *SHORT.get(path, ())]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example(path, tmp_path):
    done = subprocess.run(command(path), cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout or done.stderr  # loggers write to the latter


NPU = {
    "auto": "There is no card here: what follows runs on a simulated NPU.",
    "sim": "MINDTORCH_NPU=sim: what follows runs on a simulated NPU.",
    "off": "MINDTORCH_NPU=off: no NPU is used.",
}


def run_on_npu(path, choice, folder):
    """Where CANN cannot be, and with every report of the simulator an end with an error."""
    done = subprocess.run(
        [sys.executable, path, *SHORT.get(path, ())],
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
@pytest.mark.parametrize("path", [TRANSFORMER, TRAINING], ids=lambda path: path.stem)
def test_an_example_says_what_its_npu_is(path, choice, tmp_path):
    lines = run_on_npu(path, choice, tmp_path).splitlines()
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


def test_training_shows_both_modes(tmp_path):
    """Progress, rates, a loss that falls, a table of the memory, two pictures, and text."""
    text = run_on_npu(TRAINING, "sim", tmp_path)
    for mode in ("eager", "pipeline"):
        assert re.search(rf"^{mode} +█+ +4/4 steps, loss [0-9.]+$", text, re.MULTILINE)
        assert re.search(rf"^{mode} +[0-9,]+ tokens per second$", text, re.MULTILINE)
    first, last = re.search(r"^loss: ([0-9.]+) at first, ([0-9.]+) at last", text, re.M).groups()
    assert float(last) < float(first)
    assert re.search(r"^Checkpoint: .*\n.*\n.*\n  the same$", text, re.MULTILINE)
    assert "NPU memory summary" in text
    for path in (tmp_path / "train_gpt.png", tmp_path / "train_gpt_memory.png"):
        assert str(path) in text and path.read_bytes().startswith(b"\x89PNG")
    assert len(text.partition("the model goes on:\n")[2].removesuffix("\n")) == 20


PICTURES = """
import train_gpt
def draw(path, what, lines, **labels):
    begin = min(first for first, values in lines.values())
    print(what, begin, max(first + len(values) for first, values in lines.values()))
train_gpt.draw = draw
train_gpt.main()
"""


def test_both_pictures_show_the_same_steps(tmp_path):
    """Those after the checkpoint, too, which are compared."""
    path = os.pathsep.join((str(TRAINING.parent), os.environ.get("PYTHONPATH", "")))
    done = subprocess.run(
        [sys.executable, "-c", PICTURES, "--steps", "3", "--write", "1"],
        cwd=tmp_path, capture_output=True, text=True,
        env={**os.environ, "PYTHONPATH": path, "MINDTORCH_NPU": "sim"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert "\nloss 1 12\n" in done.stdout and "\nmemory 1 12\n" in done.stdout


def test_there_are_examples():
    assert EXAMPLES
