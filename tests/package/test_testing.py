"""torch.testing: assert_close and make_tensor."""

import random
import warnings
from collections import OrderedDict, deque

import mindtorch_v2 as torch
import numpy as np
import pytest
from mindtorch_v2.testing import assert_allclose, assert_close, make_tensor

nan, inf = float("nan"), float("inf")
T = torch.tensor


def message(actual, expected, error_type=AssertionError, **options):
    with pytest.raises(error_type) as caught:
        assert_close(actual, expected, **options)
    assert type(caught.value) is error_type
    return str(caught.value)


# --- what passes ---


@pytest.mark.parametrize(
    ("dtype", "close", "apart"),
    [
        ("float16", 1.0005, 1.01),
        ("bfloat16", 1.01, 1.03),
        ("float32", 1.000001, 1.0001),
        ("float64", 1 + 1e-7, 1 + 1e-5),
    ],
)
def test_default_tolerances(dtype, close, apart):
    dtype = getattr(torch, dtype)
    one = T([1.0], dtype=dtype)
    assert_close(one, T([close], dtype=dtype))
    message(one, T([apart], dtype=dtype))


def test_absolute_tolerance():
    assert_close(T([1e-6]), T([0.0]))
    assert_close(T([1]), T([3]), rtol=0, atol=2)
    message(T([1]), T([3]), rtol=0, atol=1)


def test_mixed_dtypes_take_the_wider_tolerance():
    assert_close(T([1.0], dtype=torch.bfloat16), T([1.01]), check_dtype=False)
    assert_close(T([1.0]), T([1]), check_dtype=False)


def test_special_values():
    assert_close(T([inf, -inf]), T([inf, -inf]))
    assert_close(T([nan, 1.0]), T([nan, 1.0]), equal_nan=True)
    message(T([nan]), T([nan]))
    message(T([inf]), T([-inf]))
    message(T([inf]), T([1.0]))


def test_containers_and_scalars():
    assert_close([1, (2.0, None)], ([1, [2.0, None]]))
    assert_close({"a": T([1.0]), "b": 2}, OrderedDict(b=2, a=T([1.0])))
    assert_close(deque([1]), [1])
    assert_close(1, 1.0, check_dtype=False)
    assert_close(True, True)
    assert_close(nan, nan, equal_nan=True)
    assert_close(None, None)
    assert_close(range(3), [0, 1, 2])
    assert_close(torch.ones(0), torch.ones(0))


def test_numpy_inputs():
    assert_close(np.array([1.0, 2.0]), np.array([1.0, 2.0]))
    assert_close(np.float64(1.0), 1.0)
    assert_close(np.int64(3), 3)
    assert_close(np.True_, True)
    assert "'dtype' do not match" in message(np.ones(1), np.ones(1, np.float32))


def test_strides_are_checked_on_request():
    assert_close(torch.ones(2, 3), torch.ones(3, 2).t())
    assert message(torch.ones(2, 3), torch.ones(3, 2).t(), check_stride=True) == (
        "The values for attribute 'stride()' do not match: (3, 1) != (1, 2)."
    )


# --- what is said when it fails ---


def test_message_of_tensors():
    assert message(T([1.0, 2.0, 3.0]), T([1.0, 2.5, 3.5])) == (
        "Tensor-likes are not close!\n\n"
        "Mismatched elements: 2 / 3 (66.7%)\n"
        "Greatest absolute difference: 0.5 at index (1,) (up to 1e-05 allowed)\n"
        "Greatest relative difference: 0.20000000298023224 at index (1,) (up to 1.3e-06 allowed)"
    )
    assert message(T([[1, 2], [3, 4]]), T([[1, 2], [3, 5]])) == (
        "Tensor-likes are not equal!\n\n"
        "Mismatched elements: 1 / 4 (25.0%)\n"
        "Greatest absolute difference: 1 at index (1, 1)\n"
        "Greatest relative difference: 0.20000000298023224 at index (1, 1)"
    )
    assert message(T([True, False]), T([True, True])).endswith(
        "Greatest absolute difference: 1 at index (1,)\n"
        "Greatest relative difference: 1.0 at index (1,)"
    )
    assert message(T([0.0, 1.0]), T([0.0, 0.0])).endswith(
        "Greatest absolute difference: 1.0 at index (1,) (up to 1e-05 allowed)\n"
        "Greatest relative difference: inf at index (1,) (up to 1.3e-06 allowed)"
    )


def test_small_integers_do_not_overflow():
    text = message(T([-128], dtype=torch.int8), T([127], dtype=torch.int8))
    assert "Greatest absolute difference: 255 at index (0,)" in text


