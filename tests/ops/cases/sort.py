"""Sorting, selecting the largest, sets and searching."""

import math

import numpy as np

from tests.ops.case import ALL, EXACT, FLOATS, INTS, NUMBERS, OpCase, S, T, V, bad, once

DIM = r"Dimension out of range \(expected to be in range of \[-2, 1\], but got 2\)"


def order(x, dim=-1, descending=False, stable=False):
    if x.ndim == 0:
        return np.zeros((), np.int64)
    if not descending:
        return np.argsort(x, axis=dim, kind="stable")
    # Stable in descending order: sort the reversed sequence, then reverse both.
    size = x.shape[dim]
    flipped = np.argsort(np.flip(x, dim), axis=dim, kind="stable")
    return size - 1 - np.flip(flipped, dim)


def sort(x, dim=-1, descending=False, stable=False):
    where = order(x, dim, descending)
    return (x, where) if x.ndim == 0 else (np.take_along_axis(x, where, dim), where)


DISTINCT = [
    once(T((3, 4), distinct=True)),
    once(T((3, 4), distinct=True), 0),
    once(T((3, 4), distinct=True), dim=1, descending=True),
    once(T((2, 3, 4), distinct=True), -2, True),
    once(T((7,), distinct=True), descending=True),
    once(T(()), 0),
    once(T((0,))),
    once(T((2, 0, 3)), 1),
    once(T((1, 119), distinct=True)),
    once(T((119, 1), distinct=True), 0),
]
# Equal elements: only a stable sort has one answer.
STABLE = [
    S(T((3, 8), -2, 2, grid=1), stable=True),
    S(T((3, 8), -2, 2, grid=1), stable=True, descending=True),
    S(T((8, 3), -2, 2, grid=1), stable=True, dim=0),
    S(T((517,), -9, 9, grid=1), stable=True),
    S(T((517,), -9, 9, grid=1), stable=True, dim=-1, descending=True),
]
NANS = [
    S(V((1.0, math.nan, -math.inf, 3.0, math.inf)), stable=True),
    S(V((1.0, math.nan, -math.inf, 3.0, math.inf)), stable=True, descending=True),
]


def topk(x, k, dim=-1, largest=True, sorted=True):
    if x.ndim == 0:
        return x, np.zeros((), np.int64)
    values, where = sort(x, dim, largest)
    return np.take(values, range(k), axis=dim), np.take(where, range(k), axis=dim)


def kthvalue(x, k, dim=-1, keepdim=False):
    values, where = sort(x, dim)
    picked = [np.take(item, [k - 1], axis=dim) for item in (values, where)]
    return tuple(item if keepdim else item.squeeze(dim) for item in picked)


def unique(x, sorted=True, return_inverse=False, return_counts=False, dim=None):
    found = np.unique(x, return_inverse=return_inverse, return_counts=return_counts, axis=dim)
    if not return_inverse:
        return found
    values, inverse, *counts = found
    inverse = inverse.reshape(x.shape) if dim is None else inverse.reshape(-1)
    return (values, inverse, *counts)


def unique_consecutive(x, return_inverse=False, return_counts=False):
    flat = x.reshape(-1)
    starts = np.flatnonzero(np.concatenate([[True], flat[1:] != flat[:-1]]))
    return flat[starts]


def searchsorted(sequence, values, *, side="left", right=False, out_int32=False, sorter=None):
    side = "right" if right else side
    if sorter is not None:
        sequence = np.take_along_axis(sequence, sorter, -1)
    if sequence.ndim == 1:
        return np.searchsorted(sequence, values, side)
    rows = zip(
        sequence.reshape(-1, sequence.shape[-1]), values.reshape(-1, values.shape[-1]), strict=True
    )
    found = [np.searchsorted(row, wanted, side) for row, wanted in rows]
    return np.stack(found).reshape(values.shape)


LADDER = V((1, 3, 5, 7, 9))
LADDERS = V(((1, 3, 5, 7), (2, 4, 6, 8)))
SEARCHES = [
    S(LADDER, T((3, 4), 0, 10, grid=1)),
    S(LADDER, T((6,), 0, 10, grid=1), right=True),
    S(LADDER, T((6,), 0, 10, grid=1), side="right"),
    S(LADDERS, T((2, 3), 0, 10, grid=1)),
    S(V((5, 1, 3)), V((2, 4)), sorter=V((1, 2, 0), "int64")),
    S(LADDER, T((0,))),
    S(LADDER, V(3)),
]


def bincount(x, weights=None, minlength=0):
    return np.bincount(x.astype(np.int64), weights, minlength)


