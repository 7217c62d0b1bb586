"""Copies that change the place of elements."""

import numpy as np

from ..case import Case, In, Ints, List, Out, Ref
from ..values import COMPLEX, REAL, random

EVERY = (*REAL, *COMPLEX, "u16", "u32", "u64")


def moved(op, shape, f, more, dtypes=EVERY):
    def cases():
        made = []
        for dtype in dtypes:
            x = random(shape, dtype, 1, -9, 9)
            made.append(Case(op, [In(x, dtype), *more, Out(f(x), dtype)], dtype))
        return made

    return cases


def many(*tables):
    def cases():
        return [case for table in tables for case in table()]

    return cases


def copy():
    made = []
    for source in ("f32", "f16", "bf16", "i32", "i64", "bool", "c64", "f64", "u8"):
        for target in ("f32", "f16", "bf16", "i32", "i64", "f64", "c64"):
            if source == "c64" and target != "c64":
                continue
            x = random((3, 1), source, 1)
            expected = np.broadcast_to(x, (2, 3, 4))
            if source in ("f32", "f16", "bf16", "f64") and target in ("i32", "i64"):
                expected = np.trunc(expected)
            arguments = [Out(expected, target), In(x, source)]
            made.append(Case("aclnnInplaceCopy", arguments, f"{source} {target}"))
    for source in ("f32", "bf16", "u8", "i64", "bool"):
        for target in ("bool", "i8", "u8", "i16", "u16", "u32", "u64", "c128"):
            x = random((3, 1), source, 1, 0, 3)
            expected = np.broadcast_to(x, (3, 4))
            if target not in ("bool", "c128"):
                expected = np.trunc(expected.astype(np.float64))
            arguments = [Out(expected, target), In(x, source)]
            made.append(Case("aclnnInplaceCopy", arguments, f"{source} {target}"))
    return made


def cat():
    made = []
    for dtype in EVERY:
        parts = [random(shape, dtype, i) for i, shape in enumerate([(2, 3), (2, 1), (2, 4)])]
        members = [In(part, dtype) for part in parts]
        for dim in (1, -1):
            arguments = [List(members), dim, Out(np.concatenate(parts, 1), dtype)]
            made.append(Case("aclnnCat", arguments, dtype))
    mixed = [In(random((2, 3), "i32", 1), "i32"), In(random((2, 3), "f32", 2), "f32")]
    expected = np.concatenate([member.values for member in mixed], 0)
    made.append(Case("aclnnCat", [List(mixed), 0, Out(expected, "f32")], "mixed"))
    return made


def stack():
    made = []
    for dtype in EVERY:
        parts = [random((2, 3), dtype, i) for i in range(3)]
        for dim in (0, 1, -1):
            members = List([In(part, dtype) for part in parts])
            arguments = [members, dim, Out(np.stack(parts, dim), dtype)]
            made.append(Case("aclnnStack", arguments, f"{dtype} {dim}"))
    return made


def split(op, argument):
    def cases():
        made = []
        for dtype in EVERY:
            x = random((3, 7), dtype, 1)
            parts = np.split(x, [3, 6], 1)
            outputs = List([Out(part, dtype) for part in parts])
            made.append(Case(op, [In(x, dtype), argument, 1, outputs], dtype))
        return made

    return cases


def triangle(op, f, in_place=False):
    def cases():
        made = []
        for dtype in (*EVERY, "c32"):
            for diagonal in (-1, 0, 2):
                x = random((2, 3, 4), dtype, 1)
                expected = np.where(f(np.ones((3, 4), bool), diagonal), x, np.zeros((), x.dtype))
                if in_place:
                    arguments = [Ref(x, dtype, expected), diagonal]
                else:
                    arguments = [In(x, dtype), diagonal, Out(expected, dtype)]
                made.append(Case(op, arguments, f"{dtype} {diagonal}"))
        return made

    return cases


def repeats(op, dim, tensor):
    def cases():
        made = []
        for dtype in REAL:
            x = random((3, 4), dtype, 1)
            size = x.shape[dim] if dim is not None else x.size
            each = np.arange(size) % 3 if tensor else 2
            expected = np.repeat(x, each, dim)
            total = expected.shape[dim if dim is not None else 0]
            count = In(each, "i64") if tensor else 2
            place = [] if dim is None else [dim]
            arguments = [In(x, dtype), count, *place, total, Out(expected, dtype)]
            made.append(Case(op, arguments, dtype))
        return made

    return cases


def one_hot():
    x = np.array([[0, 2, 1], [3, 1, 0]])
    made = []
    for dtype in ("f32", "i32", "i64"):
        for axis in (-1, 0, 1):
            expected = np.moveaxis(np.eye(5)[x] * 4 + 1, -1, axis)
            values = [In(np.array([5]), dtype), In(np.array([1]), dtype)]
            for index in ("u8", "i32", "i64"):
                arguments = [In(x, index), 5, *values, axis, Out(expected, dtype)]
                made.append(Case("aclnnOneHot", arguments, f"{dtype} {axis} {index}"))
    return made


