"""Where an op is implemented: `python -m mindtorch_v2.where add`.

Prints file and line of its definition, of its kernel on every device, and, in a checkout, of its
test cases. Definitions and kernels come from the registry, which notes the place of each
registration; test cases are found by searching tests/ops/cases.
"""

import os
import sys

from . import _C


def find_checkout():
    """The repository root if this package is used from one, else None."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    return root if os.path.isdir(os.path.join(root, "tests", "ops", "cases")) else None


def find_cases(name, root):
    """[(file relative to `root`, line)] of the test cases of an op, overload names left out."""
    import re

    folder = os.path.join(root, "tests", "ops", "cases")
    base = name.partition(".")[0]
    # The in-place form has no cases of its own; __and__ and its like keep their underscores.
    names = {base} if base.startswith("__") else {base, base.removesuffix("_")}
    spelled = "|".join(re.escape(n) for n in sorted(names))
    # A case is a call with the op's name first, OpCase("add", ...) or a function that makes one.
    call = re.compile(rf"""\b\w+\(\s*["'](?:{spelled})(?:\.\w+)?["']""")
    places = []
    for file in sorted(os.listdir(folder)):
        if file.endswith(".py"):
            with open(os.path.join(folder, file), encoding="utf-8") as source:
                text = source.read()
            for match in call.finditer(text):
                line = text.count("\n", 0, match.start()) + 1
                places.append((f"tests/ops/cases/{file}", line))
    return places


def suggest(name):
    """Names of ops that look like `name`."""
    import difflib

    bases = sorted({full.partition(".")[0] for full in _C._all_op_names()})
    return difflib.get_close_matches(name.partition(".")[0], bases, n=5, cutoff=0.6)


def describe(name, root=None):
    """The report on one op as lines of text; none when no op has that name."""
    locations = _C._op_locations(name)
    if not locations:
        return []
    by_op = {}
    for entry in locations:
        by_op.setdefault(entry["op"], []).append(entry)
    lines = []
    for op, entries in by_op.items():
        # Definition first, then kernels by device.
        entries.sort(key=lambda e: (e["what"] != "definition", e["what"], e["device"] or ""))
        lines.append(next((e["schema"] for e in entries if e.get("schema")), op))
        for entry in entries:
            label = entry["what"]
            if entry["device"]:
                label += f" ({entry['device']})"
            lines.append(f"  {label:<16} {entry['file']}:{entry['line']}")
    if root is not None:
        cases = find_cases(name, root)
        lines.append("test cases" if cases else "test cases: none")
        lines += (f"  {'':<16} {file}:{line}" for file, line in cases)
    return lines


def main(arguments):
    """Reports on each named op; the exit code is 1 when one is unknown."""
    if not arguments or arguments[0] in ("-h", "--help"):
        print("usage: python -m mindtorch_v2.where OP [OP ...]", file=sys.stderr)
        return 0 if arguments else 2
    root = find_checkout()
    status = 0
    reports = []
    for name in arguments:
        name = name.removeprefix("torch.").removeprefix("aten::")
        lines = describe(name, root)
        if lines:
            reports.append("\n".join(lines))
            continue
        status = 1
        close = suggest(name)
        hint = f"; did you mean {', '.join(close)}?" if close else ""
        print(f"no op named {name!r}{hint}", file=sys.stderr)
    if reports:
        print("\n\n".join(reports))
    return status
