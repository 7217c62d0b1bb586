"""Result dtypes: tensor with tensor, with 0-dim tensor, with Python number; the default dtype."""

import itertools

import pytest

CODES = {
    "u1": "uint8",
    "i1": "int8",
    "i2": "int16",
    "i4": "int32",
    "i8": "int64",
    "f2": "float16",
    "bf": "bfloat16",
    "f4": "float32",
    "f8": "float64",
    "b1": "bool",
}
NAMES = list(CODES.values())

# Rows: dtype of the first; columns: dtype of the second.
BOTH_TENSORS = """
     u1 i1 i2 i4 i8 f2 bf f4 f8 b1
u1 | u1 i2 i2 i4 i8 f2 bf f4 f8 u1
i1 | i2 i1 i2 i4 i8 f2 bf f4 f8 i1
i2 | i2 i2 i2 i4 i8 f2 bf f4 f8 i2
i4 | i4 i4 i4 i4 i8 f2 bf f4 f8 i4
i8 | i8 i8 i8 i8 i8 f2 bf f4 f8 i8
f2 | f2 f2 f2 f2 f2 f2 f4 f4 f8 f2
bf | bf bf bf bf bf f4 bf f4 f8 bf
f4 | f4 f4 f4 f4 f4 f4 f4 f4 f8 f4
f8 | f8 f8 f8 f8 f8 f8 f8 f8 f8 f8
b1 | u1 i1 i2 i4 i8 f2 bf f4 f8 b1
"""
# A 0-dim tensor matters only where it is of a higher kind: bool, integer, float.
WITH_ZERO_DIM = """
     u1 i1 i2 i4 i8 f2 bf f4 f8 b1
u1 | u1 u1 u1 u1 u1 f2 bf f4 f8 u1
i1 | i1 i1 i1 i1 i1 f2 bf f4 f8 i1
i2 | i2 i2 i2 i2 i2 f2 bf f4 f8 i2
i4 | i4 i4 i4 i4 i4 f2 bf f4 f8 i4
i8 | i8 i8 i8 i8 i8 f2 bf f4 f8 i8
f2 | f2 f2 f2 f2 f2 f2 f2 f2 f2 f2
bf | bf bf bf bf bf bf bf bf bf bf
f4 | f4 f4 f4 f4 f4 f4 f4 f4 f4 f4
f8 | f8 f8 f8 f8 f8 f8 f8 f8 f8 f8
b1 | u1 i1 i2 i4 i8 f2 bf f4 f8 b1
"""


def table(text):
    header, *rows = text.strip("\n").splitlines()
    columns = [CODES[code] for code in header.split()]
    found = {}
    for row in rows:
        first, results = row.split("|")
        for second, result in zip(columns, results.split(), strict=True):
            found[CODES[first.strip()], second] = CODES[result]
    assert len(found) == len(NAMES) ** 2
    return found


TENSORS, ZERO_DIM = table(BOTH_TENSORS), table(WITH_ZERO_DIM)


def name_of(dtype):
    return str(dtype).removeprefix("torch.")


def get(torch, name):
    return getattr(torch, name)


def ones(torch, size, name):
    return torch.ones(size, dtype=get(torch, name))


@pytest.mark.parametrize("first", NAMES)
def test_promote_types(torch, first):
    for second in NAMES:
        found = torch.promote_types(get(torch, first), get(torch, second))
        assert name_of(found) == TENSORS[first, second], second


@pytest.mark.parametrize("first", NAMES)
def test_two_tensors(torch, first):
    for second in NAMES:
        expected = TENSORS[first, second]
        a, b = ones(torch, 3, first), ones(torch, 3, second)
        assert name_of((a * b).dtype) == expected, second
        assert name_of(torch.result_type(a, b)) == expected, second
        assert name_of(torch.where(torch.ones(3, dtype=torch.bool), a, b).dtype) == expected
        # Two 0-dim tensors promote like two tensors; so do two empty ones.
        assert name_of((ones(torch, (), first) * ones(torch, (), second)).dtype) == expected
        assert name_of((ones(torch, 0, first) * ones(torch, 0, second)).dtype) == expected
        assert name_of(torch.cat([a, b]).dtype) == expected, second
        assert (a == b).dtype == torch.bool


