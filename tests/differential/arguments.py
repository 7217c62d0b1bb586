"""Random calls of every op: arguments by schema type, in every form, with mistakes."""

import re
from dataclasses import dataclass, field
from pathlib import Path

from tests.differential.recipes import RECIPES
from tests.differential.writer import DTYPES, WRONG_KINDS, Writer

# Functions and methods that are written in Python, in the language of the schemas.
IN_PYTHON = Path(__file__).with_name("python_functions.txt")

UNDEFINED = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty"}
UNDEFINED |= {"new_empty_strided", "resize_", "resize_as_"}
RANDOM = {
    "binomial",
    "poisson",
    "bernoulli", "cauchy", "dropout", "exponential", "geometric", "log_normal", "multinomial",
    "normal", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "random",
    "randperm", "uniform", "alpha_dropout", "rrelu", "randn_", "feature_dropout",
}  # fmt: skip


@dataclass
class Entry:
    """One way to call one op."""

    name: str
    path: str  # "torch.add", "Tensor.add_"
    params: list
    outputs: int = 0  # tensors that out= takes
    pointwise: bool = False

    @property
    def base(self):
        return self.name.rstrip("_")

    @property
    def is_method(self):
        return self.path.startswith("Tensor.")


@dataclass
class Call:
    op: str
    setup: list
    action: str
    variables: list = field(default_factory=list)
    needs_out: int = 0  # the worker writes out= tensors after asking torch for the result
    may_overlap: bool = False  # out= may be an argument: other ops overwrite what they still read

    def lines(self):
        return [*self.setup, self.action]


def parse_schema(text):
    path, params = re.fullmatch(r"([\w.]+)\((.*)\)", text).groups()
    rows, keyword_only = [], False
    for part in re.split(r", (?![^(]*\))", params):
        if part == "*":
            keyword_only = True
            continue
        kind, _, rest = part.partition(" ")
        name, _, default = rest.partition("=")
        rows.append(
            {
                "name": name,
                "type": kind.rstrip("?"),
                "optional": kind.endswith("?"),
                "keyword_only": keyword_only,
                "list_size": 1 if kind.startswith("int[1]") else 0,
                "default": default or None,
            }
        )
        rows[-1]["type"] = "int[]" if kind.startswith("int[") else rows[-1]["type"]
    name = path.removeprefix("torch.").removeprefix("Tensor.").removeprefix("nn.functional.")
    return Entry(name, path, rows)


def resolve(module, path):
    found = module
    for part in path.removeprefix("torch.").split("."):
        found = getattr(found, part, None)
    return found


def entries(ours, torch):
    """Every public way to call every op that both libraries have."""
    found = [parse_schema(line) for line in IN_PYTHON.read_text().splitlines()]
    taken = {entry.path for entry in found}
    for row in ours._C._op_schemas():
        outs = []
        if row["form"] == "out":
            outs = re.findall(r"Tensor\(\w!\) (\w+)", row["schema"])
        params = [p for p in row["params"] if p["name"] not in outs]
        outputs = len(outs)
        for name in (row["name"], *row["aliases"]):
            paths = []
            if row["function"]:
                paths.append(f"torch.{name}")
            if row["method"] and not outputs:
                paths.append(f"Tensor.{name}")
            if row["nn"]:
                paths.append(f"torch.nn.functional.{name}")
            if name.startswith("special_") and not name.endswith("_"):
                paths.append(f"torch.special.{name.removeprefix('special_')}")
            pointwise = row["kind"] == "pointwise"
            paths = [path for path in paths if path not in taken]
            found += [Entry(name, path, params, outputs, pointwise) for path in paths]
    public = [entry for entry in found if not entry.name.startswith("_")]
    return [e for e in public if resolve(torch, e.path) and resolve(ours, e.path)]


