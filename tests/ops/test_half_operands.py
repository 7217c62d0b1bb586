"""float16 and bfloat16: an operand of another dtype is rounded to theirs before it is used.

The expected values are float32 arithmetic on operands that were rounded by hand. Products and
quotients take a single second operand as it is, as torch's kernels do.
"""

import pytest

from tests.nn.compare import assert_same

HALVES = ("float16", "bfloat16")
ROUND = ("add", "sub", "remainder", "fmod", "eq", "ne", "lt", "le", "gt", "ge")
ROUND_TENSORS = ("maximum", "minimum", "atan2", "hypot", "logaddexp")
KEEP_SECOND = ("mul", "div", "floor_divide")
NUMBERS = (0.1, 1 / 3, 2.3, 7.7)
ODD = {"float16": 2049, "bfloat16": 257}  # the first integer that the dtype does not have


def sample(torch, dtype, device):
    values = [0.1, 1 / 3, 2.3, 7.7, 1.0, 0.7, 255.5, 257.0, 2049.0, 3.0]
    values += [0.01 * k + 0.003 for k in range(1, 60)]
    return torch.tensor(values, dtype=getattr(torch, dtype), device=device)


def run(torch, mode, action):
    """The result, in a pipeline of the second run: planned, and then as machine code."""
    if mode == "eager":
        return action()
    for _ in range(3):
        with torch.pipeline():
            result = action()
    return result


def operands(torch, dtype, device):
    """Numbers, 0-dim tensors, single elements and whole tensors that `dtype` does not hold."""
    odd = ODD[dtype]
    for number in (*NUMBERS, odd):
        yield number, number
        yield torch.tensor(number), torch.tensor(number)
    for number in NUMBERS:
        yield torch.tensor(number, dtype=torch.float64), number
        if device != "cpu":
            yield torch.tensor(number, device=device), number
    yield torch.tensor([odd], device=device), odd
    yield torch.full((69,), odd, device=device), torch.full((69,), odd)


def same(torch, result, expected):
    result, expected = result.cpu(), expected.cpu()
    assert result.dtype == expected.dtype
    # Bits, so that NaN and the sign of zero count.
    bits = torch.int16 if result.dtype != torch.bool else torch.bool
    return torch.equal(result.view(bits), expected.view(bits))


def in_float32(torch, name, x, other, half, swap, rounds):
    """What float32 gives, rounded once at the end."""
    wide = torch.as_tensor(other)
    wide = wide.to(half).float() if rounds else wide.float()
    pair = (wide, x.cpu().float()) if swap else (x.cpu().float(), wide)
    if name == "floor_divide":
        result = floor_divided(torch, *pair, x.device)
    else:
        result = getattr(torch, name)(*pair)
    return result if result.dtype == torch.bool else result.to(half)


def floor_divided(torch, a, b, device):
    """torch takes the remainder off before it divides; CANN rounds the quotient down."""
    return a // b if device.type == "cpu" else torch.floor(a / b)


def is_single(other):
    return not hasattr(other, "numel") or other.numel() == 1


@pytest.mark.parametrize("dtype", HALVES)
@pytest.mark.parametrize("name", (*ROUND, *ROUND_TENSORS, *KEEP_SECOND))
def test_operands_are_rounded_first(torch, device, mode, dtype, name):
    half = getattr(torch, dtype)
    x = sample(torch, dtype, device)
    op = getattr(torch, name)
    for other, value in operands(torch, dtype, device):
        is_tensor = isinstance(other, torch.Tensor)
        if name in ROUND_TENSORS and not is_tensor:
            continue
        for swap in (False, True):
            if swap and (not is_tensor or name == "floor_divide"):
                continue
            keeps = name in KEEP_SECOND and not swap and is_single(other)
            pair = (other, x) if swap else (x, other)
            result = run(torch, mode, lambda pair=pair: op(*pair))
            expected = in_float32(torch, name, x, value, half, swap, not keeps)
            assert same(torch, result, expected), (other, swap)