def test_message_of_scalars():
    expected = (
        "Scalars are not close!\n\n"
        "Expected 2.0 but got 1.0.\n"
        "Absolute difference: 1.0 (up to {} allowed)\n"
        "Relative difference: 0.5 (up to {} allowed)"
    )
    assert message(1.0, 2.0) == expected.format(1e-07, 1e-07)
    assert message(T(1.0), T(2.0)) == expected.format(1e-05, 1.3e-06)
    assert message(3, 0) == (
        "Scalars are not equal!\n\n"
        "Expected 0 but got 3.\nAbsolute difference: 3\nRelative difference: inf"
    )
    assert message(True, False) == "Booleans mismatch: True is not False"
    assert message(None, 1) == "None mismatch: None is not 1"
    assert message(1, 1.0) == "The (d)types do not match: <class 'int'> != <class 'float'>."


@pytest.mark.parametrize(
    ("actual", "expected", "text"),
    [
        (T([1.0, 2.0]), T([1.0]), "'shape' do not match: torch.Size([2]) != torch.Size([1])."),
        (T([1.0]), T([1]), "'dtype' do not match: torch.float32 != torch.int64."),
    ],
    ids=["shape", "dtype"],
)
def test_message_of_attributes(actual, expected, text):
    assert message(actual, expected) == f"The values for attribute {text}"


def test_message_names_the_item():
    text = message({"a": [1, {"b": T([1.0])}]}, {"a": [1, {"b": T([2.0])}]})
    assert text.endswith("\n\nThe failure occurred for item ['a'][1]['b']")


def test_message_of_containers():
    assert message([1, 2], [1]) == "The length of the sequences mismatch: 2 != 1"
    assert message({"x": {"a": 1}}, {"x": {"b": 1}}) == (
        "The keys of the mappings do not match:\n"
        "Missing keys in the actual mapping: ['b']\n"
        "Additional keys in the actual mapping: ['a']\n\n"
        "The failure occurred for item ['x']"
    )


def test_own_message():
    assert message([1], [2], msg="mine") == "mine"
    text = message([1], [2], msg=lambda generated: f"<{generated}>")
    assert text.startswith("<Scalars are not equal!")
    assert text.endswith("item [0]>")
    # Not a difference of values: the text says what is wrong with the call.
    assert message([1], [2, 3], msg="mine") == "The length of the sequences mismatch: 1 != 2"


def test_wrong_calls():
    for options, absent in (({"rtol": 1}, "atol"), ({"atol": 1}, "rtol")):
        assert message(T([1.0]), T([1.0]), ValueError, **options) == (
            f"Both 'rtol' and 'atol' must be either specified or omitted, but got no {absent}."
        )
    for pair in (("a", "a"), (T([1.0]), [1.0]), (T(1.0), 1.0), ({1}, {1}), (object(), 1)):
        text = message(*pair, TypeError)
        assert text == (
            "No comparison pair was able to handle inputs of type "
            f"{type(pair[0])} and {type(pair[1])}."
        )


def test_structure_is_checked_before_values():
    assert message([T([1.0]), "x"], [T([2.0]), "x"], TypeError).endswith("item [1]")


def test_assert_allclose():
    with pytest.warns(FutureWarning):
        assert_allclose([1.0, nan], T([1.00001, nan]))
    with pytest.warns(FutureWarning), pytest.raises(AssertionError, match="not close"):
        assert_allclose(T([1.0]), T([1.1]))


# --- make_tensor ---

DTYPES = "float16 bfloat16 float32 float64 uint8 int8 int16 int32 int64 bool".split()


@pytest.mark.parametrize("name", DTYPES)
def test_make_tensor_defaults(name):
    dtype = getattr(torch, name)
    tensor = make_tensor(300, 2, dtype=dtype, device="cpu")
    assert tensor.dtype == dtype
    assert tuple(tensor.shape) == (300, 2)
    assert tensor.is_contiguous()
    values = [value for row in tensor.tolist() for value in row]
    if name == "bool":
        assert set(values) == {True, False}
    elif name == "uint8":
        assert set(values) == set(range(10))
    elif "int" in name:
        assert set(values) == set(range(-9, 10))
    else:
        assert -9 <= min(values) < -8
        assert 8 < max(values) < 9


def test_make_tensor_shapes():
    for arguments in ((2, 3), ((2, 3),), ([2, 3],), (torch.Size([2, 3]),)):
        assert tuple(make_tensor(*arguments, dtype=torch.float32, device="cpu").shape) == (2, 3)
    assert tuple(make_tensor((), dtype=torch.float32, device="cpu").shape) == ()
    assert make_tensor(dtype=torch.float32, device="cpu").dim() == 0


