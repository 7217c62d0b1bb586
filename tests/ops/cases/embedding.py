"""Rows of a table, by index."""

from tests.ops.case import ALL, EXACT, OpCase, S, T, V, bad, bad_on_cpu, index


def rows(input, weight, *options, **more):
    return weight[input]


TABLE = T((4, 3))
SOME = index((2,), 4)
SHORT = (
    r"scalar types: Long, Int; but got torch.ShortTensor instead \(while checking arguments for "
)

CASES = [
    OpCase(
        "embedding",
        rows,
        [
            S(SOME, TABLE),
            S(index((), 4), TABLE),
            S(index((2, 3), 4), TABLE),
            S(index((2, 1, 3), 4), TABLE),
            S(index((33,), 67), T((67, 35))),
            S(index((8, 128), 100), T((100, 16))),
            S(V((1, 3, 3, 0), "int32"), TABLE),
            S(V(((0, 3), (1, 1)), "int32"), TABLE),
            S(index((0,), 4), TABLE),
            S(index((2, 0, 2), 4), TABLE),
            S(index((0,), 4), T((0, 3))),
            S(SOME, T((4, 0))),
            S(index((2,), 1), T((1, 1))),
            S(SOME, TABLE, 1),
            S(SOME, TABLE, -1),
            S(SOME, TABLE, 0),
            S(SOME, TABLE, None, None, 2.0, True, True),
            S(SOME, TABLE, padding_idx=3, scale_grad_by_freq=True, sparse=True),
            S(input=SOME, weight=TABLE),
        ],
        ALL,
        tolerance=EXACT,
        function="nn.functional.embedding",
        method=None,
        bad=(
            bad(RuntimeError, "'weight' must be 2-D", SOME, T((4,))),
            bad(RuntimeError, "'weight' must be 2-D", SOME, T((2, 3, 4))),
            bad(
                RuntimeError,
                "Expected tensor for argument #1 'indices' to have one of the following "
                + SHORT
                + r"embedding\)",
                T((2,), dtype="int16"),
                TABLE,
            ),
            bad(RuntimeError, "but got torch.FloatTensor instead", T((2,)), TABLE),
            bad(RuntimeError, "but got CPUBoolType instead", T((2,), dtype="bool"), TABLE),
            bad(RuntimeError, "self indexing axis dim should be positive", SOME, T((0, 3))),
            bad(AssertionError, "Padding_idx must be within num_embeddings", SOME, TABLE, 4),
            bad(AssertionError, "Padding_idx must be within num_embeddings", SOME, TABLE, -5),
            bad(TypeError, r"argument 'indices' \(position 2\) must be Tensor, not N", None, TABLE),
            bad_on_cpu(IndexError, "index out of range in self", V((4,), "int64"), TABLE),
            bad_on_cpu(IndexError, "index out of range in self", V(((1, -1),), "int64"), TABLE),
            bad(
                RuntimeError,
                "Expected 2-dimensional tensor, but got 1-dimensional tensor for argument #1 "
                r"'self' \(while checking arguments for embedding_renorm_\)",
                SOME,
                T((4,)),
                max_norm=1.0,
            ),
            bad(
                RuntimeError,
                "Expected tensor for argument #2 'indices' to have one of the following "
                + SHORT
                + r"embedding_renorm_\)",
                T((2,), dtype="int16"),
                TABLE,
                max_norm=1.0,
            ),
            bad(
                RuntimeError,
                r"norm\(\): input dtype should be either floating point or complex. Got Long",
                SOME,
                T((4, 3), dtype="int64"),
                max_norm=1.0,
            ),
        ),
    ),
    OpCase(
        "embedding",
        lambda weight, indices, *options, **more: weight[indices],
        [
            S(TABLE, SOME),
            S(TABLE, index((2, 3), 4), -1, False, False),
            S(TABLE, SOME, 99),
            S(weight=TABLE, indices=SOME),
        ],
        ALL,
        tolerance=EXACT,
        variant="function",
        method=None,
    ),
]
