"""Matrix products."""

import numpy as np

from ..case import Case, In, Ints, List, Out, Ref, Scalar
from ..values import COMPLEX, FLOATS, INTEGERS, REAL, random

MATMUL = [
    ((4,), (4,)), ((3, 4), (4,)), ((4,), (4, 5)), ((3, 4), (4, 5)), ((2, 3, 4), (4, 5)),
    ((2, 1, 3, 4), (3, 4, 5)), ((2, 3, 4), (4,)), ((4,), (2, 4, 5)), ((3, 0), (0, 5)),
    ((0, 4), (4, 5)), ((33, 65), (65, 17)),
]  # fmt: skip


def products(op, shapes):
    def cases():
        made = []
        for dtype in FLOATS:
            for left, right in shapes:
                a, b = random(left, dtype, 1), random(right, dtype, 2)
                expected = np.matmul(a.astype(np.float64), b)
                arguments = [In(a, dtype), In(b, dtype), Out(expected, dtype), 0]
                made.append(Case(op, arguments, f"{dtype} {left} {right}"))
        return made

    return cases


def added(op, left, right, start, in_place=False, summed=False, vector=False):
    def cases():
        made = []
        for dtype in FLOATS:
            for beta, alpha in [(1, 1), (0.5, 2), (0, 1)]:
                a, b, c = random(left, dtype, 1), random(right, dtype, 2), random(start, dtype, 3)
                total = np.matmul(a.astype(np.float64), b)
                total = total.sum(0) if summed else total
                expected = beta * c + alpha * total
                scalars = [Scalar(beta, "f32"), Scalar(alpha, "f32")]
                scalars = scalars[::-1] if vector else scalars
                head = Ref(c, dtype, expected) if in_place else In(c, dtype)
                tail = [] if in_place else [Out(expected, dtype)]
                arguments = [head, In(a, dtype), In(b, dtype), *scalars, *tail, 1]
                made.append(Case(op, arguments, f"{dtype} {beta} {alpha}"))
        return made

    return cases


def dot():
    made = []
    for dtype in (*FLOATS, "i8", "u8", "i32"):
        a, b = random((5,), dtype, 1), random((5,), dtype, 2)
        arguments = [In(a, dtype), In(b, dtype), Out(np.dot(a, b), dtype)]
        made.append(Case("aclnnDot", arguments, dtype))
    return made


def ger():
    made = []
    for dtype in (*REAL, *COMPLEX):
        a, b = random((3,), dtype, 1), random((4,), dtype, 2)
        arguments = [In(a, dtype), In(b, dtype), Out(np.outer(a, b), dtype)]
        made.append(Case("aclnnGer", arguments, dtype))
    return made


def gemm():
    made = []
    for dtype in FLOATS:
        for ta, tb in [(0, 0), (1, 0), (0, 1), (1, 1)]:
            a, b = (
                random((4, 3) if ta else (3, 4), dtype, 1),
                random((5, 4) if tb else (4, 5), dtype, 2),
            )
            c = random((3, 5), dtype, 3)
            expected = 2 * np.matmul(a.T if ta else a, b.T if tb else b) + 0.5 * c
            tensors = [In(a, dtype), In(b, dtype), In(c, dtype)]
            arguments = [*tensors, 2.0, 0.5, ta, tb, Out(expected, dtype), 0]
            made.append(Case("aclnnGemm", arguments, f"{dtype} {ta} {tb}"))
    return made


def grouped(op):
    """Rows cut by a list of ends or of sizes, weights stacked or apart."""

    def cases():
        made = []
        ends = np.array([2, 2, 5, 6])
        starts = np.array([0, 2, 2, 5])
        for dtype in FLOATS:
            for stacked in (False, True):
                x, w = random((6, 4), dtype, 1), random((4, 4, 3), dtype, 2)
                b = random((4, 3), dtype, 3)
                parts = [
                    x[a:z] @ w[i].astype(np.float64) + b[i]
                    for i, (a, z) in enumerate(zip(starts, ends, strict=True))
                ]
                weights = List([In(w, dtype)] if stacked else [In(each, dtype) for each in w])
                bias = List([In(b, dtype)] if stacked else [In(each, dtype) for each in b])
                rows, out = List([In(x, dtype)]), List([Out(np.concatenate(parts), dtype)])
                if op == "aclnnGroupedMatmul":
                    arguments = [rows, weights, bias, *[None] * 4, Ints(list(ends)), 3, out]
                elif op == "aclnnGroupedMatmulV2":
                    arguments = [rows, weights, bias, *[None] * 4, Ints(list(ends)), 3, 0, out]
                elif op == "aclnnGroupedMatmulV3":
                    arguments = [rows, weights, bias, *[None] * 4, In(ends, "i64"), 3, 0, out]
                else:
                    sizes = In(ends - starts if stacked else ends, "i64")
                    arguments = [
                        rows, weights, bias, *[None] * 5, sizes, None, None, None, 3, 0,
                        int(stacked), 0, out, None, None,
                    ]  # fmt: skip
                made.append(Case(op, arguments, f"{dtype} {stacked}"))
        return made

    return cases


