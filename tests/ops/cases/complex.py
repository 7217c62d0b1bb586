"""Complex numbers: their own ops, and all others that take them."""

import numpy as np

from tests.ops.case import ALL, COMPLEX, EXACT, OpCase, S, T, V, bad, index, loose, mask

SHAPES = ((3, 4), (5,), (), (0,), (2, 0, 3), (2, 3, 4), (37, 29), (1, 6, 1))


def over(low=-3.0, high=3.0):
    return [S(T(shape, low, high)) for shape in SHAPES]


def of_complex(name, oracle, samples=None, **more):
    """The same op as elsewhere, for complex numbers."""
    settings = {"variant": "complex", "dtypes": COMPLEX, "optional": ALL, **more}
    return OpCase(name, oracle, samples if samples is not None else over(), **settings)


def unary(name, oracle, low=-3.0, high=3.0, **more):
    return of_complex(name, oracle, over(low, high), inplace=True, tolerance=loose(8), **more)


PAIRS = [
    S(T((3, 4)), T((3, 4))),
    S(T((37, 29)), T((29,))),
    S(T((3, 1)), T((1, 4))),
    S(T((5,)), T(())),
    S(T((2, 0)), T((2, 0))),
    S(T((3, 4)), 2.5),
    S(T((3, 4)), -3),
    S(T((3, 4)), 0.5 - 1.5j),
    S(T((3, 4)), T((3, 4), dtype="float32")),
    S(T((3, 4)), T((4,), 1, 5, dtype="int64")),
]


def binary(name, oracle, **more):
    return of_complex(name, oracle, PAIRS, inplace=True, **more)


def sgn(z):
    length = np.abs(z)
    return np.where(length == 0, 0, z / np.where(length == 0, 1, length))


def product(a, b):
    return np.asarray(a) * np.asarray(b)


def scaled(factor):
    return lambda self, a, b: 0.5 * self + factor * (a @ b)


def index_add(x, dim, places, source, *, alpha=1):
    x = x.copy()
    np.add.at(x, places, alpha * source)
    return x


def scatter(x, dim, places, source):
    x = x.copy()
    np.put_along_axis(x, places, source, dim)
    return x


