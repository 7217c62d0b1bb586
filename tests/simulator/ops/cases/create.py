"""Tensors filled with values that no other tensor gives."""

import numpy as np

from ..case import Case, In, Out, Ref, Scalar
from ..values import COMPLEX, FLOATS, INTEGERS, REAL

SHAPES = [(3, 4), (2, 3, 2), (), (0, 2)]
NUMBERS = (*FLOATS, *INTEGERS, "f64")
COUNTED = (*FLOATS, "f64", "i32", "i64")


def filled(op, value, dtypes, more):
    def cases():
        return [
            Case(op, [Out(np.full(shape, value), dtype), *more(dtype)], f"{dtype} {shape}")
            for dtype in dtypes
            for shape in SHAPES
        ]

    return cases


def steps(op, values, inclusive):
    def cases():
        made = []
        for dtype in COUNTED:
            for start, end, step in values:
                last = end + step if inclusive else end
                expected = np.arange(start, last, step)
                if inclusive:
                    expected = expected[expected <= end if step > 0 else expected >= end]
                if dtype in INTEGERS and step != int(step):
                    continue
                kind = "i64" if dtype in INTEGERS else "f32"
                scalars = [Scalar(value, kind) for value in (start, end, step)]
                made.append(Case(op, [*scalars, Out(expected, dtype)], f"{dtype} {start} {end}"))
        return made

    return cases


def whole_steps():
    """Integers count in whole steps from a whole start, however many numbers the caller counts."""
    made = []
    for op, start, end, step, numbers in [
        ("aclnnArange", 1.9, 5.2, 1.1, [1, 2, 3, 4]), ("aclnnArange", 1.9, 5.2, 1.1, [1, 2, 3]),
        ("aclnnArange", -1.5, 2.5, 2.0, [-1, 1]), ("aclnnArange", 5.7, 2.2, -1.9, [5, 4, 3]),
        ("aclnnRange", 1.5, 4.5, 1.5, [1, 2, 3, 4]),
    ]:  # fmt: skip
        for dtype in ("i32", "i64"):
            scalars = [Scalar(value, "f64") for value in (start, end, step)]
            arguments = [*scalars, Out(np.array(numbers), dtype)]
            made.append(Case(op, arguments, f"{dtype} {start} {len(numbers)}"))
    return made


def linspace():
    made = []
    for dtype in (*NUMBERS, "bool"):
        first, last = (0, 1) if dtype == "bool" else (1 if dtype == "u8" else -1, 4)
        for n in (0, 1, 2) if dtype == "bool" else (0, 1, 2, 7):
            out = Out(np.linspace(first, last, n), dtype)
            arguments = [Scalar(first, "f32"), Scalar(last, "f32"), n, out]
            made.append(Case("aclnnLinspace", arguments, f"{dtype} {n}"))
    return made


def eye():
    return [
        Case("aclnnEye", [n, m, Out(np.eye(n, m), dtype)], f"{dtype} {n} {m}")
        for dtype in (*FLOATS, *INTEGERS, "bool")
        for n, m in [(3, 3), (2, 5), (4, 1), (0, 3)]
    ]


def diagonal():
    made = []
    for shape, wrap in [((3, 3), False), ((7, 3), True), ((7, 3), False), ((3, 3, 3), False)]:
        x = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        expected = x.copy()
        np.fill_diagonal(expected, -1, wrap)
        arguments = [Ref(x, "f32", expected), Scalar(-1, "f32"), wrap]
        made.append(Case("aclnnInplaceFillDiagonal", arguments, f"{shape} {wrap}"))
    return made


RANGES = [(0, 5, 1), (2, 12, 3), (5, -4, -2), (0, 1, 0.25)]
OPS = {
    "aclnnInplaceZero": filled("aclnnInplaceZero", 0, (*REAL, *COMPLEX, "u16"), lambda dtype: []),
    "aclnnInplaceOne": filled("aclnnInplaceOne", 1, (*REAL, "u16"), lambda dtype: []),
    "aclnnInplaceFillScalar": filled(
        "aclnnInplaceFillScalar", 3, (*NUMBERS, *COMPLEX, "bool", "u16", "u32", "u64"),
        lambda dtype: [Scalar(3, "f32")],
    ),
    "aclnnInplaceFillTensor": filled(
        "aclnnInplaceFillTensor", 3, (*NUMBERS, "bool", "u16", "u32", "u64"),
        lambda dtype: [In(np.array(3), dtype)],
    ),
    "aclnnArange": steps("aclnnArange", RANGES, False),
    "aclnnRange": steps("aclnnRange", RANGES, True),
    "aclnnArange whole": whole_steps,
    "aclnnLinspace": linspace,
    "aclnnEye": eye,
    "aclnnInplaceFillDiagonal": diagonal,
}  # fmt: skip