@pytest.mark.parametrize("dtype", HALVES)
def test_numbers_on_the_left(torch, device, mode, dtype):
    """2 * x is x * 2, and 2 / x is x.reciprocal() * 2."""
    half = getattr(torch, dtype)
    x = sample(torch, dtype, device)
    for number in NUMBERS:
        expected = (x.cpu().float() * number).to(half)
        assert same(torch, run(torch, mode, lambda n=number: n * x), expected)
        inverse = (1 / x.cpu().float()).to(half).float()
        result = run(torch, mode, lambda n=number: n / x)
        assert same(torch, result, (inverse * number).to(half))


@pytest.mark.parametrize("dtype", HALVES)
def test_trunc_and_floor_modes(torch, device, mode, dtype):
    half = getattr(torch, dtype)
    x = sample(torch, dtype, device)
    for rounding in ("trunc", "floor"):
        for number in NUMBERS:
            result = run(torch, mode, lambda n=number, r=rounding: torch.div(x, n, rounding_mode=r))
            wide = x.cpu().float()
            if rounding == "floor":
                wide = floor_divided(torch, wide, number, x.device)
            else:
                wide = torch.div(wide, number, rounding_mode=rounding)
            assert same(torch, result, wide.to(half)), (rounding, number)


@pytest.mark.parametrize("dtype", HALVES)
def test_alpha_and_lambda_are_rounded(torch, device, mode, dtype):
    half = getattr(torch, dtype)
    x = sample(torch, dtype, device)
    y = x.flip(0)
    for number in NUMBERS:
        alpha = torch.tensor(number).to(half).float()
        expected = (x.cpu().float() + alpha * y.cpu().float()).to(half)
        assert same(torch, run(torch, mode, lambda n=number: torch.add(x, y, alpha=n)), expected)
        expected = (x.cpu().float() - alpha * y.cpu().float()).to(half)
        assert same(torch, run(torch, mode, lambda n=number: torch.sub(x, y, alpha=n)), expected)
        wide = torch.nn.functional.hardshrink(x.cpu().float(), alpha.item())
        result = run(torch, mode, lambda n=number: torch.nn.functional.hardshrink(x, n))
        assert same(torch, result, wide.to(half))


@pytest.mark.parametrize("dtype", HALVES)
def test_chains_round_as_single_ops_do(torch, device, dtype):
    """Many steps in one trace, with numbers, integers and single elements among the operands."""
    x = sample(torch, dtype, device)
    odd = ODD[dtype]
    many = torch.full((69,), odd, device=device)
    single = torch.tensor([odd], device=device)

    def chain():
        y = (x + 0.1) * 0.1 - many
        y = torch.where(y > -0.7, y * single, y / 1.7) + single
        z = torch.remainder(0.3 - y, 0.1) * many
        return z, y < 2.3, torch.full((69,), odd, device=device) * x

    expected = chain()
    for _ in range(3):
        with torch.pipeline():
            results = chain()
        for result, wanted in zip(results, expected, strict=True):
            assert same(torch, result, wanted)


@pytest.mark.parametrize("dtype", HALVES)
def test_layouts_and_outputs(torch, device, mode, dtype):
    half = getattr(torch, dtype)
    base = sample(torch, dtype, device)[:64].reshape(8, 8)
    odd = torch.arange(8, device=device) + ODD[dtype]
    for x in (base.t(), base[::2], base[:, 1:5].t()[:, :8]):
        other = odd[: x.shape[-1]]
        expected = (x.cpu().float() - other.cpu().to(half).float()).to(half)
        assert same(torch, run(torch, mode, lambda x=x, o=other: (x - o).contiguous()), expected)
        wide = torch.empty(x.shape, dtype=torch.float32, device=device)
        result = run(torch, mode, lambda x=x, o=other, w=wide: torch.sub(x, o, out=w))
        assert torch.equal(result.cpu(), expected.float())


@pytest.mark.parametrize("name", [*ROUND, *ROUND_TENSORS, "mul", "div", "floor_divide"])
@pytest.mark.parametrize("dtype", HALVES)
def test_same_as_torch(torch, torch_gives, dtype, name):
    def results(library):
        x, found = sample(library, dtype, "cpu"), []
        for operand, _ in operands(library, dtype, "cpu"):
            if name not in ROUND_TENSORS or isinstance(operand, library.Tensor):
                found.append(getattr(library, name)(x, operand).double().numpy())
        return found

    close = 1e-2 if name in ("atan2", "hypot", "logaddexp") else 0
    assert_same(results(torch), torch_gives(results), rtol=close, atol=0)
