"""Differences that are meant, or that no program can rely on; each with its reason."""

import re
from dataclasses import dataclass


@dataclass(frozen=True)
class Known:
    """Differences of some kinds in the ops that `op` matches, where `text` is found in the call
    or in what differs. `example` is a call of `example_op` that shows it."""

    name: str
    op: str
    kinds: tuple
    reason: str
    example: str
    example_op: str
    text: str = ""

    def matches(self, row):
        if row["kind"] not in self.kinds or not re.fullmatch(self.op, row["op"]):
            return False
        return not self.text or bool(re.search(self.text, f"{row['text']} ## {row['detail']}"))


RAISES = ("accepted", "refused")
KNOWN = (
    Known(
        "complex",
        ".*",
        ("class", "text", "type", "value", *RAISES),
        "There are no complex numbers here: they are refused as arguments of the wrong kind.",
        "r = torch.ones(1) + 1j",
        "a + b",
        r"1j|complex",
    ),
    Known(
        "memory",
        ".*",
        ("class", "text"),
        "Running out of memory has a text, and an error class, of each allocator's own.",
        "r = torch.ones(2**40)",
        "ones",
        r"DefaultCPUAllocator|can't allocate memory",
    ),
    Known(
        "names of out tuples",
        r".*\(out=\)",
        ("type name",),
        "The named tuple of a call with out= has the name of the one without, and torch's fields.",
        "r = torch.max(torch.ones(1), 0, out=(torch.ones(1), torch.ones(1).long()))",
        "max(out=)",
        r"torch: \w+_out\(",
    ),
    Known(
        "which of equal elements",
        r"(Tensor\.)?(kthvalue|topk|median|nanmedian|mode|sort|argsort)(\(out=\))?",
        ("ties",),
        "Which index stands for several equal elements is promised by neither.",
        "r = torch.tensor([2, 2]).kthvalue(2)",
        "Tensor.kthvalue",
    ),
    Known(
        "medians of repeated elements",
        r"(Tensor\.)?(nan)?median(\(out=\))?",
        ("value", "nan", "zero sign"),
        "Torch reads other memory where a dim has stride 0.",
        "r = torch.tensor([[1.0, 3.25, -2.75]], dtype=torch.float64).expand(2, 3).nanmedian(0)",
        "Tensor.nanmedian",
        r"expand|as_strided",
    ),
)


def reason(row):
    """Why a difference is no mistake, or None."""
    return next((known.reason for known in KNOWN if known.matches(row)), None)
