"""Bad input: torch's exception class, torch's words where users know them, and nothing changed.

Errors of single ops are in the op cases; here is what belongs to no single op.
"""

import gc

import pytest

NAN, INF = float("nan"), float("inf")

# (what, call, exception, part of the text). The call gets the package.
SIZES = [
    ("negative", lambda t: t.empty(-1), RuntimeError, "negative dimension -1"),
    (
        "negative second",
        lambda t: t.empty(2, -3),
        RuntimeError,
        r"negative dimension -3: \[2, -3\]",
    ),
    ("negative full", lambda t: t.full((-1,), 1), RuntimeError, "negative dimension"),
    ("negative rand", lambda t: t.rand(-1), RuntimeError, "negative dimension"),
    ("negative view", lambda t: t.ones(4).view(-2, 2), RuntimeError, "invalid shape dimension -2"),
    ("negative expand", lambda t: t.ones(1).expand(-2), RuntimeError, None),
    ("negative new", lambda t: t.ones(1).new_zeros(-1), RuntimeError, "negative"),
    ("overflow of bytes", lambda t: t.empty(2**62), RuntimeError, "overflow"),
    ("overflow of product", lambda t: t.empty(2**40, 2**40), RuntimeError, "overflow"),
    ("overflow thrice", lambda t: t.empty(2**31, 2**31, 2**31), RuntimeError, "overflow"),
    ("overflow of int64", lambda t: t.empty(2**63), (TypeError, RuntimeError, OverflowError), None),
    ("overflow zeros", lambda t: t.zeros(2**62), RuntimeError, None),
    ("overflow full", lambda t: t.full((2**40, 2**40), 1), RuntimeError, "overflow"),
    ("overflow eye", lambda t: t.eye(2**40), RuntimeError, "overflow"),
    ("overflow arange", lambda t: t.arange(2**62), RuntimeError, "overflow"),
    ("overflow arange steps", lambda t: t.arange(0, 1, 1e-300), RuntimeError, "overflow"),
    ("overflow linspace", lambda t: t.linspace(0, 1, 2**62), RuntimeError, "overflow"),
    ("overflow randperm", lambda t: t.randperm(2**62), RuntimeError, "overflow"),
    ("overflow repeat", lambda t: t.ones(3).repeat(2**62, 2), RuntimeError, "overflow"),
    ("overflow repeat to 0", lambda t: t.ones(1).expand(2**62).repeat(4), RuntimeError, None),
    ("overflow expand", lambda t: t.ones(1).expand(2**40, 2**40), RuntimeError, "overflow"),
    ("overflow resize", lambda t: t.ones(1).resize_(2**62), RuntimeError, "overflow"),
    ("overflow of empty", lambda t: t.empty(2**62, 4, 0), RuntimeError, "overflow"),
    ("overflow of empty strides", lambda t: t.empty(0, 2**62, 4), RuntimeError, "overflow"),
    ("overflow meta", lambda t: t.zeros(2**40, 2**40, device="meta"), RuntimeError, "overflow"),
    (
        "overflow stride",
        lambda t: t.ones(4).as_strided((2,), (2**62,)),
        RuntimeError,
        "overflow|out of bounds",
    ),
    (
        "overflow outer",
        lambda t: t.ones(1, 1).expand(2**21, 1) @ t.ones(1, 1).expand(1, 2**41),
        RuntimeError,
        "overflow",
    ),
    (
        "overflow broadcast",
        lambda t: t.ones(1, 1).expand(2**31, 1) + t.ones(1, 1).expand(1, 2**32),
        RuntimeError,
        "overflow",
    ),
    ("overflow view", lambda t: t.ones(4).view(2**32, 2**32), RuntimeError, "is invalid for input"),
    ("too much", lambda t: t.empty(2**50), RuntimeError, "can't allocate memory|out of memory"),
    (
        "too much zeros",
        lambda t: t.zeros(2**48),
        RuntimeError,
        "can't allocate memory|out of memory",
    ),
    ("too much add", lambda t: t.ones(1).expand(2**48) + 1, RuntimeError, None),
    ("too much clone", lambda t: t.ones(1).expand(2**48).clone(), RuntimeError, None),
    ("size of str", lambda t: t.zeros("a"), TypeError, "must be tuple of ints, not str"),
    ("size of float", lambda t: t.zeros(2.5), TypeError, "must be tuple of ints, not float"),
    ("size of None", lambda t: t.zeros(None), TypeError, "must be tuple of ints, not NoneType"),
    ("size mixed", lambda t: t.zeros((2, "a")), TypeError, None),
]