def weight_quant(op, more):
    def cases():
        made = []
        for dtype in ("f16", "bf16"):
            for group in (0, 32):
                x, w = random((3, 70), dtype, 1, -1, 1), random((70, 5), "i8", 2, -9, 9)
                shape = (3, 5) if group else (5,)
                scale, offset = random(shape, dtype, 3, 0.1, 1), random(shape, dtype, 4)
                bias = random((5,), dtype, 5)
                rows = np.arange(70) // 32
                s, o = (scale[rows], offset[rows]) if group else (scale, offset)
                expected = x.astype(np.float64) @ ((w + o) * s) + bias
                tensors = [In(x, dtype), In(w, "i8"), In(scale, dtype), In(offset, dtype)]
                out = Out(expected, dtype, (2e-2, 2e-1))
                arguments = [*tensors, None, None, In(bias, dtype), group, *more, out]
                made.append(Case(op, arguments, f"{dtype} {group}"))
        return made

    return cases


def whole_numbers_with_vectors():
    made = []
    for dtype in (*INTEGERS, "f64", "bool"):
        a, b, c = (random(shape, dtype, seed) for seed, shape in enumerate([(3, 4), (4,), (3,)]))
        numbers = (1, 1) if dtype == "bool" else (2, 3)
        total = numbers[0] * (1 * a @ (1 * b)) + numbers[1] * c
        scalars = [Scalar(number, "i64") for number in numbers]
        arguments = [In(c, dtype), In(a, dtype), In(b, dtype), *scalars]
        out = Out(total != 0 if dtype == "bool" else total, dtype)
        made.append(Case("aclnnAddmv", [*arguments, out, 1], dtype))
    return made


PAIR = ((3, 4), (4, 5), (3, 5))
BATCH = ((2, 3, 4), (2, 4, 5), (2, 3, 5))
OPS = {
    "aclnnMatmul": products("aclnnMatmul", MATMUL),
    "aclnnMm": products("aclnnMm", [((3, 4), (4, 5)), ((1, 4), (4, 1)), ((0, 4), (4, 5))]),
    "aclnnBatchMatMul": products("aclnnBatchMatMul", [((2, 3, 4), (2, 4, 5))]),
    "aclnnMv": products("aclnnMv", [((3, 4), (4,))]),
    "aclnnAddmm": added("aclnnAddmm", *PAIR),
    "aclnnAddmm broadcast": added("aclnnAddmm", (3, 4), (4, 5), (5,)),
    "aclnnInplaceAddmm": added("aclnnInplaceAddmm", *PAIR, in_place=True),
    "aclnnBaddbmm": added("aclnnBaddbmm", *BATCH),
    "aclnnInplaceBaddbmm": added("aclnnInplaceBaddbmm", *BATCH, in_place=True),
    "aclnnAddbmm": added("aclnnAddbmm", (2, 3, 4), (2, 4, 5), (3, 5), summed=True),
    "aclnnInplaceAddbmm": added(
        "aclnnInplaceAddbmm", (2, 3, 4), (2, 4, 5), (3, 5), in_place=True, summed=True
    ),
    "aclnnAddmv whole": whole_numbers_with_vectors,
    "aclnnAddmv": added("aclnnAddmv", (3, 4), (4,), (3,), vector=True),
    "aclnnDot": dot,
    "aclnnGer": ger,
    "aclnnGemm": gemm,
    "aclnnGroupedMatmul": grouped("aclnnGroupedMatmul"),
    "aclnnGroupedMatmulV2": grouped("aclnnGroupedMatmulV2"),
    "aclnnGroupedMatmulV3": grouped("aclnnGroupedMatmulV3"),
    "aclnnGroupedMatmulV4": grouped("aclnnGroupedMatmulV4"),
    "aclnnWeightQuantBatchMatmulV2": weight_quant("aclnnWeightQuantBatchMatmulV2", []),
    "aclnnWeightQuantBatchMatmulV3": weight_quant("aclnnWeightQuantBatchMatmulV3", [0]),
}
