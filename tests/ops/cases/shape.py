"""Ops that make a new tensor from one: repeating, turning, cutting, triangles and diagonals."""

import numpy as np

from tests.ops.case import ALL, EXACT, NUMBERS, OpCase, S, T, bad


def moved(name, oracle, samples, dtypes=ALL, **more):
    return OpCase(name, oracle, samples, dtypes, **{"tolerance": EXACT, **more})


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


def diag_embed(x, offset=0, dim1=-2, dim2=-1):
    size = x.shape[-1] + abs(offset)
    result = np.zeros((*x.shape[:-1], size, size), x.dtype)
    at = np.arange(x.shape[-1])
    result[..., at + max(-offset, 0), at + max(offset, 0)] = x
    return np.moveaxis(result, (-2, -1), (dim1, dim2))


def replaced(x, part, src):
    x = x.copy()
    part(x)[...] = src
    return x


def slice_scatter(x, src, dim=0, start=None, end=None, step=1):
    return replaced(x, lambda y: np.moveaxis(y, dim, 0)[start:end:step], np.moveaxis(src, dim, 0))


def diagonal_scatter(x, src, offset=0):
    at = np.arange(src.shape[-1])
    x = x.copy()
    x[at + max(-offset, 0), at + max(offset, 0)] = src
    return x


def constant_pad(x, pad, value=0):
    pairs = list(zip(pad[::2], pad[1::2], strict=True))
    pairs += [(0, 0)] * (x.ndim - len(pairs))
    for dim, (before, after) in enumerate(reversed(pairs)):
        keep = slice(max(-before, 0), x.shape[dim] - max(-after, 0))
        x = np.moveaxis(np.moveaxis(x, dim, 0)[keep], 0, dim)
    grow = [(max(before, 0), max(after, 0)) for before, after in reversed(pairs)]
    return np.pad(x, grow, constant_values=value)


COUNTS = T((3,), 0, 3, dtype="int64")

CASES = [
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
    moved("diagflat", np.diagflat, [S(T((2, 3))), S(T((2,)), -1), S(T(()))]),
    moved(
        "diag_embed",
        diag_embed,
        [S(T((3,))), S(T((2, 3)), 1), S(T((2, 3)), -2), S(T((2, 3)), 0, 0, 2), S(T((0,)))],
        bad=(
            bad(RuntimeError, "diagonal dimensions cannot be identical", T((2, 3)), 0, 1, 1),
            bad(IndexError, "Dimension out of range", T((2, 3)), 0, 3, 1),
        ),
    ),
    moved(
        "narrow_copy",
        lambda x, dim, start, length: np.take(x, range(start, start + length), dim),
        [S(T((2, 5)), 1, 1, 3), S(T((4, 2)), 0, 0, 0), S(T((4, 2)), -1, 1, 1)],
        bad=(bad(RuntimeError, "exceeds dimension size", T((2, 3)), 1, 2, 2),),
    ),
    moved(
        "select_scatter",
        lambda x, src, dim, at: replaced(x, lambda y: np.moveaxis(y, dim, 0)[at], src),
        [S(T((2, 3)), T((3,)), 0, 1), S(T((2, 3, 4)), T((2, 4)), 1, -1)],
        bad=(
            bad(
                RuntimeError,
                "expected src to have a size equal to the slice of self",
                T((2, 3)),
                T((2,)),
                0,
                1,
            ),
        ),
    ),
    moved(
        "slice_scatter",
        slice_scatter,
        [
            S(T((5,)), T((2,)), 0, 1, 3),
            S(T((2, 5)), T((2, 3)), 1, 0, 5, 2),
            S(T((3, 2)), T((3, 2))),
        ],
    ),
    moved(
        "diagonal_scatter",
        diagonal_scatter,
        [S(T((3, 4)), T((3,))), S(T((3, 4)), T((2,)), 2), S(T((3, 4)), T((2,)), -1)],
    ),
    moved(
        "constant_pad_nd",
        constant_pad,
        [
            S(T((2, 3)), (1, 2)),
            S(T((2, 3)), (1, 0, 0, 2), 1),
            S(T((2, 3)), (-1, 2), 1),
            S(T((2, 3)), (-1, -1)),
            S(T((3,)), (0, 0)),
            S(T((2, 3, 4)), (1, 1, 1, 1, 1, 1), 1),
            S(T((0, 3)), (1, 1)),
        ],
        method=None,
        bad=(
            bad(RuntimeError, "Length of pad must be even", T((2, 3)), (1, 2, 3)),
            bad(RuntimeError, "no more than twice the number of dimensions", T((3,)), (1, 2, 3, 4)),
            bad(RuntimeError, "length must be non-negative", T((3,)), (-4, 0)),
        ),
    ),
    moved(
        "hsplit",
        lambda x, parts: tuple(np.hsplit(x, parts)),
        [S(T((2, 4)), 2), S(T((4,)), 2), S(T((2, 5)), (1, 3))],
        view=True,
        bad=(bad(RuntimeError, "is not divisible by the split_size 2", T((2, 3)), 2),),
    ),
    moved(
        "vsplit",
        lambda x, parts: tuple(np.vsplit(x, parts)),
        [S(T((4, 2)), 2), S(T((5, 2)), (1, 3))],
        view=True,
        bad=(bad(RuntimeError, "requires a tensor with at least 2 dimension", T((4,)), 2),),
    ),
    moved(
        "dsplit",
        lambda x, parts: tuple(np.dsplit(x, parts)),
        [S(T((2, 3, 4)), 2), S(T((2, 1, 5)), (1, 3))],
        view=True,
        bad=(bad(RuntimeError, "requires a tensor with at least 3 dimension", T((4, 4)), 2),),
    ),
]
