"""Linear algebra: factors, inverses, determinants, solutions, norms.

Vectors whose sign or order is free (of torch.linalg.svd, eigh and eig) are checked by what they
multiply to, in tests/functions/test_linalg.py.
"""

import numpy as np

from tests.ops.case import OpCase, Sample, T, V, bad

WIDE = ("float32", "float64")
NEAR = {"float32": (2e-4, 2e-4), "float64": (1e-10, 1e-10)}


def square(*sizes, seed=0):
    """Matrices that are far from singular."""
    values = np.random.default_rng(seed).uniform(-1, 1, size=sizes)
    return values + 2 * np.eye(sizes[-1])


def plain(*sizes, seed=1):
    return np.random.default_rng(seed).uniform(-1, 1, size=sizes)


def positive(*sizes):
    half = square(*sizes, seed=3)
    return half @ half.swapaxes(-1, -2)


def sample(*args, **kwargs):
    """Copies of one row would make every matrix singular: nothing is expanded."""
    made = tuple(V(a.tolist()) if isinstance(a, np.ndarray) and a.size else a for a in args)
    made = tuple(T(a.shape) if isinstance(a, np.ndarray) else a for a in made)
    return Sample(made, kwargs, expandable=False, inplace=False)


SQUARES = [square(3, 3), square(2, 4, 4), square(2, 1, 2, 2), square(1, 1)]
NOTHING = [np.zeros((0, 3, 3)), np.zeros((2, 0, 0))]
ANY = [plain(4, 3), plain(3, 4), plain(2, 3, 3), plain(2, 1, 2, 5), plain(1, 1)]
SIDES = [
    (square(3, 3), plain(3, 2)),
    (square(2, 3, 3), plain(2, 3, 2)),
    (square(3, 3), plain(4, 3, 1)),
    (square(2, 1, 3, 3), plain(4, 3, 2)),
    (np.zeros((0, 3, 3)), np.zeros((0, 3, 2))),
    (square(2, 2, 2), np.zeros((2, 2, 0))),
]


def each(matrices, *args, **kwargs):
    return [sample(a, *args, **kwargs) for a in matrices]


def case(name, oracle, samples, result="same", out="any", method=None, **more):
    function = name.replace("linalg_", "linalg.", 1)
    return OpCase(
        name, oracle, samples, WIDE, result, NEAR, function=function, method=method, out=out, **more
    )


def needs_square(name):
    return (
        bad(RuntimeError, f"{name}: The input tensor A must have at least 2 dimensions", T((3,))),
        bad(
            RuntimeError,
            f"{name}: A must be batches of square matrices, but they are 2 by 3 matrices",
            T((2, 3)),
        ),
    )


def inverse_and_info(a, **_):
    return np.linalg.inv(a), np.zeros(a.shape[:-2])


def factor(a, upper=False):
    lower = np.linalg.cholesky(a)
    return lower.swapaxes(-1, -2) if upper else lower


def triangle(a, upper, unitriangular=False):
    used = np.triu(a) if upper else np.tril(a)
    if unitriangular:
        used = used - used * np.eye(a.shape[-1]) + np.eye(a.shape[-1])
    return used


def solve(a, b, left=True):
    if left:
        return np.linalg.solve(a, b)
    return np.linalg.solve(a.swapaxes(-1, -2), b.swapaxes(-1, -2)).swapaxes(-1, -2)


def solve_triangular(a, b, upper, left=True, unitriangular=False):
    return solve(triangle(a, upper, unitriangular), b, left)


def cholesky_solve(b, a, upper=False):
    used = triangle(a, upper)
    product = used.swapaxes(-1, -2) @ used if upper else used @ used.swapaxes(-1, -2)
    return np.linalg.solve(product, b)


def qr(a, mode="reduced"):
    if mode == "r":
        return np.zeros(0), np.linalg.qr(a, "r")
    return tuple(np.linalg.qr(a, mode))


def singular_values(a):
    return np.linalg.svd(a, compute_uv=False)


def rank(a, **tolerances):
    if not a.size:
        return np.zeros(a.shape[:-2])
    s = singular_values(a)
    usual = 1e-6
    limit = max(tolerances.get("atol", 0), 0) + 0 * s[..., :1]
    relative = tolerances.get("rtol", 0 if "atol" in tolerances else usual)
    return (s > np.maximum(limit, relative * s[..., :1])).sum(-1)


def pinv(a, **tolerances):
    u, s, vh = np.linalg.svd(a, full_matrices=False)
    limit = np.maximum(tolerances.get("atol", 0), tolerances.get("rtol", 1e-6) * s[..., :1])
    scaled = np.where(s > limit, 1 / s, 0)
    return (vh.swapaxes(-1, -2) * scaled[..., None, :]) @ u.swapaxes(-1, -2)


def matrix_norm(a, ord="fro", dim=(-2, -1), keepdim=False):
    return np.linalg.norm(a, ord, dim, keepdim)


