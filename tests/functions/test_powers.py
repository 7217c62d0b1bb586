"""`x ** number`: torch's answers at the edges, whichever way a power is computed."""

import math

import numpy as np
import pytest

INF, NAN = math.inf, math.nan
EDGES = [0.0, -0.0, 1.0, -1.0, 2.0, -2.0, INF, -INF, NAN]

# What roots give where pow would give something else: float16 has pow.
ROOTS = {
    0.5: [0.0, -0.0, 1.0, NAN, math.sqrt(2), NAN, INF, NAN, NAN],
    -0.5: [INF, -INF, 1.0, NAN, math.sqrt(0.5), NAN, 0.0, NAN, NAN],
}
POWERS = {
    0: [1.0] * 9,
    1: EDGES,
    2: [0.0, 0.0, 1.0, 1.0, 4.0, 4.0, INF, INF, NAN],
    3: [0.0, -0.0, 1.0, -1.0, 8.0, -8.0, INF, -INF, NAN],
    4: [0.0, 0.0, 1.0, 1.0, 16.0, 16.0, INF, INF, NAN],
    -1: [INF, -INF, 1.0, -1.0, 0.5, -0.5, 0.0, -0.0, NAN],
    -2: [INF, INF, 1.0, 1.0, 0.25, 0.25, 0.0, 0.0, NAN],
    -3: [INF, -INF, 1.0, -1.0, 0.125, -0.125, 0.0, -0.0, NAN],
    2.5: [0.0, 0.0, 1.0, NAN, 2**2.5, NAN, INF, INF, NAN],
    0.5: [0.0, 0.0, 1.0, NAN, math.sqrt(2), NAN, INF, INF, NAN],
    -0.5: [INF, INF, 1.0, NAN, math.sqrt(0.5), NAN, 0.0, 0.0, NAN],
    INF: [0.0, 0.0, 1.0, 1.0, INF, INF, INF, INF, NAN],
    -INF: [INF, INF, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, NAN],
    NAN: [NAN, NAN, 1.0, NAN, NAN, NAN, NAN, NAN, NAN],
}
FLOATS = {"float32": 2e-7, "float64": 3e-16, "float16": 1e-3, "bfloat16": 8e-3}
INTS = ("uint8", "int8", "int16", "int32", "int64")


def assert_same(found, expected, relative):
    assert len(found) == len(expected)
    for x, y in zip(found, expected, strict=True):
        if math.isnan(y):
            assert math.isnan(x)
        else:
            assert math.copysign(1, x) == math.copysign(1, y)
            assert x == y or abs(x - y) <= relative * abs(y)


@pytest.mark.parametrize("exponent", POWERS)
@pytest.mark.parametrize("name", FLOATS)
def test_edges(torch, name, exponent):
    dtype = getattr(torch, name)
    expected = POWERS[exponent] if name == "float16" else ROOTS.get(exponent, POWERS[exponent])
    x = torch.tensor(EDGES, dtype=dtype)
    assert (x**exponent).dtype == dtype
    assert_same((x**exponent).tolist(), expected, FLOATS[name])
    # The same in place, on every other element, and as a part of something fused.
    assert_same(x.clone().pow_(exponent).tolist(), expected, FLOATS[name])
    wide = torch.zeros(2 * len(EDGES), dtype=dtype)[::2]
    wide.copy_(x)
    assert_same(wide.pow(exponent).tolist(), expected, FLOATS[name])
    with torch.pipeline():
        fused = x.abs().neg().abs().copysign(x) ** exponent
    assert_same(fused.tolist(), expected, FLOATS[name])


@pytest.mark.parametrize("exponent", POWERS)
@pytest.mark.parametrize("name", FLOATS)
def test_tensors_as_exponents(torch, name, exponent):
    """pow of C, with no roots and products."""
    x = torch.tensor(EDGES, dtype=getattr(torch, name))
    found = x ** torch.full((len(EDGES),), exponent, dtype=x.dtype)
    assert_same(found.tolist(), POWERS[exponent], FLOATS[name])


