"""Random expressions: operators with numbers on both sides, indexing, assignment, conversions."""

from tests.differential.arguments import Call
from tests.differential.writer import WRONG_KINDS, Writer

BINARY = ("+", "-", "*", "/", "//", "%", "**", "<<", ">>", "&", "|", "^")
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")
UNARY = ("-{}", "+{}", "~{}", "abs({})")
CONVERSIONS = (
    "bool({})", "int({})", "float({})", "len({})", "list({})", "{}.item()", "{}.tolist()",
    "str({})", "repr({})", "round({})", "complex({})", "divmod({}, 2)", "{}.T", "{}.mT", "{}.H",
    "{}.shape", "{}.dtype", "{}.real", "{}.ndim", "{}.is_cuda", "{}.itemsize", "{}.nbytes",
    "[*reversed({})]", "1 in {}", "f'{{{}:.2f}}'", "hash({}) != 0",
    "__import__('operator').index({})", "[0, 1, 2][{}]", "range({})", "'{{:d}}'.format({})",
    "{}.is_contiguous()", "{}.stride()", "{}.numpy()",
)  # fmt: skip


def label(symbol):
    return f"a {symbol} b"


def operator(random, device="cpu"):
    w = Writer(random, device)
    shape = w.shape()
    kind = random.random()
    if kind < 0.08:
        form = w.pick(*UNARY)
        return Call(form.format("a"), w.setup, f"r = {form.format(w.tensor(shape))}", list("a")), w
    if kind < 0.2:
        form = w.pick(*CONVERSIONS)
        shape = w.pick((), (), (1,), (1, 1), shape)
        return Call(form.format("a"), w.setup, f"r = {form.format(w.tensor(shape))}", list("a")), w
    if kind < 0.25:
        left, right = _product(w)
        return Call(label("@"), w.setup, f"r = {left} @ {right}", list(w.variables)), w
    symbol = w.pick(*BINARY, *COMPARISONS)
    left = w.tensor(w.fitting(shape))
    if w.chance(0.04):
        right = w.pick(*WRONG_KINDS)
    elif w.chance(0.5):
        right = w.number()
    else:
        right = w.tensor(w.fitting(shape))
    if symbol in BINARY and w.chance(0.25):
        action = f"{left} {symbol}= {right}; r = {left}"
        return Call(label(symbol + "="), w.setup, action, list(w.variables)), w
    if w.chance(0.3):
        left, right = f"({right})" if right.startswith("-") else right, left
    return Call(label(symbol), w.setup, f"r = {left} {symbol} {right}", list(w.variables)), w


def _product(w):
    n, k, m = w.shape(3)
    left = w.tensor((n, k) if w.chance(0.8) else (k,), w.dtype)
    right = w.tensor((k, m) if w.chance(0.8) else (k,), w.dtype)
    if w.chance(0.03):
        right = w.number()
    return left, right


# --- indexing ----------------------------------------------------------------------------------


def _slice(w, size):
    def end():
        return str(w.random.randint(-size - 1, size + 1)) if w.chance(0.6) else ""

    step = w.pick("", "", "2", "3") if w.chance(0.95) else w.pick("0", "-1", "None", "1.5", "'a'")
    return f"{end()}:{end()}" + (f":{step}" if step else "")


def _indices(w, shape):
    """The text between the brackets, and the shape that is left, roughly."""
    parts, left, at, tensors = [], [], 0, None
    while at < len(shape) or not parts:
        size = shape[at] if at < len(shape) else 1
        kind = w.random.choices(
            (
                "int",
                "slice",
                "none",
                "dots",
                "index",
                "list",
                "mask",
                "bool",
                "stop",
                "wrong",
                "flag",
            ),
            (20, 22, 6, 5, 12, 5, 6, 2, 10, 2, 1),
        )[0]
        if kind == "none":
            parts.append("None")
            left.append(1)
            continue
        if kind == "dots" and "..." not in parts:
            parts.append("...")
            skip = w.random.randint(0, len(shape) - at)
            left += shape[at : at + skip]
            at += skip
            continue
        if kind == "bool":
            parts.append(w.pick("True", "False"))
            left.insert(0, 1)
            continue
        if kind == "stop" and parts:
            break
        if kind == "int":
            low, high = (-size, size - 1) if not w.chance(0.03) else (size, size + 1)
            parts.append(str(w.random.randint(low, max(low, high))))
        elif kind in ("index", "list"):
            tensors = w.shape(w.pick(0, 1, 1, 2)) if tensors is None else tensors
            if kind == "list":
                count = w.size()
                numbers = [w.random.randint(-size, max(-size, size - 1)) for _ in range(count)]
                if count <= size:
                    numbers = w.random.sample(range(size), count)
                parts.append(str(numbers if w.chance(0.9) else [n + 0.5 for n in numbers]))
            else:
                parts.append(w.index(w.fitting(tensors), size, negative=True, once=0))
        elif kind == "mask":
            rank = min(w.pick(1, 1, 2), len(shape) - at)
            dtype = "bool" if w.chance(0.85) else "uint8"
            parts.append(w.tensor(shape[at : at + rank], dtype))
            at += rank
            continue
        elif kind == "wrong":
            parts.append(
                w.pick("'a'", "1.5", "[1.5]", "torch.tensor(1.5)", "2**64", "{}", "[None]")
            )
        elif kind == "flag":
            parts.append(f"torch.tensor({w.pick('True', 'False', '1', '0', '-1')})")
        else:
            parts.append(_slice(w, size))
            left.append(size)
        at += 1
    if w.chance(0.02):
        parts += ["0"] * w.pick(1, 4)
    text = ", ".join(parts)
    return text + ("," if len(parts) == 1 and w.chance(0.1) else ""), [
        *(tensors or []),
        *left,
        *shape[at:],
    ]


def repeats(w, text):
    """Whether elements may be written more than once, in an unspecified order."""
    return text.count("[") + sum(text.count(name) for name in w.variables if name != "a") > 1


def indexing(random, device="cpu"):
    w = Writer(random, device)
    shape = w.shape()
    name = w.tensor(shape)
    text, left = _indices(w, shape)
    if w.chance(0.5):
        return Call("a[i]", w.setup, f"r = {name}[{text}]", list(w.variables)), w
    kind = w.random.random()
    if kind < 0.4:
        value = w.number()
    elif kind < 0.85 and not repeats(w, text):
        dtype = w.variables[name].dtype if w.chance(0.6) else None
        value = w.tensor(w.fitting(left), dtype)
    elif kind < 0.9:
        value = name
    else:
        value = w.pick(*WRONG_KINDS)
    sign = "+=" if w.chance(0.1) else "="
    return Call(
        f"a[i] {sign} b", w.setup, f"{name}[{text}] {sign} {value}; r = {name}", list(w.variables)
    ), w
