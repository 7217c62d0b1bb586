"""Compares what the simulated ops accept with what CANN's op repositories say:

    python -m tools.compare_cann CHECKOUT... [--op NAME] [--all]

A checkout of ops-math, ops-nn, ops-cv or ops-transformer is a folder, or a git repository without a
work tree. Prints one line for each op, argument and kind of difference that has no reason in
`cann_differences.tsv`, with the path of CANN's file; all of them with `--all`. Needs a built
simulator and NumPy: the arguments are those of the simulator's test cases, one of them replaced by
what no op takes, so that the refusal lists what the op would take."""

import argparse
import ctypes
import fnmatch
import pathlib
import re
import sys

import numpy as np

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.simulator.ops import acl  # noqa: E402
from tests.simulator.ops.case import Arguments, In, List, Out, Ref  # noqa: E402
from tests.simulator.ops.test_cases import cases_of, tables  # noqa: E402
from tools import cann_facts  # noqa: E402

REASONS = pathlib.Path(__file__).with_name("cann_differences.tsv")
STRING, FRACTAL_NZ, ND = 13, 29, 2
CASES_OF_AN_OP = 24


def tensor(device, shape, dtype, format):
    make = acl.function("aclCreateTensor", ctypes.c_void_p)
    strides = [1] * len(shape)
    for i in range(len(shape) - 1, 0, -1):
        strides[i - 1] = strides[i] * max(shape[i], 1)
    return ctypes.c_void_p(
        make(
            acl.int64s(shape), ctypes.c_uint64(len(shape)), dtype, acl.int64s(strides),
            ctypes.c_int64(0), format, acl.int64s([1 << 20]), ctypes.c_uint64(1), device,
        )
    )  # fmt: skip


class Probe:
    """What the simulator says of an op's arguments."""

    def __init__(self):
        self.device = acl.Device()
        self.memory = self.device.malloc(1 << 20)
        self.found = {}  # (op, argument) -> {"dtypes": set, "ranks": tuple, "fractal": bool}

    def entry(self, op, name):
        return self.found.setdefault((op, name), {"dtypes": set(), "ranks": None, "fractal": False})

    def planned(self, op, handles):
        """The text with which the op refuses the arguments; nothing where it takes them."""
        try:
            _, executor = acl.phase_one(op, handles)
        except acl.Error as error:
            return error.text
        acl.check("aclDestroyAclOpExecutor", executor)
        return ""

    def ask(self, case):
        arguments = Arguments(self.device, case.arguments, "contiguous")
        if not self.planned(case.op, arguments.handles):
            for place, argument in enumerate(case.arguments):
                member = isinstance(argument, List)
                one = argument.members[0] if member and argument.members else argument
                if isinstance(one, (In, Out, Ref)):
                    self.ask_of(case.op, arguments.handles, place, one, member)
        arguments.close()

    def ask_of(self, op, handles, place, one, member):
        """Puts others in the place of a tensor."""

        def refusal(shape, dtype, format):
            other = tensor(self.memory, shape, dtype, format)
            given = acl.create_list("Tensor", [other]) if member else other
            return self.planned(op, [*handles[:place], given, *handles[place + 1 :]])

        values = one.expected if isinstance(one, Out) else one.values
        shape = list(getattr(one, "shape", None) or np.shape(values))
        name = r"(\w+)(?:\[\d+\])?"
        said = re.search(
            name + r" has dtype \w+, supported are (.*)$", refusal(shape, STRING, ND), re.MULTILINE
        )
        if said:
            self.entry(op, said[1])["dtypes"] |= set(said[2].split(", "))
        code = acl.CODES[one.dtype]
        if "has a format of the device's own" not in refusal(shape, code, FRACTAL_NZ):
            self.entry(op, acl.signatures()[op][place][1])["fractal"] = True
        for rank in range(9):
            text = refusal([1] * rank, code, ND)
            said = re.search(name + r" has \d dimensions, expected are (\d) to (\d)", text)
            if said:
                self.entry(op, said[1])["ranks"] = (int(said[2]), int(said[3]))