def assign():
    made = []
    for dtype in EVERY:
        x, value = random((4, 6), dtype, 1), random((2, 3), dtype, 2)
        expected = x.copy()
        expected[1:3, 0:5:2] = value
        bounds = [Ints([1, 0]), Ints([3, 5]), Ints([1, 2])]
        for axes in (None, Ints([0, 1])):
            arguments = [Ref(x, dtype, expected), In(value, dtype), *bounds, axes]
            made.append(Case("aclnnStridedSliceAssignV2", arguments, dtype))
        column = random((4, 2), dtype, 3)
        expected = x.copy()
        expected[:, -3:-1] = column
        bounds = [Ints([-3]), Ints([-1]), Ints([1]), Ints([1])]
        arguments = [Ref(x, dtype, expected), In(column, dtype), *bounds]
        made.append(Case("aclnnStridedSliceAssignV2", arguments, f"{dtype} one dim"))
    return made


def indices_of_repeats():
    made = []
    for dtype in ("i32", "i64"):
        each = np.array([2, 0, 3])
        arguments = [In(each, dtype), 5, Out(np.repeat(np.arange(3), each), dtype)]
        made.append(Case("aclnnRepeatInterleaveTensor", arguments, dtype))
    return made


def diagonal(x):
    return np.diag(x, 1)


OPS = {
    "aclnnInplaceCopy": copy,
    "aclnnCat": cat,
    "aclnnStack": stack,
    "aclnnSplitWithSize": split("aclnnSplitWithSize", Ints([3, 3, 1])),
    "aclnnSplitTensor": split("aclnnSplitTensor", 3),
    "aclnnSlice": many(
        moved("aclnnSlice", (3, 8), lambda x: x[:, 1:7:2], [1, 1, 7, 2]),
        moved("aclnnSlice", (3, 8), lambda x: x[-2:], [0, -2, 100, 1]),
        moved("aclnnSlice", (3, 8), lambda x: x[:, 5:5], [1, 5, 5, 1]),
    ),
    "aclnnSliceV2": moved(
        "aclnnSliceV2", (3, 8), lambda x: x[1:, 1:7:2],
        [Ints([1, 1]), Ints([3, 7]), Ints([0, 1]), Ints([1, 2])],
    ),
    "aclnnPermute": moved(
        "aclnnPermute", (2, 3, 4), lambda x: x.transpose(2, 0, 1), [Ints([2, 0, -2])]
    ),
    "aclnnExpand": moved(
        "aclnnExpand", (3, 1), lambda x: np.broadcast_to(x, (2, 3, 4)), [Ints([2, -1, 4])]
    ),
    "aclnnRepeat": moved("aclnnRepeat", (3, 4), lambda x: np.tile(x, (2, 1, 3)), [Ints([2, 1, 3])]),
    "aclnnRepeatInterleave": repeats("aclnnRepeatInterleave", None, True),
    "aclnnRepeatInterleaveInt": repeats("aclnnRepeatInterleaveInt", None, False),
    "aclnnRepeatInterleaveWithDim": repeats("aclnnRepeatInterleaveWithDim", 1, True),
    "aclnnRepeatInterleaveIntWithDim": repeats("aclnnRepeatInterleaveIntWithDim", 0, False),
    "aclnnFlip": moved("aclnnFlip", (2, 3, 4), lambda x: np.flip(x, (0, 2)), [Ints([0, -1])]),
    "aclnnRoll": many(
        moved("aclnnRoll", (3, 4), lambda x: np.roll(x, (1, -2), (0, 1)),
              [Ints([1, -2]), Ints([0, 1])]),
        moved("aclnnRoll", (3, 4), lambda x: np.roll(x, 5), [Ints([5]), Ints([])]),
    ),
    "aclnnTril": triangle("aclnnTril", np.tril),
    "aclnnTriu": triangle("aclnnTriu", np.triu),
    "aclnnInplaceTril": triangle("aclnnInplaceTril", np.tril, True),
    "aclnnInplaceTriu": triangle("aclnnInplaceTriu", np.triu, True),
    "aclnnDiag": many(
        moved("aclnnDiag", (3, 4), diagonal, [1]),
        moved("aclnnDiag", (4,), diagonal, [1]),
    ),
    "aclnnDiagFlat": many(
        moved("aclnnDiagFlat", (2, 3), lambda x: np.diag(x.reshape(-1), -2), [-2]),
        moved("aclnnDiagFlat", (), lambda x: x.reshape(1, 1), [0]),
    ),
    "aclnnFlatten": many(
        moved("aclnnFlatten", (2, 3, 4), lambda x: x.reshape(2, 12), [1]),
        moved("aclnnFlatten", (2, 3, 4), lambda x: x.reshape(6, 4), [-1]),
        moved("aclnnFlatten", (2, 3, 4), lambda x: x.reshape(1, 24), [0]),
        moved("aclnnFlatten", (2, 3, 4), lambda x: x.reshape(24, 1), [3]),
        moved("aclnnFlatten", (2, 0, 4), lambda x: x.reshape(2, 0), [1]),
    ),
    "aclnnStridedSliceAssignV2": assign,
    "aclnnRepeatInterleaveTensor": indices_of_repeats,
    "aclnnOneHot": one_hot,
}  # fmt: skip
