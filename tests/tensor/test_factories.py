"""Factories beyond their values: what out= decides, which numbers fit a dtype, loose sizes."""

import pytest


@pytest.mark.parametrize(
    "call, wanted",
    [
        (lambda torch, **out: torch.zeros(2, **out), [0, 0]),
        (lambda torch, **out: torch.ones(2, **out), [1, 1]),
        (lambda torch, **out: torch.full((2,), 1.5, **out), [1, 1]),
        (lambda torch, **out: torch.arange(3.0, **out), [0, 1, 2]),
        (lambda torch, **out: torch.linspace(0, 3, 4, **out), [0, 1, 2, 3]),
        (lambda torch, **out: torch.eye(2, **out), [[1, 0], [0, 1]]),
    ],
)
def test_out_decides_the_dtype(torch, call, wanted):
    out = torch.empty(0, dtype=torch.int32)
    assert call(torch, out=out) is out
    assert out.dtype is torch.int32
    assert out.tolist() == wanted


def test_out_draws_in_its_own_dtype(torch):
    torch.manual_seed(3)
    wanted = torch.rand(5, dtype=torch.float64)
    torch.manual_seed(3)
    assert torch.equal(torch.rand(5, out=torch.empty(0, dtype=torch.float64)), wanted)


def test_dtype_and_device_agree_with_out(torch):
    out = torch.empty(2, dtype=torch.int64)
    torch.zeros(2, dtype=torch.int64, device="cpu", out=out)
    with pytest.raises(RuntimeError, match=r"dtype Float does not match dtype of out parameter"):
        torch.zeros(2, dtype=torch.float32, out=out)
    with pytest.raises(RuntimeError, match="device type meta does not match device type of out"):
        torch.zeros(2, device="meta", out=out)


@pytest.mark.parametrize(
    "dtype, name, fits, too_large",
    [
        ("uint8", "uint8_t", (255, -1, -255, 1.7), (256, -256, -1.7, float("nan"))),
        ("int8", "int8_t", (127, -128, -1.7), (128, -129, float("inf"))),
        ("int16", "int16_t", (32767,), (32768, 1e9)),
        ("int32", "int", (2**31 - 1,), (2**31,)),
        ("int64", "int64_t", (2**63 - 1, -(2**63)), (1e19, float("nan"))),
        ("float16", "c10::Half", (65504, float("inf"), float("nan")), (65505, 1e6)),
        ("bfloat16", "c10::BFloat16", (3e38,), (3.4e39,)),
        ("float32", "float", (3.4e38, float("-inf")), (1e39,)),
        ("bool", "", (300, -1, 1e300, float("nan")), ()),
    ],
)
def test_numbers_that_fit_a_dtype(torch, dtype, name, fits, too_large):
    dtype = getattr(torch, dtype)
    x = torch.ones(2, dtype=dtype)
    for value in fits:
        assert torch.full((2,), value, dtype=dtype).dtype is dtype
        torch.empty(2, dtype=dtype).fill_(value)
    for value in too_large:
        text = f"value cannot be converted to type {name} without overflow"
        with pytest.raises(RuntimeError, match=text):
            torch.full((2,), value, dtype=dtype)
        with pytest.raises(RuntimeError, match=text):
            x.fill_(value)
    assert x.tolist() == torch.ones(2, dtype=dtype).tolist()
    assert x._version == 0


def test_fill_of_repeated_elements(torch):
    """All get the same value, so it does not matter that they share memory."""
    base = torch.zeros(2, 1, 3)
    wide = base.expand(2, 4, 3)
    assert wide.fill_(7) is wide
    assert base.flatten().tolist() == [7.0] * 6
    wide[:, 1:].zero_()
    assert base.flatten().tolist() == [0.0] * 6


def test_loose_sizes(torch):
    """A list of ints may be given loosely only where nothing else is positional."""
    x = torch.zeros(2, 3)
    assert torch.zeros(2, 3).shape == x.new_empty(2, 3).shape == x.view(2, 3).shape
    for call in (
        lambda: torch.randint(0, 10, 5),
        lambda: torch.randint(10, 5),
        lambda: torch.full(2, 3),
        lambda: torch.normal(0.0, 1.0, 5),
        lambda: x.new_full(2, 3),
    ):
        with pytest.raises(TypeError):
            call()


def test_arange_counts_large_integers_exactly(torch):
    assert torch.arange(2**53, 2**53 + 3).tolist() == [2**53, 2**53 + 1, 2**53 + 2]
    assert torch.arange(-(2**63), -(2**63) + 2).tolist() == [-(2**63), -(2**63) + 1]
    assert torch.arange(5, dtype=torch.uint8).dtype is torch.uint8


@pytest.mark.parametrize(
    "shape, order, strides",
    [((2, 3, 4), (2, 0, 1), (3, 1, 6)), ((2, 3), (0, 1), (3, 1)), ((), (), ())],
)
def test_empty_permuted(torch, shape, order, strides):
    assert torch.empty_permuted(shape, order).stride() == strides


def test_likeness_keeps_the_order_of_dims(torch):
    x = torch.zeros(2, 3, 4).permute(2, 0, 1)
    for make in (torch.empty_like, torch.zeros_like, torch.ones_like, torch.rand_like):
        assert make(x).stride() == x.stride()
        assert make(x, memory_format=torch.contiguous_format).is_contiguous()
    assert torch.zeros_like(x[::2]).is_contiguous() is False
    assert torch.zeros_like(x, dtype=torch.int8, device="meta").device.type == "meta"
