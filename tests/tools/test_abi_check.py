"""tools/abi_check, against headers made from the same tables: equal ones pass, and a difference is
named."""

import os
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TABLES = ROOT / "mindtorch" / "backends" / "ascend" / "abi"
sys.path.insert(0, str(ROOT / "tools"))

import make_acl_abi  # noqa: E402


def headers():
    """{path: text} of a CANN that declares exactly what we do, spread over folders as CANN's is."""
    functions = [*make_acl_abi.read_functions(TABLES), *make_acl_abi.read_operators(TABLES)]
    ops = [function for function in functions if function.library == "opapi"]
    base = make_acl_abi.header(TABLES, [f for f in functions if f.library != "opapi"])
    for name in ("acl_types.h", "acl_types_newer.h", "acl_structs.h"):
        include = f'#include "mindtorch/backends/ascend/abi/{name}"'
        assert include in base
        base = base.replace(include, (TABLES / name).read_text())
    prototypes = "".join(f'extern "C" {function.prototype()};\n' for function in ops)
    return {
        "acl/acl.h": base,
        "acl/ops/acl_others.h": other_header(base),
        "aclnnop/aclnn_ops.h": f'#pragma once\n#include "acl/acl.h"\n{prototypes}',
    }


def other_header(base):
    """The functions whose types only CANN's own headers declare; here all of them are structs."""
    functions = list(make_acl_abi.read_others(TABLES))
    types = r"\b(?:acl\w+|rt\w+_t|Msprof\w+|Prof\w+)"
    words = {word for f in functions for word in re.findall(types, f"{f.result} {f.arguments}")}
    unknown = sorted(words - set(re.findall(r"\w+", base)))
    types = "".join(f"typedef struct {word} {word};\n" for word in unknown)
    prototypes = "".join(f'extern "C" {function.prototype()};\n' for function in functions)
    return f'#pragma once\n#include "acl/acl.h"\n{types}{prototypes}'


def check(folder, files, *options):
    for name, text in files.items():
        path = folder / "include" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return run(*options, CANN_HOME=str(folder))


