"""One op over lists of tensors."""

import math

import numpy as np

from ..case import Case, In, List, Out, Ref, Scalar, Scalars
from ..values import FLOATS, random

SHAPES = [(3, 4), (5,), (0,), (2, 1, 3)]


def lists(dtype, seed, low=-3.0, high=3.0):
    return [random(shape, dtype, seed, low, high) for shape in SHAPES]


def ins(values, dtype):
    return List([In(value, dtype) for value in values])


def outs(values, dtype):
    return List([Out(value, dtype) for value in values])


def unary(name, f, low=-3.0, high=3.0):
    op = f"aclnnForeach{name}"

    def cases():
        made = []
        for dtype in FLOATS:
            x = lists(dtype, 1, low, high)
            results = [f(value.astype(np.float64)) for value in x]
            made.append(Case(op, [ins(x, dtype), outs(results, dtype)], dtype))
        return made

    return {op: cases}


def numbers(name, f):
    """The three ways to give a number."""
    made = {}
    values = [2.0, 3.0, 1.0, 0.5]

    def cases(op, kind):
        def make():
            found = []
            for dtype in FLOATS:
                x = lists(dtype, 1, 0.5, 3)
                each = values if kind == "list" else [2.0] * 4
                results = [f(a.astype(np.float64), b) for a, b in zip(x, each, strict=True)]
                number = {
                    "list": Scalars([Scalar(value, "f32") for value in values]),
                    "scalar": Scalar(2.0, "f32"),
                    "tensor": In(np.array([2.0]), dtype),
                }[kind]
                found.append(Case(op, [ins(x, dtype), number, outs(results, dtype)], dtype))
            return found

        return make

    for ending, kind in [("Scalar", "tensor"), ("ScalarV2", "scalar"), ("ScalarList", "list")]:
        op = f"aclnnForeach{name}{ending}"
        made[op] = cases(op, kind)
    return made


def pairs(name, f, number=None):
    op = f"aclnnForeach{name}"

    def cases():
        made = []
        for dtype in FLOATS:
            a, b = lists(dtype, 1, 0.5, 3), lists(dtype, 2, 0.5, 3)
            results = [f(x.astype(np.float64), y) for x, y in zip(a, b, strict=True)]
            more = [] if number is None else [number]
            arguments = [ins(a, dtype), ins(b, dtype), *more, outs(results, dtype)]
            made.append(Case(op, arguments, dtype))
        return made

    return {op: cases}


def triples(name, f, number):
    op = f"aclnnForeach{name}"

    def cases():
        made = []
        for dtype in FLOATS:
            a, b, c = (lists(dtype, seed, 0.5, 3) for seed in (1, 2, 3))
            results = [f(x.astype(np.float64), y, w) for x, y, w in zip(a, b, c, strict=True)]
            members = [ins(values, dtype) for values in (a, b, c)]
            more = [] if number is None else [number]
            made.append(Case(op, [*members, *more, outs(results, dtype)], dtype))
        return made

    return {op: cases}


def power_of_number():
    made = []
    for dtype in FLOATS:
        x = lists(dtype, 1)
        results = [2.0 ** value.astype(np.float64) for value in x]
        arguments = [Scalar(2.0, "f32"), ins(x, dtype), outs(results, dtype)]
        made.append(Case("aclnnForeachPowScalarAndTensor", arguments, dtype))
    return made


ROUNDINGS = {1: np.rint, 2: np.floor, 3: np.ceil, 5: np.trunc, 7: lambda x: x - np.trunc(x)}


def round_off(op, number):
    def cases():
        made = []
        for dtype in FLOATS:
            for mode, f in ROUNDINGS.items():
                x = lists(dtype, 1)
                results = [f(value) for value in x]
                arguments = [ins(x, dtype), number(mode), outs(results, dtype)]
                made.append(Case(op, arguments, f"{dtype} {mode}"))
        return made

    return cases


def norm():
    made = []
    for dtype in FLOATS:
        for order in (1, 2):
            x = lists(dtype, 1)
            results = [np.linalg.norm(value.reshape(-1), order) for value in x]
            arguments = [ins(x, dtype), Scalar(order, "f32"), outs(results, dtype)]
            made.append(Case("aclnnForeachNorm", arguments, f"{dtype} {order}"))
    return made


def zero():
    x = lists("f32", 1)
    return [Case("aclnnForeachZeroInplace", [List([Ref(v, "f32", 0 * v) for v in x])])]


def half(values):
    return np.asarray(values, np.float16).astype(np.float32)


def in_steps():
    """Where the device keeps the results of its steps in half precision."""
    x = [np.array([5.0, 3.0, 0.1], np.float16)]
    y = [np.array([0.9995, 0.3, 7.77], np.float16)]
    z = [np.array([1.0, 0.7, 0.33], np.float16)]
    a, b, c = half(x[0]), half(y[0]), half(z[0])
    steps = {
        "AddListV2": ([x, y], Scalar(5.1, "f32"), a + half(5.1) * b),
        "AddList": ([x, y], In(np.array([5.1]), "f16"), a + half(5.1) * b),
        "SubListV2": ([x, y], Scalar(5.1, "f32"), a - half(half(5.1) * b)),
        "SubList": ([x, y], In(np.array([5.1]), "f16"), a - half(half(5.1) * b)),
        "AddcdivList": ([x, y, z], In(np.array([3.0]), "f16"), a + 3 * half(b / c)),
        "AddcdivScalarList": ([x, y, z], In(np.array([3.0]), "f16"), a + 3 * half(b / c)),
        "AddcmulList": ([x, y, z], In(np.array([3.0]), "f16"), a + 3 * half(b * c)),
        "AddcdivScalarV2": ([x, y, z], Scalar(3.0, "f32"), a + 3 * (b / c)),
        "AddcmulScalarList": ([x, y, z], In(np.array([3.0]), "f16"), a + 3 * b * c),
    }
    made = []
    for name, (tensors, number, expected) in steps.items():
        out = List([Out(expected, "f16", (0, 0))])
        lists = [ins(values, "f16") for values in tensors]
        made.append(Case(f"aclnnForeach{name}", [*lists, number, out], name))
    return made


