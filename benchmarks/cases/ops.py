"""Every op case of tests/ops once, on its first sample: what a call of each op costs.

An op that has a case in the tests has a benchmark. Samples are small, so that this is the time of
a call rather than of the arithmetic.
"""

from __future__ import annotations

import sys
from pathlib import Path

from cases.case import Case

ROOT = str(Path(__file__).resolve().parents[2])
# Runs in the process of each library, which does not have the tests on its path.
SETUP = """
import sys
sys.path.append({root!r})
from tests.ops.cases import one_call_each
from tests.ops.harness import Runtime
runtime = Runtime(torch)
[case] = [case for case in one_call_each({family!r}) if case.label == {label!r}]
args, kwargs = runtime.first_arguments(case)
function = case.function_path
call = runtime.find(function) if function else getattr(torch.Tensor, case.method_name)
"""


def op_cases() -> list[Case]:
    sys.path.append(ROOT)
    from tests.ops.cases import FAMILIES, one_call_each

    return [
        Case(
            f"{case.label} (case)",
            family,
            "call(*args, **kwargs)",
            SETUP.format(root=ROOT, family=family, label=case.label),
        )
        for family in FAMILIES
        for case in one_call_each(family)
    ]