CASES = [
    # What complex numbers are made of.
    of_complex("view_as_real", lambda z: np.stack([z.real, z.imag], -1), result="part", method=None,
               view=True, tolerance=EXACT,
               bad=[bad(RuntimeError, "only supported for complex tensors", T((2,)))]),
    OpCase("view_as_complex", lambda x: x[..., 0] + 1j * x[..., 1],
           [S(T((3, 2), fixed=True)), S(T((4, 3, 2), fixed=True)), S(T((2,), fixed=True)),],
           ("float32",), "complex64", method=None, view=True, tolerance=EXACT, optional=ALL,
           bad=[bad(RuntimeError, "last dimension of size 2", T((3, 3))),
                bad(RuntimeError, "one or more dimensions", T(()))]),
    of_complex("real", lambda z: z.real, result="part", method=None, view=True, tolerance=EXACT),
    of_complex("imag", lambda z: z.imag, result="part", method=None, view=True, tolerance=EXACT,
               bad=[bad(RuntimeError, "non-complex dtypes", T((2,)))]),
    OpCase("complex", lambda a, b: a + 1j * b, [S(T((3, 4)), T((3, 4))), S(T((3, 1)), T((4,)))],
           ("float32",), "complex64", method=None, tolerance=EXACT, optional=ALL, strides=False),
    OpCase("polar", lambda a, b: a * np.exp(1j * b),
           [S(T((3, 4), 0), T((3, 4))), S(T((0,)), T((0,)))],
           ("float32",), "complex64", method=None, optional=ALL, strides=False),
    of_complex("conj", np.conj, tolerance=EXACT, strides=False),
    of_complex("conj_physical", np.conj, tolerance=EXACT),
    of_complex("resolve_conj", lambda z: z, tolerance=EXACT),
    of_complex("resolve_neg", lambda z: z, tolerance=EXACT),
    of_complex("angle", np.angle, result="part", tolerance=loose(2), strides=False),
    of_complex("isreal", lambda z: z.imag == 0, [*over(), S(V((1 + 0j, 2j, 0j)))], result="bool"),
    of_complex("abs", np.abs, result="part", tolerance=loose(2)),
    unary("sgn", sgn),
    unary("neg", np.negative),
    unary("square", np.square),
    unary("reciprocal", np.reciprocal, 0.5),
    unary("sqrt", np.sqrt),
    unary("rsqrt", lambda z: 1 / np.sqrt(z), 0.5),
    unary("exp", np.exp),
    unary("exp2", np.exp2),
    unary("expm1", np.expm1),
    unary("log", np.log),
    unary("log2", np.log2),
    unary("log10", np.log10),
    unary("log1p", np.log1p),
    unary("sin", np.sin),
    unary("cos", np.cos),
    unary("tan", np.tan, -1, 1),
    unary("asin", np.arcsin),
    unary("acos", np.arccos),
    unary("atan", np.arctan),
    unary("sinh", np.sinh),
    unary("cosh", np.cosh),
    unary("tanh", np.tanh, -1, 1),
    unary("asinh", np.arcsinh),
    unary("acosh", np.arccosh),
    unary("atanh", np.arctanh),
    unary("sigmoid", lambda z: 1 / (1 + np.exp(-z)), -1, 1),
    of_complex("isnan", np.isnan, [*over(), S(V((complex("nan"), complex(0, np.nan), 1j)))],
               result="bool"),
    of_complex("isinf", np.isinf, [*over(), S(V((complex(np.inf, 0), complex(0, -np.inf), 1j)))],
               result="bool"),
    of_complex("isfinite", np.isfinite, [*over(), S(V((complex(np.inf, 0), complex("nan"), 1j)))],
               result="bool"),
    of_complex("logical_not", np.logical_not, [*over(), S(V((0j, 1j)))], result="bool"),
    # Two operands.
    binary("add", np.add),
    binary("sub", np.subtract),
    binary("mul", product, tolerance=loose(2)),
    binary("div", np.true_divide, tolerance=loose(4)),
    of_complex("pow", np.power, [S(T((3, 4)), T((3, 4), -1, 1)), *(S(T((3, 4), 0.5), p) for p in
               (2, 3, 0.5, -1, -2, 1.5, 0, 1j, 2 - 1j))], inplace=True, tolerance=loose(20)),
    of_complex("eq", np.equal, [*PAIRS, S(V((1j, 1 + 1j)), V((1j, 1 + 2j)))], result="bool"),
    of_complex("ne", np.not_equal, [*PAIRS, S(V((1j, 1 + 1j)), V((1j, 1 + 2j)))], result="bool"),
    of_complex("logical_and", np.logical_and, [S(V((0j, 1j, 2)), V((1j, 1j, 0)))], result="bool"),
    of_complex("logical_or", np.logical_or, [S(V((0j, 1j, 0)), V((1j, 1j, 0)))], result="bool"),
    of_complex("logical_xor", np.logical_xor, [S(V((0j, 1j, 0)), V((1j, 1j, 0)))], result="bool"),
    of_complex("where", np.where, [S(mask((3, 4)), T((3, 4)), T((3, 4))),
               S(mask((4,)), T((3, 1)), T((4,))), S(mask((3,)), T((3,)), 2j)], method=None),
    of_complex("lerp", lambda a, b, w: a + w * (b - a),
               [S(T((3, 4)), T((3, 4)), 0.25), S(T((3, 4)), T((3, 4)), T((3, 4), -1, 1))],
               inplace=True, tolerance=loose(4)),
    of_complex("addcmul", lambda a, b, c, value=1: a + value * b * c,
               [S(T((3, 4)), T((3, 4)), T((4,))), S(T((3,)), T((3,)), T((3,)), value=2 - 1j)],
               inplace=True, tolerance=loose(4)),
    of_complex("addcdiv", lambda a, b, c, value=1: a + value * b / c,
               [S(T((3, 4)), T((3, 4)), T((4,), 0.5)), S(T((3,)), T((3,)), T((3,), 0.5), value=1j)],
               inplace=True, tolerance=loose(4)),
    of_complex("add", lambda a, b, alpha=1: a + alpha * b,
               [S(T((3, 4)), T((3, 4)), alpha=2j), S(T((3, 4)), T((4,)), alpha=0.5)],
               variant="alpha", tolerance=loose(2),
               bad=[bad(RuntimeError, "must not be a complex number", T((2,)), T((2,)), alpha=1j)]),
    # Reductions and scans.
    of_complex("sum", lambda z, dim=None: z.sum(dim), [*over(), S(T((3, 4)), 1), S(T((3, 4)), 0)],
               tolerance=loose(30)),
    of_complex("mean", lambda z, dim=None: z.mean(dim),
               [S(T((3, 4))), S(T((37, 29)), 0), S(T((2, 3, 4)), (0, 2)), S(T(()))],
               tolerance=loose(30)),
    of_complex("prod", lambda z, dim=None: z.prod(dim),
               [S(T((3, 4), -1, 1)), S(T((3, 4), -1, 1), 1), S(T((2, 3, 4), -1, 1), 1), S(T((0,)))],
               tolerance=loose(10)),
    of_complex("var", lambda z, dim=None: z.var(dim, ddof=1),
               [S(T((3, 4))), S(T((3, 4)), 1), S(T((37, 29)), 0)], result="part",
               tolerance=loose(10)),
    of_complex("std", lambda z, dim=None: z.std(dim, ddof=1), [S(T((3, 4))), S(T((3, 4)), 1)],
               result="part", tolerance=loose(10)),
    of_complex("linalg_vector_norm", lambda z, p=2: np.linalg.norm(z.reshape(-1), p),
               [S(T((3, 4))), S(T((5,)), 1), S(T((3, 4)), 3), S(T((5,)), float("inf"))],
               function="linalg.vector_norm", method=None, result="part", tolerance=loose(10)),
    of_complex("cumsum", lambda z, dim: z.cumsum(dim), [S(T((3, 4)), 0), S(T((3, 4)), -1),
               S(T((5,)), 0)], inplace=True, tolerance=loose(10)),
    of_complex("cumprod", lambda z, dim: z.cumprod(dim), [S(T((3, 4), -1, 1), 0),
               S(T((2, 3, 4), -1, 1), 1), S(T((5,), -1, 1), 0)], inplace=True, tolerance=loose(10)),
    of_complex("any", lambda z, dim=None: z.any(dim), [S(T((3, 4))), S(V(((0j, 1j), (0, 0))), 1)],
               result="bool"),
    of_complex("all", lambda z, dim=None: z.all(dim), [S(T((3, 4))), S(V(((0j, 1j), (0, 0))), 1)],
               result="bool"),
    of_complex("count_nonzero", lambda z: np.count_nonzero(z), [S(V((0j, 1j, 2)))], result="int64"),
    of_complex("nonzero", lambda z: np.stack(np.nonzero(z), -1), [S(V((0j, 1j, 2)))],
               result="int64", meta=False, strides=False),
    # Products.
    of_complex("mm", np.matmul, [S(T((3, 4)), T((4, 5))), S(T((37, 29)), T((29, 8))),
               S(T((1, 4)), T((4, 1))), S(T((3, 0)), T((0, 2)))], tolerance=loose(30)),
    of_complex("bmm", np.matmul, [S(T((2, 3, 4)), T((2, 4, 5))), S(T((0, 3, 4)), T((0, 4, 5)))],
               tolerance=loose(30)),
    of_complex("matmul", np.matmul, [S(T((3, 4)), T((4,))), S(T((4,)), T((4,))),
               S(T((2, 3, 4)), T((4, 5))), S(T((2, 1, 3, 4)), T((2, 4, 5)))], tolerance=loose(30)),
    of_complex("mv", np.matmul, [S(T((3, 4)), T((4,)))], tolerance=loose(30)),
    of_complex("dot", np.dot, [S(T((7,)), T((7,))), S(T((0,)), T((0,)))], tolerance=loose(30)),
    of_complex("vdot", np.vdot, [S(T((7,)), T((7,))), S(T((0,)), T((0,)))], tolerance=loose(30)),
    of_complex("outer", np.outer, [S(T((3,)), T((4,)))], tolerance=loose(2)),
    of_complex("addmm", lambda c, a, b, beta=1, alpha=1: beta * c + alpha * (a @ b),
               [S(T((3, 5)), T((3, 4)), T((4, 5))),
                S(T((3, 5)), T((3, 4)), T((4, 5)), beta=0.5j, alpha=2 - 1j)], inplace=True,
               tolerance=loose(30)),
    of_complex("baddbmm", lambda c, a, b: c + a @ b,
               [S(T((2, 3, 5)), T((2, 3, 4)), T((2, 4, 5)))], inplace=True, tolerance=loose(30)),
    of_complex("einsum", np.einsum, [S("ij,jk->ik", T((3, 4)), T((4, 5))), S("ii", T((3, 3)))],
               method=None, tolerance=loose(30)),
    # Elements that move.
    of_complex("clone", np.copy, tolerance=EXACT),
    of_complex("flip", np.flip, [S(T((3, 4)), (0,)), S(T((3, 4)), (0, 1)), S(T((37,)), (0,))],
               tolerance=EXACT),
    of_complex("roll", np.roll, [S(T((5,)), 2), S(T((3, 4)), 1, 0)], tolerance=EXACT),
    of_complex("repeat_interleave", np.repeat, [S(T((5,)), 3)], tolerance=EXACT, meta=False),
    of_complex("cat", lambda parts, dim=0: np.concatenate(parts, dim),
               [S([T((3, 4)), T((2, 4))]), S([T((3, 4)), T((3, 1))], 1)], method=None,
               tolerance=EXACT),
    of_complex("stack", lambda parts, dim=0: np.stack(parts, dim), [S([T((3, 4)), T((3, 4))], 1)],
               method=None, tolerance=EXACT),
    of_complex("tril", np.tril, [S(T((4, 5))), S(T((4, 5)), 1)], inplace=True, tolerance=EXACT),
    of_complex("triu", np.triu, [S(T((4, 5))), S(T((4, 5)), -1)], inplace=True, tolerance=EXACT),
    of_complex("index_select", lambda z, dim, places: np.take(z, places, dim),
               [S(T((5, 4)), 0, index((3,), 5)), S(T((5, 4)), 1, index((7,), 4))], tolerance=EXACT),
    of_complex("gather", lambda z, dim, places: np.take_along_axis(z, places, dim),
               [S(T((5, 4)), 1, index((5, 3), 4)), S(T((5, 4)), 0, index((2, 4), 5))],
               tolerance=EXACT),
    of_complex("scatter", scatter,
               [S(T((3, 4), fixed=True), 1, V(((0, 2), (1, 3), (3, 0)), "int64", fixed=True),
                  T((3, 2), fixed=True))], inplace=True, tolerance=EXACT),
    of_complex("index_add", index_add,
               [S(T((5, 4)), 0, V((0, 2, 0), "int64"), T((3, 4))),
                S(T((5, 4)), 0, V((0, 2, 0), "int64"), T((3, 4)), alpha=2j)], inplace=True,
               tolerance=loose(2)),
    of_complex("masked_fill", lambda z, m, value: np.where(m, value, z),
               [S(T((3, 4)), mask((3, 4)), 1 - 2j), S(T((3, 4)), mask((4,)), 3.0)], inplace=True,
               tolerance=EXACT),
    of_complex("masked_select", lambda z, m: z[m], [S(T((3, 4)), mask((3, 4)))], tolerance=EXACT,
               meta=False),
    of_complex("take", lambda z, places: z.reshape(-1)[places], [S(T((3, 4)), index((2, 3), 12))],
               tolerance=EXACT),
    # New ones.
    OpCase("linspace", lambda a, b, n: np.linspace(a, b, n), [S(0, 1j, 5), S(1 + 1j, -2.0, 4)],
           ("complex64",), "complex64", variant="complex", method=None, creation=True,
           optional=ALL),
    OpCase("full", lambda size, value: np.full(size, value), [S((2, 3), 1 - 2j), S((), 1j)],
           ("complex64",), "complex64", variant="complex", method=None, creation=True,
           tolerance=EXACT, optional=ALL),
]  # fmt: skip