@pytest.mark.parametrize("first", NAMES)
def test_tensor_with_zero_dim(torch, first):
    for second in NAMES:
        a, b = ones(torch, 3, first), ones(torch, (), second)
        assert name_of((a * b).dtype) == ZERO_DIM[first, second], second
        assert name_of((b * a).dtype) == ZERO_DIM[first, second], second
        assert name_of(torch.result_type(a, b)) == ZERO_DIM[first, second], second
        # One element in one dimension is not 0-dim.
        assert name_of((a * ones(torch, 1, second)).dtype) == TENSORS[first, second], second


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("size", [3, ()])
def test_python_numbers(torch, name, size):
    a = ones(torch, size, name)
    as_int = "int64" if name == "bool" else name
    as_float = name if a.is_floating_point() else "float32"
    for number, expected in ((True, name), (2, as_int), (2.5, as_float)):
        assert name_of((a * number).dtype) == expected
        assert name_of((number * a).dtype) == expected
        assert name_of(torch.result_type(a, number)) == expected
        assert name_of(torch.result_type(number, a)) == expected
    assert name_of((a / 2).dtype) == as_float
    assert name_of((2 / a).dtype) == as_float
    assert name_of(torch.true_divide(a, a).dtype) == as_float
    assert name_of(a.sqrt().dtype) == as_float


def test_numbers_alone(torch):
    assert torch.result_type(1, 2) == torch.int64
    assert torch.result_type(1, 2.0) == torch.float32
    assert torch.result_type(True, 1) == torch.int64
    assert torch.result_type(True, False) == torch.bool


@pytest.mark.parametrize("name", ["float64", "float16", "bfloat16", "float32"])
def test_default_dtype(torch, default_dtype, name):
    default_dtype(get(torch, name))
    assert name_of(torch.get_default_dtype()) == name
    for made in (
        torch.zeros(2),
        torch.tensor(1.5),
        torch.tensor([1, 2.5]),
        torch.empty(2),
        torch.rand(2),
        torch.arange(0, 1, 0.5),
        torch.linspace(0, 1, 3),
        torch.eye(2),
        torch.full((2,), 1.0),
        torch.ones(2, dtype=torch.int32) * 1.5,
        torch.ones(2, dtype=torch.int32) / 2,
        torch.ones(2, dtype=torch.bool).sqrt(),
        torch.tensor([]),
    ):
        assert name_of(made.dtype) == name
    assert torch.tensor([1, 2]).dtype == torch.int64
    assert torch.tensor([True]).dtype == torch.bool
    assert torch.full((2,), 1).dtype == torch.int64
    assert torch.arange(3).dtype == torch.int64


def test_default_dtype_takes_floats_only(torch, default_dtype):
    with pytest.raises(TypeError, match="only floating-point types are supported as the default"):
        default_dtype(torch.int32)
    with pytest.raises(TypeError, match="only floating-point types are supported as the default"):
        default_dtype(torch.bool)
    assert torch.get_default_dtype() == torch.float32


def test_can_cast(torch):
    order = {"bool": 0, "float16": 2, "bfloat16": 2, "float32": 2, "float64": 2}
    for source, target in itertools.product(NAMES, NAMES):
        expected = order.get(source, 1) <= order.get(target, 1)
        assert torch.can_cast(get(torch, source), get(torch, target)) is expected, (source, target)


@pytest.mark.parametrize("name", NAMES)
def test_in_place_keeps_the_dtype(torch, name):
    a = ones(torch, 3, name)
    if name == "bool":
        with pytest.raises(RuntimeError, match="result type Long can't be cast"):
            a.mul_(2)
        with pytest.raises(RuntimeError, match="result type Float can't be cast"):
            a.mul_(2.5)
    elif a.is_floating_point():
        a.mul_(2.5)
        a.mul_(torch.ones(3, dtype=torch.float64))
        a.mul_(torch.ones(3, dtype=torch.int64))
    else:
        with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired"):
            a.mul_(2.5)
        a.mul_(2)
        a.mul_(torch.ones(3, dtype=torch.int64))
    assert name_of(a.dtype) == name


def test_a_python_int_wraps_into_the_tensor_dtype(torch):
    assert (torch.tensor([5], dtype=torch.uint8) + (-2)).tolist() == [3]
    assert (torch.tensor([100], dtype=torch.int8) + 100).tolist() == [-56]
    assert (torch.tensor([250], dtype=torch.uint8) + 10).tolist() == [4]


def test_a_python_float_is_rounded_once(torch):
    half = torch.tensor([1.0], dtype=torch.float16)
    assert (half + 1e-8).item() == 1.0
    assert (half * 1e6).item() == float("inf")
    assert (torch.tensor([1.0], dtype=torch.float64) * 0.1).item() == 0.1


