"""Writes the signatures that torch's error messages list, from the table of torch's schemas.

usage: make_signatures.py ATEN_SCHEMAS OUTPUT

An op of ours often stands for several of torch's overloads. Here are those that torch shows for it,
in torch's order: by their text, and what takes more before what takes less.
"""

import pathlib
import re
import sys

NAMES = """
    copysign fmod eq ge greater_equal gt greater le less_equal lt less ne not_equal true_divide
    floor_divide multiply remainder bitwise_and bitwise_or bitwise_xor bitwise_left_shift
    bitwise_right_shift xlogy special_xlogy pow float_power div divide rsub subtract max min median
    nanmedian all any mean sum prod std var std_mean var_mean count_nonzero round clamp clip
    clamp_max clamp_min lerp fill masked_fill index_fill scatter dsplit hsplit vsplit tensor_split
    repeat_interleave squeeze movedim moveaxis narrow view sort argsort bucketize searchsorted isin
    arange eye linspace logspace rand randn rand_like randn_like randint randint_like randperm
    normal normal_ bernoulli bernoulli_ random_
""".split()
# Where a tensor is expected, these take a number; the overload for one alone is not shown then.
TAKE_NUMBERS = {"true_divide", "floor_divide", "multiply", "div", "divide", "subtract"}
NOT_SHOWN = {"div.Scalar"}

OPTIONS = ("Layout? layout", "Device? device", "bool? pin_memory")
# What torch calls the types in the text that it sorts by.
SORTED_AS = {
    **{"int": "int64_t", "float": "double", "str": "c10::string_view"},
    **{"int[]": "IntArrayRef", "SymInt[]": "SymIntArrayRef"},
}


def split(text):
    """The parts between commas that lie in no bracket."""
    return [part.strip() for part in re.split(r",\s*(?![^\[(]*[\])])", text) if part.strip()]


class Signature:
    """One overload: its arguments, and how many of them are written with out=."""

    def __init__(self, arguments):
        marked = split(arguments)
        named = marked[marked.index("*") :] if "*" in marked else []
        outs = [text for text in named if "!)" in text]
        self.outs = len(outs)
        self.arguments = [re.sub(r"\([^)]*\)", "", text) for text in marked if text not in outs]
        self.has_options = any(text.startswith(OPTIONS[0]) for text in self.arguments)
        if self.has_options:
            options = ("ScalarType? dtype", *OPTIONS)
            self.arguments = [text for text in self.arguments if not text.startswith(options)]
        if self.arguments and self.arguments[-1] == "*":
            self.arguments.pop()

    def names(self):
        return [text.split("=")[0] for text in self.arguments if text != "*"]

    def types(self):
        return [text.split()[0] for text in self.arguments if text != "*"]

    def sorted_as(self):
        parts = []
        for text in self.arguments:
            kind, _, name = text.partition(" ")
            plain = re.sub(r"\d|\?$", "", kind)
            mark = "?" if kind.endswith("?") else ""
            parts.append(f"{SORTED_AS.get(plain, plain)}{mark} {name.replace('self', 'input')}")
        if self.has_options:
            parts += [*(["* "] if "* " not in parts else []), "ScalarType dtype"]
        return ", ".join(parts)

    def text(self, takes_numbers):
        parts = [text.replace("SymInt", "int") for text in self.arguments]
        if takes_numbers and parts[1].startswith("Tensor "):
            parts = [re.sub("^Tensor ", "Operand ", text) for text in parts]
        if self.has_options and "*" not in parts:
            parts.append("*")
        if self.outs:
            parts.append("OUT" if self.outs == 1 else "OUTS")
        if self.has_options:
            parts.append("OPTIONS")
        # torch writes "std=1" and "base=10.0"; its table has "1." and "10.".
        return re.sub(
            r"=(\d)\.(?!\d)", r"=\1", re.sub(r"(\d\d)\.(?!\d)", r"\1.0", ", ".join(parts))
        )


def is_smaller_argument(mine, other):
    if (mine, other) in {("Scalar", "Tensor"), ("Scalar?", "Tensor?"), ("SymInt[]", "int[]")}:
        return True
    if mine in ("int", "SymInt"):
        return other == "Tensor"
    return mine == "int[]" and other in ("int", "int?")


def is_smaller(mine, other):
    """Whether `other` takes what `mine` takes, and more."""
    a, b = mine.types(), other.types()
    if len(a) != len(b) or a == b:
        return False
    return all(x == y or is_smaller_argument(x, y) for x, y in zip(a, b, strict=True))


def in_order(signatures):
    left = sorted(signatures, key=Signature.sorted_as)
    larger = {i: {j for j, b in enumerate(left) if is_smaller(a, b)} for i, a in enumerate(left)}
    found = [i for i in larger if not larger[i]]
    larger = {i: those for i, those in larger.items() if those}
    for i in found:  # grows
        for j in sorted(larger):
            larger[j].discard(i)
            if not larger[j]:
                del larger[j]
                found.append(j)
    return [left[i] for i in found]


def signatures_of(name, overloads):
    plain, with_out = [], []
    for overload, arguments in overloads:
        if f"{name}.{overload}" in NOT_SHOWN:
            continue
        signature = Signature(arguments)
        (with_out if signature.outs else plain).append(signature)
    for out in with_out:
        for signature in plain:
            if signature.names() == out.names():
                signature.outs = out.outs
                break
    return [each.text(name in TAKE_NUMBERS) for each in in_order(plain)]


def read(path):
    table = {}
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        full_name, _, rest = line.partition("(")
        name, _, overload = full_name.partition(".")
        table.setdefault(name, []).append((overload, rest.rpartition(") -> ")[0]))
    return table


def main(schemas, output):
    table = read(schemas)
    lines = []
    for name in NAMES:
        text = "\\n".join(signatures_of(name, table[name]))
        lines.append(f'    {{"{name}", "{text}"}},\n')
    pathlib.Path(output).parent.mkdir(parents=True, exist_ok=True)
    pathlib.Path(output).write_text("".join(lines), encoding="utf-8")


if __name__ == "__main__":
    main(*sys.argv[1:])