class Calls:
    """Writes calls: the same number gives the same call."""

    def __init__(self, entries, device="cpu"):
        self.entries = entries
        self.device = device

    # --- values by type --------------------------------------------------------------------

    def argument(self, w, param, shape):
        kind, name = param["type"], param["name"]
        if param["optional"] and w.chance(0.1):
            return "None"
        if kind == "Tensor":
            return w.tensor(w.fitting(shape))
        if kind == "Operand":
            if w.chance(0.3):
                return w.number()
            return w.tensor(w.fitting(shape))
        if kind in ("Tensor[]", "Tensor?[]"):
            return "[" + ", ".join(w.tensor(shape) for _ in range(w.pick(1, 2, 3))) + "]"
        if kind == "Scalar":
            return w.number()
        if kind == "int":
            if re.fullmatch(r"dim\d?|axis\d?|start_dim|end_dim|dimension", name):
                return w.dim(len(shape))
            if name in ("steps", "n", "m", "row", "col", "num_samples", "N"):
                return w.integer(0 if w.chance(0.95) else -1, 5)
            if name in ("decimals", "diagonal", "offset"):
                return w.integer(-3, 3)
            return w.integer(-2, 4)
        if kind == "float":
            if name in ("p", "dropout_p"):
                return w.pick("0.5", "0.0", "1.0", "0.25", "1.5", "-0.5", "nan", "2", "inf")
            if w.strange and w.chance(0.5):
                return w.number()
            return w.pick("0.5", "1.0", "0.0", "2.0", "1e-05", "1", "0.1", "0.25", "-1.0")
        if kind == "bool":
            return w.pick("True", "False", "True", "False", "1" if w.strange else "True")
        if kind == "int[]":
            if re.fullmatch(r"dims?", name):
                return (
                    w.dim(len(shape))
                    if param["list_size"] and w.chance(0.5)
                    else w.dims(len(shape))
                )
            return w.sizes()
        if kind == "float[]":
            return "[0.5, 2.0]"
        if kind == "ScalarType":
            return w.dtype_text()
        if kind == "Device":
            return (
                "device" if self.device != "cpu" else w.pick("'cpu'", "torch.device('cpu')", "None")
            )
        if kind == "MemoryFormat":
            return "torch." + w.pick("contiguous_format", "preserve_format", "channels_last")
        if kind == "str":
            choices = {
                "rounding_mode": ("'floor'", "'trunc'", "None", "'round'"),
                "approximate": ("'none'", "'tanh'", "'x'"),
                "reduce": ("'sum'", "'prod'", "'amax'", "'x'"),
                "indexing": ("'ij'", "'xy'"),
            }
            return w.pick(*choices.get(name, ("'a'",)))
        if kind == "Generator":
            return "None"
        if kind == "Order":
            return w.pick("'fro'", "1", "-1", "inf", "-inf", "2", "0", "3", "0.5", "'x'", "None")
        if kind == "Data":
            return self.data(w)
        if kind == "Any":
            return w.pick(*WRONG_KINDS)
        raise ValueError(f"no arguments of type {kind}")

    def data(self, w):
        """What torch.tensor takes: numbers, nested lists, tensors, and nonsense."""
        if w.chance(0.3):
            return w.number()
        if w.chance(0.15):
            return w.tensor(w.shape())
        if w.chance(0.1):
            return w.pick(
                "[[1, 2], [3]]", "[1, 'a']", "[[1], 2]", "[]", "[[]]", "None", "'a'", "[None]"
            )
        texts = [w.number() for _ in range(w.pick(1, 2, 3))]
        row = "[" + ", ".join(texts) + "]"
        return row if w.chance(0.6) else f"[{row}, {row}]"

    # --- one call of an op -----------------------------------------------------------------

    def of(self, entry, random):
        w = Writer(random, self.device)
        shape = w.shape()
        chosen = RECIPES.get(entry.base) or RECIPES.get(entry.name)
        texts = dict(chosen(w)) if chosen and not w.chance(0.03) else {}
        starred = any(text.startswith("*") for text in texts.values())
        args, named, by_name = [], [], False
        for number, param in enumerate(entry.params):
            name = param["name"]
            given = texts.get(name)
            free = param["default"] is not None or (param["optional"] and param["keyword_only"])
            if given is None:
                if free and w.chance(0.55):
                    by_name = not starred
                    continue
                given = self.argument(w, param, shape)
            if entry.is_method and not number and given not in w.variables:
                given = w.tensor(shape)
            if not number and given in w.variables:
                shape = w.variables[given].shape
            named_here = by_name or (number and not starred and w.chance(0.08))
            if param["keyword_only"] or (named_here and (number or not entry.is_method)):
                by_name = True
                named.append(("input" if name == "self" else name, given))
            else:
                if not entry.is_method or number:
                    given = self.unpacked(w, entry, param, given)
                args.append(given)
        if entry.pointwise and w.chance(0.03):  # the same tensor twice, or a view of it
            again = [i for i, text in enumerate(args) if text in w.variables]
            if len(again) > 1:
                name = args[again[0]]
                args[again[1]] = name if w.chance(0.6) else f"{name}.T"
        if w.chance(0.06):
            self.spoil(w, args, named, entry)
        action = self.written(entry, args, named)
        call = Call(self.label(entry), w.setup, action, list(w.variables), entry.outputs)
        call.may_overlap = entry.pointwise
        return call, w

    def label(self, entry):
        return entry.path.removeprefix("torch.")

    def unpacked(self, w, entry, param, given):
        """A list of ints may be written as separate arguments where it comes last."""
        last = [p for p in entry.params if not p["keyword_only"]][-1] is param
        if param["type"] == "int[]" and last and given[:1] in "[(" and w.chance(0.15):
            return "*" + given
        return given

    def spoil(self, w, args, named, entry):
        """One mistake."""
        kind = w.pick("kind", "kind", "kind", "many", "unknown", "missing", "twice")
        first = 1 if entry.is_method else 0
        if kind == "kind" and len(args) > first:
            args[w.random.randrange(first, len(args))] = w.pick(*WRONG_KINDS)
        elif kind == "kind" and named:
            at = w.random.randrange(len(named))
            named[at] = (named[at][0], w.pick(*WRONG_KINDS))
        elif kind == "many":
            args += [w.pick(*WRONG_KINDS)] * w.pick(1, 1, 2, 5)
        elif kind == "unknown":
            named.append((w.pick("foo", "axis", "x", "self"), "1"))
        elif kind == "missing" and len(args) > first:
            args.pop()
        elif kind == "twice" and len(args) > first and not args[-1].startswith("*"):
            name = entry.params[len(args) - 1]["name"]
            named.append(("input" if name == "self" else name, args[-1]))

    def written(self, entry, args, named, extra=""):
        plain = [f"{name}={text}" for name, text in named if name not in ("from", "self")]
        odd = [f"{name!r}: {text}" for name, text in named if name in ("from", "self")]
        seen = {name for name, _ in named}
        if len(seen) != len(named):
            plain = list(dict.fromkeys(plain))[:1]
        parts = [*plain, *(["**{" + ", ".join(odd) + "}"] if odd else [])]
        if entry.is_method:
            target, *args = args
            return (
                f"r = {target}.{entry.path.removeprefix('Tensor.')}({', '.join([*args, *parts])})"
            )
        return f"r = {entry.path}({', '.join([*args, *parts])})"


def out_statements(w, results, inputs):
    """Statements that make out= tensors for results of these (shape, dtype)s; and the texts."""
    names = []
    for shape, dtype in results:
        shape = shape if max(shape, default=0) < 1000 else (0,)
        dtype = "float32" if "complex" in dtype else dtype
        kind = w.random.choices(
            ("right", "dtype", "empty", "shape", "input", "view"), (10, 6, 3, 2, 2, 1)
        )[0]
        same = [v.name for v in w.variables.values() if v.name in inputs and v.shape == shape]
        if kind == "dtype":
            dtype = w.pick(*DTYPES)
        if kind == "empty":
            names.append(w.tensor((0,), dtype, plain=True))
        elif kind == "shape":
            names.append(w.tensor(w.shape(), dtype))
        elif kind == "input" and same:
            names.append(w.pick(*same))
        elif kind == "view" and same:
            names.append(f"{w.pick(*same)}.T")
        else:
            names.append(w.tensor(shape, dtype))
    return names