def cases():
    """op -> some of its cases, with different dtypes"""
    found = {}
    for parameter in tables():
        for case in cases_of(parameter.values[0]):
            kinds = tuple(
                getattr(a.members[0] if isinstance(a, List) and a.members else a, "dtype", None)
                for a in case.arguments
            )
            mine = found.setdefault(case.op, {})
            if len(mine) < CASES_OF_AN_OP:
                mine.setdefault(kinds, case)
    return {op: list(mine.values()) for op, mine in found.items()}


def names_of(op, facts):
    """The facts of each argument by the name that the simulator has for it."""
    names = [
        name
        for kind, name in acl.signatures()[op]
        if kind.startswith(("aclTensor", "aclTensorList"))
    ]
    for name in names:
        for theirs in (
            name,
            name.removesuffix("Ref"),
            name.removesuffix("Optional"),
            name + "Optional",
        ):
            if theirs in facts.arguments:
                yield name, facts.arguments[theirs]
                break


def differences(probe, facts):
    """(op, argument, kind, what only CANN has, what only the simulator has, where CANN says so)"""
    ops = sorted({op for op, _ in probe.found})
    for op in ops:
        if op not in facts:
            yield op, "", "op", "", "all", ""
            continue
        known = facts[op]
        if known.chips.get("A2") is False:
            yield op, "", "chip", "", "A2", known.path
        for name, theirs in names_of(op, known):
            ours = probe.found.get((op, name))
            if ours is None:
                continue
            if theirs.dtypes and ours["dtypes"]:
                known_here = ours["dtypes"] & cann_facts.DTYPES
                only = [theirs.dtypes - known_here, known_here - theirs.mentioned]
                if any(only):
                    kind = "dtypes" if theirs.checked else "dtypes by document"
                    yield op, name, kind, *[",".join(sorted(each)) for each in only], known.path
            fractal = "FRACTAL_NZ" in theirs.formats or "NZ" in theirs.formats
            if theirs.formats and fractal != ours["fractal"]:
                only = ("FRACTAL_NZ", "") if fractal else ("", "FRACTAL_NZ")
                yield op, name, "format", *only, known.path
            if theirs.ranks and ours["ranks"] and theirs.ranks != ours["ranks"]:
                text = ["{}-{}".format(*ranks) for ranks in (theirs.ranks, ours["ranks"])]
                yield op, name, "rank", *text, known.path


def reasons():
    """[(patterns of ops, argument, kind, only CANN, only here, reason)]"""
    lines = [line.split("\t") for line in REASONS.read_text().splitlines()]
    return [line for line in lines if not line[0].startswith("#")]


def reason_of(row, known):
    """Why the difference is there; nothing where nobody has said so."""
    op, *cells = row[:5]
    for ops, *patterns, reason in known:
        pairs = zip(cells, patterns, strict=True)
        if any(fnmatch.fnmatchcase(op, each) for each in ops.split()) and all(
            fnmatch.fnmatchcase(cell, pattern) for cell, pattern in pairs
        ):
            return reason
    return ""


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("checkouts", nargs="+")
    parser.add_argument("--op", help="only this op")
    parser.add_argument("--all", action="store_true", help="also what has a reason")
    options = parser.parse_args()
    facts = cann_facts.facts(options.checkouts)
    probe = Probe()
    for op, some in sorted(cases().items()):
        if options.op in (None, op):
            for case in some:
                probe.ask(case)
    known, left = reasons(), 0
    print("op\targument\tkind\tonly CANN\tonly here\treason")
    for row in differences(probe, facts):
        reason = reason_of(row, known)
        left += not reason
        if options.all or not reason:
            print(*row[:5], reason or row[5], sep="\t")
    print(f"{left} without a reason", file=sys.stderr)
    return 1 if left else 0


if __name__ == "__main__":
    sys.exit(main())