@pytest.mark.parametrize(
    "value, expected",
    [
        (1, "int64"),
        (True, "bool"),
        (1.0, "float32"),
        ([1, 2], "int64"),
        ([1, 2.0], "float32"),
        ([True, 2], "int64"),
        ([True, False], "bool"),
        ([True, 2.5], "float32"),
        ([], "float32"),
        ([[]], "float32"),
        (2**40, "int64"),
    ],
)
def test_dtype_of_python_data(torch, value, expected):
    assert name_of(torch.tensor(value).dtype) == expected


@pytest.mark.parametrize("name", NAMES)
def test_conversions(torch, name):
    """Every pair of dtypes: in-range values survive, bool means non-zero."""
    source = ones(torch, 3, name)
    for target in NAMES:
        made = source.to(get(torch, target))
        assert name_of(made.dtype) == target
        assert made.tolist() == [1, 1, 1]
        assert name_of(source.type(get(torch, target)).dtype) == target
    methods = {
        "half": "float16", "bfloat16": "bfloat16", "float": "float32", "double": "float64",
        "char": "int8", "short": "int16", "int": "int32", "long": "int64", "byte": "uint8",
        "bool": "bool",
    }  # fmt: skip
    for method, target in methods.items():
        assert name_of(getattr(source, method)().dtype) == target
    assert source.to(source.dtype) is source
    assert source.to(source.dtype, copy=True) is not source


def test_conversion_of_values(torch):
    floats = torch.tensor([-1.9, -0.5, 0.0, 0.5, 1.9, 300.0])
    assert floats.int().tolist() == [-1, 0, 0, 0, 1, 300]
    assert floats.bool().tolist() == [True, True, False, True, True, True]
    assert torch.tensor([0.1, -0.1, float("nan")]).bool().tolist() == [True, True, True]
    assert torch.tensor([300, -1]).to(torch.uint8).tolist() == [44, 255]
    assert torch.tensor([300, -129]).to(torch.int8).tolist() == [44, 127]
    assert torch.tensor([70000.0]).half().tolist() == [float("inf")]
    assert torch.tensor([1.0 + 2**-9]).bfloat16().tolist() == [1.0]
    assert torch.tensor([1.0 + 2**-8 + 2**-9]).bfloat16().tolist() == [1.0078125]
    assert torch.tensor([65519.0, 65520.0]).half().tolist() == [65504.0, float("inf")]
    assert torch.tensor([2**24 + 1]).float().tolist() == [2.0**24]


BINARY = ("add", "sub", "mul", "true_divide", "floor_divide", "remainder", "fmod", "pow",
          "maximum", "minimum", "atan2", "bitwise_and", "logical_and", "eq", "lt", "copysign",
          "logaddexp", "hypot", "xlogy", "fmax", "bitwise_left_shift")  # fmt: skip


def outcome(module, op, first, second, sizes):
    a, b = ones(module, sizes[0], first), ones(module, sizes[1], second)
    try:
        return name_of(getattr(module, op)(a, b).dtype)
    except Exception as error:
        return type(error).__name__


@pytest.mark.parametrize("op", BINARY)
def test_binary_ops_promote_as_in_torch(torch, torch_gives, op):
    def outcomes(library):
        return {
            f"{first} {sizes} {second}": outcome(library, op, first, second, sizes)
            for first, second in itertools.product(NAMES, NAMES)
            for sizes in ((3, 3), (3, ()), ((), 3))
        }

    ours, theirs = outcomes(torch), torch_gives(outcomes)
    assert {call: result for call, result in ours.items() if result != theirs[call]} == {}


@pytest.mark.parametrize("name", ["clamp", "clamp_min", "clamp_max"])
def test_limits_in_tensors_of_one_number_take_part(torch, name):
    """They are tensors, not numbers: two of no dims promote like any two."""
    limit = getattr(torch, name)
    assert limit(torch.tensor(1, dtype=torch.int8), torch.tensor(300)).dtype == torch.int64
    assert limit(torch.tensor([1], dtype=torch.int8), torch.tensor(3)).dtype == torch.int8
    assert limit(torch.tensor(1), torch.tensor(0.5, dtype=torch.float64)).dtype == torch.float64
    assert limit(torch.tensor(1, dtype=torch.int8), 3).dtype == torch.int8