NUMBERS = [
    (
        "nan to int",
        lambda t: t.tensor(NAN, dtype=t.int32),
        RuntimeError,
        "cannot be converted to type",
    ),
    ("inf to int", lambda t: t.tensor([INF], dtype=t.int64), RuntimeError, "without overflow"),
    ("nan full", lambda t: t.full((2,), NAN, dtype=t.int32), RuntimeError, "without overflow"),
    ("nan fill", lambda t: t.zeros(2, dtype=t.int32).fill_(NAN), RuntimeError, "without overflow"),
    ("int of nan", lambda t: int(t.tensor(NAN)), ValueError, "cannot convert float NaN to integer"),
    ("int of inf", lambda t: int(t.tensor(INF)), OverflowError, "cannot convert float infinity"),
    ("uint8 of 300", lambda t: t.tensor(300, dtype=t.uint8), RuntimeError, "without overflow"),
    ("fill 300", lambda t: t.zeros(2, dtype=t.uint8).fill_(300), RuntimeError, "without overflow"),
    ("full 300", lambda t: t.full((2,), 300, dtype=t.uint8), RuntimeError, "without overflow"),
    ("2**63", lambda t: t.tensor(2**63), (ValueError, RuntimeError, OverflowError), None),
    ("2**70", lambda t: t.tensor(2**70), (ValueError, RuntimeError, OverflowError), None),
    ("add 2**70", lambda t: t.zeros(2) + 2**70, (OverflowError, RuntimeError), None),
    ("mul 2**70", lambda t: t.zeros(2, dtype=t.int64) * 2**70, (OverflowError, RuntimeError), None),
]

DATA = [
    (
        "ragged",
        lambda t: t.tensor([[1, 2], [3]]),
        ValueError,
        r"expected sequence of length 2 at dim 1 \(got 1\)",
    ),
    ("ragged number", lambda t: t.tensor([1, [2]]), (TypeError, ValueError, RuntimeError), None),
    ("string", lambda t: t.tensor("a"), TypeError, "invalid data type 'str'"),
    ("strings", lambda t: t.tensor(["a"]), ValueError, "too many dimensions 'str'"),
    ("object", lambda t: t.tensor(object()), RuntimeError, "Could not infer dtype of object"),
    ("None", lambda t: t.tensor(None), RuntimeError, "Could not infer dtype of NoneType"),
    ("None inside", lambda t: t.tensor([None]), RuntimeError, "Could not infer dtype of NoneType"),
    ("set", lambda t: t.tensor({1, 2}), RuntimeError, "Could not infer dtype of set"),
    ("dict", lambda t: t.tensor({"a": 1}), RuntimeError, "Could not infer dtype of dict"),
    (
        "dtype of str",
        lambda t: t.zeros(2, dtype="float32"),
        TypeError,
        "must be torch.dtype, not str",
    ),
    (
        "device of float",
        lambda t: t.zeros(2, device=5.0),
        TypeError,
        "must be torch.device, not float",
    ),
    ("tensor as dtype", lambda t: t.zeros(2, dtype=t.ones(1)), TypeError, "must be torch.dtype"),
]