def test_small_and_large(torch):
    """Products may leave the range where the power itself would not: as in torch."""
    x = torch.tensor([1e-45, 1e-30, 1e20, -1e20])
    assert (x**3).tolist() == [0.0, 0.0, INF, -INF]
    assert (x**-2).tolist() == [INF, INF, 0.0, 0.0]
    assert (x**-1)[2:].tolist() == pytest.approx([1e-20, -1e-20], rel=1e-6)
    wide = torch.tensor([1e-320, 5e-324, 1e200], dtype=torch.float64)
    assert (wide**3).tolist() == [0.0, 0.0, INF]
    assert (wide**-2).tolist() == [INF, INF, 0.0]
    assert (wide**1).tolist() == [1e-320, 5e-324, 1e200]


def test_products_of_bfloat16_are_rounded_one_by_one(torch):
    x = torch.tensor([1.0078125, 1.4140625, 3.078125], dtype=torch.bfloat16)
    assert torch.equal(x**3, (x * x) * x)
    assert torch.equal(x**-2, (x * x).reciprocal())
    assert (x**3).tolist() == [1.0234375, 2.828125, 29.25]
    with torch.pipeline():
        fused = (x + 0) ** 3
    assert fused.tolist() == [1.0234375, 2.828125, 29.25]


def test_exponents_are_rounded_to_16_bits_first(torch):
    x = torch.tensor([100.0], dtype=torch.bfloat16)
    assert (x**0.3).tolist() == (x ** torch.tensor([0.3], dtype=torch.bfloat16)).tolist()
    assert (x**0.3).tolist() == [4.0]


@pytest.mark.parametrize("exponent", [0, 1, 2, 3, 4, 5, 7])
@pytest.mark.parametrize("name", INTS)
def test_integers_wrap(torch, name, exponent):
    info = np.iinfo(name)
    values = [0, 1, 2, 3, 11, info.max, info.min, *range(100)]
    expected = [(v**exponent - info.min) % (info.max - info.min + 1) + info.min for v in values]
    x = torch.tensor(values, dtype=getattr(torch, name))
    assert (x**exponent).dtype == x.dtype
    assert (x**exponent).tolist() == expected
    exponents = torch.full((len(values),), exponent, dtype=x.dtype)
    assert (x**exponents).tolist() == expected


def test_integers_and_numbers_of_other_kinds(torch):
    x = torch.tensor([2, 4])
    assert (x**-1.0).tolist() == [0.5, 0.25]
    assert (x**-2.0).dtype == torch.float32
    assert (x**True).tolist() == [2, 4]
    assert (torch.tensor([True, False]) ** 3).tolist() == [1, 0]
    assert (torch.tensor([2.0]) ** False).tolist() == [1.0]
    for exponent in (-1, -2, -3):
        for values in ([2], []):
            with pytest.raises(RuntimeError, match="Integers to negative integer powers"):
                torch.tensor(values, dtype=torch.int32) ** exponent
    assert torch.float_power(x, -2).tolist() == [0.25, 0.0625]
    assert torch.float_power(torch.tensor([2.0]), 3).dtype == torch.float64


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize("exponent", [*POWERS, 1.5, 10, -7, 0.3, 1e-3])
def test_torch_agrees(torch, torch_gives, name, exponent):
    # Extremes first: the last few elements of float32 go to torch with an exponent of float64.
    values = [*EDGES, 1e-30, 1e30, 6e-8, 65504.0, *np.linspace(-9, 9, 31).tolist()]

    def powers(library):
        return library.tensor(values, dtype=getattr(library, name)).pow(exponent).double().numpy()

    x = torch.tensor(values, dtype=getattr(torch, name))
    assert_same((x**exponent).tolist(), torch_gives(powers).tolist(), FLOATS[name])