def cond(a, p=None):
    if p in (None, 2, -2):
        s = singular_values(a)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    return np.linalg.norm(a, p, (-2, -1)) * np.linalg.norm(np.linalg.inv(a), p, (-2, -1))


def matrix_exp(a):
    """Of the sum of its powers, after halving often."""
    small = a / 1024
    term = total = np.broadcast_to(np.eye(a.shape[-1]), a.shape)
    for n in range(1, 12):
        term = term @ small / n
        total = total + term
    for _ in range(10):
        total = total @ total
    return total


def lu_factor(a):
    """Gauss with the largest pivot, as LAPACK does it."""
    lu = np.array(a, dtype=np.float64)
    pivots = np.zeros((*lu.shape[:-2], min(lu.shape[-2:])), dtype=np.int32)
    for at in np.ndindex(lu.shape[:-2]):
        m = lu[at]
        for k in range(pivots.shape[-1]):
            p = k + int(np.argmax(np.abs(m[k:, k])))
            pivots[(*at, k)] = p + 1
            m[[k, p]] = m[[p, k]]
            m[k + 1 :, k] /= m[k, k]
            m[k + 1 :, k + 1 :] -= np.outer(m[k + 1 :, k], m[k, k + 1 :])
    return lu, pivots


def lu(a):
    factors, pivots = lu_factor(a)
    rows, columns = a.shape[-2:]
    k = min(rows, columns)
    p = np.zeros((*a.shape[:-2], rows, rows))
    for at in np.ndindex(a.shape[:-2]):
        order = list(range(rows))
        for i, other in enumerate(pivots[at]):
            order[i], order[other - 1] = order[other - 1], order[i]
        for i, row in enumerate(order):
            p[(*at, row, i)] = 1
    lower = np.tril(factors[..., :k], -1) + np.eye(rows, k)
    return p, lower, np.triu(factors[..., :k, :])


def cross(a, b, dim=-1):
    return np.cross(*np.broadcast_arrays(a, b), axis=dim)


def least_squares(a, b):
    return np.linalg.pinv(a) @ b


ORDERS = (1, -1, 2, -2, float("inf"), -float("inf"), "fro", "nuc")
SMALL = {"float32": (1e-3, 1e-3), "float64": (1e-9, 1e-9)}

