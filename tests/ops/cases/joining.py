"""Ops that make a new tensor of several: joining, stacking, crossing."""

import functools
import itertools

import numpy as np

from tests.ops.case import ALL, CLOSE, EXACT, NUMBERS, OpCase, S, T, bad


def moved(name, oracle, samples, dtypes=ALL, **more):
    return OpCase(name, oracle, samples, dtypes, **{"tolerance": EXACT, "method": None, **more})


def cat(tensors, dim=0):
    # The one-dimensional empty tensor joins anything, as in torch.
    kept = [t for t in tensors if t.shape != (0,)] or tensors[:1]
    return np.concatenate(kept, axis=dim)


JOIN = [
    S([T((2, 3)), T((4, 3))]),
    S([T((2, 3)), T((2, 1)), T((2, 4))], 1),
    S([T((2, 3, 4)), T((2, 1, 4))], dim=-2),
    S([T((3,)), T((2,)), T((0,))]),
    S([T((2, 3)), T((0,)), T((1, 3))]),
    S((T((2, 3)),)),
    S([T((0, 3)), T((2, 3))]),
    S([T((2, 0)), T((2, 0))], 1),
    S([T((17, 19)), T((17, 31))], -1),
]
JOIN_ERRORS = (
    bad(
        RuntimeError,
        "Sizes of tensors must match except in dimension 0. Expected size 3 but got "
        "size 4 for tensor number 1 in the list",
        [T((2, 3)), T((2, 4))],
    ),
    bad(
        RuntimeError,
        "Tensors must have same number of dimensions: got 2 and 1",
        [T((2, 3)), T((3,))],
    ),
    bad(IndexError, "Dimension out of range", [T((2, 3))], 2),
    bad((RuntimeError, ValueError), "expected a non-empty list of Tensors", []),
    bad(RuntimeError, "zero-dimensional tensor .* cannot be concatenated", [T(()), T(())]),
)
STACK = [
    S([T((2, 3)), T((2, 3))]),
    S([T((2, 3)), T((2, 3)), T((2, 3))], 1),
    S([T((2, 3)), T((2, 3))], -1),
    S([T(()), T(())]),
    S([T((0,)), T((0,))], 1),
    S((T((4,)),), dim=0),
]


def stack(tensors, dim=0):
    return np.stack(tensors, axis=dim)


def meshgrid(*tensors, indexing="ij"):
    return np.meshgrid(*tensors, indexing=indexing)


def block_diag(*blocks):
    blocks = [np.atleast_2d(block) for block in blocks]
    sizes = np.sum([block.shape for block in blocks], axis=0)
    result = np.zeros(sizes, np.result_type(*blocks))
    row = column = 0
    for block in blocks:
        height, width = block.shape
        result[row : row + height, column : column + width] = block
        row, column = row + height, column + width
    return result


def cartesian_prod(*vectors):
    if len(vectors) == 1:
        return vectors[0]
    return np.stack([grid.ravel() for grid in np.meshgrid(*vectors, indexing="ij")], 1)


def combinations(x, r=2, with_replacement=False):
    pick = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    rows = list(pick(range(len(x)), r))
    return x[np.array(rows, dtype=np.int64).reshape(len(rows), r)]


def kron(a, b):
    # np.kron of bool arrays gives bool, of empty ones an error.
    rank = max(a.ndim, b.ndim)
    a = a.reshape((1,) * (rank - a.ndim) + a.shape)
    b = b.reshape((1,) * (rank - b.ndim) + b.shape)
    return functools.reduce(np.kron, [a, b])


def cross(a, b, dim=None):
    if dim is None:
        dim = a.shape.index(3)
    return np.cross(a, b, axis=dim)


CASES = [
    moved("cat", cat, JOIN, out="any", bad=JOIN_ERRORS),
    moved("concat", cat, JOIN[:3]),
    moved("concatenate", cat, JOIN[:3]),
    moved(
        "stack",
        stack,
        STACK,
        out="any",
        bad=(
            bad(
                RuntimeError,
                r"stack expects each tensor to be equal size, but got \[2\] at entry 0 and",
                [T((2,)), T((3,))],
            ),
            bad(RuntimeError, "stack expects a non-empty TensorList", []),
            bad(IndexError, "Dimension out of range", [T((2,)), T((2,))], 2),
        ),
    ),
    moved("hstack", np.hstack, [S([T((2, 3)), T((2, 1))]), S([T((2,)), T((3,))])]),
    moved("vstack", np.vstack, [S([T((2, 3)), T((1, 3))]), S([T((3,)), T((3,))])]),
    moved("dstack", np.dstack, [S([T((2, 3)), T((2, 3))]), S([T((3,)), T((3,))])]),
    moved(
        "column_stack",
        np.column_stack,
        [S([T((3,)), T((3,))]), S([T((2,)), T((2, 3))]), S([T(()), T(())])],
        bad=(bad(RuntimeError, "column_stack expects a non-empty TensorList", []),),
    ),
    moved("row_stack", np.vstack, [S([T((3,)), T((2, 3))])]),
    moved(
        "meshgrid",
        meshgrid,
        [S(T((3,)), T((2,)), indexing="ij"), S(T((3,)), T((2,)), indexing="xy")],
        strides=False,
    ),
    moved(
        "block_diag",
        block_diag,
        [S(T((2, 3)), T((1, 2))), S(T(()), T((3,)), T((2, 2))), S(T((2, 0)), T((0, 3)))],
        bad=(bad(RuntimeError, "Input tensors must have 2 or fewer dimensions", T((2, 2, 2))),),
    ),
    moved(
        "cartesian_prod",
        cartesian_prod,
        [S(T((3,)), T((2,))), S(T((2,)), T((3,)), T((2,))), S(T((3,))), S(T((0,)), T((2,)))],
        strides=False,
        bad=(bad(RuntimeError, "Expect a 1D vector", T((2, 2)), T((2,))),),
    ),
    moved(
        "combinations",
        combinations,
        [S(T((4,))), S(T((4,)), 3), S(T((3,)), 2, True), S(T((2,)), 3), S(T((4,)), 1)],
        strides=False,
        bad=(
            bad(RuntimeError, "Expect a 1D vector", T((2, 2))),
            bad(RuntimeError, "Expect a non-negative number, but got -1", T((2,)), -1),
        ),
    ),
    moved(
        "kron",
        kron,
        [S(T((2,), grid=1), T((3,), grid=1)), S(T((3,), grid=1), T((2, 2), fixed=True, grid=1))],
        method="",
        strides=False,
    ),
    moved(
        "cross",
        cross,
        [
            S(T((3,), grid=1), T((3,), grid=1)),
            S(T((2, 3), grid=1), T((2, 3), grid=1)),
            S(T((3, 3, 2), grid=1), T((3, 3, 2), grid=1), 1),
            S(T((3, 3, 2), grid=1), T((3, 3, 2), grid=1), dim=-2),
        ],
        NUMBERS,
        method="",
        strides=False,
        tolerance=CLOSE,
        unchecked=("bool",),
        bad=(bad(RuntimeError, "no dimension of size 3 in input", T((2, 4)), T((2, 4))),),
    ),
]
