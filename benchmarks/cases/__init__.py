"""Every benchmark case: those with a threshold first, then the broad sweeps."""

from __future__ import annotations

from cases.case import Case
from cases.everyday import CASES as EVERYDAY_CASES
from cases.families import CASES as FAMILY_CASES
from cases.thresholds import CASES as THRESHOLD_CASES

ALL_CASES: list[Case] = [*THRESHOLD_CASES, *FAMILY_CASES]

__all__ = ["ALL_CASES", "THRESHOLD_CASES", "EVERYDAY_CASES", "Case"]
