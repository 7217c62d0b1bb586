"""Special functions. The answers are integrals and sums that NumPy computes another way."""

import math

import numpy as np

from tests.ops.case import ALL, FLOATS, NUMBERS, OpCase, S, T, V, bad, loose, only

SHAPES = ((3, 4), (5,), (), (0,), (2, 3, 4))
# float16 and bfloat16 are computed in float32 and rounded once.
WIDE = ("float32", "float64")
# torch's own values are off by as much in float64; tests/functions/test_special.py has exact ones.
ROUGH = {**loose(8), "float64": (1e-4, 1e-6)}
OTHERS = tuple(name for name in ALL if name not in WIDE)


def over(low, high, *values):
    samples = [S(T(shape, low, high)) for shape in SHAPES]
    return [*samples, only(FLOATS, V(values))] if values else samples


def special(name, oracle, samples, dtypes=ALL, **more):
    defaults = {
        "function": f"special.{name}",
        "method": None,
        "out": "cast",
        "tolerance": loose(8),
        "optional": ("float16", "bfloat16"),
    }
    return OpCase(f"special_{name}", oracle, samples, dtypes, "float", **{**defaults, **more})


def integral(function, low, high, count=40):
    """The integral over [low, high], by Gauss and Legendre's rule in each of 8 parts."""

    def of(x):
        x = np.asarray(x, dtype=np.float64)
        places, weights = np.polynomial.legendre.leggauss(count)
        total = np.zeros(x.shape)
        ends = np.linspace(low, high, 9)
        for begin, end in zip(ends[:-1], ends[1:], strict=True):
            t = begin + (places + 1) / 2 * (end - begin)
            total = total + (function(x[..., None], t) * weights).sum(-1) * (end - begin) / 2
        return total

    return of


def bessel_j(n):
    return integral(lambda x, t: np.cos(n * t - x * np.sin(t)) / np.pi, 0, np.pi)


def bessel_i(n, scaled=False):
    def part(x, t):
        exponent = x * np.cos(t) - (np.abs(x) if scaled else 0)
        return np.exp(exponent) * np.cos(n * t) / np.pi

    return integral(part, 0, np.pi)


def bessel_k(n, scaled=False):
    def part(x, t):
        return np.exp(-x * (np.cosh(t) - (1 if scaled else 0))) * np.cosh(n * t)

    return integral(part, 0, 8)


def bessel_y(n):
    def wave(x, t):
        return np.sin(x * np.sin(t) - n * t) / np.pi

    def tail(x, t):
        return (np.exp(n * t) + (-1) ** n * np.exp(-n * t)) * np.exp(-x * np.sinh(t)) / np.pi

    first, second = integral(wave, 0, np.pi), integral(tail, 0, 9)
    return lambda x: first(x) - second(x)


def airy(x):
    """Along a ray of the complex plane on which the integrand falls as exp(-s**3 / 3)."""
    turn = np.exp(1j * np.pi / 3)
    part = integral(lambda x, s: (turn * np.exp(-(s**3) / 3 - x * s * turn)).imag / np.pi, 0, 8)
    return part(x)


each = np.vectorize


def erfcx(x):
    return each(lambda v: math.exp(v * v) * math.erfc(v), otypes=[float])(x)


def ndtr(x):
    return each(lambda v: 0.5 * math.erfc(-v / math.sqrt(2)), otypes=[float])(x)


def entr(x):
    def one(v):
        if math.isnan(v):
            return v
        return -v * math.log(v) if v > 0 else 0.0 if v == 0 else -math.inf

    return each(one, otypes=[float])(x)


def ndtri(p):
    """The place where `ndtr` is p, by halves."""

    def one(value):
        if not 0 < value < 1:
            return -math.inf if value == 0 else math.inf if value == 1 else math.nan
        low, high = -40.0, 40.0
        for _ in range(120):
            middle = (low + high) / 2
            if 0.5 * math.erfc(-middle / math.sqrt(2)) < value:
                low = middle
            else:
                high = middle
        return low

    return each(one, otypes=[float])(p)