erf = np.vectorize(math.erf, otypes=[float])
TWO = Scalar(2.0, "f32")
DEVICE_TWO = In(np.array([2.0]), "f32")
WHOLE = ("i8", "u8", "i16", "i32")


def whole_numbers():
    """Integers and other dtypes that some lists may have."""
    made = []
    for dtype in WHOLE:
        x, y = lists(dtype, 1), lists(dtype, 2)
        two = np.asarray(2).astype(x[0].dtype)
        sums = outs([a + two for a in x], dtype)
        for op, number in [
            ("AddScalar", In(np.array([2]), dtype)), ("AddScalarV2", Scalar(2, "i64")),
        ]:  # fmt: skip
            made.append(Case(f"aclnnForeach{op}", [ins(x, dtype), number, sums], dtype))
        results = outs([a + two * b for a, b in zip(x, y, strict=True)], dtype)
        arguments = [ins(x, dtype), ins(y, dtype), Scalar(2, "i64"), results]
        made.append(Case("aclnnForeachAddListV2", arguments, dtype))
        results = outs([a * two for a in x], dtype)
        made.append(Case("aclnnForeachMulScalarV2", [ins(x, dtype), Scalar(2, "i64"), results]))
    for dtype in (*WHOLE, "i64", "f64", "bool", "u16", "u32"):
        x = lists(dtype, 1)
        made.append(Case("aclnnForeachCopy", [ins(x, dtype), outs(x, dtype)], dtype))
    return made


OPS = {
    "integers": whole_numbers,
    "steps of half": in_steps,
    **unary("Abs", np.abs),
    **unary("Acos", np.arccos, -0.9, 0.9),
    **unary("Asin", np.arcsin, -0.9, 0.9),
    **unary("Atan", np.arctan),
    **unary("Copy", np.copy),
    **unary("Cos", np.cos),
    **unary("Cosh", np.cosh),
    **unary("Erf", erf),
    **unary("Erfc", lambda x: 1 - erf(x)),
    **unary("Exp", np.exp),
    **unary("Expm1", np.expm1),
    **unary("Log", np.log, 0.1),
    **unary("Log10", np.log10, 0.1),
    **unary("Log1p", np.log1p, 0.1),
    **unary("Log2", np.log2, 0.1),
    **unary("Neg", np.negative),
    **unary("Reciprocal", lambda x: 1 / x, 0.3),
    **unary("Sigmoid", lambda x: 1 / (1 + np.exp(-x))),
    **unary("Sign", np.sign),
    **unary("Sin", np.sin),
    **unary("Sinh", np.sinh),
    **unary("Sqrt", np.sqrt, 0),
    **unary("Tan", np.tan, -1, 1),
    **unary("Tanh", np.tanh),
    **numbers("Add", np.add),
    **numbers("Sub", np.subtract),
    **numbers("Mul", np.multiply),
    **numbers("Div", np.divide),
    **numbers("Maximum", np.maximum),
    **numbers("Minimum", np.minimum),
    **numbers("Pow", np.power),
    **pairs("MulList", np.multiply),
    **pairs("DivList", np.divide),
    **pairs("MaximumList", np.maximum),
    **pairs("MinimumList", np.minimum),
    **pairs("PowList", np.power),
    **pairs("AddList", lambda a, b: a + 2 * b, DEVICE_TWO),
    **pairs("AddListV2", lambda a, b: a + 2 * b, TWO),
    **pairs("SubList", lambda a, b: a - 2 * b, DEVICE_TWO),
    **pairs("SubListV2", lambda a, b: a - 2 * b, TWO),
    **pairs("LerpScalar", lambda a, b: a + 2 * (b - a), TWO),
    **triples("LerpList", lambda a, b, c: a + c * (b - a), None),
    **triples("AddcdivScalar", lambda a, b, c: a + 2 * b / c, DEVICE_TWO),
    **triples("AddcdivScalarV2", lambda a, b, c: a + 2 * b / c, TWO),
    **triples("AddcdivScalarList", lambda a, b, c: a + 2 * b / c, DEVICE_TWO),
    **triples("AddcmulScalar", lambda a, b, c: a + 2 * b * c, DEVICE_TWO),
    **triples("AddcmulScalarV2", lambda a, b, c: a + 2 * b * c, TWO),
    **triples("AddcmulScalarList", lambda a, b, c: a + 2 * b * c, DEVICE_TWO),
    **triples("AddcdivList", lambda a, b, c: a + 2 * b / c, DEVICE_TWO),
    **triples("AddcmulList", lambda a, b, c: a + 2 * b * c, DEVICE_TWO),
    "aclnnForeachPowScalarAndTensor": power_of_number,
    "aclnnForeachRoundOffNumber": round_off(
        "aclnnForeachRoundOffNumber", lambda mode: In(np.array([mode]), "i8")
    ),
    "aclnnForeachRoundOffNumberV2": round_off(
        "aclnnForeachRoundOffNumberV2", lambda mode: Scalar(mode, "i8")
    ),
    "aclnnForeachNorm": norm,
    "aclnnForeachZeroInplace": zero,
}
