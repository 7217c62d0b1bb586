"""Tensors, numbers and mistakes, written as Python text that works with torch and with us."""

import math
from dataclasses import dataclass

FLOATS = ("float32", "float64", "float16", "bfloat16")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8")
DTYPES = (*FLOATS, *INTEGERS, "bool")
DTYPE_WEIGHTS = (6, 3, 3, 3, 4, 2, 1, 2, 2, 2)

LARGEST = {"float16": 65504.0, "bfloat16": 3.3895313892515355e38, "float32": 3.4028234663852886e38}
SMALLEST = {"float16": 6e-08, "bfloat16": 1e-40, "float32": 1e-45, "float64": 5e-324}
BITS = {"int64": 63, "int32": 31, "int16": 15, "int8": 7}
BYTES = {"float64": 8, "int64": 8, "float32": 4, "int32": 4, "int8": 1, "uint8": 1, "bool": 1}

NUMBERS = (
    "0", "1", "2", "-1", "3", "0.5", "2.5", "-1.5", "1.0", "0.0", "True", "False", "0.1", "0.3",
)  # fmt: skip
HOSTILE_NUMBERS = (
    "300", "-300", "-0.0", "0.1", "2**31", "2**40", "-2**40", "2**63 - 1", "-2**63", "2**63",
    "2**64", "1e40", "-1e40", "1e300", "7e4", "nan", "inf", "-inf", "torch.tensor(2)",
    "torch.tensor(0.5)", "torch.tensor([3])", "torch.tensor(True)",
)  # fmt: skip
WRONG_KINDS = (
    "None", "'a'", "[1, 2]", "(1, 2)", "1.5", "True", "5", "[]", "[1.5]", "{}", "object()",
    "torch.float32", "torch.tensor([1, 2])", "torch.tensor(1.5)", "torch.tensor(3)",
    "[torch.tensor(1)]", "...", "slice(2)", "1j", "b'a'", "2**64", "-1", "['a']", "[None]",
    "torch.Size([2])", "range(2)", "float('nan')",
)  # fmt: skip


@dataclass
class Variable:
    name: str
    shape: tuple
    dtype: str


def nested(values, shape):
    """The text of nested lists with these values."""
    if not shape:
        return values[0]
    if len(shape) == 1:
        return "[" + ", ".join(values) + "]"
    step = len(values) // shape[0] if shape[0] else 0
    rows = (nested(values[i * step : (i + 1) * step], shape[1:]) for i in range(shape[0]))
    return "[" + ", ".join(rows) + "]"