def run(*options, **environment):
    clean = {name: value for name, value in os.environ.items() if name != "CANN_HOME"}
    command = [sys.executable, str(ROOT / "tools" / "abi_check"), *options]
    done = subprocess.run(command, env={**clean, **environment}, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def test_equal_headers_pass(tmp_path):
    code, text = check(tmp_path, headers())
    assert code == 0, text
    assert "0 differences" in text


@pytest.mark.parametrize(
    "before, after, named",
    [
        ("aclrtMalloc(void** devPtr, size_t", "aclrtMalloc(void** devPtr, int", "aclrtMalloc "),
        ("aclError aclrtFree(void* devPtr)", "void aclrtFree(void* devPtr)", "aclrtFree "),
        (
            "aclnnAddGetWorkspaceSize(const aclTensor* self",
            "aclnnAddGetWorkspaceSize(aclTensor* self",
            "aclnnAddGetWorkspaceSize ",
        ),
        (
            "#define ACL_ERROR_INVALID_PARAM 100000",
            "#define ACL_ERROR_INVALID_PARAM 100009",
            "ACL_ERROR_INVALID_PARAM ",
        ),
        ("ACL_BF16 = 27", "ACL_BF16 = 28", "ACL_BF16 "),
        (
            "ACL_MODEL_RI_CAPTURE_MODE_RELAXED = 2",
            "ACL_MODEL_RI_CAPTURE_MODE_RELAXED = 3",
            "ACL_MODEL_RI_CAPTURE_MODE_RELAXED ",
        ),
        ("  uint32_t pageSize;\n", "  uint64_t pageSize;\n", "aclrtPtrAttributes.pageSize"),
        ("  size_t reserved[14];", "  size_t reserved[15];", "sizeof(aclrtMemUceInfo)"),
        ("acldvppMalloc(void** devPtr", "acldvppMalloc(void* devPtr", "acldvppMalloc "),
        ("typedef int32_t aclnnStatus", "typedef int64_t aclnnStatus", "aclnnStatus"),
        ("(*aclrtCallback)(void* userData)", "(*aclrtCallback)(int userData)", "aclrtCallback"),
    ],
)
def test_a_difference_is_named(tmp_path, before, after, named):
    files = headers()
    assert sum(text.count(before) for text in files.values()) == 1
    files = {name: text.replace(before, after) for name, text in files.items()}
    code, text = check(tmp_path, files)
    assert code == 1
    assert named in text


def test_what_is_missing_is_named_unless_allowed(tmp_path):
    files = headers()
    line = "aclError aclrtFree(void* devPtr);\n"
    assert line in files["acl/acl.h"]
    files["acl/acl.h"] = files["acl/acl.h"].replace(line, "")
    code, text = check(tmp_path, files)
    assert (code, "aclrtFree is not declared" in text) == (1, True)
    code, text = check(tmp_path, files, "--allow-missing")
    assert code == 0, text


def test_functions_known_as_newer_may_be_missing(tmp_path):
    files = headers()
    line = "aclError aclrtFreeWithDevSync(void* devPtr);\n"
    assert line in files["acl/acl.h"]
    files["acl/acl.h"] = files["acl/acl.h"].replace(line, "")
    files["acl/acl.h"] = re.sub(
        r"typedef enum aclrtDevAttr .*? aclrtDevAttr;", "", files["acl/acl.h"], flags=re.S
    ).replace("aclrtDevAttr attr", "int attr")
    files["acl/acl.h"] = files["acl/acl.h"].replace("aclrtGetDeviceInfo", "aclrtOther")
    code, text = check(tmp_path, files)
    assert code == 0, text
    for name in ("aclrtFreeWithDevSync", "aclrtGetDeviceInfo", "ACL_DEV_ATTR_IS_VIRTUAL"):
        assert f"{name} is newer than these headers" in text
    assert "is not declared" not in text


def test_headers_with_one_guard_are_all_compared(tmp_path):
    """Two with the guard of another: compiled together only the first would count."""
    files = headers()
    lines = files["aclnnop/aclnn_ops.h"].splitlines(keepends=True)
    guarded = "#ifndef OP_API\n#define OP_API\n{}{}#endif\n"
    include = '#include "acl/acl.h"\n'
    apart = {}
    for name in ("aclnnAdd", "aclnnMul", "aclnnSub"):
        own = [line for line in lines if re.search(rf"\b{name}(GetWorkspaceSize)?\(", line)]
        assert len(own) == 2
        lines = [line for line in lines if line not in own]
        apart[name] = guarded.format(include, "".join(own))
    files["aclnnop/aclnn_ops.h"] = "".join(lines)
    files["aclnnop/aclnn_add.h"] = apart["aclnnAdd"]
    files["aclnnop/level2/aclnn_mul.h"] = apart["aclnnMul"]
    files["aclnnop/level2/aclnn_sub.h"] = apart["aclnnSub"]
    code, text = check(tmp_path, files)
    assert code == 0, text
    wrong = apart["aclnnSub"].replace("const aclTensor* self", "aclTensor* self")
    code, text = check(tmp_path, {"aclnnop/level2/aclnn_sub.h": wrong})
    assert (code, "aclnnSubGetWorkspaceSize is not" in text) == (1, True), text


def test_headers_of_level_2_find_each_other(tmp_path):
    files = headers()
    files["aclnnop/level2/aclnn_part.h"] = '#include "acl/acl.h"\n'
    files["aclnnop/aclnn_whole.h"] = '#include "aclnn_part.h"\n'
    code, text = check(tmp_path, files)
    assert code == 0, text


def test_says_clearly_that_there_is_no_cann(tmp_path):
    code, text = run()
    assert (code, "CANN_HOME is not set" in text) == (1, True)
    code, text = run(CANN_HOME=str(tmp_path))
    assert (code, "no headers of CANN" in text) == (1, True)
