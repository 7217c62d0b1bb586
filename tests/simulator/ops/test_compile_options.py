"""Settings of the compiler of ops: kept and given back, as a program that sets them expects."""

import ctypes

import pytest

from tests.simulator.ops import acl

PRECISION_MODE, JIT_COMPILE, HF32 = 0, 10, 14
INVALID = 100000


@pytest.fixture(scope="module")
def compiler():
    acl.libraries()
    library = ctypes.CDLL(str(acl.library_dir() / "libacl_op_compiler.so"))
    library.aclGetCompileoptSize.restype = ctypes.c_size_t
    return library


def get(compiler, option):
    size = compiler.aclGetCompileoptSize(option)
    text = ctypes.create_string_buffer(size)
    assert compiler.aclGetCompileopt(option, text, ctypes.c_size_t(size)) == 0
    assert len(text.value) == size - 1  # the size counts the zero
    return text.value.decode()


def test_an_option_is_given_back_as_it_was_set(compiler):
    assert compiler.aclSetCompileopt(HF32, b"10") == 0
    assert compiler.aclSetCompileopt(PRECISION_MODE, b"must_keep_origin_dtype") == 0
    assert get(compiler, HF32) == "10"
    assert get(compiler, PRECISION_MODE) == "must_keep_origin_dtype"
    assert compiler.aclSetCompileopt(HF32, b"0") == 0
    assert get(compiler, HF32) == "0"


def test_a_910b_compiles_nothing_at_run_time(compiler):
    assert get(compiler, JIT_COMPILE) == "disable"


def test_what_makes_no_sense_is_refused(compiler):
    assert compiler.aclSetCompileopt(99, b"x") == INVALID
    assert "there is no option 99" in acl.message()
    assert compiler.aclSetCompileopt(HF32, None) == INVALID
    assert compiler.aclGetCompileoptSize(99) == 0
    assert compiler.aclSetCompileopt(HF32, b"11") == 0
    short = ctypes.create_string_buffer(2)
    assert compiler.aclGetCompileopt(HF32, short, ctypes.c_size_t(2)) == INVALID
