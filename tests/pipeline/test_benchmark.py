"""The programs of benchmarks/pipeline do the same in every mode, and its command runs."""

import json
import pathlib
import subprocess
import sys

import pytest

from tests.nn.compare import assert_same

FOLDER = pathlib.Path(__file__).parents[2] / "benchmarks" / "pipeline"
sys.path.append(str(FOLDER))

from programs import PROGRAMS  # noqa: E402

SMALL = [name for name in PROGRAMS if not name.endswith("M") and name != "demo step"]


def run_program(library, name, pipeline=False):
    library.manual_seed(0)
    function, inputs = PROGRAMS[name](library, "cpu", True)
    if not pipeline:
        return function(*inputs).detach().numpy()
    with library.pipeline():
        result = function(*inputs)
    return result.detach().numpy()


@pytest.mark.parametrize("name", SMALL)
def test_the_same_in_a_pipeline(torch, name):
    expected = torch.from_numpy(run_program(torch, name))
    torch.testing.assert_close(
        torch.from_numpy(run_program(torch, name, pipeline=True)), expected, rtol=1e-5, atol=1e-6
    )


@pytest.mark.parametrize("name", SMALL)
def test_the_same_in_torch(torch, torch_gives, name):
    assert_same(run_program(torch, name), torch_gives(run_program, name), rtol=1e-4, atol=1e-4)


def test_the_command_prints_tables_and_thresholds(tmp_path):
    command = [sys.executable, FOLDER / "run.py", "--no-torch", "--rounds", "3", "--thresholds"]
    command += ["--filter", "small MLP", "--output", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode in (0, 1), done.stderr
    for place in ("cpu", "npu", "npu, host only"):
        assert f"| {place}: small MLP, against eager" in done.stdout
    results = json.loads((tmp_path / "pipeline.json").read_text())
    assert done.returncode == any(row["verdict"] != "pass" for row in results["thresholds"])
    assert all(row["ratios"]["eager"] > 0 for row in results["results"])


def test_the_steps_of_the_demo_are_timed(tmp_path):
    command = [sys.executable, FOLDER / "run.py", "--no-torch", "--rounds", "3"]
    command += ["--filter", "host only: (demo|mlp) step", "--output", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    results = json.loads((tmp_path / "pipeline.json").read_text())["results"]
    assert [row["program"] for row in results] == ["mlp step", "demo step"]
    assert all(lane["thread_samples_ns"] for row in results for lane in row["lanes"].values())


def test_the_command_reports_no_match():
    command = [sys.executable, FOLDER / "run.py", "--filter", "no such program"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (2, "no program matches\n")
