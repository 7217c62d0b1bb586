"""tools/older_cann.py: version fallbacks can be tested, because symbols can be taken away."""

import pathlib
import subprocess
import sys

from tests.simulator.ops.acl import library_dir

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = """
import ctypes, sys
folder, *names = sys.argv[1:]
runtime = ctypes.CDLL(folder + "/libascendcl.so", mode=ctypes.RTLD_GLOBAL)
ctypes.CDLL(folder + "/libopapi.so")
assert runtime.aclInit(None) == 0 and runtime.aclrtSetDevice(0) == 0
print(*(name for name in names if hasattr(runtime, name)))
assert runtime.aclrtResetDevice(0) == 0 and runtime.aclFinalize() == 0
"""


def older(folder, *names):
    command = [sys.executable, str(ROOT / "tools" / "older_cann.py"), str(library_dir())]
    return subprocess.run([*command, str(folder), *names], capture_output=True, text=True)


def found(folder, *names):
    command = [sys.executable, "-c", PROGRAM, str(folder), *names]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


def test_newer_symbols_are_gone_and_the_rest_works(tmp_path):
    assert older(tmp_path).returncode == 0
    newer = ["aclrtGetDeviceInfo", "aclrtFreeWithDevSync", "aclrtLaunchHostFunc"]
    assert found(library_dir(), "aclrtMalloc", *newer) == ["aclrtMalloc", *newer]
    assert found(tmp_path, "aclrtMalloc", *newer) == ["aclrtMalloc"]


def test_symbols_can_be_chosen(tmp_path):
    assert older(tmp_path, "aclrtCreateEventExWithFlag").returncode == 0
    names = ["aclrtCreateEventExWithFlag", "aclrtCreateEventWithFlag", "aclrtGetDeviceInfo"]
    assert found(tmp_path, *names) == names[1:]


def test_an_unknown_symbol_is_named(tmp_path):
    done = older(tmp_path, "aclrtNoSuchThing")
    assert done.returncode == 1
    assert "aclrtNoSuchThing" in done.stderr
