"""Random calls of every op: arguments by schema type, in every form, with mistakes."""

import re
from dataclasses import dataclass, field

from tests.differential.recipes import RECIPES
from tests.differential.writer import DTYPES, WRONG_KINDS, Writer

# Functions and methods that are written in Python, in the language of the schemas.
IN_PYTHON = """
torch.norm(Tensor input, Scalar p='fro', int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)
torch.nonzero(Tensor input, *, bool as_tuple=False)
torch.tensordot(Tensor a, Tensor b, int dims=2)
torch.unique(Tensor input, bool sorted=True, bool return_inverse=False, bool return_counts=False, int? dim=None)
torch.unique_consecutive(Tensor input, bool return_inverse=False, bool return_counts=False, int? dim=None)
torch.prelu(Tensor input, Tensor weight)
torch.einsum(str equation, Any operands)
torch.broadcast_shapes(Any shapes)
torch.isreal(Tensor input)
torch.is_nonzero(Tensor input)
torch.is_floating_point(Tensor input)
torch.numel(Tensor input)
torch.is_same_size(Tensor input, Tensor other)
torch.result_type(Operand tensor, Operand other)
torch.promote_types(ScalarType type1, ScalarType type2)
torch.can_cast(ScalarType from_, ScalarType to)
torch.tensor(Data data, *, ScalarType? dtype=None)
torch.as_tensor(Data data, ScalarType? dtype=None)
torch.asarray(Data obj, *, ScalarType? dtype=None, bool? copy=None)
torch.linalg.vector_norm(Tensor x, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)
torch.linalg.matrix_norm(Tensor A, Order ord='fro', int[] dim=(-2, -1), bool keepdim=False, *, ScalarType? dtype=None)
torch.linalg.norm(Tensor A, Order? ord=None, int[1]? dim=None, bool keepdim=False, *, ScalarType? dtype=None)
torch.linalg.matmul(Tensor input, Tensor other)
torch.linalg.multi_dot(Tensor[] tensors)
torch.linalg.vecdot(Tensor x, Tensor y, *, int dim=-1)
torch.linalg.diagonal(Tensor A, *, int offset=0, int dim1=-2, int dim2=-1)
torch.linalg.matrix_power(Tensor A, int n)
torch.nn.functional.relu(Tensor input, bool inplace=False)
torch.nn.functional.relu6(Tensor input, bool inplace=False)
torch.nn.functional.elu(Tensor input, Scalar alpha=1.0, bool inplace=False)
torch.nn.functional.celu(Tensor input, Scalar alpha=1.0, bool inplace=False)
torch.nn.functional.selu(Tensor input, bool inplace=False)
torch.nn.functional.leaky_relu(Tensor input, Scalar negative_slope=0.01, bool inplace=False)
torch.nn.functional.hardtanh(Tensor input, Scalar min_val=-1.0, Scalar max_val=1.0, bool inplace=False)
torch.nn.functional.hardsigmoid(Tensor input, bool inplace=False)
torch.nn.functional.hardswish(Tensor input, bool inplace=False)
torch.nn.functional.silu(Tensor input, bool inplace=False)
torch.nn.functional.mish(Tensor input, bool inplace=False)
torch.nn.functional.threshold(Tensor input, Scalar threshold, Scalar value, bool inplace=False)
torch.nn.functional.prelu(Tensor input, Tensor weight)
torch.nn.functional.glu(Tensor input, int dim=-1)
torch.nn.functional.tanhshrink(Tensor input)
torch.nn.functional.softsign(Tensor input)
torch.nn.functional.softmax(Tensor input, int? dim=None, *, ScalarType? dtype=None)
torch.nn.functional.softmin(Tensor input, int? dim=None, *, ScalarType? dtype=None)
torch.nn.functional.log_softmax(Tensor input, int? dim=None, *, ScalarType? dtype=None)
torch.nn.functional.normalize(Tensor input, float p=2.0, int dim=1, float eps=1e-12)
torch.nn.functional.cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08)
torch.nn.functional.embedding(Tensor input, Tensor weight, int? padding_idx=None, float? max_norm=None, float norm_type=2.0, bool scale_grad_by_freq=False, bool sparse=False)
torch.nn.functional.one_hot(Tensor tensor, int num_classes=-1)
torch.nn.functional.pad(Tensor input, int[] pad, str mode='constant', Scalar? value=None)
Tensor.norm(Tensor self, Scalar p='fro', int[1]? dim=None, bool keepdim=False, ScalarType? dtype=None)
Tensor.where(Tensor self, Tensor condition, Operand other)
Tensor.nonzero(Tensor self, *, bool as_tuple=False)
Tensor.unique(Tensor self, bool sorted=True, bool return_inverse=False, bool return_counts=False, int? dim=None)
Tensor.unique_consecutive(Tensor self, bool return_inverse=False, bool return_counts=False, int? dim=None)
Tensor.sum_to_size(Tensor self, int[] size)
Tensor.type(Tensor self, Any dtype='torch.FloatTensor')
Tensor.new_tensor(Tensor self, Data data, *, ScalarType? dtype=None)
Tensor.to(Tensor self, ScalarType dtype, bool non_blocking=False, bool copy=False)
Tensor.type_as(Tensor self, Tensor other)
Tensor.float(Tensor self)
Tensor.double(Tensor self)
Tensor.half(Tensor self)
Tensor.bfloat16(Tensor self)
Tensor.int(Tensor self)
Tensor.long(Tensor self)
Tensor.short(Tensor self)
Tensor.char(Tensor self)
Tensor.byte(Tensor self)
Tensor.bool(Tensor self)
Tensor.size(Tensor self, int? dim=None)
Tensor.stride(Tensor self, int? dim=None)
Tensor.dim(Tensor self)
Tensor.numel(Tensor self)
Tensor.is_contiguous(Tensor self)
Tensor.element_size(Tensor self)
Tensor.storage_offset(Tensor self)
Tensor.tolist(Tensor self)
Tensor.resize_(Tensor self, int[] size)
Tensor.is_floating_point(Tensor self)
Tensor.is_signed(Tensor self)
Tensor.is_set_to(Tensor self, Tensor tensor)
"""

