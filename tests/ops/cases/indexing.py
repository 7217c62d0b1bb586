"""Reading and writing elements by index or by mask."""

import numpy as np

from tests.ops.case import (
    ALL,
    EXACT,
    FLOATS,
    NUMBERS,
    OpCase,
    S,
    T,
    V,
    bad,
    bad_on_cpu,
    index,
    loose,
    mask,
    once,
    only,
)

DIM = "Dimension out of range"
LONG = "int64"


def moved(name, oracle, samples, dtypes=ALL, **more):
    return OpCase(name, oracle, samples, dtypes, **{"tolerance": EXACT, **more})


def at(x, dim, where):
    """An index that picks `where` along one dimension."""
    return (slice(None),) * (dim % max(x.ndim, 1)) + (where,)


def along(x, dim, where):
    """An index for gather and scatter: `where` along one dimension, its own place in the others."""
    grid = list(np.indices(where.shape, sparse=True))
    grid[dim] = where
    return tuple(grid)


def gather(x, dim, where, sparse_grad=False):
    return x.copy() if x.ndim == 0 else x[along(x, dim, where)]


REDUCE = {
    "sum": np.add,
    "add": np.add,
    "prod": np.multiply,
    "multiply": np.multiply,
    "amax": np.maximum,
    "amin": np.minimum,
}


def scatter(x, dim, where, source, reduce=None):
    found = x.copy()
    if x.ndim == 0:
        found[...] = source if reduce is None else REDUCE[reduce](x, source)
        return found
    if isinstance(source, np.ndarray) and source.ndim:
        source = source[tuple(slice(size) for size in where.shape)]
    if reduce is None:
        found[along(x, dim, where)] = source
    else:
        REDUCE[reduce].at(found, along(x, dim, where), source)
    return found


def scatter_add(x, dim, where, source):
    return scatter(x, dim, where, source, "add")


def scatter_reduce(x, dim, where, source, reduce, include_self=True):
    return scatter(x, dim, where, source, reduce)


def index_select(x, dim, where):
    return np.take(x, np.atleast_1d(where), axis=dim)


def index_add(x, dim, where, source, alpha=1):
    found = x.copy()
    np.add.at(found, at(x, dim, where), source * np.asarray(alpha, source.dtype))
    return found


def index_put(x, places, values, accumulate=False):
    found = x.copy()
    if accumulate:
        np.add.at(found, tuple(places), values)
    else:
        found[tuple(places)] = values
    return found


def write_at(x, dim, where, values):
    found = x.copy()
    found[at(x, dim, where)] = values
    return found


def masked_fill(x, where, value):
    shape = np.broadcast_shapes(x.shape, where.shape)
    return np.where(where, np.asarray(value, x.dtype), np.broadcast_to(x, shape))


def masked_select(x, where):
    return np.broadcast_arrays(x, where)[0][
        np.broadcast_to(where, np.broadcast_shapes(x.shape, where.shape))
    ]


def masked_scatter(x, where, source):
    found = np.broadcast_to(x, np.broadcast_shapes(x.shape, where.shape)).copy()
    places = np.broadcast_to(where, found.shape)
    found[places] = source.reshape(-1)[: places.sum()]
    return found


def take_along_dim(x, where, dim=None):
    if dim is None:
        return x.reshape(-1)[where.reshape(-1)]
    return np.take_along_axis(x, where, dim)


def nonzero(x, as_tuple=False):
    if as_tuple:
        return np.nonzero(x.reshape(1) if x.ndim == 0 else x)
    return np.argwhere(x) if x.ndim else np.zeros((int(bool(x)), 0))


def put(x, where, source, accumulate=False):
    found = x.copy().reshape(-1)
    if accumulate:
        np.add.at(found, where.reshape(-1), source.reshape(-1))
    else:
        found[where.reshape(-1)] = source.reshape(-1)
    return found.reshape(x.shape)


def permutation(*values):
    """Indices without repetition, so that the order of writes cannot be seen."""
    return V(values, LONG, fixed=True)


SUM = {**loose(4), "float16": (8e-3, 1e-2), "bfloat16": (3e-2, 6e-2)}
SMALL = {"low": -3, "high": 3, "grid": 0.25}

