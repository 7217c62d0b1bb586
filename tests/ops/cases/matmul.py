"""Matrix products in all their shapes."""

import numpy as np

from tests.ops.case import FLOATS, INTS, NUMBERS, OpCase, S, T, bad, only

# Sums of products: the inner length of the samples is at most 67.
NEAR = {
    "float16": (4e-3, 3e-2),
    "bfloat16": (2e-2, 2e-1),
    "float32": (1e-5, 1e-4),
    "float64": (1e-11, 1e-11),
}


def pair(a, b):
    return S(T(a, -2, 2), T(b, -2, 2))


SHAPES = (
    ((5,), (5,)),
    ((3, 5), (5,)),
    ((5,), (5, 4)),
    ((3, 5), (5, 4)),
    ((2, 3, 5), (5, 4)),
    ((3, 5), (2, 5, 4)),
    ((2, 3, 5), (2, 5, 4)),
    ((2, 3, 5), (5,)),
    ((5,), (2, 5, 4)),
    ((2, 1, 3, 5), (6, 5, 4)),
    ((1, 3, 5), (4, 5, 2)),
    ((33, 67), (67, 35)),
    ((0,), (0,)),
    ((0, 5), (5, 4)),
    ((3, 0), (0, 4)),
    ((2, 0, 5), (2, 5, 3)),
    ((2, 3, 0), (0,)),
    ((1, 1), (1, 1)),
)
INNER = r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 4x5\)"


def addmm(x, a, b, beta=1, alpha=1):
    found = alpha * np.matmul(a, b)
    return found + beta * x if beta else found + np.zeros_like(x)


ADD = [
    S(T((3, 4)), T((3, 5)), T((5, 4))),
    S(T((4,)), T((3, 5)), T((5, 4))),
    S(T((3, 1)), T((3, 5)), T((5, 4))),
    S(T(()), T((3, 5)), T((5, 4))),
    S(T((3, 4)), T((3, 5)), T((5, 4)), beta=2, alpha=3),
    S(T((3, 4)), T((3, 0)), T((0, 4))),
    S(T((0, 4)), T((0, 5)), T((5, 4))),
    S(T((33, 35)), T((33, 67), -1, 1), T((67, 35), -1, 1)),
]
ADD_BATCHES = [
    S(T((2, 3, 4)), T((2, 3, 5)), T((2, 5, 4))),
    S(T((4,)), T((2, 3, 5)), T((2, 5, 4))),
    S(T((2, 1, 1)), T((2, 3, 5)), T((2, 5, 4)), beta=2, alpha=3),
    S(T((2, 3, 4)), T((2, 3, 0)), T((2, 0, 4))),
    S(T((0, 3, 4)), T((0, 3, 5)), T((0, 5, 4))),
]


def einsum(equation, *operands):
    if operands and isinstance(operands[0], (list, tuple)):
        operands = operands[0]
    return np.einsum(equation, *operands)


SQUARE = T((4, 4), -2, 2)
A34, B45, A234, B245, V4, V5 = (
    T(shape, -2, 2) for shape in ((3, 4), (4, 5), (2, 3, 4), (2, 4, 5), (4,), (5,))
)
EQUATIONS = [
    S("ij,jk->ik", A34, B45),
    S("ij,jk", A34, B45),
    S("ji", A34),
    only((*FLOATS, "int64"), "ij->", A34),
    only((*FLOATS, "int64"), "ij->j", A34),
    S("ii->i", SQUARE),
    only((*FLOATS, "int64"), "ii", SQUARE),
    S("i,i", V4, V4),
    S("i,j->ij", V4, V5),
    S("bij,bjk->bik", A234, B245),
    S("bij,bjk->bki", A234, B245),
    S("...ij,...jk->...ik", A234, B245),
    S("...ij,jk->...ik", A234, B45),
    S("bhid,bhjd->bhij", T((2, 2, 3, 4), -2, 2), T((2, 2, 5, 4), -2, 2)),
    S("ij,ij,ij->i", A34, A34, A34),
    S("i j , j k -> i k", A34, B45),
    S("ij,jk,k->i", A34, B45, V5),
    S("ij,kj->ik", A34, A34),
    S("ij,ik->jk", T((0, 3)), T((0, 4))),
    only((*FLOATS, "int64"), "aij->a", A234),
    S("ab...->...ba", T((2, 3, 4, 2))),
]


def linear(input, weight, bias=None):
    product = np.matmul(input, weight.T)
    if bias is None:
        return product
    # A bias that is one vector, lying or standing, is added to the product as a matrix.
    is_vector = sum(size != 1 for size in bias.shape) == 1
    rows = product.reshape(-1, product.shape[-1]) if is_vector and product.size else product
    return (rows + bias).reshape(product.shape)


