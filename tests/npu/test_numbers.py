"""Numbers as operands: on an NPU they mean what they mean on the CPU."""

import itertools

import pytest

INTEGERS = ("uint8", "int8", "int16", "int32", "int64")
DTYPES = ("bool", *INTEGERS, "float16", "bfloat16", "float32", "float64")
NUMBERS = (True, 2, -1, 300, 2**31, 2**40, 2**63 - 1, 2.5, -0.5)


def outcome(action):
    """A result as text, or the class of the error."""
    try:
        result = action()
    except Exception as error:
        return type(error).__name__
    return f"{result.dtype} {result.tolist()}"


@pytest.mark.parametrize("name", ["add", "sub", "mul", "eq", "lt", "ge", "maximum", "pow"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_of_every_size(torch, dtype, name):
    x = torch.tensor([1, 2, 3, 4]).to(getattr(torch, dtype))
    op = getattr(torch, name)
    for number in NUMBERS:
        if name == "pow" and dtype == "float64":
            # Two functions for powers, each within an ulp.
            torch.testing.assert_close(op(x.npu(), number).cpu(), op(x, number), rtol=5e-16, atol=0)
            continue
        assert outcome(lambda n=number: op(x.npu(), n)) == outcome(lambda n=number: op(x, n)), (
            number
        )


@pytest.mark.parametrize("dtype", DTYPES)
def test_host_tensors_of_one_number(torch, dtype):
    x = torch.tensor([1, 2, 3, 4]).to(getattr(torch, dtype))
    y = x.npu()
    for number, other in itertools.product(NUMBERS, DTYPES):
        if isinstance(number, int) and not -128 <= number < 256 and "int" not in other:
            continue  # a float that no integer holds
        n = torch.tensor(number).to(getattr(torch, other))
        for action in (
            lambda t, n=n: t + n,
            lambda t, n=n: n - t,
            lambda t, n=n: t < n,
            lambda t, n=n: torch.where(t > 2, t, n),
            lambda t, n=n: t.clone().fill_(n),
            lambda t, n=n: torch.fmod(t, 3 + 0 * n),
        ):
            assert outcome(lambda a=action: a(y)) == outcome(lambda a=action: a(x)), (number, other)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_limits_out_of_range(torch, dtype):
    x = torch.tensor([0, 3, 5, 7]).to(getattr(torch, dtype))
    functional = torch.nn.functional
    for low, high in itertools.product((-1, 2, 300, 2**40), repeat=2):
        for action in (
            lambda t, low=low, high=high: t.clamp(low, high),
            lambda t, low=low: t.clamp_min(low),
            lambda t, high=high: t.clamp_max(high),
            lambda t, low=low, high=high: functional.hardtanh(t, low, high),
            lambda t, low=low, high=high: functional.threshold(t, low, high),
        ):
            assert outcome(lambda a=action: a(x.npu())) == outcome(lambda a=action: a(x))


def test_what_is_true_is_one_plan_and_what_is_false_another(torch):
    """Both of these are 0 as integers."""
    x = torch.zeros(2, dtype=torch.bool, device="npu")
    assert x.fill_(-0.5).tolist() == [True, True]
    assert x.fill_(False).tolist() == [False, False]
    assert x.fill_(0.5).tolist() == [True, True]


def test_ranges_may_end_past_their_dtype(torch):
    assert torch.arange(250, 256, dtype=torch.uint8, device="npu").tolist() == [*range(250, 256)]
    assert torch.arange(126, 128, dtype=torch.int8, device="npu").tolist() == [126, 127]


@pytest.mark.parametrize("action", ["fill_", "masked_fill_", "index_fill_", "to"])
def test_negative_floats_wrap_around_in_bytes(torch, action):
    value = torch.tensor(-3.7, device="npu")
    x = torch.zeros(1, dtype=torch.uint8, device="npu")
    arguments = {
        "fill_": (value,),
        "masked_fill_": (x == 0, value),
        "index_fill_": (0, torch.zeros(1, dtype=torch.int64, device="npu"), value),
    }
    result = value.to(torch.uint8) if action == "to" else getattr(x, action)(*arguments[action])
    assert result.flatten().tolist() == [253]


@pytest.mark.parametrize("dtype", ["uint8", "int8", "int16"])
def test_a_product_in_few_bits_wraps_around_once(torch, dtype):
    a = torch.tensor([-6, 7, 4]).to(getattr(torch, dtype))
    for b in (torch.tensor([127, 101, 9]).to(a.dtype), torch.tensor(-5)):
        assert torch.lcm(a.npu(), b.npu()).tolist() == torch.lcm(a, b).tolist()


@pytest.mark.parametrize("name", ["deg2rad", "rad2deg", "hypot"])
def test_half_precision_is_rounded_before_it_is_stored_wider(torch, name):
    x = torch.tensor([2.296875, -0.53125], dtype=torch.bfloat16)
    operands = (x, x) if name == "hypot" else (x,)
    out = torch.empty(2, dtype=torch.float64, device="npu")
    getattr(torch, name)(*(each.npu() for each in operands), out=out)
    assert out.tolist() == out.to(torch.bfloat16).tolist()


@pytest.mark.parametrize("dtype", INTEGERS)
def test_shifts_by_every_number_of_bits(torch, dtype):
    info = torch.iinfo(getattr(torch, dtype))
    x = torch.tensor([info.min, info.max, 1, 6]).to(getattr(torch, dtype))
    for bits in (*range(info.bits + 1), 100):
        assert (x.npu() >> bits).tolist() == (x >> bits).tolist(), bits
        assert (x.npu() << bits).tolist() == (x << bits).tolist(), bits


def test_a_fraction_is_true(torch):
    x = torch.tensor([[0.5, 0.25], [0.5, 0.0]], device="npu")
    for name, expected in (("sum", [True, True]), ("prod", [True, False])):
        reduce = getattr(torch, name)
        assert reduce(x, 1, dtype=torch.bool).tolist() == expected
        assert reduce(x[0], dtype=torch.bool).item() is True
        out = torch.empty(2, dtype=torch.bool, device="npu")
        assert reduce(x, 1, out=out).tolist() == expected


def test_what_the_cpu_refuses_of_truth_values(torch):
    x = torch.tensor([True, False], device="npu")
    with pytest.raises(NotImplementedError, match="round_cpu"):
        torch.round(x, decimals=1)
    with pytest.raises(NotImplementedError, match="clamp"):
        torch.clamp(x, x, x)
    with pytest.raises(NotImplementedError, match="scatter_reduce.*torch.bool"):
        x.scatter_reduce(0, torch.tensor([0], device="npu"), x[:1], "mean")
