"""Linear algebra of small matrices, sums of products, distances."""

import numpy as np

from ..case import Case, In, List, Out, Ref, Scalar
from ..values import COMPLEX, FLOATS, INTEGERS, random

SOLVED = ("f32", "f16", "f64", *COMPLEX)
LOOSE = {"f32": (2e-4, 2e-4), "f16": (2e-2, 2e-2), "bf16": (5e-2, 5e-2), "f64": (1e-8, 1e-8)}
LOOSE |= {"c64": (2e-4, 2e-4), "c128": (1e-8, 1e-8)}


def wide(x, dtype):
    return x.astype(np.complex128 if dtype in COMPLEX else np.float64)


def well_conditioned(shape, dtype, seed=1):
    return random(shape, dtype, seed) + (5 * np.eye(shape[-1])).astype(random((1,), dtype).dtype)


def inverse():
    made = []
    for dtype in SOLVED:
        for shape in [(4, 4), (2, 3, 3), (0, 3, 3), (1, 1)]:
            x = well_conditioned(shape, dtype)
            x[..., [0, -1], :] = x[..., [-1, 0], :]  # pivots are needed
            out = Out(np.linalg.inv(wide(x, dtype)), dtype, LOOSE[dtype])
            made.append(Case("aclnnInverse", [In(x, dtype), out], f"{dtype} {shape}"))
    return made


def slogdet():
    made = []
    for dtype in ("f32", "f64", *COMPLEX):
        for shape in [(4, 4), (2, 3, 3), (5, 2, 2)]:
            x = random(shape, dtype, 3)
            x.reshape(-1, *shape[-2:])[-1, 0] = 0 if shape == (5, 2, 2) else 1
            sign, log = np.linalg.slogdet(wide(x, dtype))
            outputs = [Out(sign, dtype, LOOSE[dtype]), Out(log, dtype, LOOSE[dtype])]
            made.append(Case("aclnnSlogdet", [In(x, dtype), *outputs], f"{dtype} {shape}"))
    return made


def logdet():
    made = []
    for dtype in ("f32", "f64", *COMPLEX):
        x = random((6, 3, 3), dtype, 5)
        with np.errstate(invalid="ignore"):
            expected = np.log(np.linalg.det(wide(x, dtype)))
        if dtype == "f32":
            assert np.isnan(expected).any() and not np.isnan(expected).all()
        out = Out(expected, dtype, LOOSE[dtype])
        made.append(Case("aclnnLogdet", [In(x, dtype), out], dtype))
    return made


def triangular():
    made = []
    for dtype in SOLVED:
        for upper in (False, True):
            for transpose in (False, True):
                for unit in (False, True):
                    a = well_conditioned((2, 4, 4), dtype)
                    b = random((4, 3), dtype, 2)
                    used = np.triu(wide(a, dtype)) if upper else np.tril(wide(a, dtype))
                    if unit:
                        a = (a / 8).astype(a.dtype)
                        used = np.triu(wide(a, dtype), 1) if upper else np.tril(wide(a, dtype), -1)
                        used = used + np.eye(4)
                    used = used.swapaxes(-1, -2) if transpose else used
                    x = np.linalg.solve(used, np.broadcast_to(wide(b, dtype), (2, 4, 3)))
                    arguments = [In(b, dtype), In(a, dtype), upper, transpose, unit]
                    arguments += [Out(x, dtype, LOOSE[dtype]), Out(a, dtype)]
                    name = f"{dtype} {upper} {transpose} {unit}"
                    made.append(Case("aclnnTriangularSolve", arguments, name))
    return made


def qr(op, ways):
    def cases():
        made = []
        for dtype in ("f32", "f64", *COMPLEX):
            for shape in [(4, 3), (3, 4), (2, 3, 3), (0, 3)]:
                for way, mode in ways:
                    x = random(shape, dtype, 1)
                    q, r = np.linalg.qr(
                        wide(x, dtype), "complete" if mode == "complete" else "reduced"
                    )
                    first = None if mode == "r" else Out(q, dtype, LOOSE[dtype])
                    arguments = [In(x, dtype), way, first, Out(r, dtype, LOOSE[dtype])]
                    made.append(Case(op, arguments, f"{dtype} {shape} {mode}"))
        return made

    return cases


def trace():
    made = []
    for dtype in (*FLOATS, "i32", "i64", "u8", "f64", *COMPLEX):
        for shape in [(3, 3), (2, 4), (0, 3)]:
            x = random(shape, dtype, 1)
            result = "i64" if dtype in INTEGERS else dtype
            expected = np.asarray(np.trace(x if dtype in INTEGERS else wide(x, dtype)))
            made.append(
                Case("aclnnTrace", [In(x, dtype), Out(expected, result)], f"{dtype} {shape}")
            )
    return made


def cross():
    made = []
    for dtype in (*FLOATS, "i8", "i32", "i64", "f64", *COMPLEX):
        a, b = random((4, 3, 2), dtype, 1), random((1, 3, 2), dtype, 2)
        x = a if dtype in INTEGERS else wide(a, dtype)
        expected = np.cross(x, np.broadcast_to(b, a.shape), axis=1)
        arguments = [In(a, dtype), In(b, dtype), -2, Out(expected, dtype)]
        made.append(Case("aclnnLinalgCross", arguments, dtype))
    return made


