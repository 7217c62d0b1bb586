"""Pointwise ops and copies give the same, to the bit, however their operands lie in memory.

The shapes are large enough that lines, pieces and transposed planes all occur, with rests.
"""

import math

import pytest

FLOATS = ("float32", "float64", "float16", "bfloat16")
DTYPES = (*FLOATS, "int64", "int32", "uint8")
SHAPES = ((150, 137), (2, 70, 141), (9, 1030), (5000, 11))
BINARY = ("add", "sub", "mul", "maximum", "minimum", "lt", "eq")
BINARY_FLOATS = ("div", "copysign", "atan2")
UNARY = ("neg", "abs", "square", "isnan")
UNARY_FLOATS = ("sqrt", "floor", "exp", "lgamma")


def values(torch, dtype, shape):
    made = torch.randint(1, 90, shape)
    return (made / 8 - 4).to(dtype) if dtype.is_floating_point else made.to(dtype)


def layouts(torch, dtype, shape):
    """Tensors of that shape, or of one that expands to it."""
    last = shape[-1]
    yield values(torch, dtype, shape)
    yield values(torch, dtype, (*shape[:-2], last, shape[-2])).transpose(-1, -2)
    yield values(torch, dtype, (*shape[:-1], 2 * last))[..., ::2]
    yield values(torch, dtype, (*shape[:-2], last, 3 * shape[-2])).transpose(-1, -2)[..., 1::3, :]
    yield values(torch, dtype, (last,))
    yield values(torch, dtype, (*shape[:-1], 1))
    yield values(torch, dtype, ())
    if len(shape) == 3:
        yield values(torch, dtype, (last, *shape[:-1])).permute(1, 2, 0)


def contiguous(torch, tensor, shape):
    return torch.empty(shape, dtype=tensor.dtype).copy_(tensor)


def check(torch, result, expected):
    assert result.dtype == expected.dtype and result.shape == expected.shape
    assert torch.equal(result.isnan(), expected.isnan())
    assert torch.equal(result.nan_to_num(), expected.nan_to_num())


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_two_operands(torch, dtype, shape):
    torch.manual_seed(7)
    dtype = getattr(torch, dtype)
    made = list(layouts(torch, dtype, shape))
    dense = [contiguous(torch, tensor, shape) for tensor in made]
    names = BINARY + (BINARY_FLOATS if dtype.is_floating_point else ())
    for name in names:
        function = getattr(torch, name)
        for i, a in enumerate(made):
            for j in (0, (i + 1) % len(made), (i + 3) % len(made)):
                if (a.numel() == 1) or made[j].numel() == 1:
                    continue  # numbers of one element may keep more digits
                expected = function(dense[i], dense[j])
                result = function(a, made[j])
                check(torch, result.expand(shape), expected.expand(result.shape).expand(shape))


@pytest.mark.parametrize("shape", SHAPES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
def test_one_operand_and_a_number(torch, dtype, shape):
    torch.manual_seed(8)
    dtype = getattr(torch, dtype)
    names = UNARY + (UNARY_FLOATS if dtype.is_floating_point else ())
    for a in layouts(torch, dtype, shape):
        dense = contiguous(torch, a, a.shape)
        for name in names:
            function = getattr(torch, name)
            check(torch, function(a), function(dense))
        check(torch, a + 3, dense + 3)
        check(torch, 3 - a, 3 - dense)
        if a.dim() > 0:
            check(torch, torch.maximum(a, a[..., -1:]), torch.maximum(dense, dense[..., -1:]))
        check(torch, torch.addcmul(a, a, a), torch.addcmul(dense, dense, dense))
        check(torch, torch.where(a > 2, a, 0), torch.where(dense > 2, dense, 0))


@pytest.mark.parametrize("dtype", DTYPES)
def test_results_into_views(torch, dtype):
    torch.manual_seed(9)
    dtype = getattr(torch, dtype)
    shape = (150, 137)
    a, b = values(torch, dtype, shape), values(torch, dtype, (137, 150)).t()
    expected = a * b.contiguous()
    for out in (torch.zeros(137, 150, dtype=dtype).t(), torch.zeros(150, 274, dtype=dtype)[:, ::2]):
        torch.mul(a, b, out=out)
        check(torch, out, expected)
    for other in DTYPES:
        wanted = a.to(getattr(torch, other))
        check(torch, a.t().to(getattr(torch, other)), wanted.t())
        check(torch, a[:, ::2].to(getattr(torch, other)), wanted[:, ::2])


@pytest.mark.parametrize("dtype", (*DTYPES, "bool", "complex64"))
@pytest.mark.parametrize("count", (0, 1, 7, 100, 70_001))
def test_fill(torch, dtype, count):
    dtype = getattr(torch, dtype)
    for made in (torch.ones(count, dtype=dtype), torch.empty(count, dtype=dtype).fill_(1)):
        assert made.tolist() == [1] * count
    strided = torch.zeros(count, 3, dtype=dtype)
    strided[:, 1].fill_(1)
    assert strided.sum(1).tolist() == [1] * count
    assert torch.full((count, 2), 3, dtype=dtype).t().fill_(0).count_nonzero() == 0


@pytest.mark.parametrize("dtype", ("float16", "bfloat16"))
def test_ranges_of_halves(torch, dtype):
    dtype = getattr(torch, dtype)
    for start, step, count in ((0, 1, 3000), (-4.5, 0.25, 2049), (7, -3, 1024)):
        made = torch.arange(start, start + step * count, step, dtype=dtype)
        expected = [start + step * i for i in range(count)]  # exact in float32
        assert torch.equal(made, torch.tensor(expected).to(dtype))


@pytest.mark.parametrize("dtype", ("float32", "float16", "bfloat16"))
def test_gelu_and_its_gradient(torch, dtype):
    dtype = getattr(torch, dtype)
    x = torch.linspace(-16, 16, 4001).to(dtype).requires_grad_()
    result = torch.nn.functional.gelu(x)
    result.backward(torch.full_like(result, 0.75))
    wide = x.detach().double()
    below = torch.special.erfc(-wide * 0.5**0.5) / 2
    density = (-wide * wide / 2).exp() * (2 * math.pi) ** -0.5
    info = torch.finfo(dtype)
    units = 6 if dtype == torch.float32 else 1
    for got, expected in (
        (result.detach(), wide * below),
        (x.grad, 0.75 * (below + wide * density)),
    ):
        # Units of the last place; absolute where numbers are subnormal, and at the gradient's root.
        bound = units * info.eps * (expected.abs() + 2 * info.tiny)
        bound += 2.0**-22 * ((wide + 0.75).abs() < 0.1)
        assert ((got.double() - expected).abs() <= bound).all()
