"""Every benchmark case: what we promise first, then the broad sweeps."""

from __future__ import annotations

from cases.case import Case
from cases.everyday import CASES as EVERYDAY_CASES
from cases.families import CASES as FAMILY_CASES
from cases.thresholds import CASES as BAR_CASES

ALL_CASES: list[Case] = [*BAR_CASES, *FAMILY_CASES]

__all__ = ["ALL_CASES", "BAR_CASES", "EVERYDAY_CASES", "Case"]
