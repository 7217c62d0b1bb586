"""Distinct values, membership, places in sorted sequences, histograms."""

import numpy as np

from ..case import Case, In, Out, Scalar
from ..values import COMPLEX, FLOATS, INTEGERS, REAL, random

DENSE_OUT = ("contiguous", "offset")
NO_DIM = 1000


def few(shape, dtype, seed=1):
    """Values that repeat."""
    return np.round(random(shape, dtype, seed, -2, 2)) if dtype in (*FLOATS, "f64") else random(
        shape, dtype, seed, -2, 2
    )  # fmt: skip


def unique(op, flags, counted):
    def cases():
        made = []
        for dtype in (*REAL, "u16", "u32", "u64"):
            for shape in [(3, 5), (0,), ()]:
                x = few(shape, dtype)
                values, inverse, counts = np.unique(x, return_inverse=True, return_counts=True)
                outputs = [
                    Out(values, dtype, shape=(x.size,)), Out(inverse.reshape(shape), "i64"),
                ]  # fmt: skip
                if counted:
                    outputs.append(Out(counts, "i64", shape=(x.size,)))
                made.append(
                    Case(op, [In(x, dtype), *flags, *outputs], f"{dtype} {shape}", DENSE_OUT)
                )
        return made

    return cases


def unique_dim():
    made = []
    for dtype in REAL:
        for dim in (0, 1, -1):
            x = few((4, 2, 3), dtype)
            x[3], x[:, :, 2] = x[0], x[:, :, 0]
            values, inverse, counts = np.unique(
                x, axis=dim, return_inverse=True, return_counts=True
            )
            n = x.shape[dim]
            outputs = [
                Out(values, dtype, shape=x.shape), Out(inverse.reshape(-1), "i64"),
                Out(counts, "i64", shape=(n,)),
            ]  # fmt: skip
            arguments = [In(x, dtype), True, True, dim, *outputs]
            made.append(Case("aclnnUniqueDim", arguments, f"{dtype} {dim}", DENSE_OUT))
    return made


def consecutive():
    made = []
    for dtype in (*REAL, *COMPLEX, "u16", "u32", "u64"):
        x = few((12,), dtype)
        x[1:3], x[7] = x[0], x[6]
        fresh = np.concatenate([[True], x[1:] != x[:-1]])
        inverse = np.cumsum(fresh) - 1
        outputs = [
            Out(x[fresh], dtype, shape=(12,)), Out(inverse, "i64"),
            Out(np.bincount(inverse), "i64", shape=(12,)),
        ]  # fmt: skip
        arguments = [In(x, dtype), True, True, NO_DIM, *outputs]
        made.append(Case("aclnnUniqueConsecutive", arguments, dtype, DENSE_OUT))
    x = np.array([[1, 2], [1, 2], [3, 2], [1, 2]], np.float32)
    outputs = [
        Out(x[[0, 2, 3]], "f32", shape=(4, 2)), Out(np.array([0, 0, 1, 2]), "i64"),
        Out(np.array([2, 1, 1]), "i64", shape=(4,)),
    ]  # fmt: skip
    arguments = [In(x, "f32"), True, True, 0, *outputs]
    made.append(Case("aclnnUniqueConsecutive", arguments, "rows", DENSE_OUT))
    return made


def search():
    made = []
    for dtype in (*INTEGERS, "f32", "f16", "f64"):
        for right in (False, True):
            shuffled = random((3, 6), dtype, 1, -9, 9)
            order = np.argsort(shuffled, 1)
            sequence = np.sort(shuffled, 1)
            x = random((3, 4), dtype, 2, -9, 9)
            x[:, 0] = sequence[:, 2]
            side = "right" if right else "left"
            pairs = zip(sequence, x, strict=True)
            expected = np.stack([np.searchsorted(a, b, side) for a, b in pairs])
            for narrow in (False, True):
                out = Out(expected, "i32" if narrow else "i64")
                arguments = [In(sequence, dtype), In(x, dtype), narrow, right, None, out]
                made.append(Case("aclnnSearchSorted", arguments, f"{dtype} {side}"))
            out = Out(expected, "i64")
            arguments = [In(shuffled, dtype), In(x, dtype), False, right, In(order, "i64"), out]
            made.append(Case("aclnnSearchSorted", arguments, f"{dtype} {side} sorter"))
    return made


def search_nan():
    """Not-a-number belongs behind all numbers."""
    made = []
    for dtype in ("f32", "f16", "f64"):
        for right in (False, True):
            tensors = [In(np.array([0.0, 1.0, 2.0]), dtype), In(np.array([np.nan, 1.0]), dtype)]
            out = Out(np.array([3, 1 + right]), "i64")
            arguments = [*tensors, False, right, None, out]
            made.append(Case("aclnnSearchSorted", arguments, f"{dtype} {right}"))
    return made


def search_number():
    made = []
    for dtype in (*INTEGERS, "f32", "f16", "f64"):
        for right in (False, True):
            sequence = np.sort(random((6,), dtype, 1, -9, 9))
            side = "right" if right else "left"
            expected = np.searchsorted(sequence, sequence[3], side)
            number = Scalar(sequence[3], "f64" if dtype.startswith("f") else "i64")
            arguments = [In(sequence, dtype), number, False, right, None]
            arguments.append(Out(np.asarray(expected), "i64"))
            made.append(Case("aclnnSearchSorteds", arguments, f"{dtype} {side}"))
    return made


def member(op, whole):
    def cases():
        made = []
        for dtype in (*FLOATS, *INTEGERS, "f64"):
            for shape in [(3, 4), (), (0,)]:
                for invert in (False, True):
                    x = few(shape, dtype)
                    hits = (x == 2) != (invert and not whole)
                    expected = np.asarray((x == 2).any() != invert) if whole else hits
                    number = Scalar(2, "f32")
                    pair = [number, In(x, dtype)] if whole else [In(x, dtype), number]
                    arguments = [*pair, False, invert, Out(expected, "bool")]
                    made.append(Case(op, arguments, f"{dtype} {shape} {invert}"))
        return made

    return cases


def histogram():
    made = []
    for dtype in (*FLOATS, "i32", "i64", "u8", "f64"):
        for low, high in [(-2, 2), (0, 0)]:
            x = random((5, 6), dtype, 1, -3, 3)
            bounds = (low, high) if low != high else (x.min(), x.max())
            expected, _ = np.histogram(x.astype(np.float64), 6, bounds)
            limits = [Scalar(low, "f32"), Scalar(high, "f32")]
            arguments = [In(x, dtype), 6, *limits, Out(expected, dtype)]
            made.append(Case("aclnnHistc", arguments, f"{dtype} {low}"))
    same = In(np.full(4, 2.0), "f32")
    arguments = [same, 2, Scalar(0, "f32"), Scalar(0, "f32"), Out(np.array([0, 4]), "f32")]
    made.append(Case("aclnnHistc", arguments, "one value"))
    return made


OPS = {
    "aclnnUnique": unique("aclnnUnique", [True, True], False),
    "aclnnUnique2": unique("aclnnUnique2", [True, True, True], True),
    "aclnnUniqueDim": unique_dim,
    "aclnnUniqueConsecutive": consecutive,
    "aclnnSearchSorted": search,
    "aclnnSearchSorted nan": search_nan,
    "aclnnSearchSorteds": search_number,
    "aclnnIsInScalarTensor": member("aclnnIsInScalarTensor", True),
    "aclnnIsInTensorScalar": member("aclnnIsInTensorScalar", False),
    "aclnnHistc": histogram,
}
