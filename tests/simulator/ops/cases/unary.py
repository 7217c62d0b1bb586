"""Functions of one tensor."""

import math

import numpy as np

from ..acl import CODES
from ..case import Case, In, Out, Ref, Scalar
from ..values import COMPLEX, FLOATS, INTEGERS, REAL, random

SHAPES = [(3, 4), (2, 3, 5), (), (0, 2)]
FLOATING = (*FLOATS, "f64")
ALL = (*REAL, *COMPLEX)
PAIRS = (*COMPLEX, "c32")

vector = np.vectorize


def unary(op, f, dtypes, low=-3.0, high=3.0, out=None, in_place=False, floats=True):
    """`floats`: integers give float32. `out`: the dtype of the result, where it is fixed."""

    def cases():
        made = []
        for dtype in dtypes:
            for shape in SHAPES:
                x = random(shape, dtype, 1, low, high)
                if dtype in INTEGERS and low >= 0:
                    x = np.clip(x, 1 if low > 0 else 0, None)
                if dtype == "bool" and low > 0:
                    x = np.ones_like(x)
                wide = x.astype(np.float64) if dtype in (*INTEGERS, "bool") and floats else x
                with np.errstate(all="ignore"):
                    expected = np.asarray(f(wide))
                result = "f32" if dtype in (*INTEGERS, "bool") and floats else dtype
                result = out or result
                if in_place:
                    if result != dtype:
                        continue
                    made.append(Case(op, [Ref(x, dtype, expected)], f"{dtype} {shape}"))
                else:
                    arguments = [In(x, dtype), Out(expected, result)]
                    made.append(Case(op, arguments, f"{dtype} {shape}"))
        return made

    return cases


def both(name, f, dtypes, **more):
    return {
        f"aclnn{name}": unary(f"aclnn{name}", f, dtypes, **more),
        f"aclnnInplace{name}": unary(f"aclnnInplace{name}", f, dtypes, in_place=True, **more),
    }


def one(name, f, dtypes, **more):
    return {f"aclnn{name}": unary(f"aclnn{name}", f, dtypes, **more)}


def digamma(x):
    step = 1e-5
    return (math.lgamma(x + step) - math.lgamma(x - step)) / (2 * step)


def erfinv(y):
    low, high = -6.0, 6.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (middle, high) if math.erf(middle) < y else (low, middle)
    return low


def erfinv_of_whole_numbers():
    made = []
    for dtype in (*INTEGERS, "bool"):
        x = np.array([0, 1, 0, 1] if dtype in ("u8", "bool") else [0, 1, -1, 2])
        expected = np.array([{0: 0, 1: np.inf, -1: -np.inf, 2: np.nan}[v] for v in x])
        made.append(Case("aclnnErfinv", [In(x, dtype), Out(expected, "f32")], dtype))
    return made


def sign(x):
    if np.iscomplexobj(x):
        return np.where(x == 0, 0, x / np.where(x == 0, 1, np.abs(x)))
    return x if x.dtype == np.bool_ else np.sign(x)


def special(values, dtype):
    x = random((3, 4), dtype, 1)
    x.reshape(-1)[: len(values)] = values
    return x


def flags(op, f, whole=()):
    def cases():
        made = []
        for dtype in FLOATING:
            x = special([np.inf, -np.inf, np.nan, -0.0], dtype)
            made.append(Case(op, [In(x, dtype), Out(f(x), "bool")], dtype))
        for dtype in whole:
            x = random((3, 4), dtype, 1)
            made.append(Case(op, [In(x, dtype), Out(np.zeros(x.shape), "bool")], dtype))
        return made

    return cases


