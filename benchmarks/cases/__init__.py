"""Every benchmark case: those with a bar first, then the broad sweep."""

from __future__ import annotations

from cases.bars import CASES as BAR_CASES
from cases.case import Case
from cases.families import CASES as FAMILY_CASES

ALL_CASES: list[Case] = [*BAR_CASES, *FAMILY_CASES]
