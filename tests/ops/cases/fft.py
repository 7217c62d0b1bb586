"""Discrete Fourier transforms, against NumPy's."""

import numpy as np

from tests.ops.case import ALL, COMPLEX, INTS_AND_BOOL, OpCase, S, Sample, T, V, bad

REAL = ("float32", "float64")
NEAR = {
    "float32": (2e-5, 2e-5),
    "float64": (1e-11, 1e-11),
    "complex64": (2e-5, 2e-5),
    "complex128": (1e-11, 1e-11),
}


def sample(*args, **kwargs):
    return Sample(args, kwargs, inplace=False)


def one_dim(name):
    function = getattr(np.fft, name)
    return lambda x, n=None, dim=-1, norm=None: function(x, n, dim, norm)


def many_dims(name):
    function = getattr(np.fft, name)
    usual = (-2, -1) if name.endswith("2") else None
    return lambda x, s=None, dim=usual, norm=None: function(x, s, dim, norm)


def case(name, oracle, samples, dtypes, result, **more):
    return OpCase(
        f"fft_{name}",
        oracle,
        samples,
        dtypes,
        result,
        NEAR,
        function=f"fft.{name}",
        method=None,
        out="any",
        unchecked=INTS_AND_BOOL + (REAL if result == "part" else ()),
        **more,
    )


LINES = [
    sample(T((5,))),
    sample(T((2, 8))),
    sample(T((3, 2, 6)), dim=1),
    sample(T((4, 3)), dim=0),
    sample(T((2, 7)), 4),
    sample(T((2, 7)), 12, -1, "ortho"),
    sample(T((3, 11)), norm="forward"),
    sample(T((18, 17)), norm="backward"),
    sample(T((1,))),
]
IMAGES = [
    sample(T((4, 5))),
    sample(T((2, 3, 4))),
    sample(T((2, 3, 4)), dim=(0, 2)),
    sample(T((2, 3, 4)), (5, 2)),
    sample(T((2, 3, 4)), norm="ortho"),
    sample(T((3, 4, 2)), (2, 6), (1, 0), "forward"),
]
NO_LINE = (
    bad(IndexError, "Dimension specified as -1 but tensor has no dimensions", T(())),
    bad(RuntimeError, r"Invalid number of data points \(0\) specified", T((2, 3)), 0),
    bad(RuntimeError, 'Invalid normalization mode: "other"', T((3,)), norm="other"),
    bad(IndexError, "Dimension out of range", T((3,)), dim=1),
)
NO_IMAGE = (
    bad(RuntimeError, "FFT dims must be unique", T((2, 3)), dim=(0, 0)),
    bad(RuntimeError, "must have the same length", T((2, 3)), (2,), (0, 1)),
    bad(RuntimeError, r"Invalid number of data points \(0\) specified", T((2, 3)), (2, 0)),
)

CASES = [
    case("fft", one_dim("fft"), LINES, REAL + COMPLEX, "complex", bad=NO_LINE),
    case("ifft", one_dim("ifft"), LINES, REAL + COMPLEX, "complex", bad=NO_LINE),
    case("rfft", one_dim("rfft"), LINES, REAL, "complex", bad=NO_LINE),
    case("ihfft", one_dim("ihfft"), LINES, REAL, "complex", bad=NO_LINE),
    case("irfft", one_dim("irfft"), LINES[:-1], COMPLEX, "part", bad=NO_LINE),
    case("hfft", one_dim("hfft"), LINES[:-1], COMPLEX, "part", bad=NO_LINE),
    case("fft2", many_dims("fft2"), IMAGES, REAL + COMPLEX, "complex", bad=NO_IMAGE),
    case("ifft2", many_dims("ifft2"), IMAGES, REAL + COMPLEX, "complex", bad=NO_IMAGE),
    case("rfft2", many_dims("rfft2"), IMAGES, REAL, "complex", bad=NO_IMAGE),
    case("irfft2", many_dims("irfft2"), IMAGES, COMPLEX, "part", bad=NO_IMAGE),
    case("fftn", many_dims("fftn"), IMAGES, REAL + COMPLEX, "complex", bad=NO_IMAGE),
    case("ifftn", many_dims("ifftn"), IMAGES, REAL + COMPLEX, "complex", bad=NO_IMAGE),
    case("rfftn", many_dims("rfftn"), IMAGES, REAL, "complex", bad=NO_IMAGE),
    case("irfftn", many_dims("irfftn"), IMAGES, COMPLEX, "part", bad=NO_IMAGE),
    OpCase(
        "fft_fftshift",
        lambda x, dim=None: np.fft.fftshift(x, dim),
        [S(V((0.0, 1.0, 2.0, 3.0, 4.0))), S(T((3, 4))), S(T((3, 4)), 0), S(T((2, 3, 4)), (0, -1))],
        ALL + COMPLEX,
        function="fft.fftshift",
        method=None,
    ),
    OpCase(
        "fft_ifftshift",
        lambda x, dim=None: np.fft.ifftshift(x, dim),
        [S(V((0.0, 1.0, 2.0, 3.0, 4.0))), S(T((3, 4))), S(T((3, 4)), 0), S(T((2, 3, 4)), (0, -1))],
        ALL + COMPLEX,
        function="fft.ifftshift",
        method=None,
    ),
]