def clamp(op, low, high, in_place=False):
    def cases():
        made = []
        for dtype in (*FLOATING, *INTEGERS):
            x = random((3, 4), dtype, 1, -9, 9)
            least = 1 if dtype == "u8" and low is not None else low
            kind = "i64" if dtype in INTEGERS else "f32"
            expected = x
            if least is not None:
                expected = np.maximum(expected, np.asarray(least).astype(x.dtype))
            if high is not None:
                expected = np.minimum(expected, np.asarray(high).astype(x.dtype))
            bounds = [None if bound is None else Scalar(bound, kind) for bound in (least, high)]
            if op not in ("aclnnClamp", "aclnnHardtanh", "aclnnInplaceHardtanh"):
                bounds = [bound for bound in bounds if bound is not None]
            head = Ref(x, dtype, expected) if in_place else In(x, dtype)
            tail = [] if in_place else [Out(expected, dtype)]
            made.append(Case(op, [head, *bounds, *tail], dtype))
        return made

    return cases


def clamp_bool():
    x = random((3, 4), "bool", 1)
    made = []
    for low, high in [(False, True), (True, None), (None, False)]:
        expected = x if low is None else x | low
        expected = expected if high is None else expected & high
        bounds = [None if bound is None else Scalar(bound, "bool") for bound in (low, high)]
        made.append(Case("aclnnClamp", [In(x, "bool"), *bounds, Out(expected, "bool")]))
    return made


def clamp_tensor(op, low, high, in_place=False):
    def cases():
        made = []
        for dtype in (*FLOATING, *INTEGERS):
            x = random((3, 4), dtype, 1, -9, 9)
            a, b = random((4,), dtype, 2, -5, 0), random((4,), dtype, 3, 1, 5)
            expected, bounds = x, []
            if low:
                expected, bounds = np.maximum(expected, a), [In(a, dtype)]
            if high:
                expected, bounds = np.minimum(expected, b), [*bounds, In(b, dtype)]
            head = Ref(x, dtype, expected) if in_place else In(x, dtype)
            tail = [] if in_place else [Out(expected, dtype)]
            made.append(Case(op, [head, *bounds, *tail], dtype))
        return made

    return cases


def clamp_one_tensor():
    """The bound left out is none; a bound may be bool."""
    made = []
    for dtype in (*FLOATING, *INTEGERS):
        x, y = random((3, 4), dtype, 1, -9, 9), random((4,), dtype, 2, -2, 2)
        for f, bounds in [
            (np.maximum, [In(y, dtype), None]), (np.minimum, [None, In(y, dtype)]),
        ]:  # fmt: skip
            arguments = [In(x, dtype), *bounds, Out(f(x, y), dtype)]
            made.append(Case("aclnnClampTensor", arguments, dtype))
        bound = np.array([True, False, True, True])
        expected = np.maximum(x, bound.astype(x.dtype))
        arguments = [In(x, dtype), In(bound, "bool"), None, Out(expected, dtype)]
        made.append(Case("aclnnClampTensor", arguments, f"{dtype} bool"))
    return made


def cast():
    made = []
    kinds = (*ALL, "u16", "u32", "u64", "c32")
    for source in kinds:
        for target in kinds:
            x = random((3, 4), source, 1, 0, 100)
            expected = x != 0 if target == "bool" else x
            if source in PAIRS and target not in PAIRS:
                expected = (x.real != 0) | (x.imag != 0) if target == "bool" else x.real
            fractions = (*FLOATING, *PAIRS)
            if source in fractions and target not in (*fractions, "bool"):
                expected = np.trunc(expected)
            arguments = [In(x, source), CODES[target], Out(expected, target)]
            made.append(Case("aclnnCast", arguments, f"{source} {target}", ("sliced",)))
    x = np.array([np.nan, np.inf, -np.inf, 1e20], np.float32)
    limits = np.array([0, 2**31 - 1, -(2**31), 2**31 - 1], np.int32)
    made.append(Case("aclnnCast", [In(x, "f32"), CODES["i32"], Out(limits, "i32")], "limits"))
    return made


