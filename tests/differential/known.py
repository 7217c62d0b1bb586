"""Differences that are meant, or that no program can rely on; each with its reason."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Known:
    """Differences of some kinds in the ops that `op` matches, where `text` is found."""

    op: str
    kinds: tuple
    reason: str
    text: str = ""

    def matches(self, row):
        if self.kinds and row["kind"] not in self.kinds:
            return False
        if not re.fullmatch(self.op, row["op"]):
            return False
        return not self.text or bool(re.search(self.text, f"{row['text']} ## {row['detail']}"))


RAISES = ("accepted", "refused")
KNOWN = (
    Known(
        ".*",
        ("class", "text", *RAISES),
        "There are no complex numbers here: they are refused as arguments of the wrong kind.",
        r"1j|complex",
    ),
    Known(
        ".*",
        ("class", "text"),
        "Running out of memory has a text, and an error class, of each allocator's own.",
        r"DefaultCPUAllocator|can't allocate memory",
    ),
)


def reason(row):
    """Why a difference is no mistake, or None."""
    return next((known.reason for known in KNOWN if known.matches(row)), None)
