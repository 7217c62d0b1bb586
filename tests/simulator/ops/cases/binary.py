"""Arithmetic of two tensors, or of a tensor and a scalar."""

import numpy as np

from ..acl import NUMPY
from ..case import Case, In, List, Out, Ref, Scalar
from ..values import COMPLEX, FLOATS, INTEGERS, REAL, random

PAIRS = [((3, 4), (3, 4)), ((2, 3, 4), (3, 1)), ((), ()), ((4,), ()), ((0, 3), (1, 3))]
ALL = (*REAL, *COMPLEX)
UNSIGNED = ("u16", "u32", "u64")
NO_BOOL = tuple(dtype for dtype in ALL if dtype != "bool")
ZERO_FREE = {"aclnnDiv", "aclnnDivs", "aclnnInplaceDiv", "aclnnInplaceDivs"}


def away_from_zero(values, dtype):
    if dtype == "bool":
        return np.ones_like(values)
    return np.where(np.abs(values) < 0.5, np.asarray(1, values.dtype), values)


def wide(values):
    """NumPy's arithmetic wraps as the device's does, but computes bool as logic."""
    return values.astype(np.int64) if values.dtype == np.bool_ else values


def result_dtype(dtype, division):
    return "f32" if division and dtype in (*INTEGERS, *UNSIGNED, "bool") else dtype


def tensors(op, f, dtypes, alpha=None, division=False, in_place=False, other=None):
    def cases():
        made = []
        for dtype in dtypes:
            for left, right in PAIRS:
                if in_place and np.broadcast_shapes(left, right) != left:
                    continue
                a = random(left, dtype, 1)
                b = random(right, dtype, 2)
                b = away_from_zero(b, dtype) if division else b
                extra = [] if alpha is None else [Scalar(alpha, "f32")]
                factor = [] if alpha is None else [np.asarray(alpha).astype(wide(a).dtype)]
                with np.errstate(all="ignore"):
                    expected = f(wide(a), wide(b), *factor)
                if in_place:
                    arguments = [Ref(a, dtype, expected), In(b, dtype), *extra]
                else:
                    out = Out(expected, result_dtype(dtype, division is True))
                    arguments = [In(a, dtype), In(b, dtype), *extra, out]
                made.append(Case(op, arguments, f"{dtype} {left} {right}"))
        return made

    return cases


def scalars(op, f, dtypes, value=2, alpha=None, division=False, in_place=False, flipped=False):
    def cases():
        made = []
        for dtype in dtypes:
            for shape in [(3, 4), (), (0,)]:
                a = random(shape, dtype, 3)
                a = away_from_zero(a, dtype) if flipped else a
                kind = "i64" if dtype in INTEGERS else "f32"
                if dtype == "bool":
                    kind = "bool"
                extra = [] if alpha is None else [Scalar(alpha, kind)]
                held = NUMPY[kind]  # what the scalar can hold
                factor = [] if alpha is None else [held(alpha).astype(wide(a).dtype)]
                number = held(value).astype(wide(a).dtype)
                with np.errstate(all="ignore"):
                    x, y = (number, wide(a)) if flipped else (wide(a), number)
                    expected = f(x, y, *factor)
                scalar = Scalar(value, kind)
                if in_place:
                    arguments = [Ref(a, dtype, expected), scalar, *extra]
                else:
                    pair = [scalar, In(a, dtype)] if flipped else [In(a, dtype), scalar]
                    out = Out(expected, result_dtype(dtype, division is True))
                    arguments = [*pair, *extra, out]
                made.append(Case(op, arguments, f"{dtype} {shape}"))
        return made

    return cases


def as_floats(f):
    """Integers give float32."""

    def g(a, b):
        whole = np.issubdtype(a.dtype, np.integer)
        return f(a.astype(np.float64), b.astype(np.float64)) if whole else f(a, b)

    return g


