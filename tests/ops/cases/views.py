"""Views: ops that give the same memory another shape. Slices and indices are in `indexing`."""

import numpy as np

from tests.ops.case import ALL, EXACT, Dtype, OpCase, S, T, bad


def view(name, oracle, samples, **more):
    settings = {"tolerance": EXACT, "view": True, "signed_zero": True, **more}
    return OpCase(name, oracle, samples, ALL, **settings)


def sizes(args):
    return tuple(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else args


def reshape(x, *shape):
    return x.reshape(sizes(shape))


def permute(x, *dims):
    return x.transpose(sizes(dims))


def squeeze(x, dim=None):
    if x.ndim == 0:
        return x
    if dim is None:
        return x.squeeze()
    dims = dim if isinstance(dim, (list, tuple)) else (dim,)
    return x.squeeze(tuple(d for d in dims if x.shape[d] == 1))


def expand(x, *shape):
    shape = sizes(shape)
    lead = len(shape) - x.ndim
    full = [x.shape[i - lead] if size == -1 else size for i, size in enumerate(shape)]
    return np.broadcast_to(x, full)


def flatten(x, start_dim=0, end_dim=-1):
    if x.ndim == 0:
        return x.reshape(1)
    start, end = start_dim % x.ndim, end_dim % x.ndim
    middle = int(np.prod(x.shape[start : end + 1]))
    return x.reshape(*x.shape[:start], middle, *x.shape[end + 1 :])


def unflatten(x, dim, sizes):
    dim %= x.ndim
    known = int(np.prod([s for s in sizes if s != -1]))
    filled = [x.shape[dim] // known if s == -1 else s for s in sizes]
    return x.reshape(*x.shape[:dim], *filled, *x.shape[dim + 1 :])


def narrow(x, dim, start, length):
    start = start + x.shape[dim] if start < 0 else start
    return np.take(x, range(start, start + length), axis=dim)


def chunk(x, chunks, dim=0):
    step = max(1, -(-x.shape[dim] // chunks))
    return split(x, step, dim)


def split(x, size, dim=0):
    length = x.shape[dim]
    if isinstance(size, (list, tuple)):
        marks = np.cumsum([0, *size])
    else:
        marks = [*range(0, max(length, 1), size), length] if size else [0, 0]
    return tuple(
        np.take(x, range(a, b), axis=dim) for a, b in zip(marks[:-1], marks[1:], strict=True)
    )


def diagonal(x, offset=0, dim1=0, dim2=1):
    return np.diagonal(x, offset, dim1, dim2)


def unfold(x, dim, size, step):
    if x.ndim == 0:
        return x.reshape(1)[:size]
    dim %= x.ndim
    windows = np.lib.stride_tricks.sliding_window_view(x, size, axis=dim)
    return np.take(windows, range(0, windows.shape[dim], step), axis=dim)


def as_strided(x, size, stride, storage_offset=0):
    flat = np.ascontiguousarray(x).reshape(-1)
    bytes_of = [flat.itemsize * step for step in stride]
    return np.lib.stride_tricks.as_strided(flat[storage_offset:], size, bytes_of).copy()


DIM = r"Dimension out of range \(expected to be in range of \[-2, 1\], but got 2\)"

# Shapes that a view of any layout can take; the layouts themselves are in tests/tensor.
CASES = [
    view(
        "reshape",
        reshape,
        [
            S(T((3, 4)), (4, 3)),
            S(T((3, 4)), (-1,)),
            S(T((2, 3, 4)), (6, -1)),
            S(T((3, 4)), (2, 2, 3)),
            S(T(()), (1, 1)),
            S(T((1, 1)), ()),
            S(T((0, 3)), (3, 0)),
            S(T((3, 4)), (3, 4)),
        ],
        view=False,
        bad=(
            bad(
                RuntimeError, r"shape '\[5, 2\]' is invalid for input of size 12", T((3, 4)), (5, 2)
            ),
            bad(RuntimeError, "only one dimension can be inferred", T((3, 4)), (-1, -1)),
            bad(
                RuntimeError,
                r"shape '\[-1, 5\]' is invalid for input of size 12",
                T((3, 4)),
                (-1, 5),
            ),
            bad(RuntimeError, "invalid shape dimension -2", T((3, 4)), (-2, 6)),
            bad(
                RuntimeError,
                r"cannot reshape tensor of 0 elements into shape \[-1, 0\] because the unspecified "
                "dimension size -1 can be any value and is ambiguous",
                T((0,)),
                (-1, 0),
            ),
        ),
    ),
    OpCase(
        "view",
        reshape,
        [
            S(T((3, 4), fixed=True), 4, 3),
            S(T((3, 4), fixed=True), (-1,)),
            S(T((2, 3, 4), fixed=True), 6, -1),
            S(T((), fixed=True), 1),
            S(T((0, 3), fixed=True), 3, 0),
            S(T((1,), fixed=True), ()),
        ],
        ALL,
        tolerance=EXACT,
        view=True,
        function=None,
        bad=(
            bad(RuntimeError, r"shape '\[5, 2\]' is invalid for input of size 12", T((3, 4)), 5, 2),
        ),
    ),
    view(
        "transpose",
        np.swapaxes,
        [S(T((3, 4)), 0, 1), S(T((2, 3, 4)), -1, 0), S(T((2, 3, 4)), 1, 1), S(T((0, 2)), 0, 1)],
        bad=(bad(IndexError, DIM, T((3, 4)), 0, 2),),
    ),
    view("swapaxes", np.swapaxes, [S(T((3, 4)), 0, 1)]),
    view("swapdims", np.swapaxes, [S(T((3, 4)), 0, 1)]),
    view(
        "t",
        np.transpose,
        [S(T((3, 4))), S(T((3,))), S(T(())), S(T((0, 2)))],
        bad=(
            bad(
                RuntimeError,
                r"t\(\) expects a tensor with <= 2 dimensions, but self is 3D",
                T((2, 3, 4)),
            ),
        ),
    ),
    view(
        "permute",
        permute,
        [
            S(T((2, 3, 4)), (2, 0, 1)),
            S(T((2, 3)), (-1, 0)),
            S(T(()), ()),
            S(T((0, 2, 3)), [1, 2, 0]),
        ],
        bad=(
            bad(
                RuntimeError,
                "number of dimensions in the tensor input does not match the length",
                T((2, 3)),
                (0,),
            ),
            bad(RuntimeError, "duplicate dims are not allowed", T((2, 3)), (0, 0)),
            bad(IndexError, DIM, T((2, 3)), (0, 2)),
        ),
    ),
    view(
        "movedim",
        np.moveaxis,
        [
            S(T((2, 3, 4)), 0, 2),
            S(T((2, 3, 4)), -1, 0),
            S(T((2, 3, 4)), (0, 1), (2, 0)),
            S(T((2, 3, 4)), (), ()),
        ],
        bad=(bad(RuntimeError, "repeated dim", T((2, 3)), (0, 0), (0, 1)),),
    ),
    view("moveaxis", np.moveaxis, [S(T((2, 3, 4)), 0, 2)]),
    view("adjoint", lambda x: np.swapaxes(x, -1, -2), [S(T((2, 3))), S(T((2, 3, 4)))]),
    view(
        "squeeze",
        squeeze,
        [
            S(T((1, 3, 1))),
            S(T((1, 3, 1)), 0),
            S(T((1, 3, 1)), 1),
            S(T((1, 3, 1)), -1),
            S(T((1, 3, 1)), (0, 2)),
            S(T(())),
            S(T(()), 0),
            S(T((1, 0))),
        ],
        bad=(bad(IndexError, DIM, T((3, 4)), 2),),
    ),
    view(
        "unsqueeze",
        np.expand_dims,
        [S(T((3, 4)), 0), S(T((3, 4)), 2), S(T((3, 4)), -1), S(T((3, 4)), -3), S(T(()), 0)],
        bad=(
            bad(
                IndexError,
                r"Dimension out of range \(expected to be in range of \[-3, 2\]",
                T((3, 4)),
                3,
            ),
        ),
    ),
    view(
        "expand",
        expand,
        [
            S(T((3, 1)), 3, 4),
            S(T((3, 1)), (2, -1, 4)),
            S(T((1,)), 0),
            S(T(()), 2, 3),
            S(T((3, 4)), -1, -1),
            S(T((0, 1)), 0, 5),
        ],
        function=None,
        bad=(
            bad(
                RuntimeError,
                r"The expanded size of the tensor \(4\) must match the existing size \(3\) at "
                r"non-singleton dimension 1.  Target sizes: \[2, 4\].  Tensor sizes: \[2, 3\]",
                T((2, 3)),
                2,
                4,
            ),
            bad(RuntimeError, "the number of sizes provided", T((2, 3)), 3),
        ),
    ),
    view("broadcast_to", expand, [S(T((3, 1)), (3, 4)), S(T(()), (2, 3)), S(T((3,)), (2, 3))]),
    view(
        "expand_as",
        lambda x, other: np.broadcast_to(x, other.shape),
        [S(T((3, 1)), T((3, 4))), S(T(()), T((2,)))],
        function=None,
    ),
    view(
        "flatten",
        flatten,
        [
            S(T((2, 3, 4))),
            S(T((2, 3, 4)), 1),
            S(T((2, 3, 4)), 0, 1),
            S(T(())),
            S(T((0, 3))),
            S(T((2, 3, 4, 2)), 1, -2),
        ],
        view=False,
        bad=(
            bad(
                RuntimeError,
                "flatten.. has invalid args: start_dim cannot come after end_dim",
                T((2, 3, 4)),
                2,
                1,
            ),
        ),
    ),
    view("ravel", lambda x: x.reshape(-1), [S(T((2, 3))), S(T(()))], view=False),
    view(
        "unflatten",
        unflatten,
        [S(T((6, 4)), 0, (2, 3)), S(T((6, 4)), -1, (2, -1)), S(T((6,)), 0, (3, 2, 1))],
        view=False,
        bad=(
            bad(
                RuntimeError,
                "Provided sizes .* don't multiply up to the size of dim 0",
                T((6, 4)),
                0,
                (4, 2),
            ),
        ),
    ),
    view(
        "narrow",
        narrow,
        [S(T((5, 4)), 0, 1, 3), S(T((5, 4)), 1, -2, 2), S(T((5,)), 0, 5, 0)],
        bad=(
            bad(
                RuntimeError,
                r"start \(2\) \+ length \(4\) exceeds dimension size \(5\)",
                T((5,)),
                0,
                2,
                4,
            ),
            bad(RuntimeError, r"narrow\(\): length must be non-negative", T((5,)), 0, 0, -1),
            bad(IndexError, DIM, T((3, 4)), 2, 0, 1),
        ),
    ),
    view(
        "select",
        lambda x, dim, index: np.take(x, index, axis=dim),
        [S(T((3, 4)), 0, 1), S(T((3, 4)), 1, -1), S(T((2, 3, 4)), -1, 2), S(T((5,)), 0, 4)],
        bad=(
            bad(
                IndexError,
                r"select\(\): index 3 out of range for tensor of size \[3, 4\] at "
                "dimension 0",
                T((3, 4)),
                0,
                3,
            ),
            bad(IndexError, r"select\(\) cannot be applied to a 0-dim tensor", T(()), 0, 0),
        ),
    ),
    view(
        "chunk",
        chunk,
        [
            S(T((5, 4)), 2),
            S(T((5, 4)), 3, 1),
            S(T((5, 4)), 7),
            S(T((5, 4)), 2, dim=-1),
            S(T((6,)), 4),
        ],
        bad=(bad(RuntimeError, "chunk expects `chunks` to be greater than 0, got: 0", T((3,)), 0),),
    ),
    view(
        "split",
        split,
        [
            S(T((5, 4)), 2),
            S(T((5, 4)), [1, 4]),
            S(T((5, 4)), 3, 1),
            S(T((5, 4)), (2, 0, 2), dim=1),
            S(T((5,)), 9),
        ],
        bad=(
            bad(
                RuntimeError,
                "split_with_sizes expects split_sizes to sum exactly to 5",
                T((5, 4)),
                [1, 2],
            ),
            bad(RuntimeError, "split expects split_size be non-negative", T((5,)), -1),
        ),
    ),
    view(
        "tensor_split",
        lambda x, parts, dim=0: tuple(np.array_split(x, parts, dim)),
        [S(T((5, 4)), 2), S(T((5, 4)), 3, 1), S(T((5, 4)), (1, 3)), S(T((2,)), 3)],
    ),
    view(
        "unbind",
        lambda x, dim=0: tuple(np.moveaxis(x, dim, 0)),
        [S(T((3, 4))), S(T((3, 4)), 1), S(T((2, 3, 4)), -1)],
        bad=(bad(IndexError, DIM, T((3, 4)), 2),),
    ),
    view(
        "diagonal",
        diagonal,
        [
            S(T((3, 4))),
            S(T((3, 4)), 1),
            S(T((3, 4)), -2),
            S(T((2, 3, 4)), 0, 1, 2),
            S(T((2, 3, 4)), 1, -1, 0),
            S(T((3, 4)), 9),
            S(T((0, 0))),
        ],
        bad=(
            bad(RuntimeError, "diagonal dimensions cannot be identical 0, 0", T((3, 4)), 0, 0, 0),
        ),
    ),
    view(
        "unfold",
        unfold,
        [
            S(T((7,)), 0, 3, 2),
            S(T((3, 7)), 1, 2, 1),
            S(T((7, 3)), 0, 7, 1),
            S(T((2, 6, 3)), -2, 4, 2),
        ],
        function=None,
        bad=(
            bad(
                RuntimeError,
                "maximum size for tensor at dimension 0 is 3 but size is 4",
                T((3,)),
                0,
                4,
                1,
            ),
            bad(RuntimeError, "step is 0 but must be > 0", T((3,)), 0, 2, 0),
        ),
    ),
    OpCase(
        "as_strided",
        as_strided,
        [
            S(T((3, 4), fixed=True), (2, 2), (4, 1)),
            S(T((3, 4), fixed=True), (2, 3), (1, 2), 3),
            S(T((12,), fixed=True), (5, 3), (2, 1)),
            S(T((12,), fixed=True), (3, 3), (0, 1)),
            S(T((4,), fixed=True), (), ()),
            S(T((4,), fixed=True), (0, 3), (1, 1)),
        ],
        ALL,
        tolerance=EXACT,
        view=True,
        bad=(
            bad(
                RuntimeError,
                "setStorage: sizes .*are out of bounds for storage of size",
                T((3,)),
                (2, 2),
                (2, 1),
            ),
            bad(RuntimeError, "mismatch in length of strides and shape", T((3,)), (2,), (1, 1)),
            bad(
                RuntimeError,
                "as_strided: Negative strides are not supported at the moment",
                T((3,)),
                (2,),
                (-1,),
            ),
        ),
    ),
    view(
        "view_as",
        lambda x, other: x.reshape(other.shape),
        [S(T((6,), fixed=True), T((2, 3)))],
        function=None,
    ),
    view(
        "reshape_as",
        lambda x, other: x.reshape(other.shape),
        [S(T((6,)), T((2, 3)))],
        function=None,
        view=False,
    ),
    view("detach", lambda x: x, [S(T((2, 3))), S(T(()))]),
    # copies
    OpCase(
        "clone",
        lambda x: x,
        [S(T((2, 3))), S(T(())), S(T((0, 2))), S(T((2, 3, 4)))],
        ALL,
        tolerance=EXACT,
    ),
    OpCase(
        "contiguous",
        lambda x: x,
        [S(T((2, 3))), S(T(())), S(T((0, 2))), S(T((2, 3, 4)))],
        ALL,
        tolerance=EXACT,
        function=None,
    ),
    *[
        OpCase(
            "to",
            lambda x, dtype: x.astype(dtype),
            [
                S(T((3, 4)), Dtype(name)),
                S(T(()), Dtype(name)),
                S(T((2, 0)), Dtype(name)),
                S(T((17, 19), 0, 99), Dtype(name)),
            ],
            ALL,
            name,
            EXACT,
            variant=name,
            function=None,
        )
        for name in ALL
    ],
]
