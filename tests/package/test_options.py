"""python -m mindtorch_v2.options, and what happens to values that make no sense."""

import os
import pathlib
import re
import subprocess
import sys

import mindtorch_v2.options
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run(*arguments, **environment):
    return subprocess.run(
        [sys.executable, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_module_prints_each_variable_with_its_value():
    done = run(
        "-m", "mindtorch_v2.options", MINDTORCH_CPU_JIT="off", MINDTORCH_NPU_PLAN_CACHE="lots"
    )
    assert done.returncode == 0, done.stderr
    assert "MINDTORCH_CPU_JIT: flag, default 1; now off\n" in done.stdout
    assert "MINDTORCH_NPU_PLAN_CACHE=lots is ignored: it takes a number from 0 to" in done.stdout
    names = [option["name"] for option in mindtorch_v2.options.describe()]
    assert [line.split(":")[0] for line in done.stdout.splitlines() if line[0] != " "] == names


@pytest.mark.parametrize(
    ("variable", "value", "expected"),
    [
        ("MINDTORCH_CPU_JIT", "maybe", "0 or 1"),
        ("ACL_LAUNCH_BLOCKING", "2", "0 or 1"),
        ("MINDTORCH_CPU_CACHE_MB", "-1", "a number from 0 to"),
        ("MINDTORCH_NUM_THREADS", "0", "a number from 1 to 4096"),
    ],
)
def test_a_value_that_makes_no_sense_warns_at_import(variable, value, expected):
    done = run("-c", "import mindtorch_v2", **{variable: value})
    assert done.returncode == 0, done.stderr
    assert f"UserWarning: {variable}={value} is ignored: it takes {expected}" in done.stderr


def test_good_values_and_empty_ones_are_silent():
    done = run(
        "-W", "error", "-c", "import mindtorch_v2",
        MINDTORCH_CPU_JIT="", MINDTORCH_NUM_THREADS="2", OMP_NUM_THREADS="4,2",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_the_cache_limit_comes_from_the_environment():
    program = "import mindtorch_v2 as torch; print(torch._C._cpu_memory_stats())"
    done = run("-c", program, MINDTORCH_CPU_CACHE_MB="48")
    assert f"'cache_limit_bytes': {48 << 20}" in done.stdout, done.stderr


def test_only_the_table_reads_the_environment():
    readers = [
        path.relative_to(ROOT).as_posix()
        for folder in ("mindtorch", "bindings")
        for path in (ROOT / folder).rglob("*.cpp")
        if re.search(r"\b(secure_)?getenv\b|\benviron\b", path.read_text())
    ]
    assert readers == ["mindtorch/base/options.cpp"]
