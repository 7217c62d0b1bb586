"""The comparison of simulated ops with CANN's op repositories."""

import shutil
import subprocess

import pytest

from tests.simulator.ops import acl
from tests.simulator.ops.cases import unary
from tools import cann_facts, compare_cann

DOCUMENT = """# aclnnAcos

## 产品支持情况

<!-- npu="A3" id1 -->
- <term>Atlas A3</term>：支持
<!-- end id1 -->
<!-- npu="910b" id2 -->
- <term>Atlas A2</term>：不支持
<!-- end id2 -->

## aclnnAcosGetWorkspaceSize

<table><thead><tr>
<th>参数名</th><th>输入/输出</th><th>数据类型</th><th>数据格式</th><th>维度(shape)</th>
</tr></thead><tbody>
<tr><td>input（aclTensor*）</td><td>输入</td><td>FLOAT、FLOAT16</td><td>ND</td><td>0-8</td></tr>
<tr><td>out（aclTensor*）</td><td>输出</td><td>FLOAT、FP16</td><td>ND、FRACTAL_NZ</td>
<td>2</td></tr>
<tr><td>workspaceSize（uint64_t*）</td><td>输出</td><td>-</td><td>-</td><td>-</td></tr>
</tbody></table>

- <term>Atlas A3</term>：input和out数据类型额外支持BFLOAT16。
"""
SOURCE = """
static const std::initializer_list<DataType> OLD_LIST = {DataType::DT_FLOAT};
static const std::initializer_list<DataType> ASCEND910B_LIST = {
    DataType::DT_FLOAT, DataType::DT_INT8, DataType::DT_BF16};
static const std::initializer_list<DataType> REGBASE_LIST = {DataType::DT_FLOAT, DataType::DT_INT4};

static const std::initializer_list<DataType>& GetList() {
  if (IsRegBase()) { return REGBASE_LIST; }
  return is910b ? ASCEND910B_LIST : OLD_LIST;  // DT_DOUBLE in no list
}
static bool CheckDtypes(const aclTensor* input) {
  auto supported = GetList();
  OP_CHECK_DTYPE_NOT_SUPPORT(input, supported, return false);
  return true;
}
static bool CheckOther(const aclTensor* out) {
  OP_CHECK_DTYPE_NOT_SUPPORT(out, OLD_LIST, return false);
  return true;
}
aclnnStatus aclnnAcosGetWorkspaceSize(const aclTensor* input, aclTensor* out, uint64_t* size,
                                      aclOpExecutor** executor) {
  CHECK_RET(CheckDtypes(input), 1);
  return 0;
}
"""


@pytest.fixture
def checkout(tmp_path):
    folder = tmp_path / "ops"
    files = {
        "math/acos/docs/aclnnAcos.md": DOCUMENT,
        "math/acos/op_api/aclnn_acos.cpp": SOURCE,
        "experimental/acos/op_api/aclnn_acos.cpp": SOURCE.replace("DT_INT8", "DT_UINT64"),
        "math/acos/tests/aclnn_acos.cpp": SOURCE.replace("DT_INT8", "DT_UINT64"),
    }
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def as_mirror(folder):
    git = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "-C", str(folder)]
    for command in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "all"]):
        subprocess.run([*git, *command], check=True)
    mirror = folder.with_name("mirror")
    shutil.move(folder / ".git", mirror)
    return mirror


def test_what_the_source_checks_counts(checkout):
    op = cann_facts.facts([checkout])["aclnnAcos"]
    assert op.arguments["input"].dtypes == {"FLOAT", "INT8", "BFLOAT16"}
    assert op.arguments["input"].checked
    assert "FLOAT16" in op.arguments["input"].mentioned


def test_else_the_document_counts(checkout):
    """No check of `out` is reached from the op's first phase."""
    out = cann_facts.facts([checkout])["aclnnAcos"].arguments["out"]
    assert out.dtypes == {"FLOAT", "FLOAT16", "BFLOAT16"}
    assert not out.checked
    assert (out.formats, out.ranks) == ({"ND", "FRACTAL_NZ"}, (2, 2))


def test_chips(checkout):
    assert cann_facts.facts([checkout])["aclnnAcos"].chips == {"A3": True, "A2": False}


def test_a_mirror_without_files_is_read_like_a_folder(checkout):
    assert cann_facts.facts([as_mirror(checkout)]) == cann_facts.facts([checkout])


def test_the_simulator_lists_what_it_takes(checkout):
    probe = compare_cann.Probe()
    for case in unary.OPS["aclnnAcos"]():
        probe.ask(case)
    known = probe.found["aclnnAcos", "input"]["dtypes"]
    assert {"FLOAT", "INT64", "BFLOAT16"} < known
    rows = list(compare_cann.differences(probe, cann_facts.facts([checkout])))
    path = "math/acos/docs/aclnnAcos.md"
    assert ("aclnnAcos", "", "chip", "", "A2", path) in rows
    assert ("aclnnAcos", "out", "format", "FRACTAL_NZ", "", path) in rows
    [(*_, only_cann, only_here, _)] = [row for row in rows if row[1:3] == ("input", "dtypes")]
    assert only_cann == ""
    assert set(only_here.split(",")) == known - {"FLOAT", "FLOAT16", "INT8", "BFLOAT16"}


def test_reasons_are_found_by_patterns():
    known = [["aclnnA* aclnnB", "out", "dtypes*", "", "*", "why"]]
    row = ("aclnnAcos", "out", "dtypes by document", "", "INT8", "path")
    assert compare_cann.reason_of(row, known) == "why"
    assert compare_cann.reason_of(("aclnnB", *row[1:]), known) == "why"
    assert compare_cann.reason_of(("aclnnC", *row[1:]), known) == ""
    assert compare_cann.reason_of((*row[:3], "BOOL", *row[4:]), known) == ""


def test_every_reason_is_of_a_simulated_op():
    ops = acl.signatures()
    for patterns, *_ in compare_cann.reasons():
        for pattern in patterns.split():
            assert any(compare_cann.fnmatch.fnmatchcase(op, pattern) for op in ops), pattern
