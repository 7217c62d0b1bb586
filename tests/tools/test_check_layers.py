"""tools/check_layers.py accepts this repository and names each kind of violation."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tools" / "check_layers.py"


def check(root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPT, root], capture_output=True, text=True)


@pytest.fixture
def tree(tmp_path: Path):
    """Writes one source with the given includes into an otherwise valid tree; returns the root."""

    def make(file: str, *includes: str) -> Path:
        path = tmp_path / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(f'#include "{name}"\n' for name in includes), encoding="utf-8")
        for folder in (tmp_path / "bindings", *(tmp_path / "mindtorch").glob("*/")):
            targets = folder.glob("*/") if folder.name == "backends" else [folder]
            for target in targets:
                if target.is_dir():
                    (target / "README.md").write_text("One job.\n", encoding="utf-8")
        return tmp_path

    return make


def test_this_repository() -> None:
    result = check(ROOT)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("file", "include"),
    [
        ("mindtorch/base/error.cpp", "mindtorch/base/error.h"),
        ("mindtorch/tensor/tensor.cpp", "mindtorch/runtime/allocator.h"),
        ("mindtorch/ops/definitions/binary.cpp", "mindtorch/ops/op.h"),
        ("mindtorch/backends/cpu/kernels/binary.cpp", "mindtorch/backends/cpu/loops.h"),
        ("mindtorch/backends/cpu/tiles/float.cpp", "hwy/highway.h"),
        ("mindtorch/dispatch/eager/eager.cpp", "mindtorch/ops/kernel.h"),
        ("mindtorch/dispatch/eager/eager.cpp", "mindtorch/dispatch/execute/executor.h"),
        ("mindtorch/dispatch/plan/planner.cpp", "mindtorch/dispatch/plan/plan.h"),
        ("mindtorch/dispatch/dispatcher.cpp", "mindtorch/dispatch/eager/eager.h"),
        ("mindtorch/library.cpp", "mindtorch/backends/cpu/backend.h"),
        ("mindtorch/library.cpp", "mindtorch/autograd/engine.h"),
        ("bindings/module.cpp", "mindtorch/library.h"),
        ("bindings/module.cpp", "bindings/interpreter/errors.h"),
        ("simulator/ascend/stream.cpp", "mindtorch/backends/ascend/acl_abi.h"),
    ],
)
def test_allowed(tree, file: str, include: str) -> None:
    result = check(tree(file, include))
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    ("file", "include", "message"),
    [
        ("mindtorch/base/error.cpp", "mindtorch/tensor/dtype.h", "lies above mindtorch/base"),
        ("mindtorch/ops/op.cpp", "mindtorch/backends/cpu/tile.h", "lies above mindtorch/ops"),
        (
            "mindtorch/backends/cpu/fusion.cpp",
            "mindtorch/dispatch/plan.h",
            "mindtorch/dispatch (rank 5) lies beside mindtorch/backends/cpu (rank 5)",
        ),
        ("mindtorch/dispatch/eager/eager.cpp", "mindtorch/backends/cpu/tile.h", "lies beside"),
        ("mindtorch/dispatch/plan/plan.h", "mindtorch/dispatch/record/op_queue.h", "folder above"),
        ("mindtorch/dispatch/eager/eager.h", "mindtorch/dispatch/dispatcher.h", "folder above"),
        ("mindtorch/backends/cuda/fusion.cpp", "mindtorch/backends/cpu/tile.h", "lies beside"),
        ("mindtorch/autograd/engine.cpp", "mindtorch/library.h", "lies above"),
        ("mindtorch/library.cpp", "bindings/module.h", "lies above"),
        ("mindtorch/base/error.cpp", "tests/cpp/support/fake_driver.h", "in no folder"),
        ("mindtorch/misc/thing.cpp", "mindtorch/base/error.h", "in no ranked folder"),
        ("simulator/ascend/stream.cpp", "mindtorch/base/error.h", "may include only"),
    ],
)
def test_refused(tree, file: str, include: str, message: str) -> None:
    result = check(tree(file, include))
    assert result.returncode == 1
    assert message in result.stderr
    assert result.stderr.startswith(file)


def test_names_the_line(tree) -> None:
    root = tree("mindtorch/base/a.cpp", "mindtorch/base/a.h", "mindtorch/ops/op.h")
    assert check(root).stderr.startswith('mindtorch/base/a.cpp:2: includes "mindtorch/ops/op.h"')


def test_paths_start_at_the_root(tree) -> None:
    tree("mindtorch/base/error.h")
    result = check(tree("mindtorch/base/error.cpp", "error.h"))
    assert result.returncode == 1
    assert 'write "mindtorch/base/error.h"' in result.stderr


def test_readme_is_asked_for(tree) -> None:
    root = tree("mindtorch/base/error.cpp", "mindtorch/base/error.h")
    readme = root / "mindtorch" / "base" / "README.md"
    readme.write_text("line\n" * 31, encoding="utf-8")
    assert "31 lines, at most 30" in check(root).stderr
    readme.unlink()
    assert "README.md is missing" in check(root).stderr


def test_what_one_file_does_for_all_others(tree) -> None:
    root = tree("mindtorch/ops/spin.cpp", "mindtorch/base/cpu_relax.h")
    assert check(root).returncode == 0
    with (root / "mindtorch/ops/spin.cpp").open("a", encoding="utf-8") as file:
        file.write("void rest() { __builtin_ia32_pause(); }\n")
    result = check(root)
    assert result.returncode == 1
    assert "mindtorch/ops/spin.cpp:2" in result.stderr
    assert "mindtorch/base/cpu_relax.h" in result.stderr


@pytest.mark.parametrize(
    ("folder", "suffix"),
    [
        ("mindtorch/ops/definitions", ".cpp"),
        ("python/mindtorch_v2/nn", ".py"),
        ("simulator/ascend/core", ".h"),
        ("tests/tensor", ".py"),
        ("tools", ".sh"),
    ],
)
def test_folders_of_many_sources_have_a_readme(tree, folder: str, suffix: str) -> None:
    root = tree("mindtorch/base/error.cpp")
    target = root / folder
    target.mkdir(parents=True, exist_ok=True)
    for name in ("a", "b", "c"):
        (target / f"{name}{suffix}").write_text("", encoding="utf-8")
    assert f"{folder}: README.md" not in check(root).stderr
    (target / f"d{suffix}").write_text("", encoding="utf-8")
    assert f"{folder}: README.md is missing" in check(root).stderr
    (target / "README.md").write_text("One job.\n", encoding="utf-8")
    assert f"{folder}: README.md" not in check(root).stderr