PYTHON = [
    (
        "bool of two",
        lambda t: bool(t.ones(2)),
        RuntimeError,
        "Boolean value of Tensor with more than one value is ambiguous",
    ),
    (
        "bool of none",
        lambda t: bool(t.ones(0)),
        RuntimeError,
        "Boolean value of Tensor with no values is ambiguous",
    ),
    ("if", lambda t: 1 if t.ones(2) > 0 else 0, RuntimeError, "ambiguous"),
    (
        "item of two",
        lambda t: t.ones(2).item(),
        RuntimeError,
        "a Tensor with 2 elements cannot be converted to Scalar",
    ),
    (
        "item of none",
        lambda t: t.ones(0).item(),
        RuntimeError,
        "a Tensor with 0 elements cannot be converted to Scalar",
    ),
    (
        "float of two",
        lambda t: float(t.ones(2)),
        (ValueError, RuntimeError),
        "only one element tensors can be converted|cannot be converted to Scalar",
    ),
    (
        "int of two",
        lambda t: int(t.ones(2)),
        (ValueError, RuntimeError),
        "only one element tensors can be converted|cannot be converted to Scalar",
    ),
    (
        "index of float",
        lambda t: [1, 2][t.tensor(1.0)],
        TypeError,
        "only integer tensors of a single element can be converted to an index",
    ),
    (
        "index of two",
        lambda t: range(t.ones(2, dtype=t.int64)),
        TypeError,
        "only integer tensors of a single element",
    ),
    ("len of 0-d", lambda t: len(t.tensor(1)), TypeError, r"len\(\) of a 0-d tensor"),
    ("iter of 0-d", lambda t: list(t.tensor(1)), TypeError, "iteration over a 0-d tensor"),
    ("contains str", lambda t: "a" in t.ones(2), RuntimeError, "only supports Tensor or scalar"),
    (
        "format of two",
        lambda t: format(t.ones(2), ".3f"),
        TypeError,
        "unsupported format string passed to Tensor.__format__",
    ),
    ("add str", lambda t: t.ones(2) + "a", TypeError, None),
    ("add None", lambda t: t.ones(2) + None, TypeError, None),
    ("add list", lambda t: t.ones(2) + [1, 2], TypeError, None),
    ("list add", lambda t: [1, 2] + t.ones(2), TypeError, None),
    ("matmul number", lambda t: t.ones(2) @ 3, TypeError, None),
    ("less than str", lambda t: t.ones(2) < "a", TypeError, None),
    (
        "no attribute",
        lambda t: t.ones(2).no_such_thing,
        AttributeError,
        "'Tensor' object has no attribute 'no_such_thing'",
    ),
    ("no function", lambda t: t.no_such_thing, AttributeError, "has no attribute 'no_such_thing'"),
    ("unknown keyword", lambda t: t.add(t.ones(2), 1, foo=1), TypeError, "foo"),
    ("missing argument", lambda t: t.add(t.ones(2)), TypeError, r"add\(\)"),
    ("too many", lambda t: t.exp(t.ones(2), 1), TypeError, r"exp\(\)"),
    (
        "number for tensor",
        lambda t: t.exp(5),
        TypeError,
        r"exp\(\): argument 'input' \(position 1\) must be Tensor, not int",
    ),
    ("list for tensor", lambda t: t.exp([1.0]), TypeError, "must be Tensor, not list"),
    ("None for tensor", lambda t: t.exp(None), TypeError, None),
    (
        "str for dim",
        lambda t: t.sum(t.ones(2), "a"),
        TypeError,
        r"sum\(\) received an invalid combination of arguments",
    ),
    ("float for dim", lambda t: t.softmax(t.ones(2), 0.5), TypeError, None),
    ("shape is read-only", lambda t: setattr(t.ones(2), "shape", (1, 2)), AttributeError, None),
    ("dtype is read-only", lambda t: setattr(t.ones(2), "dtype", t.int32), AttributeError, None),
]

DIMS = [
    (
        "sum",
        lambda t: t.ones(2, 3).sum(2),
        IndexError,
        r"Dimension out of range \(expected to be in range of \[-2, 1\], but got 2\)",
    ),
    ("sum low", lambda t: t.ones(2, 3).sum(-3), IndexError, "but got -3"),
    (
        "0-dim",
        lambda t: t.tensor(1.0).sum(1),
        IndexError,
        r"expected to be in range of \[-1, 0\], but got 1",
    ),
    ("huge", lambda t: t.ones(2).sum(2**40), (IndexError, RuntimeError, TypeError), None),
    ("transpose", lambda t: t.ones(2).transpose(0, 1), IndexError, "Dimension out of range"),
    ("cat", lambda t: t.cat([t.ones(2)], 1), IndexError, "Dimension out of range"),
    ("stack", lambda t: t.stack([t.ones(2)], 3), IndexError, "Dimension out of range"),
    ("unsqueeze", lambda t: t.ones(2).unsqueeze(3), IndexError, "Dimension out of range"),
    ("size", lambda t: t.ones(2).size(1), IndexError, "Dimension out of range"),
    (
        "twice",
        lambda t: t.ones(2, 3).sum((0, 0)),
        RuntimeError,
        "dim 0 appears multiple times in the list of dims",
    ),
    ("select", lambda t: t.ones(2).select(0, 2), IndexError, "index 2 out of range"),
    (
        "too deep",
        lambda t: t.ones([1] * 65).sum((0, 1)),
        RuntimeError,
        "only tensors with up to 64 dims are supported",
    ),
]

