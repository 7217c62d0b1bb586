"""One case of the sweep, and how its operands are made."""

from __future__ import annotations

from dataclasses import dataclass

FLOATS = ("float32", "float64", "float16", "bfloat16")
HALVES = ("float16", "bfloat16")
INTEGERS = ("int64", "int32", "uint8")
DTYPES = FLOATS + INTEGERS
SIDES = (32, 256, 1024)  # of squares: 1k, 64k, 1M elements


@dataclass(frozen=True)
class SweepCase:
    name: str
    family: str
    dtype: str
    layout: str
    elements: int
    statement: str
    setup: str

    @property
    def title(self) -> str:
        size = f"{self.elements >> 20}M" if self.elements >= 1 << 20 else f"{self.elements >> 10}k"
        return f"{self.name}, {self.dtype} {self.layout} {size}"


def values(dtype: str, shape: str) -> str:
    """An expression for floats between 0 and 1 and integers from 1 to 4: functions are defined
    there, or nearly."""
    if dtype == "bool":
        return f"(torch.rand({shape}) < 0.5)"
    if dtype in FLOATS:
        return f"(torch.rand({shape}) * 0.9 + 0.05).to(torch.{dtype})"
    return f"torch.randint(1, 5, ({shape},), dtype=torch.{dtype})"
