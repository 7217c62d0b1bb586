"""Comparisons, logic, bits, selection."""

import numpy as np

from ..case import Case, In, Out, Ref, Scalar
from ..values import COMPLEX, FLOATS, INTEGERS, REAL, random

PAIRS = [((3, 4), (3, 4)), ((2, 3, 4), (3, 1)), ((), ()), ((0, 3), (1, 3))]
UNSIGNED = ("u16", "u32", "u64")
BITS = (*INTEGERS, "bool")


def tensors(op, f, dtypes, out="bool", in_place=False):
    def cases():
        made = []
        for dtype in dtypes:
            for left, right in PAIRS:
                a, b = random(left, dtype, 1, -2, 2), random(right, dtype, 2, -2, 2)
                expected = f(a, b)
                if in_place and expected.shape != a.shape:
                    continue
                if in_place:
                    arguments = [Ref(a, dtype, expected), In(b, dtype)]
                else:
                    arguments = [In(a, dtype), In(b, dtype), Out(expected, out or dtype)]
                made.append(Case(op, arguments, f"{dtype} {left} {right}"))
        return made

    return cases


def scalars(op, f, dtypes, out="bool", in_place=False):
    def cases():
        made = []
        for dtype in dtypes:
            a = random((3, 4), dtype, 1, -2, 2)
            kind = "bool" if dtype == "bool" else "i64" if dtype in INTEGERS else dtype
            expected = f(a, np.asarray(1).astype(a.dtype))
            if in_place:
                arguments = [Ref(a, dtype, expected), Scalar(1, kind)]
            else:
                arguments = [In(a, dtype), Scalar(1, kind), Out(expected, out or dtype)]
            made.append(Case(op, arguments, dtype))
        return made

    return cases


def near_number(op, f, in_place):
    """A number is rounded to the dtype of the tensor that it is compared with."""

    def cases():
        made = []
        for dtype in ("f16", "bf16"):
            x = np.array([49.0, 50.0, 51.0])
            expected = f(x, 50.0)
            head = [Ref(x, dtype, expected)] if in_place else [In(x, dtype)]
            tail = [] if in_place else [Out(expected, "bool")]
            made.append(Case(op, [*head, Scalar(49.99, "f64"), *tail], dtype))
        return made

    return cases


def comparison(name, f, dtypes):
    return {
        f"aclnn{name}Tensor": tensors(f"aclnn{name}Tensor", f, dtypes),
        f"aclnn{name}Scalar": scalars(f"aclnn{name}Scalar", f, dtypes),
        f"aclnnInplace{name}Tensor": tensors(f"aclnnInplace{name}Tensor", f, dtypes, in_place=True),
        f"aclnnInplace{name}Scalar": scalars(f"aclnnInplace{name}Scalar", f, dtypes, in_place=True),
        f"aclnn{name}Scalar near": near_number(f"aclnn{name}Scalar", f, False),
        f"aclnnInplace{name}Scalar near": near_number(f"aclnnInplace{name}Scalar", f, True),
    }


def bitwise(name, f, dtypes):
    return {
        f"aclnn{name}Tensor": tensors(f"aclnn{name}Tensor", f, dtypes, out=None),
        f"aclnn{name}Scalar": scalars(f"aclnn{name}Scalar", f, dtypes, out=None),
        f"aclnnInplace{name}Tensor": tensors(f"aclnnInplace{name}Tensor", f, dtypes, None, True),
        f"aclnnInplace{name}Scalar": scalars(f"aclnnInplace{name}Scalar", f, dtypes, None, True),
    }


def where():
    made = []
    for dtype in (*REAL, *COMPLEX, *UNSIGNED):
        a, b = random((2, 3, 4), dtype, 1), random((4,), dtype, 2)
        for mask in ("bool", "u8"):
            condition = random((3, 1), "bool", 3)
            arguments = [
                In(condition, mask), In(a, dtype), In(b, dtype),
                Out(np.where(condition, a, b), dtype),
            ]  # fmt: skip
            made.append(Case("aclnnSWhere", arguments, f"{dtype} {mask}"))
    return made


def whole():
    made = []
    for dtype in (*REAL, *UNSIGNED):
        a = random((3, 4), dtype, 1)
        b = a.copy()
        b[1, 1] = b[1, 1] == 0
        for other in (a, b):
            equal = np.array([np.array_equal(a, other)])
            arguments = [In(a, dtype), In(other, dtype), Out(equal, "bool")]
            made.append(Case("aclnnEqual", arguments, dtype))
    return made


def close():
    made = []
    for dtype in REAL:
        a = random((3, 4), dtype, 1)
        if dtype in (*FLOATS, "f64"):
            a[0, 0] = np.nan
        b = a.copy()
        b[1] = ~b[1] if dtype == "bool" else b[1] + 1
        for equal_nan in (False, True):
            expected = np.isclose(a, b, 1e-5, 1e-8, equal_nan)
            arguments = [In(a, dtype), In(b, dtype), 1e-5, 1e-8, equal_nan, Out(expected, "bool")]
            made.append(Case("aclnnIsClose", arguments, f"{dtype} {equal_nan}"))
    return made


def masked_fill(op, tensor):
    def cases():
        made = []
        for dtype in (*FLOATS, "i8", "i32", "i64", "bool"):
            x, mask = random((2, 3, 4), dtype, 1), random((3, 1), "bool", 2)
            expected = np.where(mask, np.asarray(1).astype(x.dtype), x)
            kind = dtype if dtype in INTEGERS else "f32"
            value = In(np.ones(()), dtype) if tensor else Scalar(1, kind)
            arguments = [Ref(x, dtype, expected), In(mask, "bool"), value]
            made.append(Case(op, arguments, dtype))
        return made

    return cases


def logical(name, f):
    return {
        f"aclnn{name}": tensors(f"aclnn{name}", f, (*REAL, *COMPLEX)),
        f"aclnnInplace{name}": tensors(f"aclnnInplace{name}", f, REAL, in_place=True),
    }


OPS = {
    **comparison("Eq", np.equal, (*REAL, *COMPLEX, *UNSIGNED)),
    **comparison("Ne", np.not_equal, (*REAL, *COMPLEX, "u64")),
    **comparison("Gt", np.greater, (*REAL, *UNSIGNED)),
    **comparison("Ge", np.greater_equal, (*REAL, *UNSIGNED)),
    **comparison("Lt", np.less, (*REAL, *UNSIGNED)),
    **comparison("Le", np.less_equal, (*REAL, "u16", "u64")),
    **logical("LogicalAnd", np.logical_and),
    **logical("LogicalOr", np.logical_or),
    "aclnnLogicalXor": tensors("aclnnLogicalXor", np.logical_xor, (*REAL, *COMPLEX)),
    **bitwise("BitwiseAnd", np.bitwise_and, (*BITS, "u16")),
    **bitwise("BitwiseOr", np.bitwise_or, (*BITS, *UNSIGNED)),
    **bitwise("BitwiseXor", np.bitwise_xor, (*BITS, *UNSIGNED)),
    "aclnnSWhere": where,
    "aclnnEqual": whole,
    "aclnnIsClose": close,
    "aclnnInplaceMaskedFillScalar": masked_fill("aclnnInplaceMaskedFillScalar", False),
    "aclnnInplaceMaskedFillTensor": masked_fill("aclnnInplaceMaskedFillTensor", True),
}
