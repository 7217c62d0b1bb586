"""Values of every dtype of CANN in NumPy: bfloat16 is float32 whose low bits are zero, complex32 is
complex64 of two float16."""

import numpy as np

from .acl import NUMPY

FLOATS = ("f32", "f16", "bf16")
INTEGERS = ("i8", "u8", "i16", "i32", "i64")
COMPLEX = ("c64", "c128")
REAL = (*FLOATS, *INTEGERS, "f64", "bool")


def encode(values, dtype):
    """The bits of `values` as dtype."""
    values = np.asarray(values)
    if dtype == "bf16":
        bits = np.atleast_1d(values.astype(np.float32)).view(np.uint32).astype(np.uint64)
        nan = np.isnan(np.atleast_1d(values.astype(np.float32)))
        rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) >> 16
        rounded = np.where(nan, 0x7FC0, rounded).astype(np.uint16)
        return rounded.reshape(values.shape)
    with np.errstate(all="ignore"):
        if dtype == "c32":
            parts = np.stack([values.real, np.imag(values)], -1).astype(np.float16)
            return np.ascontiguousarray(parts).view(np.uint32)[..., 0]
        return np.array(values.astype(NUMPY[dtype]), order="C")


def decode(bits, dtype):
    """What the bits mean, in a type NumPy computes with (float32 for 16-bit floats)."""
    if dtype == "bf16":
        return (bits.astype(np.uint32) << 16).view(np.float32)
    if dtype == "c32":
        parts = np.ascontiguousarray(bits)[..., None].view(np.float16).astype(np.float32)
        return parts.view(np.complex64)[..., 0]
    return bits.astype(np.float32) if dtype == "f16" else bits


def rounded(values, dtype):
    bits = encode(values, dtype)
    return decode(np.ascontiguousarray(bits), dtype).reshape(np.shape(values))


def random(shape, dtype, seed=0, low=-3.0, high=3.0):
    """Values that dtype holds exactly."""
    generator = np.random.default_rng([seed, *shape])
    if dtype == "bool":
        return generator.random(shape) < 0.5
    if dtype in (*COMPLEX, "c32"):
        parts = generator.uniform(low, high, (2, *shape))
        return rounded(parts[0] + 1j * parts[1], dtype)
    if dtype in FLOATS or dtype == "f64":
        return rounded(generator.uniform(low, high, shape), dtype)
    least = 0 if dtype.startswith("u") else int(low)
    return generator.integers(least, int(high) + 1, shape).astype(NUMPY[dtype])


TOLERANCE = {
    "f32": (2e-5, 1e-5), "f16": (2e-3, 2e-3), "bf16": (1.6e-2, 1.6e-2), "f64": (1e-9, 1e-9),
    "c64": (5e-5, 5e-5), "c128": (1e-9, 1e-9), "c32": (2e-3, 2e-3),
}  # fmt: skip


def assert_close(actual, expected, dtype, tolerance=None):
    """`actual` holds bits of dtype, `expected` numbers."""
    got = decode(actual, dtype)
    want = rounded(expected, dtype)
    if dtype in TOLERANCE:
        relative, absolute = tolerance or TOLERANCE[dtype]
        with np.errstate(all="ignore"):
            np.testing.assert_allclose(got, want, rtol=relative, atol=absolute)
    else:
        np.testing.assert_array_equal(got, want)