def whole_powers(op, in_place):
    """Integers to powers that are not negative."""

    def cases():
        made = []
        for dtype in INTEGERS:
            a, b = random((3, 4), dtype, 1), np.arange(4).astype(random((1,), dtype).dtype)
            expected = a**b
            if in_place:
                arguments = [Ref(a, dtype, expected), In(b, dtype)]
            else:
                arguments = [In(a, dtype), In(b, dtype), Out(expected, dtype)]
            made.append(Case(op, arguments, dtype))
        return made

    return cases


def powers_of_two():
    return [
        Case("aclnnPowScalarTensor", [Scalar(2, "i64"), In(b, dtype), Out(2**b, dtype)], dtype)
        for dtype in INTEGERS
        for b in [np.arange(6).reshape(2, 3)]
    ]


def add(a, b, alpha):
    return a + alpha * b


def subtract(a, b, alpha):
    return a - alpha * b


def reverse_subtract(a, b, alpha):
    return b - alpha * a


def divide(a, b):
    return a / b


def power(a, b):
    if np.issubdtype(np.asarray(a).dtype, np.integer):
        return np.asarray(a) ** np.asarray(b)
    return np.power(a, b)


def add_quotient(a, b, c, value):
    """Integers divide truly and lose the fraction of the sum."""
    return np.trunc(a + value * (b / c)) if a.dtype == np.int64 else a + value * (b / c)


def xlogy(a, b):
    return np.where(a == 0, 0, a * np.log(b))


def lerp(a, b, weight):
    return a + weight * (b - a)


def mixed():
    """The dtype in which two different ones meet, and a result stored as another."""
    made = []
    pairs = [
        ("f16", "bf16", "f32"), ("i32", "f16", "f16"), ("i8", "u8", "i16"), ("f32", "i64", "f32"),
        ("bool", "i32", "i32"), ("f32", "c64", "c64"), ("f64", "f32", "f64"), ("i8", "i8", "i32"),
        ("f32", "f32", "f16"),
    ]  # fmt: skip
    for left, right, result in pairs:
        a, b = random((3, 4), left, 1, -9, 9), random((4,), right, 2, -9, 9)
        meets = {"f16": np.float32, "bf16": np.float32}.get(result, None)
        total = wide(a).astype(meets or np.complex128) + b
        if result not in ("c64",):
            total = total.real if np.iscomplexobj(total) else total
        if (left, right) == ("i8", "i8"):
            total = (a + b).astype(np.int32)
        arguments = [In(a, left), In(b, right), Scalar(1, "f32"), Out(total, result)]
        made.append(Case("aclnnAdd", arguments, f"{left} {right} -> {result}"))
    return made


def ternary(op, f, dtypes, in_place=False, scalar=True):
    def cases():
        made = []
        for dtype in dtypes:
            a, b = random((3, 4), dtype, 1), random((3, 4), dtype, 2)
            c = away_from_zero(random((1, 4), dtype, 3), dtype)
            value = np.asarray(2 if scalar else 0.25).astype(a.dtype)
            expected = f(a, b, c, value)
            kind = "i64" if dtype in INTEGERS else "f32"
            head = Ref(a, dtype, expected) if in_place else In(a, dtype)
            arguments = [head, In(b, dtype), In(c, dtype)]
            if scalar:
                arguments.append(Scalar(2, kind))
            if not in_place:
                arguments.append(Out(expected, dtype))
            made.append(Case(op, arguments, dtype))
        return made

    return cases


def lerps(op, in_place):
    def cases():
        made = []
        for dtype in FLOATS:
            a, b = random((3, 4), dtype, 1), random((3, 4), dtype, 2)
            expected = lerp(a, b, np.float32(0.25))
            head = Ref(a, dtype, expected) if in_place else In(a, dtype)
            tail = [] if in_place else [Out(expected, dtype)]
            arguments = [head, In(b, dtype), Scalar(0.25, "f32"), *tail]
            made.append(Case(op, arguments, dtype))
        return made

    return cases


