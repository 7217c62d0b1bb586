"""Host cost of an op on the NPU, against torch's own op on the CPU in the same run.

python benchmarks/npu.py [--rounds N]

The NPU is simulated, with checks off and ops that compute nothing: what is left is what the host
pays from Python to the enqueued task and back. torch computes 16 elements: next to nothing.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
sys.path.append(str(HERE.parent / "python"))

from cases import Case  # noqa: E402
from measure import Effort, LibraryProcess, Measured, measure  # noqa: E402

# Settings of the simulator; torch ignores them.
QUIET = {"MINDTORCH_NPU": "sim", "MINDTORCH_SIM_CHECKS": "none", "MINDTORCH_SIM_COMPUTE": "0"}

SETUP = """
device = "npu" if torch.__name__ == "mindtorch_v2" else "cpu"
a, b = torch.ones({shape}).to(device), torch.ones({shape}).to(device)
"""

CASES = [
    (Case("a + b", "npu", "a + b", SETUP.format(shape=16)), 1.0),
    (Case("a * 2", "npu", "a * 2", SETUP.format(shape=16)), None),
    (Case("a.add_(b)", "npu", "a.add_(b)", SETUP.format(shape=16)), None),
    (Case("a.exp()", "npu", "a.exp()", SETUP.format(shape=16)), None),
    (Case("a.sum()", "npu", "a.sum()", SETUP.format(shape=16)), None),
    (Case("a @ b", "npu", "a @ b", SETUP.format(shape="(8, 8)")), None),
    (Case("a.softmax(-1)", "npu", "a.softmax(-1)", SETUP.format(shape="(8, 8)")), None),
]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=9, help="samples of each library, per pass")
    effort = Effort(3, parser.parse_args().rounds, 3_000_000, 4.0)
    os.environ.update(QUIET)
    results = {case.name: [Measured(), Measured()] for case, _ in CASES}
    for _ in range(effort.passes):
        libraries = [LibraryProcess(name, 1) for name in ("mindtorch_v2", "torch")]
        for case, _ in CASES:
            measure(case, libraries, results[case.name], effort)
        for library in libraries:
            library.close()
    print(f"{'case':16}{'npu, ns':>10}{'torch cpu':>11}{'ratio':>8}{'best':>8}{'at most':>9}")
    missed = 0
    for case, threshold in CASES:
        ours, torchs = results[case.name]
        if ours.error or torchs.error:
            print(f"{case.name:16}{ours.error or torchs.error}")
            missed += threshold is not None
            continue
        ratio = ours.median_ns / torchs.median_ns
        best = ours.best_ns / torchs.best_ns
        missed += threshold is not None and ratio > threshold
        print(
            f"{case.name:16}{ours.median_ns:10.0f}{torchs.median_ns:11.0f}{ratio:8.2f}{best:8.2f}"
            f"{'' if threshold is None else threshold:>9}"
        )
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