def zeta(s, q):
    """The first terms, and Euler's sum for the rest."""
    k = np.arange(60.0)
    s, q = np.broadcast_arrays(np.asarray(s, float), np.asarray(q, float))
    far = q + 60
    rest = far ** (1 - s) / (s - 1) + far**-s / 2 + s * far ** (-s - 1) / 12
    rest = rest - s * (s + 1) * (s + 2) * far ** (-s - 3) / 720
    return ((q[..., None] + k) ** -s[..., None]).sum(-1) + rest


def polygamma(n, x):
    return (-1) ** (n + 1) * math.factorial(n) * zeta(n + 1.0, x)


def lower_gamma(a, x):
    a, x = np.broadcast_arrays(np.asarray(a, float), np.asarray(x, float))

    def one(a, x):
        total, term = 0.0, 1.0 / a
        for n in range(1, 400):
            total += term
            term *= x / (a + n)
        return total * math.exp(a * math.log(x) - x - math.lgamma(a)) if x > 0 else 0.0

    return each(one, otypes=[float])(a, x)


def xlog1py(x, y):
    return np.where(x == 0, 0.0, x * np.log1p(y))


def polynomial(coefficients, shifted=False):
    """The series of NumPy's class at x, with one coefficient."""

    def of(x, n):
        x, n = np.broadcast_arrays(np.asarray(x, float), np.asarray(n, float))
        return each(lambda v, k: coefficients(int(k))(2 * v - 1 if shifted else v), otypes=[float])(
            x, n
        )

    return of


def second_kind(start):
    """The polynomials with the recurrence of Chebyshev's that start with 1 and 2 x + start."""

    def of(n):
        def at(x):
            before, value = 1.0, 2 * x + start
            for _ in range(n - 1):
                before, value = value, 2 * x * value - before
            return value if n > 0 else 1.0 if n == 0 else 0.0

        return at

    return of


def basis(kind):
    return lambda n: (lambda x: kind.basis(n)(x)) if n >= 0 else (lambda x: 0.0)


CHEBYSHEV = np.polynomial.Chebyshev
POLYNOMIALS = {
    "chebyshev_polynomial_t": basis(CHEBYSHEV),
    "chebyshev_polynomial_u": second_kind(0),
    "chebyshev_polynomial_v": second_kind(-1),
    "chebyshev_polynomial_w": second_kind(1),
    "hermite_polynomial_h": basis(np.polynomial.Hermite),
    "hermite_polynomial_he": basis(np.polynomial.HermiteE),
    "laguerre_polynomial_l": basis(np.polynomial.Laguerre),
    "legendre_polynomial_p": basis(np.polynomial.Legendre),
}


def polynomial_case(name, coefficients, shifted=False):
    degrees = V((0, 1, 2, 3, 5, 9, 12, -1), "float64")
    return special(
        ("shifted_" if shifted else "") + name,
        polynomial(coefficients, shifted),
        [
            S(T((3, 4), -1, 1), 3),
            S(T((5,), 0, 1), 2),
            S(T((37,), -1.5, 1.5), 12),
            only(("float64",), T((8,), -1, 1), degrees),
            only(("float64",), T((8,), 1, 2), degrees),
            only(("float64",), V((1.0, -1.0, 0.0)), 7),
            S(0.5, T((3,), 1, 6)),
        ],
        dtypes=WIDE,
        unchecked=OTHERS,
        tolerance=loose(40),
    )