class Writer:
    """Collects the statements that make the arguments of one call."""

    def __init__(self, random, device="cpu"):
        self.random = random
        self.device = device
        self.setup = []
        self.variables = {}
        self.dtype = random.choices(DTYPES, DTYPE_WEIGHTS)[0]
        self.mixed = random.random() < 0.4
        self.style = self.some_style()
        self.strange = random.random() < 0.25  # numbers that do not fit, dims out of range
        self.plain = random.random() < 0.4  # no odd layouts

    # --- choices ---------------------------------------------------------------------------

    def chance(self, probability):
        return self.random.random() < probability

    def pick(self, *choices):
        return self.random.choice(choices)

    def some_style(self):
        return self.random.choices(
            ("grid", "ties", "fractions", "special", "large"), (8, 3, 5, 4, 1)
        )[0]

    def some_dtype(self):
        if self.mixed and self.chance(0.7):
            return self.random.choices(DTYPES, DTYPE_WEIGHTS)[0]
        return self.dtype

    def size(self):
        return self.random.choices((0, 1, 2, 3, 4, 5), (2, 6, 8, 8, 3, 2))[0]

    def shape(self, rank=None):
        if rank is None:
            rank = self.random.choices((0, 1, 2, 3, 4), (3, 7, 8, 5, 1))[0]
        if rank == 1 and self.chance(0.1):
            return (self.pick(9, 17, 35),)  # whole vectors of an instruction set, and a rest
        shape = [self.size() for _ in range(rank)]
        while math.prod(shape) > 48:
            shape[shape.index(max(shape))] -= 1
        return tuple(shape)

    def fitting(self, shape):
        """A shape that broadcasts to `shape`, as a rule."""
        if self.chance(0.03):
            return self.shape()
        first = self.random.randrange(len(shape) + 1) if self.chance(0.2) else 0
        return tuple(1 if self.chance(0.12) else size for size in shape[first:])

    # --- values ----------------------------------------------------------------------------

    def value(self, dtype, style):
        random = self.random
        if dtype == "bool":
            return random.choice(("True", "False"))
        low = 0 if dtype == "uint8" else -4
        if dtype in FLOATS:
            if style == "fractions":
                return repr(round(random.uniform(-3, 3), random.choice((1, 2, 3))))
            if style == "unit":
                return repr(round(random.random(), 2))
            if style == "special" and random.random() < 0.5:
                return random.choice(("nan", "inf", "-inf", "-0.0", "0.0", "1.0", "0.5", "2.5"))
            if style == "large" and random.random() < 0.5:
                largest = LARGEST.get(dtype, 1.7e308)
                return repr(
                    random.choice(
                        (largest, -largest, largest / 2, SMALLEST[dtype], -SMALLEST[dtype], 300.0)
                    )
                )
            if style == "ties":
                return random.choice(("0.0", "-0.0", "1.0", "1.0", "2.0", "0.5"))
            if style == "positive":
                return repr(random.randint(0, 16) / 4)
            return repr(random.randint(-16, 16) / 4)
        if style == "large" and random.random() < 0.5:
            if dtype == "uint8":
                return random.choice(("255", "128", "254"))
            top = 2 ** BITS[dtype]
            return repr(random.choice((top - 1, -top, 1 - top, top // 2)))
        if style == "ties":
            return random.choice(("0", "1", "1", "2"))
        if style in ("positive", "unit"):
            low = 0
        return repr(random.randint(low, 5 if style == "grid" else 9))

    # --- tensors ---------------------------------------------------------------------------

    def tensor(self, shape, dtype=None, style=None, plain=False, values=None):
        """Writes the statements of a tensor and returns its name."""
        dtype = dtype or self.some_dtype()
        style = style or (self.style if self.chance(0.8) else self.some_style())
        shape = tuple(shape)
        layouts = ("plain",)
        if not (plain or self.plain or values is not None):
            layouts = ("plain", "plain", "turned", "sliced", "offset", "repeated", "odd")
        layout = self.pick(*layouts)
        base, view = list(shape), None
        if layout == "turned" and len(shape) > 1:
            order = list(range(len(shape)))
            self.random.shuffle(order)
            base = [shape[at] for at in order]
            view = f".permute({', '.join(str(order.index(i)) for i in range(len(shape)))})"
        elif layout == "sliced" and shape:
            at = self.random.randrange(len(shape))
            base[at] *= 2
            view = f"[{':, ' * at}{self.pick('', '1')}::2]"
        elif layout == "offset" and shape:
            at = self.random.randrange(len(shape))
            base[at] += 1
            view = f"[{':, ' * at}1:]"
        elif layout == "offset":
            base, view = [2], "[1]"
        elif layout == "repeated" and shape:
            at = self.random.randrange(len(shape))
            base[at] = 1
            view = f".expand({', '.join(map(str, shape))})"
        elif layout == "odd" and shape and math.prod(shape) and self.chance(0.6):
            strides = [self.pick(0, 1, 1, 2, 3) for _ in shape]
            reach = 1 + sum((n - 1) * s for n, s in zip(shape, strides, strict=True))
            base, view = [reach], f".as_strided({shape}, {tuple(strides)})"
        texts = values or [self.value(dtype, style) for _ in range(math.prod(base))]
        # Half types round twice unless the number is one of theirs; both libraries do the same.
        name = chr(ord("a") + len(self.variables))
        place = ".to(device)" if self.device != "cpu" else ""
        if math.prod(base) == 0 and base != [0]:
            text = f"torch.empty({tuple(base)}, dtype=torch.{dtype})"
        else:
            text = f"torch.tensor({nested(texts, base)}, dtype=torch.{dtype})"
        if view is None:
            self.setup.append(f"{name} = {text}{place}")
        else:
            self.setup.append(f"{name.upper()} = {text}{place}")
            self.setup.append(f"{name} = {name.upper()}{view}")
        self.variables[name] = Variable(name, shape, dtype)
        return name

    def index(self, shape, size, dtype=None, negative=False, once=None):
        """A tensor of indices into `size` elements; along dim `once` none comes twice, as what is
        written there would depend on an unspecified order."""
        if dtype is None:
            dtype = "int64" if self.chance(0.9) else self.pick("int32", "int32", "uint8", *DTYPES)
        low, high = (-size if negative else 0), size - 1
        if self.chance(0.04):
            low, high = low - 1, high + 1
        count = math.prod(shape)
        numbers = [self.random.randint(low, max(low, high)) for _ in range(count)]
        if once is not None and count and shape:
            numbers = self.different(shape, size, once, negative, numbers)
        if dtype == "bool":
            values = [str(bool(number)) for number in numbers]
        elif dtype == "uint8":
            values = [str(max(0, number)) for number in numbers]
        else:
            values = [str(number) for number in numbers]
        return self.tensor(shape, dtype, values=values if count else None)

    def different(self, shape, size, dim, negative, numbers):
        inner = math.prod(shape[dim + 1 :])
        long = shape[dim]
        if long > size:
            return numbers
        for line in range(math.prod(shape[:dim]) * inner):
            chosen = self.random.sample(range(size), long)
            for step, at in enumerate(chosen):
                at -= size if negative and self.chance(0.3) else 0
                numbers[(line // inner * long + step) * inner + line % inner] = at
        return numbers

    def mask(self, shape):
        return self.tensor(shape, "bool" if self.chance(0.93) else self.pick("uint8", *DTYPES))

    # --- numbers ---------------------------------------------------------------------------

    def number(self):
        if self.strange and self.chance(0.6):
            return self.pick(*HOSTILE_NUMBERS)
        return self.pick(*NUMBERS)

    def integer(self, low, high):
        if self.strange and self.chance(0.15):
            return self.pick("2**40", "2**63 - 1", "-2**63", str(low - 1), str(high + 1), "2**31")
        return str(self.random.randint(low, max(low, high)))

    def dim(self, rank):
        if self.strange and self.chance(0.3):
            return self.pick(str(rank), str(-rank - 1), "2**40", "2**63 - 1", "-2**63")
        rank = max(rank, 1)
        return str(self.random.randrange(-rank, rank))

    def dims(self, rank, least=0):
        """Some dims, most often different ones."""
        if self.strange and self.chance(0.3):
            return "[" + ", ".join(self.dim(rank) for _ in range(self.random.randint(0, 3))) + "]"
        count = self.random.randint(min(least, rank), rank)
        chosen = self.random.sample(range(rank), count)
        chosen = [at - rank if self.chance(0.3) else at for at in chosen]
        return str(chosen if self.chance(0.7) else tuple(chosen))

    def sizes(self, rank=None):
        if self.strange and self.chance(0.2):
            return self.pick("[2, -1]", "[-1]", "[2**40, 2**40]", "(2**62,)", "[0, 2**62]")
        shape = self.shape(rank)
        return str(list(shape) if self.chance(0.6) else shape)

    def dtype_text(self):
        if self.strange and self.chance(0.05):
            return self.pick("'float32'", "float", "int", "bool", "None", "torch.complex64")
        return "torch." + self.random.choices(DTYPES, DTYPE_WEIGHTS)[0]