LINEAR_SHAPES = (
    ((3,), (4, 3), (4,)),
    ((3,), (4, 3), ()),
    ((3,), (3,), None),
    ((3,), (3,), ()),
    ((2, 3), (3,), None),
    ((2, 3), (4, 3), None),
    ((2, 3), (4, 3), (4,)),
    ((2, 3), (4, 3), (1,)),
    ((2, 3), (4, 3), ()),
    ((2, 3), (4, 3), (2, 1)),
    ((2, 3), (4, 3), (2, 4)),
    ((2, 5, 3), (4, 3), None),
    ((2, 5, 3), (4, 3), (4,)),
    ((2, 5, 3), (4, 3), (1, 4)),
    ((2, 5, 3), (4, 3), (5, 4)),
    ((2, 5, 3), (4, 3), (2, 5, 1)),
    ((2, 1, 5, 3), (4, 3), (4,)),
    ((2, 5, 3), (1, 3), (1,)),
    ((1, 1, 1, 3), (4, 3), (4,)),
    ((33, 67), (35, 67), (35,)),
    ((3, 11, 67), (35, 67), (35,)),
    ((0, 3), (4, 3), (4,)),
    ((0,), (4, 0), (4,)),
    ((2, 0), (4, 0), (4,)),
    ((2, 5, 0), (4, 0), (4,)),
    ((2, 3), (0, 3), (0,)),
    ((2, 0, 3), (4, 3), None),
)
LINEAR = [
    S(*(T(shape, -2, 2) for shape in shapes if shape is not None)) for shapes in LINEAR_SHAPES
]
X, W, WIDE = T((2, 3)), T((4, 3)), "float64"