CASES = [
    OpCase(
        "i0",
        bessel_i(0),
        over(-9, 9, 0.0, 20.0),
        ALL,
        "float",
        tolerance=loose(8),
        inplace=True,
        out="cast",
    ),
    special("i0", bessel_i(0), over(-9, 9)),
    special("i0e", bessel_i(0, True), over(-20, 20, 0.0, 60.0)),
    special("i1", bessel_i(1), over(-9, 9, 0.0, 20.0)),
    special("i1e", bessel_i(1, True), over(-20, 20, 0.0, 60.0)),
    special("modified_bessel_i0", bessel_i(0), over(-9, 9)),
    special("modified_bessel_i1", bessel_i(1), over(-9, 9)),
    special(
        "bessel_j0", bessel_j(0), over(-12, 12, 0.0), NUMBERS, tolerance=ROUGH, unchecked=("bool",)
    ),
    special(
        "bessel_j1", bessel_j(1), over(-12, 12, 0.0), NUMBERS, tolerance=ROUGH, unchecked=("bool",)
    ),
    special("bessel_y0", bessel_y(0), over(0.5, 12), NUMBERS, tolerance=ROUGH, unchecked=("bool",)),
    special("bessel_y1", bessel_y(1), over(0.5, 12), NUMBERS, tolerance=ROUGH, unchecked=("bool",)),
    special("modified_bessel_k0", bessel_k(0), over(0.25, 9), NUMBERS, unchecked=("bool",)),
    special("modified_bessel_k1", bessel_k(1), over(0.25, 9), NUMBERS, unchecked=("bool",)),
    special(
        "scaled_modified_bessel_k0", bessel_k(0, True), over(0.25, 9), NUMBERS, unchecked=("bool",)
    ),
    special(
        "scaled_modified_bessel_k1", bessel_k(1, True), over(0.25, 9), NUMBERS, unchecked=("bool",)
    ),
    special("spherical_bessel_j0", lambda x: np.sinc(x / np.pi), over(-9, 9, 0.0)),
    special("airy_ai", airy, over(-6, 6, 0.0), tolerance=ROUGH),
    special("entr", entr, over(0, 4, 0.0, -1.0, 1.0)),
    special("erfcx", erfcx, over(-4, 9, 0.0, 25.0)),
    special("ndtr", ndtr, over(-6, 6, 0.0, -30.0, 9.0)),
    special("log_ndtr", lambda x: np.log(ndtr(x)), over(-6, 6, 0.0, -20.0)),
    special("ndtri", ndtri, over(0.01, 0.99, 0.0, 1.0, 0.5, 2.0)),
    special(
        "zeta",
        zeta,
        [S(T((3, 4), 1.5, 6), T((3, 4), 0.5, 6)), S(T((5,), 2, 5), 1.0), S(2.0, T((5,), 0.5, 6))],
        WIDE,
        unchecked=OTHERS,
    ),
    special(
        "xlog1py",
        xlog1py,
        [
            S(T((3, 4)), T((3, 4), -0.5, 4)),
            S(T((5,)), 2.0),
            S(2.0, T((5,), 0, 4)),
            only(FLOATS, V((0.0, 0.0)), V((-1.0, 2.0))),
        ],
    ),
    special(
        "polygamma",
        polygamma,
        [S(2, T((3, 4), 0.5, 6)), S(3, T((5,), 0.5, 6)), S(1, T((5,), 0.5, 6))],
        WIDE,
        unchecked=OTHERS,
        tolerance=ROUGH,
        bad=(bad(RuntimeError, "does not support negative n", -1, T((3,))),),
    ),
    OpCase(
        "igamma",
        lower_gamma,
        [S(T((3, 4), 0.5, 6), T((3, 4), 0, 12)), S(T((2, 1), 0.5, 9), T((3,), 0.5, 30))],
        WIDE,
        "float",
        unchecked=OTHERS,
        optional=OTHERS,
        tolerance=loose(8),
        inplace=True,
        out="cast",
    ),
    OpCase(
        "igammac",
        lambda a, x: 1 - lower_gamma(a, x),
        [S(T((3, 4), 0.5, 6), T((3, 4), 0, 5)), S(T((2, 1), 0.5, 9), T((3,), 0.5, 5))],
        WIDE,
        "float",
        unchecked=OTHERS,
        optional=OTHERS,
        tolerance=loose(20),
        inplace=True,
        out="cast",
    ),
    *(polynomial_case(name, coefficients) for name, coefficients in POLYNOMIALS.items()),
    *(polynomial_case(name, POLYNOMIALS[name], True) for name in POLYNOMIALS if "cheb" in name),
]
