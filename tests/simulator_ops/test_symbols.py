"""Third-party programs link: every symbol of the tables is there, under the vendor's names."""

import ctypes
import json
import re
import subprocess
import sys

import pytest

from tests.simulator_ops import acl

NAMES = ("ascendcl", "nnopbase", "opapi", "hccl")


def names(table):
    lines = (acl.TABLE.parent / table).read_text().splitlines()
    return [line.split("\t")[0] for line in lines if line and not line.startswith("#")]


@pytest.fixture(scope="module")
def libraries():
    folder = acl.library_dir()
    return {name: ctypes.CDLL(str(folder / f"lib{name}.so")) for name in NAMES}


def test_every_function_is_exported(libraries):
    every = names("functions.tsv") + names("functions_newer.tsv")
    found = [libraries["opapi"], libraries["hccl"]]  # and what they are linked to
    missing = [name for name in every if not any(hasattr(library, name) for library in found)]
    assert len(every) > 280
    assert missing == []


def test_every_op_is_exported_with_both_phases(libraries):
    every = names("operators.tsv")
    both = [name + phase for name in every for phase in ("GetWorkspaceSize", "")]
    assert len(every) > 600
    assert [name for name in both if not hasattr(libraries["opapi"], name)] == []


def functions():
    """name -> (its library, what it returns)."""
    found = {}
    for table in ("functions.tsv", "functions_newer.tsv"):
        for line in (acl.TABLE.parent / table).read_text().splitlines():
            if line and not line.startswith("#"):
                name, result, parameters = (line.split("\t") + [""])[:3]
                found[name] = (library_of(name, result + " " + parameters), result)
    for op in names("operators.tsv"):
        for phase in ("GetWorkspaceSize", ""):
            found[op + phase] = ("opapi", "aclnnStatus")
    return found


def library_of(name, types):
    """Where CANN has a function: its tensors and executors are libnnopbase's."""
    if name.startswith("Hccl"):
        return "hccl"
    if name.startswith("aclStft"):
        return "opapi"
    kinds = r"acl(Tensor|Scalar|IntArray|FloatArray|BoolArray|TensorList|ScalarList|OpExecutor)\*"
    own = name in ("aclnnInit", "aclnnFinalize") or re.search(kinds, types)
    return "nnopbase" if own and not name.startswith("aclrt") else "ascendcl"


def defined_in(name):
    path = acl.library_dir() / f"lib{name}.so"
    text = subprocess.check_output(["nm", "-D", "--defined-only", str(path)], text=True)
    return {line.split()[-1] for line in text.splitlines()}


def test_every_function_is_in_the_vendors_library():
    exported = {name: defined_in(name) for name in NAMES}
    astray = [name for name, (library, _) in functions().items() if name not in exported[library]]
    assert astray == []


CALL_ALL = """
import ctypes, json, sys
from tests.simulator_ops import acl
libraries = [*acl.libraries(), ctypes.CDLL(str(acl.library_dir() / "libhccl.so"))]
answers = {}
for name in json.load(sys.stdin):
    function = next(getattr(library, name) for library in libraries if hasattr(library, name))
    function.restype = ctypes.c_int
    answers[name] = (function(*[None] * 40), acl.message())
print(json.dumps(answers))
"""


def test_what_is_not_simulated_says_so_by_name():
    """All functions, without anything: those answer for which the runtime has no code."""
    every = functions()
    called = [name for name in every if name != "aclGetRecentErrMsg"]
    done = subprocess.run(
        [sys.executable, "-c", CALL_ALL],
        input=json.dumps(called),
        capture_output=True,
        text=True,
        cwd=acl.ROOT,
        check=True,
    )
    codes = {"HcclResult": 5, "aclError": 207000, "aclnnStatus": 561003}
    left_out = 0
    for name, (code, text) in json.loads(done.stdout).items():
        if not text.endswith("not simulated"):
            continue
        left_out += 1
        assert f"{name}: not simulated" in text
        result = every[name][1]
        if result in codes:
            assert code == codes[result], name
    assert 0 < left_out < len(every) / 2


@pytest.mark.parametrize("name", NAMES)
def test_sonames_are_the_vendors(name):
    path = acl.library_dir() / f"lib{name}.so"
    done = subprocess.run(["readelf", "-d", str(path)], capture_output=True, text=True, check=True)
    assert f"soname: [lib{name}.so]" in done.stdout
