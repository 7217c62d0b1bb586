"""Random calls of every pointwise op, and of many others, give on an NPU what they give on the CPU.

Operands of every dtype, with strides, offsets, repeated and no elements, of host and device, the
same tensor twice; results new, in place and in `out=`. A failure names seed and call.
"""

import math
import random
import warnings

import pytest

DTYPES = (
    "bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64",
)  # fmt: skip
NUMBERS = (0, 1, -1, 3, True, 0.5, 2.5, -0.0, 300)
LARGE = (70000, 2**31, 2**40, -(2**63), 2**63 - 1)  # for integers: float16 has none of them
LIMITS = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 1e-4, "float64": 1e-6}
# Differences in kind, not in dtype or layout: see processes/test_special_values.py.
ROUNDED_OTHERWISE = {"logit", "sinc"}


class Operand:
    """A tensor that can be made on any device: a base and the views that lead to it."""

    def __init__(self, base, *steps, host=False):
        self.base, self.steps, self.host = base, steps, host

    def on(self, device):
        tensor = self.base.clone() if self.host else self.base.clone().to(device)
        for step in self.steps:
            tensor = step(tensor)
        return tensor

    def __repr__(self):
        tensor = self.on("cpu")
        place = "host " if self.host else ""
        return f"{place}{tensor.dtype}{list(tensor.shape)}{tensor.stride()} {tensor.tolist()}"


class Generator:
    def __init__(self, torch, seed):
        self.torch, self.random = torch, random.Random(seed)
        self.mixed = False  # operands of several dtypes
        schemas = torch._C._op_schemas()
        self.pointwise = [
            op
            for op in schemas
            if op["form"] == "primary" and op["kind"] == "pointwise" and op["name"] != "_pointwise"
        ]

    def shape(self):
        sizes = (0, 1, 2, 3) if self.random.random() < 0.1 else (1, 2, 3, 4)
        return [self.random.choice(sizes) for _ in range(self.random.choice((0, 1, 2, 2, 3, 4)))]

    def values(self, count, dtype):
        if dtype == "bool":
            return [self.random.random() < 0.5 for _ in range(count)]
        if dtype in LIMITS:
            return [self.random.uniform(-4, 4) for _ in range(count)]
        info = self.torch.iinfo(getattr(self.torch, dtype))
        # What an int64 has at its ends is infinite as float16, sooner or later in a sum.
        odd = (0, 1) if self.mixed else (info.min, info.max, 0)
        return [
            self.random.choice(odd) if self.random.random() < 0.1 else self.random.randint(0, 9)
            for _ in range(count)
        ]

    def operand(self, shape, dtype, host=False):
        torch, pick = self.torch, self.random
        base, steps = list(shape), []
        layout = pick.choice(("plain", "plain", "turned", "sliced", "offset", "repeated"))
        if layout == "turned" and len(shape) > 1:
            base.reverse()
            steps.append(lambda t: t.permute(*reversed(range(t.dim()))))
        elif layout == "sliced" and shape:
            base[-1] = 2 * base[-1]
            steps.append(lambda t: t[..., ::2])
        elif layout == "offset" and shape:
            base[0] += 1
            steps.append(lambda t: t[1:])
        elif layout == "repeated" and shape:
            at = pick.randrange(len(shape))
            base[at] = 1
            steps.append(lambda t: t.expand(*shape))
        values = self.values(math.prod(base), dtype)
        tensor = torch.tensor(values, dtype=getattr(torch, dtype)).reshape(base)
        return Operand(tensor, *steps, host=host)

    def fitting(self, shape):
        """A shape that broadcasts to another."""
        first = self.random.randrange(len(shape) + 1) if self.random.random() < 0.3 else 0
        return [1 if self.random.random() < 0.25 else size for size in shape[first:]]

    def argument(self, parameter, shape, dtype, first):
        kind = parameter["type"]
        numbers = NUMBERS if self.mixed or dtype in LIMITS else NUMBERS + LARGE
        other = self.random.choice(DTYPES) if self.mixed else dtype
        if kind.startswith(("Tensor", "Operand")):
            if not first and self.random.random() < 0.1:
                return self.operand([], other, host=True)
            if not first and kind.startswith("Operand") and self.random.random() < 0.3:
                return self.random.choice(numbers)
            return self.operand(self.fitting(shape), other)
        choices = {
            "Scalar": numbers,
            "int": (-1, 0, 2),
            "float": (0.0, 0.5, -1.5),
            "bool": (True, False),
            "str": ("none", "tanh", "floor", "trunc"),
        }
        return self.random.choice(choices[kind.rstrip("?")])

    def call(self):
        """A random call: function or method, arguments, and those given by name."""
        op = self.random.choice(self.pointwise)
        shape, dtype = self.shape(), self.random.choice(DTYPES)
        self.mixed = self.random.random() < 0.5
        args, named = [], {}
        for parameter in op["params"]:
            free = parameter["optional"] or parameter["default"] is not None
            if free and self.random.random() < 0.4:
                break
            before = [value for value in args if isinstance(value, Operand)]
            value = self.argument(parameter, shape, dtype, first=not before)
            if before and isinstance(value, Operand) and self.random.random() < 0.1:
                value = before[0]
            if parameter["keyword_only"]:
                named[parameter["name"]] = value
            else:
                args.append(value)
        return op["name"], args, named