def lerp_tensor(a, b, c, _):
    return lerp(a, b, c)


def modes(op, scalar, in_place):
    def cases():
        made = []
        functions = {0: divide, 1: lambda a, b: np.trunc(a / b), 2: lambda a, b: np.floor(a / b)}
        for mode, f in functions.items():
            for dtype in NO_BOOL if in_place else ALL:
                if mode != 0 and dtype in COMPLEX:  # which no rounding knows
                    continue
                a = random((3, 4), dtype, 1, -9, 9)
                b = away_from_zero(random((4,), dtype, 2, -4, 4), dtype)
                b = np.asarray(3).astype(a.dtype) if scalar else b
                wide = a.dtype if dtype in COMPLEX else np.float64
                expected = f(a.astype(wide), b.astype(wide))
                kind = {"bool": "bool"}.get(dtype, "i64" if dtype in INTEGERS else "f32")
                second = Scalar(3, kind) if scalar else In(b, dtype)
                out = result_dtype(dtype, mode == 0)
                if in_place:
                    arguments = [Ref(a, dtype, expected), second, mode]
                else:
                    arguments = [In(a, dtype), second, mode, Out(expected, out)]
                made.append(Case(op, arguments, f"mode {mode} {dtype}"))
        return made

    return cases


MODULO = ("f32", "f16", "bf16", "f64", "i32", "i64")
FMOD = (*MODULO, "i8", "u8")
FLOATING = (*FLOATS, "f64")
ORDERED = REAL


def combined(op, f, dtypes):
    def cases():
        made = []
        for dtype in dtypes:
            parts = [random(s, dtype, k) for k, s in enumerate([(3, 4), (4,), (3, 1)])]
            kind = np.float64 if dtype in FLOATS else parts[0].dtype
            expected = f(f(parts[0].astype(kind), parts[1].astype(kind)), parts[2].astype(kind))
            members = List([In(part, dtype) for part in parts])
            made.append(Case(op, [members, Out(expected, dtype)], dtype))
        one = random((3, 4), "f32", 1)
        made.append(Case(op, [List([In(one, "f32")]), Out(one, "f32")], "one"))
        return made

    return cases


def scale():
    made = []
    for dtype in FLOATS:
        for axis, axes, blob, shape in [
            (1, 1, True, (3,)), (1, -1, True, (3, 4)), (0, 2, True, (2, 3)), (-1, 0, False, (4,)),
        ]:  # fmt: skip
            x, factor = random((2, 3, 4), dtype, 1), random(shape, dtype, 2)
            first = axis % 3
            wide = factor.reshape(shape + (1,) * (3 - first - len(shape)))
            for bias in (None, random(shape, dtype, 3)):
                more = 0 if bias is None else bias.reshape(wide.shape)
                expected = x.astype(np.float64) * wide + more
                given = None if bias is None else In(bias, dtype)
                arguments = [In(x, dtype), In(factor, dtype), given, axis, axes, blob]
                arguments.append(Out(expected, dtype))
                made.append(Case("aclnnScale", arguments, f"{dtype} {axis} {bias is None}"))
    return made


def add_relu(a, b, alpha):
    return np.maximum(a + alpha * b, np.asarray(0, a.dtype))


