"""Runs on a device say which rows of tests/support/devices.py they do not need."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).parents[2]
PROGRAM = """
import sys, pytest
from tests.support import devices
devices.OF_THE_CPU.update({rows!r})
sys.exit(pytest.main(["-p", "no:cacheprovider", "-q", "-n", "0", "--device", "npu", *{options!r}]))
"""


def run(rows, *options):
    program = PROGRAM.format(rows=rows, options=options)
    done = subprocess.run(
        [sys.executable, "-c", program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "MINDTORCH_NPU": "sim"},
    )
    return done.returncode, done.stdout


def test_a_row_without_tests():
    rows = {
        "amp/test_gone.py": "it was renamed",
        "amp/test_autocast.py::test_losses": "it is there",
    }
    _, text = run(rows, "tests/amp", "--collect-only")
    assert "no such test: amp/test_gone.py" in text and "no such test: amp/test_auto" not in text
    _, text = run(rows, "tests/amp/test_autocast.py", "--collect-only")
    assert "no such test" not in text  # others were not collected


def test_a_row_whose_tests_pass():
    passes, fails = (
        "amp/test_autocast.py::test_settings_of_a",
        "optim/test_refused_options.py::test_c",
    )
    files = [f"tests/{row.partition('::')[0]}" for row in (passes, fails)]
    rows = {passes: "nobody knows", fails: "a text that names the CPU"}
    code, text = run(rows, *files, "--left-to-the-cpu", "-k", "settings_of_a or capturable_needs")
    assert code == 1 and f"all tests pass: {passes}" in text
    assert f"all tests pass: {fails}" not in text