def test_make_tensor_interval():
    def bounds(dtype, low, high):
        values = make_tensor(2000, dtype=dtype, device="cpu", low=low, high=high).tolist()
        return min(values), max(values)

    assert bounds(torch.int64, 1.5, 4.5) == (2, 4)
    assert bounds(torch.int8, -1000, 1000) == (-128, 127)
    assert bounds(torch.bool, 1, None) == (True, True)
    low, high = bounds(torch.float32, -inf, inf)
    assert -inf < low < -1e38
    assert 1e38 < high < inf
    # 1.0005 is not a float16; the nearest one below it is 1.
    assert bounds(torch.float16, 1, 1.0005) == (1.0, 1.0)
    assert bounds(torch.bfloat16, 0, 1)[1] < 1


def test_make_tensor_layout():
    tensor = make_tensor(2, 3, dtype=torch.float32, device="cpu", noncontiguous=True)
    assert (tuple(tensor.shape), tuple(tensor.stride())) == ((2, 3), (6, 2))
    assert make_tensor(1, dtype=torch.float32, device="cpu", noncontiguous=True).is_contiguous()


def test_make_tensor_without_zero():
    def smallest(dtype, low, high):
        return make_tensor(
            500, dtype=dtype, device="cpu", low=low, high=high, exclude_zero=True
        ).tolist()

    assert set(smallest(torch.int64, 0, 2)) == {1}
    assert set(smallest(torch.bool, 0, 2)) == {True}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert set(smallest(torch.float32, 0, 0)) == {2.0**-126}


def test_make_tensor_requires_grad():
    assert make_tensor(2, dtype=torch.float32, device="cpu", requires_grad=True).requires_grad


@pytest.mark.parametrize(
    ("dtype", "options", "text"),
    [
        ("float32", {"low": 6, "high": 5}, "`low` must be less than `high`, but got 6 >= 5"),
        ("int64", {"low": 5, "high": 5}, "`low` must be less than `high`, but got 5 >= 5"),
        ("float32", {"low": nan}, "`low` and `high` cannot be NaN, but got low=nan and high=9"),
        (
            "int8",
            {"low": 500, "high": 600},
            "The value interval specified by `low` and `high` is [500, 600), "
            "but torch.int8 only supports [-128, 128)",
        ),
        (
            "int64",
            {"requires_grad": True},
            "`requires_grad=True` is not supported for boolean and integral dtypes, "
            "but got dtype=torch.int64",
        ),
    ],
)
def test_make_tensor_errors(dtype, options, text):
    with pytest.raises(ValueError) as caught:
        make_tensor(3, dtype=getattr(torch, dtype), device="cpu", **options)
    assert str(caught.value) == text


def test_make_tensor_needs_dtype_and_device():
    with pytest.raises(TypeError):
        make_tensor(3, device="cpu")
    with pytest.raises(TypeError):
        make_tensor(3, dtype=torch.float32)


def outcome(check, actual, expected, options):
    try:
        check(actual, expected, **options)
    except Exception as error:
        return type(error), str(error)
    return None, ""


def pairs(library, generator):
    """One random comparison; the same for the same state of the generator."""
    names = ("float16", "bfloat16", "float32", "float64", "int8", "int64", "uint8", "bool")
    shape = generator.choice([(), (1,), (4,), (2, 3), (0,), (2, 1, 2)])
    size = 1
    for n in shape:
        size *= n

    def tensor(values, name):
        return library.tensor(values, dtype=getattr(library, name)).reshape(shape)

    name = generator.choice(names)
    left = [generator.choice([0, 1, 2, 3, 100]) for _ in range(size)]
    right = [generator.choice([v, v, v, v + 1, 0]) for v in left]
    if "float" in name:
        odd = [nan, inf, -inf]
        left = [generator.choice([v] * 9 + odd) / 3 for v in left]
        right = [generator.choice([v, left[i], left[i] * 1.001]) for i, v in enumerate(right)]
    other = generator.choice([name] * 5 + ["float32", "int64"])
    if "float" not in other:
        right = [int(v) if v == v and abs(v) < 200 else 7 for v in right]
    options = {}
    if generator.random() < 0.3:
        options["check_dtype"] = False
    if generator.random() < 0.3:
        options["equal_nan"] = True
    if generator.random() < 0.3:
        options["rtol"] = generator.choice([0, 0.01])
        options["atol"] = generator.choice([0, 1e-3, 1])
    return tensor(left, name), tensor(right, other), options


@pytest.mark.parametrize("seed", range(8))
def test_verdicts_and_texts_equal_torch(torch_gives, seed):
    def verdicts(library):
        given = [pairs(library, random.Random(f"{seed}.{number}")) for number in range(60)]
        return [outcome(library.testing.assert_close, *each) for each in given]

    assert verdicts(torch) == torch_gives(verdicts)