def rounding(op, in_place):
    def cases():
        made = []
        for dtype in (*FLOATING, "i32", "i64"):
            for decimals in (0, 1, 2, -1):
                x = random((3, 4), dtype, 1, -200, 200)
                if decimals < 0 and dtype.startswith("i"):
                    continue
                expected = np.round(x, decimals)
                head = Ref(x, dtype, expected) if in_place else In(x, dtype)
                tail = [] if in_place else [Out(expected, dtype)]
                made.append(Case(op, [head, decimals, *tail], f"{dtype} {decimals}"))
        return made

    return cases


def nan_to_num(op, in_place):
    def cases():
        made = []
        for dtype in FLOATS:
            x = special([np.inf, -np.inf, np.nan], dtype)
            expected = np.nan_to_num(x, nan=1.0, posinf=2.0, neginf=-4.0)
            head = Ref(x, dtype, expected) if in_place else In(x, dtype)
            tail = [] if in_place else [Out(expected, dtype)]
            made.append(Case(op, [head, 1.0, 2.0, -4.0, *tail], dtype))
        for dtype in (*INTEGERS, "bool"):
            x = random((3, 4), dtype, 1)
            head = Ref(x, dtype, x) if in_place else In(x, dtype)
            tail = [] if in_place else [Out(x, dtype)]
            made.append(Case(op, [head, 1.0, 2.0, -4.0, *tail], dtype))
        return made

    return cases


SIGNED = (*FLOATING, *COMPLEX, "i8", "i32", "i64")


def in_place_not():
    made = []
    for dtype in REAL:
        x = random((3, 4), dtype, 1)
        x[1] = 0
        arguments = [Ref(x, dtype, np.logical_not(x).astype(np.int8))]
        made.append(Case("aclnnInplaceLogicalNot", arguments, dtype))
    return made


def sign_bits():
    made = []
    x = np.array([5, 4, 3, 2, 0, -1, -2, 4, 3, 2, 1, 0, -1, -2])
    for dtype in ("f32", "f16"):
        out = Out(np.array([[159], [15]]), "u8")
        made.append(Case("aclnnSignBitsPack", [In(x, dtype), 2, out], dtype))
        signs = np.array([1, 1, 1, 1, 1, -1, -1, 1, 1, 1, 1, 1, -1, -1, -1, -1])
        arguments = [In(np.array([159, 15]), "u8"), 2, CODES[dtype]]
        arguments.append(Out(signs.reshape(2, 8), dtype))
        made.append(Case("aclnnSignBitsUnpack", arguments, dtype))
    return made


