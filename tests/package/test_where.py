"""python -m mindtorch_v2.where: the way from an op's name to its code."""

import os
import subprocess
import sys

import pytest
from mindtorch_v2 import _where as where

SCHEMA = "add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"
ADD = [
    ("add.Tensor", SCHEMA, "kernel", "npu", "mindtorch/backends/ascend/kernels/binary.cpp", 12),
    ("add.Tensor", SCHEMA, "kernel", "cpu", "mindtorch/backends/cpu/kernels/binary.cpp", 31),
    ("add.Tensor", SCHEMA, "definition", None, "mindtorch/ops/definitions/binary.cpp", 57),
]


class Registry:
    """Answers like the registry, for two ops."""

    def _op_locations(self, name):
        keys = ("op", "schema", "what", "device", "file", "line")
        entries = [dict(zip(keys, values, strict=True)) for values in ADD]
        return [e for e in entries if name in (e["op"], e["op"].partition(".")[0])]

    def _all_op_names(self):
        return ["add.Tensor", "matmul"]


@pytest.fixture
def registry(monkeypatch):
    monkeypatch.setattr(where, "_C", Registry())


@pytest.fixture
def checkout(tmp_path):
    folder = tmp_path / "tests" / "ops" / "cases"
    folder.mkdir(parents=True)
    (folder / "binary.py").write_text(
        'CASES = [\n    OpCase("add", np.add),\n    case(\n        "add", np.add\n    ),\n'
        '    OpCase("addmm", None),\n    OpCase("sub", see="add"),\n    OpCase("__and__"),\n]\n'
    )
    (folder / "notes.txt").write_text('OpCase("add")')
    return str(tmp_path)


def test_cases_are_found(checkout):
    file = "tests/ops/cases/binary.py"
    assert where.find_cases("add", checkout) == [(file, 2), (file, 3)]
    assert where.find_cases("add.Tensor", checkout) == [(file, 2), (file, 3)]
    assert where.find_cases("add_", checkout) == [(file, 2), (file, 3)]
    assert where.find_cases("__and__", checkout) == [(file, 8)]
    assert where.find_cases("mul", checkout) == []


def test_report(registry, checkout):
    assert where.describe("add", checkout) == [
        SCHEMA,
        "  definition       mindtorch/ops/definitions/binary.cpp:57",
        "  kernel (cpu)     mindtorch/backends/cpu/kernels/binary.cpp:31",
        "  kernel (npu)     mindtorch/backends/ascend/kernels/binary.cpp:12",
        "test cases",
        "                   tests/ops/cases/binary.py:2",
        "                   tests/ops/cases/binary.py:3",
    ]


def test_report_outside_a_checkout(registry):
    assert not any("test cases" in line for line in where.describe("add.Tensor"))


def test_exit_codes(registry, capsys, monkeypatch):
    monkeypatch.setattr(where, "find_checkout", lambda: None)
    assert where.main(["add"]) == 0
    assert where.main(["torch.add", "aten::add"]) == 0
    capsys.readouterr()
    assert where.main(["matmull"]) == 1
    assert capsys.readouterr().err == "no op named 'matmull'; did you mean matmul?\n"
    assert where.main(["zzzzzz"]) == 1
    assert capsys.readouterr().err == "no op named 'zzzzzz'\n"
    assert where.main(["zzzzzz", "add"]) == 1
    assert SCHEMA in capsys.readouterr().out
    assert where.main([]) == 2
    assert where.main(["--help"]) == 0


def test_real_registry():
    """Every place that is named for add exists."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    report = where.describe("add", root)
    labels = {line[2:19].strip() for line in report if line.startswith("  ")}
    assert {"definition", "kernel (cpu)"} <= labels
    assert any("tests/ops/cases/binary.py" in line for line in report)
    for line in report:
        if line.startswith("  "):
            file, _, number = line.split()[-1].rpartition(":")
            with open(os.path.join(root, file), encoding="utf-8") as source:
                assert len(source.readlines()) >= int(number)


def test_command():
    command = [sys.executable, "-m", "mindtorch_v2.where", "add"]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    assert finished.stdout.startswith("add")


def test_the_function_of_that_name_is_left_alone():
    program = (
        "import mindtorch_v2 as torch, mindtorch_v2.where\n"
        "print(torch.where(torch.tensor([True, False]), 1, 2).tolist())"
    )
    command = [sys.executable, "-c", program]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.stdout == "[1, 2]\n", finished.stderr


def test_definitions_are_where_it_says():
    """The schema of every op stands within a few lines of the place that is printed."""
    from mindtorch_v2 import _C

    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    sources, wrong = {}, []
    for op in _C._all_op_names():
        name = op.partition(".")[0]
        for entry in _C._op_locations(op):
            if entry["what"] != "definition":
                continue
            path = os.path.join(root, entry["file"])
            if path not in sources:
                with open(path) as source:
                    sources[path] = source.read().splitlines()
            near = "\n".join(sources[path][entry["line"] - 1 : entry["line"] + 6])
            if not any(
                f'"{text}' in near
                for text in (name, name.rstrip("_"), f"_{name}", name.removeprefix("special_"))
            ):
                wrong.append((op, entry["file"], entry["line"]))
    assert not wrong
