"""Expressions with the answers that torch gives, asked on every device and in every mode.

A table of cases is a text: on each line, or with the rest indented on the next, an expression, `=>`
and the answer: a dtype with values, a plain object, or the class and first line of an error. In
expressions `t(values, dtype=None)` makes a tensor and `filled(shape, value, dtype)` a filled one;
`torch`, `F`, `inf`, `nan` and the dtypes are what they look like.
"""

import contextlib
import math
import warnings

from tests.support.simulated import run

DTYPES = "uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64".split()


def cases(table):
    """The expressions of a table and their answers."""
    joined = table.replace("\n    ", " ")
    lines = [line.split("=>") for line in joined.splitlines() if line]
    return [(expression.strip(), answer.strip()) for expression, answer in lines]


def show(result):
    """A result as the tables have it."""
    if isinstance(result, (tuple, list)):
        return "; ".join(show(each) for each in result)
    if not hasattr(result, "dtype"):
        return repr(result)
    return f"{str(result.dtype).removeprefix('torch.')} {result.tolist()}"


def answer(torch, expression, device="cpu", mode="eager", show=show):
    """What an expression gives, as text."""
    names = {name: getattr(torch, name) for name in DTYPES}
    names |= {"torch": torch, "F": torch.nn.functional, "inf": math.inf, "nan": math.nan}
    names["t"] = lambda values, dtype=None: torch.tensor(values, dtype=dtype).to(device)
    names["filled"] = lambda shape, value, dtype: torch.full(
        shape, value, dtype=dtype, device=device
    )
    try:
        window = torch.pipeline() if mode == "pipeline" else contextlib.nullcontext()
        with warnings.catch_warnings(), window:
            warnings.simplefilter("ignore")  # of ranges and resized outputs
            result = eval(expression, names)
        return show(result)
    except Exception as error:
        first_line = str(error).split("\n")[0]
        return f"{type(error).__name__}: {first_line}"


def wrong(torch, table, device="cpu", mode="eager", show=show):
    """The cases that are answered otherwise: expression, answer and what was expected."""
    found = []
    for expression, expected in cases(table):
        given = answer(torch, expression, device, mode, show)
        if given != expected:
            found.append((expression, given, expected))
    return found


def wrong_on_npu(table, mode="eager", show="tests.support.answers.show"):
    """The same on simulated NPUs, as text: empty where all is as expected. `show` by name."""
    module, _, name = show.rpartition(".")
    return run(f"""
from tests.support.answers import wrong
from {module} import {name}
for case in wrong(torch, {table!r}, "npu", {mode!r}, {name}):
    print(*case, sep="\\n    ")
""")
