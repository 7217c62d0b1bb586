"""Ops that make a new tensor from whole tensors: joining, repeating, turning, triangles."""

import numpy as np

from tests.ops.case import ALL, EXACT, NUMBERS, OpCase, S, T, bad


def moved(name, oracle, samples, dtypes=ALL, **more):
    return OpCase(name, oracle, samples, dtypes, **{"tolerance": EXACT, **more})


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


def flip(x, *dims):
    dims = dims[0] if len(dims) == 1 and isinstance(dims[0], (list, tuple)) else dims
    return np.flip(x, tuple(dims)) if dims else x


def roll(x, shifts, dims=None):
    axes = tuple(dims) if isinstance(dims, (list, tuple)) else dims
    return np.roll(x, shifts, axes if axes != () else None)


def repeat(x, *sizes):
    sizes = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (list, tuple)) else sizes
    return np.tile(x, tuple(sizes))


def triangle(function):
    return lambda x, diagonal=0: function(x, diagonal)


TRIANGLES = [
    S(T((3, 4))),
    S(T((4, 3)), 1),
    S(T((3, 4)), diagonal=-1),
    S(T((2, 3, 3)), -2),
    S(T((0, 3))),
    S(T((2, 0, 0))),
    S(T((1, 1)), 5),
    S(T((19, 23)), 3),
]
SMALL = bad(RuntimeError, "input tensor must have at least 2 dimensions", T((3,)))


def tril_indices(row, col, offset=0):
    return np.stack(np.tril_indices(row, offset, col))


def triu_indices(row, col, offset=0):
    return np.stack(np.triu_indices(row, offset, col))


def meshgrid(*tensors, indexing="ij"):
    return np.meshgrid(*tensors, indexing=indexing)


COUNTS = T((3,), 0, 3, dtype="int64")

CASES = [
    moved("cat", cat, JOIN, method=None, out="any", bad=JOIN_ERRORS),
    moved("concat", cat, JOIN[:3], method=None),
    moved("concatenate", cat, JOIN[:3], method=None),
    moved(
        "stack",
        stack,
        STACK,
        method=None,
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
    moved("hstack", np.hstack, [S([T((2, 3)), T((2, 1))]), S([T((2,)), T((3,))])], method=None),
    moved("vstack", np.vstack, [S([T((2, 3)), T((1, 3))]), S([T((3,)), T((3,))])], method=None),
    moved("dstack", np.dstack, [S([T((2, 3)), T((2, 3))]), S([T((3,)), T((3,))])], method=None),
    moved(
        "repeat",
        repeat,
        [
            S(T((2, 3)), 2, 3),
            S(T((2, 3)), (2, 1)),
            S(T((3,)), 4, 2),
            S(T((2, 3)), 2, 1, 2),
            S(T(()), 3),
            S(T((2, 3)), 0, 2),
            S(T((0, 3)), 2, 2),
        ],
        function=None,
        bad=(
            bad(
                RuntimeError,
                "Number of dimensions of repeat dims can not be smaller than number of dimensions",
                T((2, 3)),
                2,
            ),
            bad(RuntimeError, "negative", T((2, 3)), -1, 2),
        ),
    ),
    moved(
        "tile",
        lambda x, dims: np.tile(x, dims),
        [S(T((2, 3)), (2, 3)), S(T((2, 3)), (2,)), S(T((3,)), (2, 2)), S(T(()), (3,))],
    ),
    moved(
        "repeat_interleave",
        lambda x, repeats, dim=None: np.repeat(x, repeats, axis=dim),
        [
            S(T((2, 3)), 2),
            S(T((2, 3)), 3, 1),
            S(T((2, 3)), 2, dim=0),
            S(T((3,)), COUNTS),
            S(T((2, 3)), COUNTS, 1),
        ],
        meta=False,
    ),
    moved(
        "flip",
        flip,
        [
            S(T((2, 3)), (0,)),
            S(T((2, 3)), (0, 1)),
            S(T((2, 3, 4)), (-1, 0)),
            S(T((2, 3)), [1]),
            S(T((0, 3)), (0,)),
            S(T((2, 3)), ()),
            S(T((17, 19)), (0, 1)),
        ],
        bad=(
            bad(IndexError, "Dimension out of range", T((2, 3)), (2,)),
            bad(RuntimeError, "dim 0 appears multiple times in the list of dims", T((2,)), (0, 0)),
        ),
    ),
    moved("fliplr", np.fliplr, [S(T((2, 3))), S(T((2, 3, 4)))]),
    moved("flipud", np.flipud, [S(T((2, 3))), S(T((4,)))]),
    moved(
        "roll",
        roll,
        [
            S(T((2, 3)), 1),
            S(T((2, 3)), 1, 0),
            S(T((2, 3)), -4, 1),
            S(T((2, 3, 4)), (1, -2), (0, 2)),
            S(T((2, 3)), shifts=(2,), dims=(1,)),
            S(T((0, 3)), 1, 0),
            S(T((5,)), 7),
            S(T((17, 19)), (5, -7), (0, 1)),
        ],
        bad=(
            bad(RuntimeError, "shifts and dimensions must align", T((2, 3)), (1, 2), (0,)),
            bad(IndexError, "Dimension out of range", T((2, 3)), 1, 2),
        ),
    ),
    moved(
        "rot90",
        lambda x, k=1, dims=(0, 1): np.rot90(x, k, dims),
        [S(T((2, 3))), S(T((2, 3)), 2), S(T((2, 3, 4)), -1, (1, 2))],
    ),
    moved("tril", triangle(np.tril), TRIANGLES, inplace=True, out="any", bad=(SMALL,)),
    moved("triu", triangle(np.triu), TRIANGLES, inplace=True, out="any", bad=(SMALL,)),
    moved(
        "tril_indices",
        tril_indices,
        [S(3, 4), S(4, 3, 1), S(3, 3, -1), S(0, 3)],
        ("int64",),
        creation=True,
        method=None,
    ),
    moved(
        "triu_indices",
        triu_indices,
        [S(3, 4), S(4, 3, 1), S(3, 3, -1), S(0, 3)],
        ("int64",),
        creation=True,
        method=None,
    ),
    moved(
        "diag",
        np.diag,
        [S(T((3,))), S(T((3,)), 1), S(T((3, 4))), S(T((3, 4)), -1), S(T((0,)))],
        strides=False,
    ),
    moved(
        "trace",
        np.trace,
        [S(T((3, 4), grid=1)), S(T((0, 0)))],
        NUMBERS,
        result="sum",
        unchecked=("bool",),
    ),
    moved(
        "meshgrid",
        meshgrid,
        [S(T((3,)), T((2,)), indexing="ij"), S(T((3,)), T((2,)), indexing="xy")],
        method=None,
        strides=False,
    ),
]
