"""python -m mindtorch_v2.npu.simulator run and env: programs written for CANN, unchanged."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

from tests.support.simulated import start

COMMAND = ["-m", "mindtorch_v2.npu.simulator"]

# What such a program does, and nothing of ours.
PROGRAM = """
import ctypes, os, sys
acl = ctypes.CDLL("libascendcl.so")
acl.aclrtGetSocName.restype = ctypes.c_char_p
count = ctypes.c_uint32()
assert acl.aclrtGetDeviceCount(ctypes.byref(count)) == 0
print(acl.aclrtGetSocName().decode(), count.value, sys.argv[1:], os.environ.get("LD_PRELOAD"))
assert "mindtorch_v2" not in sys.modules
"""


@pytest.fixture
def program(tmp_path):
    path = tmp_path / "program.py"
    path.write_text(PROGRAM)
    return path


def test_run_starts_a_program(program):
    done = start([*COMMAND, "run", str(program), "-x", "--list"], MINDTORCH_SIM_DEVICES="3")
    assert done.stdout == "Ascend910B3 3 ['-x', '--list'] None\n"


def test_run_starts_a_module_and_a_text(program):
    path = {"PYTHONPATH": f"{program.parent}:{os.environ.get('PYTHONPATH', '')}"}
    done = start(
        [*COMMAND, "run", "-m", "program", "1"], MINDTORCH_SIM_SOC="Ascend910_9391", **path
    )
    assert done.stdout == "Ascend910_9391 8 ['1'] None\n"
    done = start([*COMMAND, "run", "-c", PROGRAM, "a b"])
    assert done.stdout == "Ascend910B3 8 ['a b'] None\n"


def test_run_takes_another_interpreter(program, tmp_path):
    other = tmp_path / "other"
    other.write_text(f'#!/bin/sh\necho the other\nexec {sys.executable} "$@"\n')
    other.chmod(0o755)
    done = start([*COMMAND, "run", "--python", str(other), str(program)])
    assert done.stdout == "the other\nAscend910B3 8 [] None\n"


def test_run_says_what_it_wants_and_passes_on_how_it_ended():
    nothing = start([*COMMAND, "run"])
    assert nothing.returncode == 1 and "usage:" in nothing.stderr
    assert start([*COMMAND, "run", "-c", "raise SystemExit(7)"]).returncode == 7


def test_env_serves_a_shell_and_every_interpreter(program):
    lines = start([*COMMAND, "env"]).stdout
    assert all(line.startswith("export ") for line in lines.splitlines())
    shell = f'{lines}\necho "$LD_LIBRARY_PATH"\n{sys.executable} {program}\n'
    bare = {"PATH": os.environ["PATH"]}
    for before in ({}, {"LD_LIBRARY_PATH": "/elsewhere"}):
        done = subprocess.run(
            ["sh", "-ec", shell], env=bare | before, capture_output=True, text=True, check=True
        )
        path, text = done.stdout.splitlines()
        assert path.split(":")[1:] == list(before.values())
        assert text == "Ascend910B3 8 [] None"


def test_the_folders_are_what_programs_look_for():
    """They read CANN's version there, and want the folders of its packages."""
    found = dict(re.findall(r"export (\w+)=(\S+)", start([*COMMAND, "env"]).stdout))
    home = pathlib.Path(found["ASCEND_HOME_PATH"])
    assert found["ASCEND_OPP_PATH"] == str(home / "opp")
    for package in ("compiler", "runtime", "opp"):
        (info,) = (home / package).glob("ascend_*_install.info")
        assert "version=8.1.RC1\n" in info.read_text()


RACE = """
import ctypes
acl = ctypes.CDLL("libascendcl.so")
acl.aclInit(None)
acl.aclrtSetDevice(0)
first, second, a, b = (ctypes.c_void_p() for _ in range(4))
for stream in (first, second):
    acl.aclrtCreateStream(ctypes.byref(stream))
for memory in (a, b):
    acl.aclrtMalloc(ctypes.byref(memory), ctypes.c_size_t(64), 0)
size = ctypes.c_size_t(64)
acl.aclrtMemset(b, size, 0, size)
def copy(stream):
    assert acl.aclrtMemcpyAsync(a, size, b, size, 3, stream) == 0  # line 14
copy(first)
copy(second)
acl.aclrtSynchronizeDevice()
"""


def test_reports_have_the_lines_of_a_program_that_is_not_ours(tmp_path):
    path = tmp_path / "racing.py"
    path.write_text(RACE)
    done = start([*COMMAND, "run", str(path)], MINDTORCH_SIM_CHECKS="races")
    assert done.returncode == 0, done.stderr
    (report,) = done.stderr.splitlines()
    assert report.count(f"({path}:14)") == 2