OPS = {
    "aclnnAdd": tensors("aclnnAdd", add, ALL, 2),
    "aclnnAdd mixed": mixed,
    "aclnnInplaceAdd": tensors("aclnnInplaceAdd", add, ALL, 2, in_place=True),
    "aclnnAdds": scalars("aclnnAdds", add, ALL, alpha=3),
    "aclnnInplaceAdds": scalars("aclnnInplaceAdds", add, (*REAL, *COMPLEX), alpha=3, in_place=True),
    "aclnnSub": tensors("aclnnSub", subtract, ALL, 2),
    "aclnnInplaceSub": tensors("aclnnInplaceSub", subtract, ALL, 2, in_place=True),
    "aclnnSubs": scalars("aclnnSubs", subtract, ALL, alpha=3),
    "aclnnInplaceSubs": scalars("aclnnInplaceSubs", subtract, ALL, alpha=3, in_place=True),
    "aclnnRsub": tensors("aclnnRsub", reverse_subtract, NO_BOOL, 2),
    "aclnnRsubs": scalars("aclnnRsubs", reverse_subtract, NO_BOOL, alpha=3),
    "aclnnMul": tensors("aclnnMul", np.multiply, ALL),
    "aclnnInplaceMul": tensors("aclnnInplaceMul", np.multiply, ALL, in_place=True),
    "aclnnMuls": scalars("aclnnMuls", np.multiply, ALL),
    "aclnnInplaceMuls": scalars("aclnnInplaceMuls", np.multiply, ALL, in_place=True),
    "aclnnDiv": tensors("aclnnDiv", divide, ALL, division=True),
    "aclnnInplaceDiv": tensors("aclnnInplaceDiv", divide, NO_BOOL, division=True, in_place=True),
    "aclnnDivs": scalars("aclnnDivs", divide, ALL, division=True),
    "aclnnInplaceDivs": scalars("aclnnInplaceDivs", divide, NO_BOOL, division=True, in_place=True),
    "aclnnDivMod": modes("aclnnDivMod", False, False),
    "aclnnDivMods": modes("aclnnDivMods", True, False),
    "aclnnInplaceDivMod": modes("aclnnInplaceDivMod", False, True),
    "aclnnInplaceDivMods": modes("aclnnInplaceDivMods", True, True),
    "aclnnFloorDivide": tensors("aclnnFloorDivide", np.floor_divide, REAL, division="whole"),
    "aclnnFloorDivides": scalars("aclnnFloorDivides", np.floor_divide, REAL),
    "aclnnInplaceFloorDivide": tensors(
        "aclnnInplaceFloorDivide",
        np.floor_divide,
        (*FLOATING, *INTEGERS),
        division="whole",
        in_place=True,
    ),
    "aclnnInplaceFloorDivides": scalars(
        "aclnnInplaceFloorDivides", np.floor_divide, (*FLOATING, *INTEGERS), in_place=True
    ),
    "aclnnRemainderTensorTensor": tensors(
        "aclnnRemainderTensorTensor", np.remainder, (*FLOATING, *INTEGERS), division="whole"
    ),
    "aclnnRemainderTensorScalar": scalars("aclnnRemainderTensorScalar", np.remainder, MODULO),
    "aclnnRemainderScalarTensor": scalars(
        "aclnnRemainderScalarTensor", np.remainder, MODULO, flipped=True
    ),
    "aclnnInplaceRemainderTensorTensor": tensors(
        "aclnnInplaceRemainderTensorTensor", np.remainder, MODULO, division="whole", in_place=True
    ),
    "aclnnInplaceRemainderTensorScalar": scalars(
        "aclnnInplaceRemainderTensorScalar", np.remainder, MODULO, in_place=True
    ),
    "aclnnFmodTensor": tensors("aclnnFmodTensor", np.fmod, FMOD, division="whole"),
    "aclnnFmodScalar": scalars("aclnnFmodScalar", np.fmod, FMOD),
    "aclnnInplaceFmodTensor": tensors(
        "aclnnInplaceFmodTensor", np.fmod, FMOD, division="whole", in_place=True
    ),
    "aclnnInplaceFmodScalar": scalars("aclnnInplaceFmodScalar", np.fmod, FMOD, in_place=True),
    "aclnnPowTensorScalar": scalars("aclnnPowTensorScalar", power, ALL),
    "aclnnPowScalarTensor": scalars(
        "aclnnPowScalarTensor", power, (*FLOATING, "u8", *COMPLEX), flipped=True
    ),
    "aclnnPowScalarTensor whole": powers_of_two,
    "aclnnPowTensorTensor": tensors(
        "aclnnPowTensorTensor", power, (*FLOATING, "u8", "bool", *COMPLEX)
    ),
    "aclnnInplacePowTensorScalar": scalars(
        "aclnnInplacePowTensorScalar", power, NO_BOOL, in_place=True
    ),
    "aclnnInplacePowTensorTensor": tensors(
        "aclnnInplacePowTensorTensor", power, (*FLOATING, *COMPLEX), in_place=True
    ),
    "aclnnPowTensorTensor whole": whole_powers("aclnnPowTensorTensor", False),
    "aclnnInplacePowTensorTensor whole": whole_powers("aclnnInplacePowTensorTensor", True),
    "aclnnMaximum": tensors("aclnnMaximum", np.maximum, ORDERED),
    "aclnnMinimum": tensors("aclnnMinimum", np.minimum, ORDERED),
    "aclnnAtan2": tensors("aclnnAtan2", as_floats(np.arctan2), REAL, division=True),
    "aclnnInplaceAtan2": tensors("aclnnInplaceAtan2", np.arctan2, FLOATING, in_place=True),
    "aclnnLogAddExp": tensors(
        "aclnnLogAddExp", as_floats(np.logaddexp), (*REAL, *UNSIGNED), division=True
    ),
    "aclnnLogAddExp2": tensors("aclnnLogAddExp2", np.logaddexp2, FLOATING),
    "aclnnGcd": tensors("aclnnGcd", np.gcd, INTEGERS),
    "aclnnXLogYTensor": tensors("aclnnXLogYTensor", xlogy, FLOATS),
    "aclnnInplaceXLogYTensor": tensors("aclnnInplaceXLogYTensor", xlogy, FLOATS, in_place=True),
    "aclnnXLogYScalarOther": scalars("aclnnXLogYScalarOther", xlogy, FLOATS),
    "aclnnXLogYScalarSelf": scalars("aclnnXLogYScalarSelf", xlogy, FLOATS, flipped=True),
    "aclnnAddcmul": ternary("aclnnAddcmul", lambda a, b, c, v: a + v * b * c, FMOD),
    "aclnnInplaceAddcmul": ternary(
        "aclnnInplaceAddcmul", lambda a, b, c, v: a + v * b * c, FMOD, in_place=True
    ),
    "aclnnAddcdiv": ternary("aclnnAddcdiv", add_quotient, (*FLOATING, "i64")),
    "aclnnInplaceAddcdiv": ternary(
        "aclnnInplaceAddcdiv", add_quotient, (*FLOATING, "i64"), in_place=True
    ),
    "aclnnLerp": ternary("aclnnLerp", lerp_tensor, FLOATS, scalar=False),
    "aclnnInplaceLerp": ternary(
        "aclnnInplaceLerp", lerp_tensor, FLOATS, in_place=True, scalar=False
    ),
    "aclnnLerps": lerps("aclnnLerps", False),
    "aclnnInplaceLerps": lerps("aclnnInplaceLerps", True),
    "aclnnAddRelu": tensors("aclnnAddRelu", add_relu, (*FLOATS, "i32", "i64"), alpha=2),
    "aclnnInplaceAddRelu": tensors(
        "aclnnInplaceAddRelu", add_relu, (*FLOATS, "i32", "i64"), alpha=2, in_place=True
    ),
    "aclnnSum": combined("aclnnSum", np.add, (*FLOATING, *INTEGERS)),
    "aclnnMaxN": combined("aclnnMaxN", np.maximum, (*FLOATING, *INTEGERS)),
    "aclnnMinN": combined("aclnnMinN", np.minimum, (*FLOATING, *INTEGERS)),
    "aclnnScale": scale,
    "aclnnInplaceXLogYScalarOther": scalars(
        "aclnnInplaceXLogYScalarOther", xlogy, FLOATS, in_place=True
    ),
}