OPS = {
    **both("Neg", np.negative, SIGNED, floats=False),
    **one("Abs", np.abs, REAL, floats=False),
    "aclnnAbs complex": unary("aclnnAbs", np.abs, ("c64",), out="f32"),
    "aclnnAbs complex32": unary("aclnnAbs", np.abs, ("c32",), out="f16"),
    **both("Exp", np.exp, (*FLOATING, *COMPLEX, "i64", "bool")),
    **both("Exp2", np.exp2, REAL),
    **both("Expm1", np.expm1, (*FLOATS, "i64", "bool")),
    **both("Log", np.log, ALL, low=0.1),
    **both("Log1p", np.log1p, REAL, low=0.1),
    **both("Log2", lambda x: np.log(x) / np.log(2), ALL, low=0.1),
    **both("Log10", np.log10, ALL, low=0.1),
    **both("Sqrt", np.sqrt, ALL, low=0.0),
    **both("Rsqrt", lambda x: 1 / np.sqrt(x), ALL, low=0.1),
    **both("Reciprocal", lambda x: 1 / x, ALL, low=0.1),
    **both("Sin", np.sin, ALL),
    **both("Cos", np.cos, ALL),
    **both("Tan", np.tan, ALL, low=-1.0, high=1.0),
    **both("Asin", np.arcsin, REAL, low=-1.0, high=1.0),
    **both("Acos", np.arccos, REAL, low=-0.99, high=0.99),
    **both("Atan", np.arctan, REAL),
    **both("Sinh", np.sinh, ALL),
    **both("Cosh", np.cosh, ALL),
    **both("Asinh", np.arcsinh, ALL),
    **both("Acosh", np.arccosh, ALL, low=1.1),
    **both("Atanh", np.arctanh, ALL, low=-0.9, high=0.9),
    **both("Tanh", np.tanh, (*FLOATS, *INTEGERS, "bool")),
    **both("Erf", vector(math.erf, otypes=[float]), (*FLOATING, "i64", "bool")),
    "aclnnSignBitsPack": sign_bits,
    **both("Erfc", vector(math.erfc, otypes=[float]), (*FLOATING, "i64", "bool")),
    **both("Erfinv", vector(erfinv, otypes=[float]), FLOATS, low=-0.9, high=0.9),
    "aclnnErfinv whole": erfinv_of_whole_numbers,
    **one("Lgamma", vector(math.lgamma, otypes=[float]), ("f32", "f16", "f64"), low=0.2, high=9.0),
    **one("Digamma", vector(digamma, otypes=[float]), ("f32", "f16", "f64"), low=0.5, high=9.0),
    **both("Floor", np.floor, (*FLOATING, *INTEGERS, "u16", "u32", "u64"), floats=False),
    **both("Ceil", np.ceil, FLOATING),
    **both("Round", np.round, (*FLOATING, "i32", "i64"), floats=False),
    **both("Trunc", np.trunc, FLOATING),
    **both("Frac", lambda x: x - np.trunc(x), (*FLOATS, *INTEGERS), floats=False),
    **both("Sinc", np.sinc, REAL),
    **one("Sign", sign, (*FLOATING, *COMPLEX, "i32", "i64", "bool"), floats=False),
    **one("Signbit", lambda x: x < 0, (*REAL, "u16", "u32", "u64"), out="bool", floats=False),
    **one("LogicalNot", np.logical_not, REAL, out="bool", floats=False),
    "aclnnInplaceLogicalNot": in_place_not,
    **one("BitwiseNot", np.invert, (*INTEGERS, "bool"), floats=False),
    "aclnnIsFinite": flags("aclnnIsFinite", np.isfinite),
    "aclnnIsInf": flags("aclnnIsInf", np.isinf, (*INTEGERS, "bool")),
    "aclnnIsPosInf": flags("aclnnIsPosInf", np.isposinf),
    "aclnnIsNegInf": flags("aclnnIsNegInf", np.isneginf),
    "aclnnClamp": clamp("aclnnClamp", -2, 3),
    "aclnnClamp bool": clamp_bool,
    "aclnnClamp min": clamp("aclnnClamp", -2, None),
    "aclnnClamp max": clamp("aclnnClamp", None, 3),
    "aclnnHardtanh": clamp("aclnnHardtanh", -1, 1),
    "aclnnInplaceHardtanh": clamp("aclnnInplaceHardtanh", -1, 1, True),
    "aclnnClampMin": clamp("aclnnClampMin", -2, None),
    "aclnnClampMax": clamp("aclnnClampMax", None, 3),
    "aclnnInplaceClampMax": clamp("aclnnInplaceClampMax", None, 3, True),
    "aclnnClampTensor": clamp_tensor("aclnnClampTensor", True, True),
    "aclnnClampTensor one": clamp_one_tensor,
    "aclnnClampMinTensor": clamp_tensor("aclnnClampMinTensor", True, False),
    "aclnnClampMaxTensor": clamp_tensor("aclnnClampMaxTensor", False, True),
    "aclnnInplaceClampMinTensor": clamp_tensor("aclnnInplaceClampMinTensor", True, False, True),
    "aclnnInplaceClampMaxTensor": clamp_tensor("aclnnInplaceClampMaxTensor", False, True, True),
    "aclnnCast": cast,
    "aclnnRoundDecimals": rounding("aclnnRoundDecimals", False),
    "aclnnInplaceRoundDecimals": rounding("aclnnInplaceRoundDecimals", True),
    "aclnnNanToNum": nan_to_num("aclnnNanToNum", False),
    "aclnnInplaceNanToNum": nan_to_num("aclnnInplaceNanToNum", True),
}
