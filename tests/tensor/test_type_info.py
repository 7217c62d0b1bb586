"""torch.finfo and torch.iinfo."""

import mindtorch_v2 as torch
import pytest

FLOATS = ("float16", "bfloat16", "float32", "float64")
INTEGERS = ("uint8", "int8", "int16", "int32", "int64")

REPRS = {
    "float16": (
        "finfo(resolution=0.001, min=-65504, max=65504, eps=0.000976562, "
        "smallest_normal=6.10352e-05, tiny=6.10352e-05, dtype=float16)"
    ),
    "bfloat16": (
        "finfo(resolution=0.01, min=-3.38953e+38, max=3.38953e+38, eps=0.0078125, "
        "smallest_normal=1.17549e-38, tiny=1.17549e-38, dtype=bfloat16)"
    ),
    "float32": (
        "finfo(resolution=1e-06, min=-3.40282e+38, max=3.40282e+38, eps=1.19209e-07, "
        "smallest_normal=1.17549e-38, tiny=1.17549e-38, dtype=float32)"
    ),
    "float64": (
        "finfo(resolution=1e-15, min=-1.79769e+308, max=1.79769e+308, eps=2.22045e-16, "
        "smallest_normal=2.22507e-308, tiny=2.22507e-308, dtype=float64)"
    ),
    "uint8": "iinfo(min=0, max=255, dtype=uint8)",
    "int8": "iinfo(min=-128, max=127, dtype=int8)",
    "int16": "iinfo(min=-32768, max=32767, dtype=int16)",
    "int32": "iinfo(min=-2.14748e+09, max=2.14748e+09, dtype=int32)",
    "int64": "iinfo(min=-9.22337e+18, max=9.22337e+18, dtype=int64)",
}


@pytest.mark.parametrize("name", [*FLOATS, *INTEGERS])
def test_repr(name):
    kind = torch.finfo if name in FLOATS else torch.iinfo
    assert repr(kind(getattr(torch, name))) == REPRS[name]


def test_float_values():
    limits = torch.finfo(torch.float32)
    assert limits.bits == 32
    assert limits.dtype == "float32"
    assert limits.eps == 2.0**-23
    assert limits.max == 3.4028234663852886e38
    assert limits.min == -limits.max
    assert limits.tiny == limits.smallest_normal == 2.0**-126
    assert limits.resolution == 1e-6
    assert torch.finfo(torch.bfloat16).max == 3.3895313892515355e38
    assert torch.finfo(torch.float64).max == 1.7976931348623157e308


def test_integer_values():
    limits = torch.iinfo(torch.int64)
    assert (limits.bits, limits.dtype) == (64, "int64")
    assert (limits.min, limits.max) == (-(2**63), 2**63 - 1)
    assert all(type(value) is int for value in (limits.bits, limits.min, limits.max))


def test_default_dtype(default_dtype):
    assert torch.finfo() == torch.finfo(torch.float32)
    default_dtype(torch.float64)
    assert torch.finfo() == torch.finfo(torch.float64)


def test_builtin_types():
    assert torch.finfo(float) == torch.finfo(torch.float64)
    assert torch.iinfo(int) == torch.iinfo(torch.int64)


def test_equality():
    assert torch.finfo(torch.float32) == torch.finfo(torch.float32)
    assert torch.finfo(torch.float32) != torch.finfo(torch.float64)
    assert torch.iinfo(torch.int8) != torch.finfo(torch.float16)
    assert torch.iinfo(torch.int8) != 8
    with pytest.raises(TypeError, match="unhashable"):
        hash(torch.finfo(torch.float32))


def test_attributes_are_read_only():
    with pytest.raises(AttributeError):
        torch.finfo(torch.float32).max = 1.0
    with pytest.raises(AttributeError):
        torch.iinfo(torch.int8).unknown = 1


ERRORS = [
    (
        lambda: torch.finfo(torch.int32),
        "torch.finfo() requires a floating point input type. "
        "Use torch.iinfo to handle 'torch.finfo'",
    ),
    (
        lambda: torch.iinfo(torch.float32),
        "torch.iinfo() requires an integer input type. Use torch.finfo to handle 'torch.iinfo'",
    ),
    (lambda: torch.iinfo(torch.bool), "torch.bool is not supported by torch.iinfo"),
    (lambda: torch.finfo(3), "finfo(): argument 'type' (position 1) must be torch.dtype, not int"),
    (
        lambda: torch.iinfo("int8"),
        "iinfo(): argument 'type' (position 1) must be torch.dtype, not str",
    ),
    (lambda: torch.iinfo(), 'iinfo() missing 1 required positional arguments: "type"'),
    (
        lambda: torch.iinfo(torch.int8, 3),
        "iinfo() takes 1 positional argument but 2 were given",
    ),
]


@pytest.mark.parametrize(("call", "text"), ERRORS, ids=[text[:40] for _, text in ERRORS])
def test_errors(call, text):
    with pytest.raises(TypeError) as caught:
        call()
    assert str(caught.value) == text


def information(library, name):
    kind = library.finfo if name in FLOATS else library.iinfo
    info = kind(getattr(library, name))
    return repr(info), {key: getattr(info, key) for key in dir(info) if key[0] != "_"}


@pytest.mark.parametrize("name", [*FLOATS, *INTEGERS])
def test_equals_torch(torch_gives, name):
    text, attributes = torch_gives(information, name)
    ours = information(torch, name)
    assert ours[0] == text
    assert {key: ours[1][key] for key in attributes} == attributes