UNDEFINED = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty"}
UNDEFINED |= {"new_empty_strided", "resize_", "resize_as_"}
RANDOM = {
    "bernoulli", "cauchy", "dropout", "exponential", "geometric", "log_normal", "multinomial", "normal",
    "rand", "rand_like", "randint", "randint_like", "randn", "randn_like", "random", "randperm", "uniform",
    "alpha_dropout", "rrelu", "randn_", "feature_dropout",
}  # fmt: skip


@dataclass
class Entry:
    """One way to call one op."""

    name: str
    path: str  # "torch.add", "Tensor.add_"
    params: list
    outputs: int = 0  # tensors that out= takes

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
    needs_out: int = 0  # the runner writes out= tensors after asking torch for the result

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
    found = [parse_schema(line) for line in IN_PYTHON.strip().splitlines()]
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
            found += [Entry(name, path, params, outputs) for path in paths if path not in taken]
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
                return w.dim(len(shape)) if param["list_size"] and w.chance(0.5) else w.dims(len(shape))
            return w.sizes()
        if kind == "float[]":
            return "[0.5, 2.0]"
        if kind == "ScalarType":
            return w.dtype_text()
        if kind == "Device":
            return "device" if self.device != "cpu" else w.pick("'cpu'", "torch.device('cpu')", "None")
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
            return w.pick("[[1, 2], [3]]", "[1, 'a']", "[[1], 2]", "[]", "[[]]", "None", "'a'", "[None]")
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
        if w.chance(0.03):  # the same tensor twice, or a view of it
            again = [i for i, text in enumerate(args) if text in w.variables]
            if len(again) > 1:
                name = args[again[0]]
                args[again[1]] = name if w.chance(0.6) else f"{name}.T"
        if w.chance(0.06):
            self.spoil(w, args, named, entry)
        action = self.written(entry, args, named)
        needs_out = 0
        if entry.outputs:
            needs_out = entry.outputs
        return Call(self.label(entry), w.setup, action, list(w.variables), needs_out), w

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
        elif kind == "twice" and len(args) > first and not args[0].startswith("*"):
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
            return f"r = {target}.{entry.path.removeprefix('Tensor.')}({', '.join([*args, *parts])})"
        return f"r = {entry.path}({', '.join([*args, *parts])})"


def out_statements(w, results, inputs):
    """Statements that make out= tensors for results of these (shape, dtype)s; and the texts."""
    names = []
    for shape, dtype in results:
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