def addr(op, in_place):
    def cases():
        made = []
        for dtype in (*FLOATS, *INTEGERS, "f64"):
            for beta, alpha in [(2, 3), (None, None), (0, 1)]:
                x, a, b = random((3, 4), dtype, 1), random((3,), dtype, 2), random((4,), dtype, 3)
                scale = [1 if factor is None else factor for factor in (beta, alpha)]
                kind = np.float64 if dtype in (*FLOATS, "f64") else x.dtype
                parts = [np.asarray(factor).astype(kind) for factor in scale]
                expected = parts[0] * x.astype(kind) + parts[1] * np.outer(a, b).astype(kind)
                if beta == 0 and dtype in FLOATS:
                    x[0, 0] = np.nan  # is not read
                factors = [None if f is None else Scalar(f, "f32") for f in (beta, alpha)]
                head = Ref(x, dtype, expected) if in_place else In(x, dtype)
                tail = [] if in_place else [Out(expected, dtype)]
                arguments = [head, In(a, dtype), In(b, dtype), *factors, *tail]
                made.append(Case(op, arguments, f"{dtype} {beta}"))
        return made

    return cases


def addr_bool():
    """Logic: or of the matrix and the product."""
    x, a, b = random((3, 4), "bool", 1), random((3,), "bool", 2), random((4,), "bool", 3)
    tensors = [In(x, "bool"), In(a, "bool"), In(b, "bool")]
    return [Case("aclnnAddr", [*tensors, None, None, Out(x | np.outer(a, b), "bool")])]


def addr_broadcast():
    x, a, b = random((4,), "f32", 1), random((3,), "f32", 2), random((4,), "f32", 3)
    tensors = [In(x, "f32"), In(a, "f32"), In(b, "f32")]
    return [Case("aclnnAddr", [*tensors, None, None, Out(x + np.outer(a, b), "f32")])]


def einsum():
    made = []
    for dtype in (*FLOATS, "i16", "i32", "i64", "u32", "u64"):
        for equation, shapes in [
            ("bij,bjk->bik", [(2, 3, 4), (2, 4, 2)]),
            ("ij,jk", [(3, 4), (4, 2)]),
            ("ij->ji", [(3, 4)]),
            ("ii->i", [(3, 3)]),
            ("ii", [(3, 3)]),
            ("i, j -> ij", [(3,), (2,)]),
            ("ab,bc,cd->ad", [(2, 3), (3, 2), (2, 3)]),
        ]:
            x = [random(shape, dtype, seed, -2, 2) for seed, shape in enumerate(shapes)]
            kind = np.float64 if dtype in FLOATS else x[0].dtype
            expected = np.einsum(equation, *[part.astype(kind) for part in x])
            members = List([In(part, dtype) for part in x])
            arguments = [members, equation, Out(np.asarray(expected), dtype)]
            made.append(Case("aclnnEinsum", arguments, f"{dtype} {equation}"))
    return made


def pdist(op, number):
    def cases():
        made = []
        for dtype in (*FLOATS, "f64"):
            for p in (0.0, 1.0, 2.0, 3.0, np.inf):
                x = random((4, 3), dtype, 1)
                pairs = [(i, j) for i in range(4) for j in range(i + 1, 4)]
                gaps = [np.abs(wide(x[i], dtype) - x[j]) for i, j in pairs]
                if p == 0:
                    expected = [np.count_nonzero(gap) for gap in gaps]
                elif p == np.inf:
                    expected = [gap.max() for gap in gaps]
                else:
                    expected = [(gap**p).sum() ** (1 / p) for gap in gaps]
                arguments = [In(x, dtype), number(p), Out(np.array(expected), dtype)]
                made.append(Case(op, arguments, f"{dtype} {p}"))
        x = random((1, 3), "f32", 1)
        made.append(Case(op, [In(x, "f32"), number(2.0), Out(np.zeros(0), "f32")], "one row"))
        return made

    return cases


def renorm(op, in_place):
    def cases():
        made = []
        for dtype in FLOATS:
            for p in (0.0, 1.0, 2.0, np.inf):
                x = random((3, 4, 2), dtype, 1)
                x[0, :2, 0] = 0
                size = np.linalg.norm(np.moveaxis(wide(x, dtype), 1, 0).reshape(4, -1), p, axis=1)
                limit = float(np.median(size))
                scale = np.where(size > limit, limit / (size + 1e-7), 1).reshape(1, 4, 1)
                expected = x * scale
                head = Ref(x, dtype, expected) if in_place else In(x, dtype)
                tail = [] if in_place else [Out(expected, dtype)]
                arguments = [head, Scalar(p, "f32"), 1, Scalar(limit, "f32"), *tail]
                made.append(Case(op, arguments, f"{dtype} {p}"))
        return made

    return cases


OPS = {
    "aclnnInverse": inverse,
    "aclnnSlogdet": slogdet,
    "aclnnLogdet": logdet,
    "aclnnTriangularSolve": triangular,
    "aclnnQr": qr("aclnnQr", [(True, "reduced"), (False, "complete")]),
    "aclnnLinalgQr": qr("aclnnLinalgQr", [(0, "reduced"), (1, "complete"), (2, "r")]),
    "aclnnTrace": trace,
    "aclnnLinalgCross": cross,
    "aclnnAddr": addr("aclnnAddr", False),
    "aclnnAddr bool": addr_bool,
    "aclnnAddr broadcast": addr_broadcast,
    "aclnnInplaceAddr": addr("aclnnInplaceAddr", True),
    "aclnnEinsum": einsum,
    "aclnnPdist": pdist("aclnnPdist", float),
    "aclnnPdistForward": pdist("aclnnPdistForward", lambda p: Scalar(p, "f32")),
    "aclnnRenorm": renorm("aclnnRenorm", False),
    "aclnnInplaceRenorm": renorm("aclnnInplaceRenorm", True),
}
