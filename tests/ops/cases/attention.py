"""scaled_dot_product_attention in all its forms."""

import math

import numpy as np

from tests.ops.case import FLOATS, OpCase, S, T, V, bad, mask, only

NEAR = {
    "float16": (2e-3, 4e-3),
    "bfloat16": (1.6e-2, 3e-2),
    "float32": (1e-5, 1e-5),
    "float64": (1e-11, 1e-11),
}


def attention(
    query,
    key,
    value,
    attn_mask=None,
    dropout_p=0.0,
    is_causal=False,
    scale=None,
    enable_gqa=False,
):
    if enable_gqa:
        key = np.repeat(key, query.shape[-3] // key.shape[-3], -3)
        value = np.repeat(value, query.shape[-3] // value.shape[-3], -3)
    if scale is None:
        scale = 1 / math.sqrt(query.shape[-1]) if query.shape[-1] else 0.0
    scores = np.matmul(query, np.swapaxes(key, -1, -2)) * scale
    if is_causal:
        scores = np.where(np.tri(*scores.shape[-2:], dtype=bool), scores, -np.inf)
    if attn_mask is not None:
        if attn_mask.dtype == bool:
            attn_mask = np.where(attn_mask, 0.0, -np.inf)
        scores = scores + attn_mask
    top = scores.max(-1, keepdims=True, initial=-np.inf)
    terms = np.exp(scores - np.where(np.isinf(top), 0.0, top))
    total = terms.sum(-1, keepdims=True)
    # A query that may look at nothing gets nothing.
    return np.matmul(terms / np.where(total == 0, 1.0, total), value)


def three(q, k, v=None):
    return T(q, -2, 2), T(k, -2, 2), T(v or k, -2, 2)


SHAPES = (
    three((2, 3, 4, 5), (2, 3, 6, 5)),
    three((2, 3, 4, 5), (2, 3, 6, 5), (2, 3, 6, 7)),
    three((3, 4, 5), (3, 6, 5), (3, 6, 7)),
    three((4, 5), (6, 5), (6, 7)),
    three((2, 3, 4, 5), (6, 5), (6, 7)),
    three((4, 5), (3, 6, 5)),
    three((2, 1, 4, 5), (1, 3, 6, 5), (2, 3, 6, 5)),
    three((3, 4, 5), (3, 6, 5), (2, 3, 6, 5)),
    three((2, 2, 3, 4, 5), (2, 2, 3, 6, 5)),
    three((1, 1, 1, 1), (1, 1, 1, 1)),
    three((2, 2, 7, 5), (2, 2, 3, 5)),
    three((1, 2, 150, 33), (1, 2, 130, 33)),
    three((1, 1, 150, 4), (1, 1, 1100, 4)),
    three((0, 3, 4, 5), (0, 3, 6, 5)),
    three((2, 3, 0, 5), (2, 3, 6, 5)),
    three((2, 3, 4, 5), (2, 3, 0, 5)),
    three((2, 3, 4, 0), (2, 3, 6, 0), (2, 3, 6, 5)),
    three((2, 3, 4, 5), (2, 3, 6, 5), (2, 3, 6, 0)),
)
FOUR = three((2, 3, 4, 5), (2, 3, 6, 5))
THREE = three((3, 4, 5), (3, 6, 5))
NOTHING = V(((False,) * 6, (True, False) * 3, (False,) * 6, (True,) * 6), "bool")
INF = math.inf
HIDDEN = V(((-INF,) * 6, (0.5, -INF) * 3, (1.0,) * 6, (-INF,) * 5 + (2.0,)))
SHARED = three((2, 4, 4, 5), (2, 2, 6, 5))
PLAIN = [S(*each) for each in SHAPES] + [S(*each, is_causal=True) for each in SHAPES]
OPTIONS = [
    *(S(*FOUR, T(shape)) for shape in ((4, 6), (2, 3, 4, 6), (1, 1, 4, 6), (2, 1, 1, 6), (4, 1))),
    *(S(*FOUR, mask(shape)) for shape in ((4, 6), (2, 3, 4, 6), (2, 1, 1, 6), (3, 4, 6))),
    S(*FOUR, T((3, 4, 6))),
    S(*THREE, attn_mask=T((4, 6))),
    S(*THREE, attn_mask=mask((3, 1, 6))),
    S(*FOUR, NOTHING),
    S(*FOUR, HIDDEN),
    S(*THREE, NOTHING),
    S(*three((2, 3, 4, 5), (2, 3, 0, 5)), mask((4, 0))),
    only(("float16", "bfloat16"), *FOUR, T((4, 6), dtype="float32")),
    S(*FOUR, None, 0.0, False),
    S(*FOUR, scale=2),
    S(*FOUR, scale=0.0),
    S(*FOUR, scale=-0.5),
    S(*FOUR, is_causal=True, scale=0.25),
    S(*SHARED, enable_gqa=True),
    S(*SHARED, is_causal=True, enable_gqa=True),
    S(*SHARED, T((4, 6)), enable_gqa=True),
    S(*SHARED, mask((2, 4, 4, 6)), enable_gqa=True),
    S(*SHARED, T((2, 1, 4, 6)), enable_gqa=True),
    S(*three((4, 4, 5), (2, 6, 5)), enable_gqa=True),
    S(*three((2, 2, 4, 4, 5), (2, 2, 2, 6, 5)), enable_gqa=True),
    S(*three((2, 4, 4, 5), (1, 2, 6, 5)), enable_gqa=True),
    S(*three((2, 4, 4, 5), (2, 1, 6, 5)), enable_gqa=True),
    S(*three((2, 4, 4, 5), (2, 4, 6, 5)), enable_gqa=True),
    S(*three((2, 4, 4, 5), (2, 2, 6, 5), (2, 4, 6, 5)), enable_gqa=True),
    # Several blocks of queries and of keys.
    S(*three((1, 4, 110, 16), (1, 2, 300, 16)), enable_gqa=True),
    S(*three((1, 4, 300, 16), (1, 2, 110, 16)), is_causal=True, enable_gqa=True),
    S(*three((1, 2, 110, 16), (1, 2, 300, 16)), T((110, 300))),
    S(*three((1, 2, 110, 16), (1, 2, 300, 16)), mask((1, 2, 110, 300))),
]
# Weights that are all dropped are the same numbers everywhere.
EMPTY = three((2, 3, 4, 0), (2, 3, 6, 0), (2, 3, 6, 5))
DROPPED = [S(*FOUR, None, 1.0), S(*THREE, mask((4, 6)), 1.0), S(*EMPTY, None, 1.0)]

Q, K = T((2, 3, 4, 5)), T((2, 3, 6, 5))
BOTH = "Explicit attn_mask should not be set when is_causal=True"


CASES = [
    OpCase(
        "scaled_dot_product_attention",
        attention,
        PLAIN,
        FLOATS,
        tolerance=NEAR,
        function="nn.functional.scaled_dot_product_attention",
        method=None,
        bad=(
            bad(
                RuntimeError,
                "Expected query, key, and value to all be  at least 2 dimensional, but got "
                "query.dim: 1 key.dim: 2 and value.dim: 2 instead.",
                T((5,)),
                T((6, 5)),
                T((6, 5)),
            ),
            bad(
                RuntimeError,
                "to have the same dtype, but got query.dtype: float key.dtype: double and "
                "value.dtype: float instead.",
                Q,
                T((2, 3, 6, 5), dtype="float64"),
                K,
            ),
            bad(
                RuntimeError,
                "expected scalar type Float but found Long",
                *(T((2, 3, 4, 5), dtype="int64") for _ in range(3)),
            ),
            bad(
                RuntimeError,
                r"Expected size for first two dimensions of batch2 tensor to be: \[6, 5\] but got: "
                r"\[6, 4\].",
                Q,
                T((2, 3, 6, 4)),
                K,
            ),
            bad(
                RuntimeError,
                r"Expected size for first two dimensions of batch2 tensor to be: \[6, 6\] but got: "
                r"\[6, 5\].",
                Q,
                K,
                T((2, 3, 5, 7)),
            ),
            bad(
                RuntimeError,
                r"mat1 and mat2 shapes cannot be multiplied \(4x5 and 4x6\)",
                T((4, 5)),
                T((6, 4)),
                T((6, 5)),
            ),
            bad(
                RuntimeError,
                r"The size of tensor a \(3\) must match the size of tensor b \(2\) at "
                "non-singleton dimension 1",
                Q,
                T((2, 2, 6, 5)),
                K,
            ),
            bad(
                RuntimeError,
                r"The size of tensor a \(4\) must match the size of tensor b \(5\) at "
                "non-singleton dimension 2",
                Q,
                K,
                K,
                T((5, 6)),
            ),
            bad(
                RuntimeError,
                r"output with shape \[2, 3, 4, 6\] doesn't match the broadcast shape "
                r"\[1, 2, 3, 4, 6\]",
                Q,
                K,
                K,
                T((1, 2, 3, 4, 6)),
            ),
            bad(
                IndexError,
                r"Dimension out of range \(expected to be in range of \[-1, 0\], but got -2\)",
                Q,
                K,
                K,
                T((6,)),
            ),
            bad(IndexError, "Dimension", Q, K, K, T(())),
            bad(
                RuntimeError,
                "Expected attn_mask dtype to be bool or float or to match query dtype, but got "
                "attn_mask.dtype: long int and  query.dtype: float instead.",
                Q,
                K,
                K,
                T((4, 6), dtype="int64"),
            ),
            bad(RuntimeError, BOTH, *THREE, T((4, 6)), is_causal=True),
            bad(
                RuntimeError,
                "dropout probability has to be between 0 and 1, but got 2",
                Q,
                K,
                K,
                dropout_p=2.0,
            ),
            bad(
                RuntimeError,
                "Number of heads in key and value must divide the number of heads in ",
                Q,
                *(T((2, 2, 6, 5)) for _ in range(2)),
                enable_gqa=True,
            ),
            bad(
                IndexError,
                "Dimension out of range",
                *(T((4, 5)) for _ in range(3)),
                enable_gqa=True,
            ),
            bad(
                TypeError,
                "positional arguments but 7 were given",
                Q,
                K,
                K,
                None,
                0.0,
                False,
                2.0,
            ),
            bad(TypeError, r"argument 'query' \(position 1\) must be Tensor, not list", [1], K, K),
        ),
    ),
    OpCase(
        "scaled_dot_product_attention",
        attention,
        OPTIONS,
        FLOATS,
        tolerance=NEAR,
        variant="options",
        function="nn.functional.scaled_dot_product_attention",
        method=None,
    ),
    # torch takes both at once where it has a kernel of its own, which depends on the layout.
    OpCase(
        "scaled_dot_product_attention",
        attention,
        [S(*(T(each.shape, -2, 2, fixed=True) for each in FOUR), mask((4, 6)), 0.0, True)],
        FLOATS,
        tolerance=NEAR,
        variant="causal_mask",
        function="nn.functional.scaled_dot_product_attention",
        method=None,
    ),
    OpCase(
        "scaled_dot_product_attention",
        lambda query, key, value, *options: np.zeros_like(attention(query, key, value)),
        DROPPED,
        FLOATS,
        tolerance=NEAR,
        variant="dropped",
        function="nn.functional.scaled_dot_product_attention",
        method=None,
    ),
]
