"""Checks that only backends know which kinds of devices there are.

    tools/check_device_names.py [root]

Looks through mindtorch/ for words that name an accelerator or its vendor's library, and for
comparisons with the CPU's device type. Both may stand in backends/, in the table of devices, and in
the places listed here, each with its reason. Python modules may not compare with the name of an
accelerator outside the modules of that kind. Prints one line per violation and exits with status 1
if there is any.
"""

from __future__ import annotations

import ast
import re
import sys
from pathlib import Path

# The table of devices and the list of what is built: they name all kinds.
TABLES = {
    "mindtorch/tensor/device.h",
    "mindtorch/tensor/device.cpp",
    "mindtorch/library.cpp",
    "mindtorch/CMakeLists.txt",
}
SUFFIXES = {".h", ".cpp", ".inc", ".txt", ".md"}
NAMES = re.compile(
    r"(?<![a-z])(npu|ascend|acl|aclnn|cann|cuda)(?![a-z])|k(Npu|Cuda)\b", re.IGNORECASE
)
CPU = re.compile(r"is_cpu\(\)|[!=]= *DeviceType::kCpu\b|DeviceType::kCpu *[!=]=")

# (file, part of the line): why it may name a kind of device.
NAMES_ALLOWED = {
    (
        "mindtorch/functional/linalg_decompose.cpp",
        "is only supported on CUDA inputs with",
    ): "torch's text, the same on every device",
}
# (file, part of the line): why it compares with the CPU's type. At most ten.
CPU_ALLOWED = {
    ("mindtorch/ops/refusal.cpp", "if (device.is_cpu()) {"): "torch's words for the CPU alone",
    ("mindtorch/functional/stft.cpp", '"istft("'): "torch's text names the CPU",
    ("mindtorch/functional/linalg.cpp", "pivot ||"): "as in torch, the CPU always pivots",
    ("mindtorch/autograd/autograd_meta.cpp", "name +="): "torch.FloatTensor is the CPU's",
    ("mindtorch/tensor/generator.cpp", "generator.device().is_cpu()"): "its numbers are the CPU's",
    ("mindtorch/tensor/generator.cpp", "std::make_shared<CpuGenerator>"): "what the row would make",
    ("mindtorch/tensor/generator.cpp", "return default_cpu_generator();"): "the CPU's of torch",
    ("mindtorch/autocast/autocast_layer.cpp", "type = tensor.device().type;"): "torch's order",
    ("mindtorch/autocast/autocast_layer.cpp", "op.autocast.cpu"): "torch has a list for the CPU",
}
MOST_CPU = 10

# Python: the modules of a kind, and what is about one kind by its purpose.
PACKAGE = "python/mindtorch_v2"
KINDS = {"npu", "cuda"}
PYTHON_ALLOWED = {
    "npu/": "the module of the kind",
    "cuda/": "the module of the kind",
    "torch_npu/": "the package that it stands in for",
    "_backends/": "the modules of each kind",
    "_worker_path/": "what --device names",
    "_cuda_as_npu.py": "programs that say cuda run on NPUs",
    "_install.py": "its argument `device`",
    "__main__.py": "its option --device",
}
# Where torch itself says "cuda", whatever the accelerator: names, texts and defaults.
CUDA_ALLOWED = {
    "_storage.py",
    "amp/_state.py",
    "amp/autocast_mode.py",
    "amp/grad_scaler.py",
    "autograd/_profiler_event.py",
    "autograd/graph.py",
    "autograd/profiler.py",
    "backends/__init__.py",
    "backends/_precision.py",
    "backends/cuda.py",
    "backends/cudnn.py",
    "nn/utils/rnn.py",
    "serialization.py",
    "utils/checkpoint.py",
}


def is_allowed(file: str, line: str, allowed: dict) -> bool:
    return any(file == name and part in line for name, part in allowed)


def check_library(root: Path) -> list[str]:
    problems = []
    used = set()
    for path in sorted((root / "mindtorch").rglob("*")):
        file = path.relative_to(root).as_posix()
        if path.suffix not in SUFFIXES or file in TABLES or "/backends/" in file:
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            for pattern, allowed, what in (
                (NAMES, NAMES_ALLOWED, "names a kind of device"),
                (CPU, CPU_ALLOWED, "compares with the CPU's device type"),
            ):
                if not pattern.search(line):
                    continue
                if is_allowed(file, line, allowed):
                    used |= {(f, p) for f, p in allowed if f == file and p in line}
                else:
                    problems.append(f"{file}:{number}: {what}: {line.strip()}")
    for entry in (*NAMES_ALLOWED, *CPU_ALLOWED):
        if entry not in used and (root / entry[0]).exists():
            problems.append(f"{entry[0]}: nothing there has {entry[1]!r}; take it off the list")
    if len(CPU_ALLOWED) > MOST_CPU:
        problems.append(f"{len(CPU_ALLOWED)} comparisons with the CPU's type; {MOST_CPU} may be")
    return problems


def docstrings(tree: ast.AST) -> set[int]:
    bodies = [node.body for node in ast.walk(tree) if hasattr(node, "body")]
    return {
        id(body[0].value)
        for body in bodies
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr)
    }


def may_name(file: str) -> set[str]:
    """The kinds of devices that a module may tell apart by name."""
    if any(file == name or name.endswith("/") and file.startswith(name) for name in PYTHON_ALLOWED):
        return KINDS
    return {"cuda"} if file in CUDA_ALLOWED else set()


def check_package(root: Path) -> list[str]:
    problems = []
    for path in sorted((root / PACKAGE).rglob("*.py")):
        file = path.relative_to(root / PACKAGE).as_posix()
        forbidden = KINDS - may_name(file)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        texts = docstrings(tree)
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and node.value in forbidden and id(node) not in texts:
                problems.append(
                    f"{PACKAGE}/{file}:{node.lineno}: {node.value!r}; ask mindtorch_v2._kinds"
                )
    return problems


def main(arguments: list[str]) -> int:
    root = Path(arguments[0]) if arguments else Path(__file__).resolve().parent.parent
    problems = check_library(root) + check_package(root)
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