DEVICES = [
    ("add", lambda t: t.ones(3) + t.ones(3, device="meta"), RuntimeError, "device"),
    (
        "where",
        lambda t: t.where(t.ones(3, dtype=t.bool), t.ones(3, device="meta"), t.ones(3)),
        RuntimeError,
        "device",
    ),
    ("cat", lambda t: t.cat([t.ones(3), t.ones(3, device="meta")]), RuntimeError, None),
    (
        "meta item",
        lambda t: t.ones((), device="meta").item(),
        RuntimeError,
        r"Tensor.item\(\) cannot be called on meta tensors",
    ),
    (
        "meta bool",
        lambda t: bool(t.ones((), device="meta")),
        RuntimeError,
        "cannot be called on meta tensors",
    ),
    (
        "meta tolist",
        lambda t: t.ones(2, device="meta").tolist(),
        (NotImplementedError, RuntimeError),
        "Cannot copy out of meta tensor; no data!",
    ),
    (
        "meta to cpu",
        lambda t: t.ones(2, device="meta").cpu(),
        NotImplementedError,
        "Cannot copy out of meta tensor; no data!",
    ),
    (
        "meta numpy",
        lambda t: t.ones(2, device="meta").numpy(),
        TypeError,
        "can't convert meta device type tensor to numpy",
    ),
    (
        "meta into cpu",
        lambda t: t.ones(2).copy_(t.ones(2, device="meta")),
        NotImplementedError,
        "Cannot copy out of meta tensor; no data!",
    ),
    (
        "meta nonzero",
        lambda t: t.ones(2, device="meta").nonzero(),
        (NotImplementedError, RuntimeError),
        None,
    ),
]

ALL = {
    "sizes": SIZES, "numbers": NUMBERS, "data": DATA, "python": PYTHON, "dims": DIMS,
    "devices": DEVICES,
}  # fmt: skip
PARAMS = [
    pytest.param(call, exception, text, id=f"{group}: {what}")
    for group, cases in ALL.items()
    for what, call, exception, text in cases
]


@pytest.mark.parametrize("call, exception, text", PARAMS)
def test_bad_input(torch, call, exception, text):
    with pytest.raises(exception, match=text):
        call(torch)


@pytest.mark.parametrize("call, exception, text", PARAMS)
def test_bad_input_of_torch(oracle, call, exception, text):
    """The table above is what torch does."""
    with pytest.raises(exception, match=text):
        call(oracle)


def test_mixed_devices_name_both(torch):
    with pytest.raises(RuntimeError) as error:
        torch.mm(torch.ones(3, 3), torch.ones(3, 3, device="meta"))
    assert "cpu" in str(error.value) and "meta" in str(error.value)
    x = torch.ones(3)
    with pytest.raises(RuntimeError, match="device"):
        x.add_(torch.ones(3, device="meta"))
    assert x.tolist() == [1, 1, 1]


def test_a_zero_dim_cpu_tensor_joins_any_device(torch):
    made = torch.ones(3, device="meta") + torch.tensor(1.0)
    assert made.device.type == "meta"


def test_refused_calls_leave_no_memory_behind(torch):
    """Exceptions must not keep tensors alive."""

    def fail():
        x = torch.ones(1000)
        with pytest.raises(RuntimeError):
            x + torch.ones(999)
        with pytest.raises(IndexError):
            x.sum(5)
        with pytest.raises(TypeError):
            torch.add(x)
        with pytest.raises(RuntimeError):
            x.view(7, 7)

    for _ in range(20):
        fail()
    gc.collect()
    before = sum(issubclass(type(o), torch.Tensor) for o in gc.get_objects())
    for _ in range(50):
        fail()
    gc.collect()
    assert sum(issubclass(type(o), torch.Tensor) for o in gc.get_objects()) <= before


