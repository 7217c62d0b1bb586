"""tools/check_device_names.py accepts this repository and names each kind of violation."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "tools" / "check_device_names.py"


def check(root: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, SCRIPT, root], capture_output=True, text=True)


def write(root: Path, file: str, text: str) -> Path:
    path = root / file
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return root


def test_this_repository() -> None:
    result = check(ROOT)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize(
    "text",
    [
        "// As CANN does.",
        "if (device.type == DeviceType::kNpu) return;",
        "aclTensor* tensor;  // an aclTensor of ACL",
        'option("MINDTORCH_NPU_FAST");',
        "#include <cuda_runtime.h>",
        "void to_npu();",
    ],
)
def test_names_of_accelerators(tmp_path: Path, text: str) -> None:
    result = check(write(tmp_path, "mindtorch/ops/one.cpp", "int x;\n" + text + "\n"))
    assert result.returncode == 1
    assert f"mindtorch/ops/one.cpp:2: names a kind of device: {text}" in result.stderr
    for place in ("mindtorch/backends/any/one.cpp", "mindtorch/tensor/device.h"):
        other = tmp_path / place.replace("/", "_")
        assert check(write(other, place, text + "\n")).returncode == 0


@pytest.mark.parametrize(
    "text", ["it cannot be", "input units", "oracle", "accumulate", "run_npus"]
)
def test_other_words(tmp_path: Path, text: str) -> None:
    assert check(write(tmp_path, "mindtorch/ops/one.h", f"// {text}\n")).returncode == 0


@pytest.mark.parametrize(
    "line",
    ["if (x.device().is_cpu()) {", "type == DeviceType::kCpu", "DeviceType::kCpu != type"],
)
def test_comparisons_with_the_cpu(tmp_path: Path, line: str) -> None:
    result = check(write(tmp_path, "mindtorch/ops/one.cpp", line + "\n"))
    assert "mindtorch/ops/one.cpp:1: compares with the CPU's device type" in result.stderr


def test_making_something_on_the_cpu_is_no_comparison(tmp_path: Path) -> None:
    line = "const Tensor a = Tensor::make(sizes, dtype, DeviceType::kCpu);\n"
    assert check(write(tmp_path, "mindtorch/ops/one.cpp", line)).returncode == 0


def test_an_exception_that_nothing_needs(tmp_path: Path) -> None:
    result = check(write(tmp_path, "mindtorch/functional/stft.cpp", "int x;\n"))
    assert "take it off the list" in result.stderr


def test_python(tmp_path: Path) -> None:
    text = '"""Of "npu"."""\nKINDS = ("npu", "cpu")\n'
    result = check(write(tmp_path, "python/mindtorch_v2/_thing.py", text))
    assert "python/mindtorch_v2/_thing.py:2: 'npu'; ask mindtorch_v2._kinds" in result.stderr
    assert result.stderr.count("_thing.py") == 1
    assert check(write(tmp_path / "b", "python/mindtorch_v2/npu/_thing.py", text)).returncode == 0