CASES = [
    moved(
        "index_select",
        index_select,
        [
            S(T((3, 4)), 0, index((5,), 3)),
            S(T((3, 4)), 1, index((2,), 4)),
            S(T((2, 3, 4)), -2, index((4,), 3)),
            S(T((3, 4)), 0, index((0,), 3)),
            S(T((5,)), 0, V((4, 0, 0), "int32")),
            S(T((3, 4)), 0, V(2, LONG)),
            S(T((37, 16)), 0, index((50,), 37)),
        ],
        out="any",
        bad=(
            bad_on_cpu(IndexError, "index out of range in self", T((3, 4)), 0, V((3,), LONG)),
            bad_on_cpu(IndexError, "index out of range in self", T((3, 4)), 0, V((-1,), LONG)),
            bad_on_cpu(
                RuntimeError, "INDICES element is out of DATA bounds", T((3, 4)), 1, V((4,), LONG)
            ),
            bad(IndexError, DIM, T((3, 4)), 2, V((0,), LONG)),
            bad(IndexError, "Index is supposed to be a vector", T((3,)), 0, V(((0, 1),), LONG)),
            bad(RuntimeError, "Expected dtype int32 or int64 for index", T((3,)), 0, T((1,))),
        ),
    ),
    OpCase(
        "index_add",
        index_add,
        [
            S(T((5, 3), **SMALL), 0, index((4,), 5), T((4, 3), **SMALL)),
            S(T((3, 5), **SMALL), 1, index((2,), 5), T((3, 2), **SMALL)),
            S(T((5, 3), **SMALL), 0, V((0, 0, 0), LONG), T((3, 3), **SMALL)),
            only(NUMBERS, T((5,), **SMALL), 0, index((2,), 5), T((2,), **SMALL), alpha=2),
            S(T((5,)), 0, index((0,), 5), T((0,))),
        ],
        ALL,
        tolerance=SUM,
        inplace=True,
        out="loose",
        bad=(
            bad_on_cpu(
                (IndexError, RuntimeError),
                "index out of range|out of bounds",
                T((3,)),
                0,
                V((3,), LONG),
                T((1,)),
            ),
            bad(RuntimeError, "", T((3,)), 0, V((0,), LONG), T((1,), dtype="float64")),
        ),
    ),
    moved(
        "index_copy",
        write_at,
        [
            S(T((5, 3)), 0, permutation(4, 0), T((2, 3))),
            S(T((3, 5)), 1, permutation(1, 3, 2), T((3, 3))),
            S(T((5,)), 0, index((0,), 5), T((0,))),
        ],
        inplace=True,
        out="loose",
        bad=(bad_on_cpu(IndexError, "", T((3,)), 0, V((3,), LONG), T((1,))),),
    ),
    moved(
        "index_fill",
        write_at,
        [
            S(T((5, 3)), 0, index((2,), 5), 1),
            S(T((3, 5)), -1, index((2,), 5), 0),
            S(T((5,)), 0, index((0,), 5), 1),
        ],
        inplace=True,
        bad=(bad_on_cpu(IndexError, "", T((3,)), 0, V((3,), LONG), 1),),
    ),
    moved(
        "index_put",
        index_put,
        [
            S(T((5, 3)), (permutation(4, 0),), T((2, 3))),
            S(T((5, 3)), (permutation(4, 0), permutation(1, 2)), T((2,))),
            S(T((5, 3)), (mask((5, 3)),), T(())),
            S(T((5, 3)), (permutation(1, 2),), T((3,))),
        ],
        inplace=True,
        bad=(
            bad_on_cpu(
                IndexError,
                "index 5 is out of bounds for dimension 0 with size 5",
                T((5, 3)),
                (V((5,), LONG),),
                T(()),
            ),
            bad(
                RuntimeError,
                "shape mismatch: value tensor of shape",
                T((5, 3)),
                (V((0, 1), LONG),),
                T((4, 3)),
            ),
        ),
    ),
    OpCase(
        "index_put",
        index_put,
        [
            S(T((5, 3), **SMALL), (V((1, 1, 0), LONG),), T((3, 3), **SMALL), accumulate=True),
            S(T((4,), **SMALL), (V((1, 1, 1), LONG),), T((), **SMALL), accumulate=True),
        ],
        NUMBERS,
        variant="accumulate",
        tolerance=SUM,
        inplace=True,
        unchecked=("bool",),
    ),
    moved(
        "gather",
        gather,
        [
            S(T((3, 4)), 0, index((2, 4), 3)),
            S(T((3, 4)), 1, index((3, 7), 4)),
            S(T((2, 3, 4)), -1, index((2, 2, 5), 4)),
            S(T((3, 4)), 0, index((0, 4), 3)),
            S(T((5,)), 0, index((3,), 5)),
            S(T(()), 0, V(0, LONG)),
            S(T((17, 19)), 1, index((17, 19), 19)),
        ],
        out="any",
        bad=(
            bad_on_cpu(
                RuntimeError,
                "index 3 is out of bounds for dimension 0 with size 3",
                T((3, 4)),
                0,
                V(((3,),), LONG),
            ),
            bad(
                RuntimeError,
                "Index tensor must have the same number of dimensions as input",
                T((3, 4)),
                0,
                V((1,), LONG),
            ),
            bad(
                RuntimeError,
                r"Size does not match at dimension 1 expected index \[1, 5\]",
                T((3, 4)),
                0,
                index((1, 5), 3),
            ),
            bad(RuntimeError, "Expected dtype int32/int64 for index", T((3,)), 0, T((1,))),
        ),
    ),
    moved(
        "scatter",
        scatter,
        [
            S(T((3, 4)), 0, V(((0, 1, 2, 0), (1, 2, 0, 1)), LONG, fixed=True), T((2, 4))),
            S(T((3, 4)), 1, V(((0, 3), (1, 2), (2, 0)), LONG, fixed=True), T((3, 2))),
            S(T((5,)), 0, permutation(3, 1), T((2,))),
            S(T((5,)), 0, permutation(3, 1), T((4,))),
            S(T((3, 4)), 0, index((0, 4), 3), T((0, 4))),
            S(T((3, 4)), 1, index((3, 2), 4), 1),
            S(T(()), 0, V(0, LONG), T(())),
        ],
        inplace=True,
        bad=(
            bad_on_cpu(
                RuntimeError,
                "index 3 is out of bounds for dimension 0 with size 3",
                T((3,)),
                0,
                V((3,), LONG),
                T((1,)),
            ),
            bad(
                RuntimeError,
                r"Expected index \[1, 5\] to be no larger than self \[3, 4\] apart from dim",
                T((3, 4)),
                0,
                V(((0, 1, 2, 0, 1),), LONG),
                T((1, 5)),
            ),
            bad(RuntimeError, "dtype", T((3,)), 0, V((0,), LONG), T((1,), dtype="float64")),
            bad(
                RuntimeError,
                "Index tensor must have the same number of dimensions as self",
                T((3, 4)),
                0,
                V((0,), LONG),
                T((1,)),
            ),
        ),
    ),
    OpCase(
        "scatter",
        scatter,
        [
            S(T((4,), **SMALL), 0, V((1, 1, 0), LONG), T((3,), **SMALL), reduce="add"),
            S(T((4,), **SMALL), 0, V((1, 1, 0), LONG), T((3,), **SMALL), reduce="multiply"),
        ],
        FLOATS,
        variant="reduce",
        tolerance=SUM,
        inplace=True,
        unchecked=ALL,
    ),
    OpCase(
        "scatter_add",
        scatter_add,
        [
            S(T((3, 4), **SMALL), 0, index((2, 4), 3), T((2, 4), **SMALL)),
            S(T((3, 4), **SMALL), 1, index((3, 7), 4), T((3, 7), **SMALL)),
            S(T((5,), **SMALL), 0, V((1, 1, 1), LONG), T((3,), **SMALL)),
            S(T((3, 4)), 0, index((0, 4), 3), T((0, 4))),
        ],
        ALL,
        tolerance=SUM,
        inplace=True,
        out="loose",
        bad=(
            bad_on_cpu(
                RuntimeError,
                "index 3 is out of bounds for dimension 0 with size 3",
                T((3,)),
                0,
                V((3,), LONG),
                T((1,)),
            ),
        ),
    ),
    OpCase(
        "scatter_reduce",
        scatter_reduce,
        [
            S(T((4,), **SMALL), 0, V((1, 1, 0), LONG), T((3,), **SMALL), reduce=name)
            for name in ("sum", "prod", "amax", "amin")
        ],
        NUMBERS,
        tolerance=SUM,
        inplace=True,
        unchecked=ALL,
    ),
    moved(
        "take_along_dim",
        take_along_dim,
        [
            S(T((3, 4)), index((2, 4), 3), 0),
            S(T((3, 4)), index((3, 1), 4), dim=1),
            S(T((3, 4), fixed=True), index((5,), 12)),
            S(T((3, 4)), index((1, 4), 3), 0),
        ],
        out="any",
        bad=(
            bad(RuntimeError, "dtype of indices should be Long but got Float", T((3,)), T((1,)), 0),
        ),
    ),
    moved(
        "take",
        lambda x, where: x.reshape(-1)[where],
        [
            S(T((3, 4)), index((2, 5), 12)),
            S(T((3, 4)), V((-1, -12), LONG)),
            S(T((3,)), index((0,), 3)),
        ],
        out="any",
        bad=(bad_on_cpu(IndexError, "out of range", T((3,)), V((3,), LONG)),),
    ),
    moved("put", put, [once(T((3, 4)), permutation(5, 0, 11), T((3,)))], inplace=True),
    moved(
        "masked_fill",
        masked_fill,
        [
            S(T((3, 4)), mask((3, 4)), 1),
            S(T((3, 4)), mask((4,)), 0),
            S(T((3, 4)), mask((3, 1)), T(())),
            S(T((4,)), mask((3, 4)), 1),
            S(T(()), mask(()), 1),
            S(T((0,)), mask((0,)), 1),
            S(T((37, 29)), mask((37, 29)), 1),
        ],
        inplace=True,
        bad=(
            bad(RuntimeError, "must match", T((3,)), mask((4,)), 1),
            bad(RuntimeError, "masked_fill.* only supports boolean masks", T((3,)), T((3,)), 1),
            bad(
                RuntimeError,
                "only supports a 0-dimensional value tensor",
                T((3,)),
                mask((3,)),
                T((3,)),
            ),
        ),
    ),
    moved(
        "masked_select",
        masked_select,
        [
            S(T((3, 4)), mask((3, 4))),
            S(T((3, 4)), mask((4,))),
            S(T((4,)), mask((3, 1))),
            S(T(()), mask(())),
            S(T((0,)), mask((0,))),
            S(T((37, 29)), mask((37, 29))),
        ],
        meta=False,
        out="any",
        bad=(
            bad(RuntimeError, "must match", T((3,)), mask((4,))),
            bad(RuntimeError, "masked_select: expected BoolTensor for mask", T((3,)), T((3,))),
        ),
    ),
    moved(
        "masked_scatter",
        masked_scatter,
        [S(T((3, 4)), mask((3, 4)), T((12,))), S(T((3, 4)), mask((4,)), T((3, 4)))],
        inplace=True,
    ),
    moved(
        "nonzero",
        nonzero,
        [
            S(T((3, 4), -1, 1, grid=1)),
            S(T((2, 3, 4), -1, 1, grid=1)),
            S(T((7,), -1, 1, grid=1)),
            S(V(1)),
            S(V(0)),
            S(T((0, 3))),
            S(T((37, 29), -1, 1, grid=1)),
        ],
        result="int64",
        meta=False,
        out="any",
        strides=False,
    ),
    moved(
        "nonzero",
        nonzero,
        [
            S(T((3, 4), -1, 1, grid=1), as_tuple=True),
            S(V(1), as_tuple=True),
            S(T((0, 3)), as_tuple=True),
        ],
        result="int64",
        meta=False,
        variant="tuple",
        strides=False,
    ),
    moved(
        "argwhere",
        np.argwhere,
        [S(T((3, 4), -1, 1, grid=1)), S(T((0,)))],
        result="int64",
        meta=False,
        strides=False,
    ),
]