CASES = [
    OpCase(
        "linear",
        linear,
        [*LINEAR, S(X, W, None), S(X, weight=W, bias=T((4,))), S(input=X, weight=W)],
        NUMBERS,
        tolerance=NEAR,
        function="nn.functional.linear",
        method=None,
        bad=(
            bad(
                RuntimeError,
                "both arguments to linear need to be at least 1D, but they are 0D and 2D",
                T(()),
                W,
            ),
            bad(
                RuntimeError,
                "both arguments to linear need to be at least 1D, but they are 2D and 0D",
                X,
                T(()),
            ),
            bad(
                RuntimeError,
                r"mat1 and mat2 shapes cannot be multiplied \(2x3 and 5x4\)",
                X,
                T((4, 5)),
            ),
            bad(
                RuntimeError,
                r"mat1 and mat2 shapes cannot be multiplied \(10x3 and 5x4\)",
                T((2, 5, 3)),
                T((4, 5)),
                T((4,)),
            ),
            bad(
                RuntimeError,
                r"The expanded size of the tensor \(4\) must match the existing size \(5\) at "
                r"non-singleton dimension 1.  Target sizes: \[2, 4\].  Tensor sizes: \[5\]",
                X,
                W,
                T((5,)),
            ),
            bad(
                RuntimeError,
                r"Target sizes: \[10, 4\].  Tensor sizes: \[5, 1\]",
                T((2, 5, 3)),
                W,
                T((5, 1)),
            ),
            bad(
                RuntimeError,
                r"output with shape \[4\] doesn't match the broadcast shape \[2, 4\]",
                T((3,)),
                W,
                T((2, 4)),
            ),
            bad(RuntimeError, "mat2 must be a matrix, got 1-D tensor", X, T((3,)), T((1,))),
            bad(
                RuntimeError,
                r"t\(\) expects a tensor with <= 2 dimensions, but self is 3D",
                X,
                T((2, 4, 3)),
            ),
            bad(
                RuntimeError,
                "expected m1 and m2 to have the same dtype, but got: float != double",
                X,
                T((4, 3), dtype=WIDE),
            ),
            bad(
                RuntimeError,
                "self and mat2 must have the same dtype, but got Double and Float",
                X,
                W,
                T((4,), dtype=WIDE),
            ),
            bad(
                RuntimeError,
                "self and mat2 must have the same dtype, but got Double and Float",
                T((2, 2, 3)),
                W,
                T((4,), dtype=WIDE),
            ),
            bad(TypeError, r'missing 1 required positional arguments: "weight"', X),
            bad(TypeError, r"argument 'input' \(position 1\) must be Tensor, not list", [1], W),
        ),
    ),
    OpCase(
        "matmul",
        np.matmul,
        [pair(a, b) for a, b in SHAPES],
        NUMBERS,
        tolerance=NEAR,
        bad=(
            bad(RuntimeError, INNER, T((2, 3)), T((4, 5))),
            bad(RuntimeError, r"both arguments to matmul need to be at least 1D", T(()), T((3,))),
            bad(
                RuntimeError,
                r"The size of tensor a \(2\) must match the size of tensor b \(3\)",
                T((2, 3, 4)),
                T((3, 4, 5)),
            ),
            bad(RuntimeError, "dtype", T((3, 4)), T((4, 5), dtype="float64")),
        ),
    ),
    OpCase(
        "matmul",
        np.matmul,
        [pair((3, 5), (5, 4)), pair((2, 3, 5), (2, 5, 4))],
        NUMBERS,
        variant="out",
        tolerance=NEAR,
        out="any",
    ),
    OpCase(
        "mm",
        np.matmul,
        [pair(a, b) for a, b in SHAPES if len(a) == len(b) == 2],
        NUMBERS,
        tolerance=NEAR,
        out="any",
        bad=(
            bad(RuntimeError, INNER, T((2, 3)), T((4, 5))),
            bad(RuntimeError, "self must be a matrix", T((3,)), T((3, 4))),
            bad(RuntimeError, "mat2 must be a matrix", T((2, 3)), T((3,))),
        ),
    ),
    OpCase(
        "bmm",
        np.matmul,
        [
            pair((2, 3, 5), (2, 5, 4)),
            pair((1, 1, 1), (1, 1, 1)),
            pair((0, 3, 5), (0, 5, 4)),
            pair((2, 3, 0), (2, 0, 4)),
            pair((4, 17, 19), (4, 19, 13)),
        ],
        NUMBERS,
        tolerance=NEAR,
        out="any",
        bad=(
            bad(RuntimeError, "batch1 must be a 3D tensor", T((3, 4)), T((2, 4, 5))),
            bad(
                RuntimeError,
                r"Expected size for first two dimensions of batch2 tensor to be: \[2, 4\] but got: "
                r"\[2, 3\]",
                T((2, 3, 4)),
                T((2, 3, 5)),
            ),
        ),
    ),
    OpCase(
        "mv",
        np.matmul,
        [pair((3, 5), (5,)), pair((0, 5), (5,)), pair((3, 0), (0,)), pair((31, 67), (67,))],
        NUMBERS,
        tolerance=NEAR,
        out="any",
        bad=(
            bad(
                RuntimeError,
                r"size mismatch, got input \(3\), mat \(3x4\), vec \(5\)",
                T((3, 4)),
                T((5,)),
            ),
        ),
    ),
    OpCase(
        "dot",
        np.dot,
        [pair((5,), (5,)), pair((0,), (0,)), pair((67,), (67,))],
        NUMBERS,
        tolerance=NEAR,
        out="any",
        bad=(
            bad(RuntimeError, "1D tensors expected, but got 2D and 1D tensors", T((2, 3)), T((3,))),
            bad(
                RuntimeError,
                "inconsistent tensor size, expected tensor .* to have the same",
                T((3,)),
                T((4,)),
            ),
        ),
    ),
    OpCase(
        "inner",
        np.inner,
        [pair((5,), (5,)), pair((3, 5), (4, 5)), pair((2, 3, 4), (4,))],
        NUMBERS,
        tolerance=NEAR,
        optional=("bool",),
    ),
    OpCase(
        "outer",
        np.outer,
        [pair((3,), (4,)), pair((0,), (4,)), pair((17,), (19,))],
        NUMBERS,
        tolerance=NEAR,
        out="",
        unchecked=("bool",),
    ),
    OpCase(
        "addmm",
        addmm,
        ADD,
        NUMBERS,
        tolerance=NEAR,
        inplace=True,
        out="any",
        bad=(
            bad(RuntimeError, INNER, T((2, 5)), T((2, 3)), T((4, 5))),
            bad(RuntimeError, "", T((2, 7)), T((2, 3)), T((3, 5))),
        ),
    ),
    OpCase(
        "addmm",
        addmm,
        [
            S(T((3, 4)), T((3, 5)), T((5, 4)), beta=0.5, alpha=1.5),
            S(T((3, 4)), T((3, 5)), T((5, 4)), beta=0),
        ],
        FLOATS,
        variant="fractions",
        tolerance=NEAR,
        optional=INTS,
    ),
    OpCase(
        "addmv",
        addmm,
        [S(T((3,)), T((3, 5)), T((5,))), S(T(()), T((3, 5)), T((5,)), beta=2)],
        NUMBERS,
        tolerance=NEAR,
        inplace=True,
    ),
    OpCase(
        "baddbmm",
        addmm,
        ADD_BATCHES,
        NUMBERS,
        tolerance=NEAR,
        inplace=True,
        out="any",
        bad=(bad(RuntimeError, "batch", T((2, 3, 5)), T((2, 3, 4)), T((3, 4, 5))),),
    ),
    OpCase(
        "einsum",
        einsum,
        EQUATIONS,
        NUMBERS,
        tolerance=NEAR,
        method=None,
        strides=False,
        bad=(
            bad(RuntimeError, r"einsum\(\): .*", "ij,jk->ik", A34),
            bad(RuntimeError, r"einsum\(\): ", "ij,jk->ik", A34, V4),
            bad(RuntimeError, r"einsum\(\): ", "ij,jk->ik", A34, A34),
            bad(RuntimeError, r"einsum\(\): ", "i1->i", A34),
            bad(RuntimeError, r"einsum\(\): ", "ij->iz", A34),
        ),
    ),
    OpCase(
        "tensordot",
        lambda a, b, dims: np.tensordot(a, b, dims),
        [
            S(T((2, 3, 4), -2, 2), T((3, 4, 5), -2, 2), 2),
            S(T((2, 3, 4), -2, 2), T((4, 3, 5), -2, 2), ([1, 2], [1, 0])),
        ],
        NUMBERS,
        tolerance=NEAR,
        method=None,
    ),
]