CASES = [
    case("linalg_inv", np.linalg.inv, each([*SQUARES, *NOTHING]), bad=needs_square("linalg.inv")),
    case("linalg_inv_ex", inverse_and_info, each(SQUARES), ("same", "int32"), out=""),
    case("inverse", np.linalg.inv, each(SQUARES[:2]), method="inverse"),
    case("linalg_det", np.linalg.det, each([*SQUARES, *NOTHING]), bad=needs_square("linalg.det")),
    case("det", np.linalg.det, each(SQUARES[:2]), method="det", out=""),
    case(
        "logdet",
        lambda a: np.log(np.linalg.det(a)),
        each([positive(3, 3)]),
        method="logdet",
        out="",
    ),
    case(
        "linalg_slogdet",
        lambda a: tuple(np.linalg.slogdet(a)),
        each([*SQUARES, -square(3, 3), *NOTHING]),
        ("same", "same"),
        bad=needs_square("linalg.slogdet"),
    ),
    case(
        "linalg_cholesky",
        factor,
        [*each([positive(3, 3), positive(2, 4, 4), *NOTHING]), sample(positive(3, 3), upper=True)],
        bad=needs_square("linalg.cholesky"),
    ),
    case("linalg_lu_factor", lu_factor, each(ANY), ("same", "int32")),
    case("linalg_lu", lu, each(ANY), ("same",) * 3),
    case(
        "linalg_solve",
        solve,
        [
            *(sample(*pair) for pair in SIDES),
            sample(square(3, 3), plain(2, 3), left=False),
            sample(square(3, 3), plain(3)),
        ],
        bad=(
            bad(
                RuntimeError,
                r"linalg.solve: Incompatible shapes of A and B for the equation AX = B "
                r"\(3x3 and 4x2\)",
                T((3, 3)),
                T((4, 2)),
            ),
        ),
    ),
    case(
        "linalg_solve_triangular",
        solve_triangular,
        [
            *(sample(*pair, upper=True) for pair in SIDES),
            sample(square(3, 3), plain(3, 2), upper=False),
            sample(square(3, 3), plain(3, 2), upper=True, unitriangular=True),
            sample(square(3, 3), plain(2, 3), upper=False, left=False),
            sample(square(2, 3, 3), plain(2, 2, 3), upper=True, left=False, unitriangular=True),
        ],
    ),
    case(
        "triangular_solve",
        lambda b, a, upper=True: (solve(triangle(a, upper), b), a),
        [sample(plain(3, 2), square(3, 3)), sample(plain(3, 2), square(3, 3), upper=False)],
        ("same", "same"),
        method="triangular_solve",
        out="",
    ),
    case(
        "cholesky_solve",
        cholesky_solve,
        [
            *(sample(*reversed(pair)) for pair in SIDES[:4]),
            sample(plain(3, 2), square(3, 3), upper=True),
        ],
        method="cholesky_solve",
        out="cast",
    ),
    case(
        "cholesky_inverse",
        lambda a, upper=False: cholesky_solve(np.eye(a.shape[-1]), a, upper),
        [*each(SQUARES[:3]), sample(square(3, 3), upper=True)],
        method="cholesky_inverse",
        out="cast",
    ),
    case(
        "linalg_qr",
        qr,
        [*each(ANY), sample(plain(4, 3), "complete"), sample(plain(3, 4), mode="complete")],
        ("same", "same"),
        bad=(bad(RuntimeError, "qr received unrecognized mode 'x'", T((2, 2)), "x"),),
    ),
    case("linalg_qr", qr, [sample(plain(4, 3), "r")], ("same", "same"), variant="r"),
    case("linalg_svdvals", singular_values, each(ANY)),
    case(
        "linalg_eigvalsh",
        lambda a, UPLO="L": np.linalg.eigvalsh(a, UPLO),
        [*each([positive(3, 3), positive(2, 4, 4)]), sample(positive(3, 3), "U")],
        bad=needs_square("linalg.eigh"),
    ),
    case(
        "linalg_matrix_rank",
        rank,
        [*each(ANY), sample(plain(2, 3, 3), atol=0.5)],
        "int64",
        out="any",
    ),
    case(
        "linalg_pinv",
        pinv,
        [*each([*ANY, np.zeros((3, 0))]), sample(plain(4, 3), rtol=1e-3)],
        out="cast",
    ),
    case("pinverse", pinv, each(ANY[:2]), method="pinverse", out=""),
    *(
        case(
            "linalg_matrix_norm",
            matrix_norm,
            [
                *each(ANY[:4], order),
                sample(plain(2, 3, 4), order, dim=(0, 2)),
                sample(plain(2, 3, 4), order, dim=(2, 1), keepdim=True),
            ],
            variant=str(order),
            optional=("float16", "bfloat16"),
        )
        for order in ORDERS
    ),
    case(
        "linalg_norm",
        lambda a, ord=None, **more: np.linalg.norm(a.ravel() if ord is None else a, ord, **more),
        [*each(ANY[:2]), sample(plain(3, 4), 2), sample(plain(5), 3), sample(plain(3, 4), "nuc")],
        variant="matrix",
        optional=("float16", "bfloat16"),
    ),
    *(
        case("linalg_cond", cond, each(SQUARES[:3], order), out="cast", variant=str(order)).but(
            tolerance=SMALL
        )
        for order in ORDERS
        if order != "nuc"
    ),
    case(
        "linalg_matrix_power",
        lambda a, n: np.linalg.matrix_power(a, n),
        [
            *each(SQUARES[:2], 3),
            *each(SQUARES[:2], -2),
            *each(SQUARES[:2], 0),
            *each(SQUARES[:2], 1),
        ],
        bad=(
            bad(
                RuntimeError,
                "linalg.matrix_power: A must be batches of square matrices, but they are 2 by 3",
                T((2, 3)),
                2,
            ),
        ),
    ).but(optional=("float16", "bfloat16", "uint8", "int8", "int16", "int32", "int64", "bool")),
    case("linalg_matrix_exp", matrix_exp, each(SQUARES[:3]), out="").but(
        optional=("float16", "bfloat16")
    ),
    case(
        "linalg_cross",
        cross,
        [sample(plain(4, 3), plain(1, 3)), sample(plain(3, 2), plain(3, 2), dim=0)],
    ).but(optional=("float16", "bfloat16", "uint8", "int8", "int16", "int32", "int64")),
    case(
        "linalg_vander",
        lambda x, N=None: np.vander(x, N, increasing=True),
        [sample(plain(3)), sample(plain(2), N=4)],
        out="",
    ).but(optional=("uint8", "int8", "int16", "int32", "int64")),
    case(
        "linalg_tensorinv",
        lambda a, ind=2: np.linalg.tensorinv(a, ind),
        [sample(square(6, 6).reshape(2, 3, 6), 2), sample(square(6, 6).reshape(6, 2, 3), 1)],
        out="cast",
    ),
    case(
        "linalg_tensorsolve",
        lambda a, b: np.linalg.tensorsolve(a, b),
        [sample(square(6, 6).reshape(2, 3, 6), plain(2, 3))],
        out="cast",
    ),
    case(
        "geqrf",
        lambda a: tuple(
            x.swapaxes(-1, -2) if i == 0 else x for i, x in enumerate(np.linalg.qr(a, "raw"))
        ),
        each([plain(4, 3), plain(2, 3, 3)]),
        ("same", "same"),
        method="geqrf",
        out="",
    ),
]