def test_nothing_changes_on_failure(torch):
    x = torch.arange(6.0).view(2, 3)
    calls = [
        lambda: x.add_(torch.ones(4)),
        lambda: x.view(4, 2),
        lambda: x.copy_(torch.ones(3, 2)),
        lambda: x.masked_fill_(torch.ones(2, 3), 1),
        lambda: x.index_fill_(0, torch.tensor([5]), 1),
        lambda: x.scatter_(0, torch.tensor([[0, 1, 2]]), torch.ones(1, 3)),
        lambda: x.scatter_(0, torch.tensor([[0, 5, 0]]), torch.ones(1, 3)),
        lambda: x.index_put_((torch.tensor([0, 9]),), torch.tensor(1.0)),
        lambda: x.index_add_(0, torch.tensor([0, 9]), torch.ones(2, 3)),
        lambda: x.index_copy_(0, torch.tensor([0, 9]), torch.ones(2, 3)),
        lambda: x.resize_(-1),
        lambda: x.squeeze_(7),
        lambda: x.clamp_(),
        lambda: x.normal_(0, -1),
        lambda: x.uniform_(1, 0),
        lambda: x.addmm_(torch.ones(2, 5), torch.ones(4, 3)),
        lambda: x.__setitem__((0, 7), 1),
    ]
    for number, call in enumerate(calls):
        with pytest.raises((RuntimeError, IndexError)):
            call()
        assert x.tolist() == [[0, 1, 2], [3, 4, 5]], number
        assert x.shape == (2, 3) and x.stride() == (3, 1)
        assert x._version == 0, number


def test_conversion_of_nan_does_not_crash(torch):
    x = torch.tensor([NAN, INF, -INF, 1e30, -1e30])
    for name in ("int8", "int16", "int32", "int64", "uint8", "bool"):
        assert x.to(getattr(torch, name)).shape == (5,)
        assert torch.zeros(5, dtype=getattr(torch, name)).copy_(x).shape == (5,)


def test_integer_division_by_zero(torch):
    for dtype in (torch.int8, torch.int32, torch.int64, torch.uint8):
        x, zero = torch.ones(3, dtype=dtype), torch.zeros(3, dtype=dtype)
        for call in (torch.floor_divide, torch.remainder, torch.fmod):
            with pytest.raises(RuntimeError, match="ZeroDivisionError"):
                call(x, zero)
            with pytest.raises(RuntimeError, match="ZeroDivisionError"):
                call(x, 0)
    assert (torch.ones(1) / 0).tolist() == [INF]
    assert (torch.ones(1, dtype=torch.int32) / 0).tolist() == [INF]


@pytest.mark.parametrize("bits", [32, 64])
def test_smallest_integer_by_minus_one(torch, bits):
    """The one division that overflows must not stop the process."""
    x = torch.tensor([-(2 ** (bits - 1))], dtype=getattr(torch, f"int{bits}"))
    minus = torch.tensor([-1], dtype=x.dtype)
    for call in (torch.floor_divide, torch.remainder, torch.fmod):
        assert call(x, minus).shape == (1,)
    assert torch.div(x, minus, rounding_mode="trunc").shape == (1,)


def test_wide_shifts(torch):
    x = torch.ones(1, dtype=torch.int32)
    for shift in (31, 32, 64, 100, -1):
        assert (x << shift).shape == (1,)
        assert (x >> shift).shape == (1,)


def test_gather_of_an_expanded_index_checks_its_range(torch):
    x = torch.zeros(3, 4)
    with pytest.raises((RuntimeError, IndexError), match="out of bounds|out of range"):
        x.gather(0, torch.tensor([[3]]).expand(1, 4))
    # Here they go round.
    assert torch.take_along_dim(torch.arange(3), torch.tensor([3, -4]), 0).tolist() == [0, 2]


def test_error_classes_are_pythons(torch):
    assert issubclass(torch.OutOfMemoryError, RuntimeError)
