"""Distances of points, singular values, Cholesky."""

import numpy as np

from ..case import Case, In, Out
from ..values import COMPLEX, FLOATS, random
from .linalg import LOOSE, wide

ORDERS = (0.0, 1.0, 2.0, 3.0, np.inf, -1.0)  # -1 is infinity, too


def norm(gaps, p):
    if p == 0:
        return np.count_nonzero(gaps, -1).astype(np.float64)
    if p in (np.inf, -1.0):
        return np.abs(gaps).max(-1)
    return (np.abs(gaps) ** p).sum(-1) ** (1 / p)


def cdist():
    made = []
    for dtype in FLOATS:
        for p in ORDERS:
            x, y = random((2, 3, 4), dtype, 1), random((5, 4), dtype, 2)
            gaps = x[:, :, None, :].astype(np.float64) - y[None, None]
            arguments = [In(x, dtype), In(y, dtype), p, 0, Out(norm(gaps, p), dtype)]
            made.append(Case("aclnnCdist", arguments, f"{dtype} {p}"))
    return made


def cdist_backward():
    made = []
    for p in ORDERS:
        x, y = random((3, 4), "f32", 1), random((5, 4), "f32", 2)
        grad = random((3, 5), "f32", 3)
        gaps = x[:, None, :].astype(np.float64) - y[None]
        distances = norm(gaps, p)
        step = 1e-6
        expected = np.zeros(x.shape)
        for k in range(4):
            moved = gaps.copy()
            moved[..., k] += step
            slope = (norm(moved, p) - distances) / step if p else np.zeros(distances.shape)
            expected[:, k] = (grad * slope).sum(1)
        tensors = [In(value, "f32") for value in (grad, x, y, distances)]
        out = Out(expected, "f32", (1e-3, 1e-4))
        made.append(Case("aclnnCdistBackward", [*tensors, p, out], f"{p}"))
    return made


def singular_values():
    """What u and v are: test_decompositions.py, as their signs are the device's own."""
    made = []
    for dtype in ("f32", "f64", *COMPLEX):
        for shape in [(4, 3), (3, 4), (2, 3, 3), (1, 1)]:
            x = random(shape, dtype, 1)
            if shape == (2, 3, 3):
                x[0, 2] = x[0, 1]  # singular
            values = np.linalg.svd(wide(x, dtype), compute_uv=False)
            out = Out(values, dtype, LOOSE[dtype])
            arguments = [In(x, dtype), True, False, out, None, None]
            made.append(Case("aclnnSvd", arguments, f"{dtype} {shape}"))
    return made


def cholesky():
    made = []
    for dtype in ("f32", "f64"):
        for shape in [(4, 4), (2, 3, 3), (1, 1)]:
            for upper in (False, True):
                x = random(shape, dtype, 1)
                x = np.matmul(x, x.swapaxes(-1, -2)) + np.eye(shape[-1], dtype=x.dtype)
                factor = np.linalg.cholesky(x.astype(np.float64))
                factor = factor.swapaxes(-1, -2) if upper else factor
                arguments = [In(x, dtype), upper, Out(factor, dtype, LOOSE[dtype])]
                name = f"{dtype} {shape} {upper}"
                made.append(Case("aclnnLinalgCholesky", arguments, name))
    return made


OPS = {
    "aclnnCdist": cdist,
    "aclnnCdistBackward": cdist_backward,
    "aclnnSvd": singular_values,
    "aclnnLinalgCholesky": cholesky,
}
