"""Third-party programs link: every symbol of the tables is there, under the vendor's names."""

import ctypes
import json
import re
import subprocess
import sys

import pytest

from tests.simulator.ops import acl

# Where CANN has the functions of the headers beside those of runtime, ops and collectives.
HEADERS = {
    "acl/acl_mdl.h": "ascendcl",
    "acl/acl_op.h": "ascendcl",
    "acl/acl_op_compiler.h": "acl_op_compiler",
    "acl/acl_dump.h": "ascend_dump",
    "acl/acl_prof.h": "msprofiler",
    "acl/acl_tdt.h": "acl_tdt_channel",
    "acl/acl_tdt_queue.h": "acl_tdt_queue",
    "acl/ops/acl_cblas.h": "acl_cblas",
    "acl/ops/acl_dvpp.h": "acl_dvpp",
    "acl/ops/acl_fv.h": "acl_retr",
    "profiling/aprof_pub.h": "profapi",
    "runtime/kernel.h": "runtime",
    "runtime/rt_ffts.h": "runtime",
    "opbase": "nnopbase",
}
# Programs are linked to the last two, which have nothing of their own.
NAMES = ("opapi", "hccl", *sorted(set(HEADERS.values())), "ge_runner", "graph")


def names(table, left_out=False):
    """Of a table; those that no library exports are marked in it."""
    lines = (acl.TABLE.parent / table).read_text().splitlines()
    rows = [line.split("\t") for line in lines if line and not line.startswith("#")]
    return [row[0] for row in rows if (row[1:] == ["-"]) is left_out]


def operators():
    return names("operators.tsv") + names("operators_newer.tsv")


@pytest.fixture(scope="module")
def libraries():
    folder = acl.library_dir()
    return {name: ctypes.CDLL(str(folder / f"lib{name}.so")) for name in NAMES}


def test_every_function_is_exported(libraries):
    every = names("functions.tsv") + names("functions_newer.tsv") + names("functions_others.tsv")
    found = libraries.values()
    missing = [name for name in every if not any(hasattr(library, name) for library in found)]
    assert len(every) > 730
    assert missing == []


def test_what_the_runtime_exports_is_found_through_every_library(libraries):
    """As with CANN, where each is linked to what it needs."""
    assert [name for name in NAMES if not hasattr(libraries[name], "aclrtMalloc")] == []


def test_what_programs_are_linked_to_brings_the_libraries_behind_it(libraries):
    """A program that names libge_runner.so calls functions of what CANN has behind it."""
    wanted = ("MsprofSysCycleTime", "rtKernelLaunch", "aclrtMalloc")
    for library in ("ge_runner", "graph"):
        assert [name for name in wanted if not hasattr(libraries[library], name)] == []


def test_profiling_is_found_in_the_runtime_too(libraries):
    profiling = [name for name in names("functions_others.tsv") if name.startswith("aclprof")]
    assert len(profiling) > 30
    assert [name for name in profiling if not hasattr(libraries["ascendcl"], name)] == []


def test_every_op_is_exported_with_both_phases(libraries):
    every = operators()
    both = [name + phase for name in every for phase in ("GetWorkspaceSize", "")]
    assert len(every) > 600
    assert [name for name in both if not hasattr(libraries["opapi"], name)] == []


def test_ops_with_an_older_form_that_is_simulated_are_not_exported(libraries):
    """A program that looks one up takes the older form."""
    absent = names("operators_newer.tsv", left_out=True)
    assert "aclnnFlashAttentionScoreV3" in absent
    found = [name for name in absent if hasattr(libraries["opapi"], name + "GetWorkspaceSize")]
    assert found == []


def functions():
    """name -> (its library, what it returns)."""
    found = {}
    for table in ("functions.tsv", "functions_newer.tsv"):
        for line in (acl.TABLE.parent / table).read_text().splitlines():
            if line and not line.startswith("#"):
                name, result, parameters = (line.split("\t") + [""])[:3]
                found[name] = (library_of(name, result + " " + parameters), result)
    for line in (acl.TABLE.parent / "functions_others.tsv").read_text().splitlines():
        if not line.startswith("#"):
            name, result, _, header = line.split("\t")
            found[name] = (HEADERS[header], result)
    for op in operators():
        for phase in ("GetWorkspaceSize", ""):
            found[op + phase] = ("opapi", "aclnnStatus")
    return found


def library_of(name, types):
    """Where CANN has a function: its tensors and executors are libnnopbase's."""
    if name.startswith("Hccl"):
        return "hccl"
    if name.startswith(("aclStft", "aclRfft", "aclnn")):
        return "opapi"
    if re.search("Compileopt|GraphDump|GenGraph", name):
        return "acl_op_compiler"
    if name.startswith("acldump"):
        return "ascend_dump"
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
from tests.simulator.ops import acl
names, functions = json.load(sys.stdin)
libraries = [ctypes.CDLL(str(acl.library_dir() / f"lib{name}.so")) for name in names]
answers = {}
for name in functions:
    function = next(getattr(library, name) for library in libraries if hasattr(library, name))
    function.restype = ctypes.c_int
    answers[name] = (function(*[None] * 40), acl.message())
print(json.dumps(answers))
"""


@pytest.fixture(scope="module")
def answers():
    """{name: (code, message)} of all functions, called without anything."""
    called = [name for name in functions() if name != "aclGetRecentErrMsg"]
    done = subprocess.run(
        [sys.executable, "-c", CALL_ALL],
        input=json.dumps([NAMES, called]),
        capture_output=True,
        text=True,
        cwd=acl.ROOT,
        check=True,
    )
    return json.loads(done.stdout)


def test_messages_name_the_function_once(answers):
    texts = {name: text for name, (_, text) in answers.items() if text}
    assert len(texts) > 1000
    assert [text for name, text in texts.items() if text.count(f"{name}: ") != 1] == []


def test_what_is_not_simulated_says_so_by_name(answers):
    every = functions()
    simulated_others = 60  # at most, of headers whose types are not declared
    codes = {"HcclResult": 5, "aclError": 207000, "aclnnStatus": 561003}
    left_out = 0
    for name, (code, text) in answers.items():
        if not text.endswith("not simulated"):
            continue
        left_out += 1
        assert f"{name}: not simulated" in text
        result = every[name][1]
        if result in codes:
            assert code == codes[result], name
    others = names("functions_others.tsv")
    assert len(others) > 420
    assert len(others) - simulated_others < left_out < len(others) + (len(every) - len(others)) / 2


@pytest.mark.parametrize("name", NAMES)
def test_sonames_are_the_vendors(name):
    path = acl.library_dir() / f"lib{name}.so"
    done = subprocess.run(["readelf", "-d", str(path)], capture_output=True, text=True, check=True)
    assert f"soname: [lib{name}.so]" in done.stdout
