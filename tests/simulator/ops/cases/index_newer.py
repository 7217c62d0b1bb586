"""Ops on chosen elements, and sums of batches, that came after CANN 8.1."""

import numpy as np

from ..case import Case, In, Out, Ref, Scalar
from ..values import FLOATS, INTEGERS, random


def gather():
    made = []
    for dtype in (*FLOATS, "i8", "i64", "bool"):
        x = random((2, 3, 4), dtype, 1)
        index = np.array([[0, -1], [1, 1]])
        for dim in (0, 1, -1):
            out = Out(np.take(x, index % x.shape[dim], dim), dtype)
            arguments = [In(x, dtype), dim, In(index, "i64"), 0, 0, out]
            made.append(Case("aclnnGatherV3", arguments, f"{dtype} {dim}"))
        each = np.stack([x[b][:, index[b] % 4] for b in range(2)])
        arguments = [In(x, dtype), 2, In(index, "i32"), 1, 0, Out(each, dtype)]
        made.append(Case("aclnnGatherV3", arguments, f"{dtype} batches"))
    return made


def index_fill(op, in_place):
    def cases():
        made = []
        for dtype in (*FLOATS, *INTEGERS, "bool"):
            for dim in (0, -1):
                x = random((3, 4), dtype, 1)
                expected = x.copy()
                np.moveaxis(expected, dim, 0)[[2, 0]] = 1
                head = Ref(x, dtype, expected) if in_place else In(x, dtype)
                tail = [] if in_place else [Out(expected, dtype)]
                arguments = [head, dim, In(np.array([2, 0]), "i64"), Scalar(1, "i64"), *tail]
                made.append(Case(op, arguments, f"{dtype} {dim}"))
        return made

    return cases


def index_add():
    made = []
    for dtype in (*FLOATS, "i32", "i64"):
        for dim in (0, 1):
            x = random((3, 4), dtype, 1)
            index = np.array([2, 0, 2])
            source = random((3, 4) if dim == 0 else (3, 3), dtype, 2)
            expected = x.astype(np.float64)
            np.add.at(np.moveaxis(expected, dim, 0), index, 2 * np.moveaxis(source, dim, 0))
            arguments = [In(x, dtype), dim, In(index, "i64"), In(source, dtype), Scalar(2, "i64")]
            arguments += [1, Out(expected, dtype)]
            made.append(Case("aclnnIndexAddV2", arguments, f"{dtype} {dim}"))
    return made


def reduced(x, index, source, way, include):
    expected = x.astype(np.float64)
    for j in range(x.shape[1]):
        for i in range(x.shape[0]):
            found = source[: index.shape[0], j][index[:, j] == i].astype(np.float64)
            if not found.size:
                continue
            values = np.append(x[i, j], found) if include else found
            expected[i, j] = {
                0: lambda v: v[-1], 1: np.sum, 2: np.prod, 3: np.max, 4: np.min, 5: np.mean,
            }[way](values)  # fmt: skip
    return expected


def scatter_reduce(op, in_place):
    def cases():
        made = []
        for dtype in ("f32", "f16", "i32", "f64"):
            for way in range(6):
                for include in (False, True):
                    x, source = random((3, 4), dtype, 1), random((6, 4), dtype, 2)
                    index = np.random.default_rng(3).integers(0, 3, (5, 4))
                    expected = reduced(x, index, source, way, include)
                    if dtype == "i32":
                        expected = np.floor(expected)
                    head = Ref(x, dtype, expected) if in_place else In(x, dtype)
                    tail = [] if in_place else [Out(expected, dtype)]
                    middle = [0, In(index, "i64"), In(source, dtype), way, include]
                    made.append(Case(op, [head, *middle, *tail], f"{dtype} {way} {include}"))
        return made

    return cases


def bucketize():
    made = []
    edges = np.array([-1.0, 0, 0, 2])
    x = np.array([[-2.0, -1, 0, 1], [2, 3, np.nan, np.inf]])
    for dtype in (*FLOATS, "f64"):
        for right in (False, True):
            for narrow in (False, True):
                found = np.searchsorted(edges, x, "right" if right else "left")
                out = Out(found, "i32" if narrow else "i64")
                arguments = [In(x, dtype), In(edges, dtype), narrow, right, out]
                made.append(Case("aclnnBucketize", arguments, f"{dtype} {right} {narrow}"))
    return made


def repeat_grad():
    made = []
    for dtype in FLOATS:
        grad = random((2, 6, 3), dtype, 1)
        for repeats in ([1, 2, 0, 3], [2]):
            times = repeats if len(repeats) > 1 else repeats * 3
            ends = np.cumsum(times)
            parts = [
                grad[:, e - n : e].astype(np.float64).sum(1)
                for e, n in zip(ends, times, strict=True)
            ]
            arguments = [In(grad, dtype), In(np.array(repeats), "i64"), 1]
            arguments.append(Out(np.stack(parts, 1), dtype))
            made.append(Case("aclnnRepeatInterleaveGrad", arguments, f"{dtype} {repeats}"))
    return made


def batch_sums():
    made = []
    for dtype in FLOATS:
        for shape in [(4, 3), (2, 3, 5), (2, 3, 2, 2)]:
            x = random(shape, dtype, 1)
            wide = x.astype(np.float64)
            axes = tuple(d for d in range(x.ndim) if d != 1)
            outputs = [Out(wide.sum(axes), "f32"), Out((wide**2).sum(axes), "f32")]
            made.append(Case("aclnnBatchNormReduce", [In(x, dtype), *outputs], f"{dtype} {shape}"))
    return made


def gathered_stats():
    x = [random((n, 3), "f32", n).astype(np.float64) for n in (4, 6)]
    sums, squares = np.stack([v.sum(0) for v in x]), np.stack([(v**2).sum(0) for v in x])
    whole = np.concatenate(x)
    mean, var = random((3,), "f32", 1), np.abs(random((3,), "f32", 2))
    counts = np.array([4, 6])
    new_mean = 0.75 * mean + 0.25 * whole.mean(0)
    new_var = 0.75 * var + 0.25 * whole.var(0, ddof=1)
    arguments = [In(sums, "f32"), In(squares, "f32"), In(counts, "i32")]
    arguments += [Ref(mean, "f32", new_mean), Ref(var, "f32", new_var), 0.25, 0.5]
    arguments += [Out(whole.mean(0), "f32"), Out(1 / np.sqrt(whole.var(0) + 0.5), "f32")]
    return [Case("aclnnSyncBatchNormGatherStats", arguments)]


OPS = {
    "aclnnGatherV3": gather,
    "aclnnIndexFill": index_fill("aclnnIndexFill", False),
    "aclnnInplaceIndexFill": index_fill("aclnnInplaceIndexFill", True),
    "aclnnIndexAddV2": index_add,
    "aclnnScatterReduce": scatter_reduce("aclnnScatterReduce", False),
    "aclnnInplaceScatterReduce": scatter_reduce("aclnnInplaceScatterReduce", True),
    "aclnnBucketize": bucketize,
    "aclnnRepeatInterleaveGrad": repeat_grad,
    "aclnnBatchNormReduce": batch_sums,
    "aclnnSyncBatchNormGatherStats": gathered_stats,
}
