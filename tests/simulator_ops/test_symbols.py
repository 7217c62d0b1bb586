"""Third-party programs link: every symbol of the tables is there, under the vendor's names."""

import ctypes
import subprocess

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


@pytest.mark.parametrize("name", NAMES)
def test_sonames_are_the_vendors(name):
    path = acl.library_dir() / f"lib{name}.so"
    done = subprocess.run(["readelf", "-d", str(path)], capture_output=True, text=True, check=True)
    assert f"soname: [lib{name}.so]" in done.stdout