CASES = [
    OpCase(
        "sort",
        sort,
        DISTINCT,
        NUMBERS,
        ("same", "int64"),
        EXACT,
        out="any",
        optional=("bool",),
        bad=(bad(IndexError, DIM, T((3, 4)), 2),),
    ),
    OpCase("sort", sort, STABLE, ALL, ("same", "int64"), EXACT, variant="stable"),
    OpCase("sort", sort, NANS, FLOATS, ("same", "int64"), EXACT, variant="nan", unchecked=ALL),
    OpCase(
        "argsort",
        order,
        DISTINCT,
        NUMBERS,
        "int64",
        EXACT,
        optional=("bool",),
        bad=(bad(IndexError, DIM, T((3, 4)), 2),),
    ),
    OpCase("argsort", order, STABLE, ALL, "int64", EXACT, variant="stable"),
    OpCase("msort", lambda x: np.sort(x, axis=0), [S(T((5, 3))), S(T((7,)))], ALL, tolerance=EXACT),
    OpCase(
        "topk",
        topk,
        [
            once(T((3, 6), distinct=True), 2),
            once(T((3, 6), distinct=True), 2, 0),
            once(T((3, 6), distinct=True), 6, largest=False),
            once(T((9,), distinct=True), 3, -1, True, True),
            once(T((3, 6), distinct=True), 0),
            once(T((2, 3, 4), distinct=True), k=2, dim=1),
            once(T((119,), distinct=True), 10),
            once(T(()), 1),
        ],
        NUMBERS,
        ("same", "int64"),
        EXACT,
        out="any",
        bad=(
            bad(RuntimeError, "selected index k out of range", T((3, 4)), 5),
            bad(RuntimeError, "selected index k out of range", T((3, 4)), -1),
        ),
    ),
    OpCase(
        "kthvalue",
        kthvalue,
        [
            once(T((3, 6), distinct=True), 2),
            once(T((5,), distinct=True), 5),
            once(T((3, 6), distinct=True), 1, 0, True),
        ],
        NUMBERS,
        ("same", "int64"),
        EXACT,
        optional=("bool",),
        out="any",
        bad=(bad(RuntimeError, "selected number k out of range", T((3,)), 4),),
    ),
    OpCase(
        "unique",
        unique,
        [
            S(T((3, 4), -2, 2, grid=1)),
            S(T((9,), -2, 2, grid=1)),
            S(T(())),
            S(T((0,))),
            S(T((31, 7), -9, 9, grid=1)),
        ],
        ALL,
        tolerance=EXACT,
        meta=False,
    ),
    OpCase(
        "unique",
        unique,
        [S(T((3, 4), -2, 2, grid=1), return_inverse=True, return_counts=True)],
        ALL,
        ("same", "int64", "int64"),
        EXACT,
        variant="inverse_and_counts",
        meta=False,
    ),
    OpCase(
        "unique",
        unique,
        [S(T((3, 4), -2, 2, grid=1), return_inverse=True)],
        ALL,
        ("same", "int64"),
        EXACT,
        variant="inverse",
        meta=False,
    ),
    OpCase(
        "unique",
        unique,
        [S(V(((1, 2), (0, 1), (1, 2))), dim=0), S(V(((1, 0, 1), (1, 0, 1))), dim=1)],
        ALL,
        tolerance=EXACT,
        variant="dim",
        meta=False,
    ),
    OpCase(
        "unique_consecutive",
        unique_consecutive,
        [S(V((1, 1, 0, 0, 1, 1, 0))), S(V((1,)))],
        ALL,
        tolerance=EXACT,
        meta=False,
    ),
    OpCase(
        "searchsorted",
        searchsorted,
        SEARCHES,
        NUMBERS,
        "int64",
        EXACT,
        optional=("bool",),
        method=None,
        out="any",
        bad=(
            bad(
                RuntimeError,
                "side and right can't be set to opposites",
                LADDER,
                T((3,)),
                side="left",
                right=True,
            ),
        ),
    ),
    OpCase(
        "searchsorted",
        searchsorted,
        [S(LADDER, T((3,), 0, 10, grid=1), out_int32=True)],
        NUMBERS,
        "int32",
        EXACT,
        optional=("bool",),
        variant="int32",
        method=None,
    ),
    OpCase(
        "bucketize",
        lambda x, edges, right=False: np.searchsorted(edges, x, "right" if right else "left"),
        [S(T((3, 4), 0, 10, grid=1), LADDER), S(T((5,), 0, 10, grid=1), LADDER, right=True)],
        NUMBERS,
        "int64",
        EXACT,
        optional=("bool",),
        method=None,
    ),
    OpCase(
        "bincount",
        bincount,
        [S(T((9,), 0, 5)), S(T((0,))), S(T((5,), 0, 3), minlength=8), S(V((3,)))],
        INTS,
        "int64",
        EXACT,
        meta=False,
        bad=(
            bad(RuntimeError, "1-d non-negative integral", V((-1, 2), "int64")),
            bad(RuntimeError, "1-d non-negative integral", T((2, 3), 0, 4, dtype="int64")),
        ),
    ),
    OpCase(
        "bincount",
        bincount,
        [S(T((9,), 0, 5), T((9,), dtype="float64"))],
        INTS,
        "float64",
        variant="weights",
        meta=False,
        bad=(bad(RuntimeError, "same length", V((1, 2), "int64"), T((3,))),),
    ),
    OpCase(
        "isin",
        np.isin,
        [S(T((3, 4), -3, 3, grid=1), V((1, 2))), S(T((3, 4), -3, 3, grid=1), T((0,)))],
        NUMBERS,
        "bool",
        EXACT,
        method=None,
        strides=False,
        unchecked=("bool",),
    ),
]