def find(torch, name):
    for module in (torch, torch.nn.functional, torch.special):
        if hasattr(module, name):
            return getattr(module, name)
    return None


def attempt(function, args, named, device):
    """The result and the first tensor afterwards, or the error."""
    made = {}

    def place(value):
        if not isinstance(value, Operand):
            return value
        if id(value) not in made:
            made[id(value)] = value.on(device)
        return made[id(value)]

    placed = [place(value) for value in args]
    try:
        result = function(*placed, **{name: place(value) for name, value in named.items()})
    except Exception as error:
        return error
    return result, next(value for value in placed if hasattr(value, "dtype"))


def differs(want, got, limit):
    if (want.dtype, want.shape) != (got.dtype, got.shape):
        return f"{got.dtype}{list(got.shape)}, not {want.dtype}{list(want.shape)}"
    a, b = want, got.cpu()
    close = (a == b) | ((a != a) & (b != b))
    if want.dtype.is_floating_point:
        close |= (a.double() - b.double()).abs() <= limit * (1 + a.double().abs())
    return None if bool(close.all()) else f"{b.tolist()}, not {a.tolist()}"


def check(torch, function, args, named):
    """What is wrong with a call on the NPU, or None."""
    device = torch.device("npu", torch.npu.current_device())
    want = attempt(function, args, named, "cpu")
    got = attempt(function, args, named, device)
    torch.npu.synchronize()
    if isinstance(got, NotImplementedError):  # what CANN lacks; others are what the CPU refuses
        return None if "CANN" in str(got) or type(want) is type(got) else f"raised {got}"
    if isinstance(want, Exception) or isinstance(got, Exception):
        division = "ZeroDivisionError" in str(want)  # devices do not look
        same = type(want) is type(got) or division
        return None if same else f"{got!r}, not {want!r}"
    operands = [value for value in (*args, *named.values()) if isinstance(value, Operand)]
    dtypes = {str(tensor.dtype) for tensor in (*want, *(each.base for each in operands))}
    limit = max(LIMITS.get(name.removeprefix("torch."), 0) for name in dtypes)
    wrong = (differs(*pair, limit) for pair in zip(want, got, strict=True))
    return next(filter(None, wrong), None)


@pytest.mark.parametrize("seed", range(12))
def test_pointwise_calls(torch, seed):
    generator = Generator(torch, seed)
    torch.npu.set_device(seed % 2)
    torch.npu.simulator.set(checks="all")
    wrong, count = [], 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        while count < 1500:
            name, args, named = generator.call()
            function = find(torch, name)
            # Kernels behind public functions take only what these give them.
            if function is None or name.startswith("_") or name in ROUNDED_OTHERWISE:
                continue
            count += 1
            inplace = getattr(torch.Tensor, name + "_", None)
            if inplace is not None and generator.random.random() < 0.3:
                function = inplace
            found = check(torch, function, args, named)
            if found is None and generator.random.random() < 0.2:
                result = attempt(function, args, named, "cpu")
                if not isinstance(result, Exception):
                    dtype = generator.random.choice(DTYPES)
                    out = generator.operand(list(result[0].shape), dtype)
                    found = check(torch, find(torch, name), args, {**named, "out": out})
            if found:
                wrong.append(f"{function.__name__}({args}, {named}): {found}")
    torch.npu.set_device(0)
    reports = torch.npu.simulator.reports()
    assert not wrong and not reports, f"{len(wrong)} of {count}\n" + "\n".join(wrong[:5])
