"""Dtypes that hold numbers and convert them, but compute little: uint16 and wider, 8-bit floats."""

import copy
import pickle

import mindtorch_v2 as torch
import numpy as np
import pytest

UNSIGNED = {"uint16": 16, "uint32": 32, "uint64": 64}
FLOAT8 = ("float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu")
COMPLEX = ("complex32", "complex64", "complex128")
STORED = (*UNSIGNED, *FLOAT8)
COMMON = "bool uint8 int8 int16 int32 int64 float16 bfloat16 float32 float64".split()

INF, NAN = float("inf"), float("nan")
NUMBERS = (0.0, -0.0, 1.0, -1.5, 0.1, 3.0, 17.0, 19.0, 240.0, 248.0, 448.0, 465.0, 57344.0, 61440.0,
           1e9, -1e9, 2**-9, 2**-10, 1e-10, INF, -INF, NAN)  # fmt: skip
# The codes of these numbers, by the formats' definitions.
CODES = {
    "float8_e4m3fn": (0, 128, 56, 188, 29, 68, 88, 90, 119, 120, 126, 126, 126, 126, 126, 254, 1, 0,
                      0, 126, 254, 127),
    "float8_e5m2": (0, 128, 60, 190, 46, 66, 76, 77, 92, 92, 95, 95, 123, 124, 124, 252, 24, 20, 0,
                    124, 252, 127),
    "float8_e4m3fnuz": (0, 0, 64, 196, 37, 76, 96, 98, 127, 128, 128, 128, 128, 128, 128, 128, 2, 1,
                        0, 128, 128, 128),
    "float8_e5m2fnuz": (0, 0, 64, 194, 50, 70, 80, 81, 96, 96, 99, 99, 127, 128, 128, 128, 28, 24,
                        0, 128, 128, 128),
    "float8_e8m0fnu": (0, 0, 127, 128, 124, 129, 131, 131, 135, 135, 136, 136, 143, 143, 157, 157,
                       118, 117, 94, 255, 255, 255),
}  # fmt: skip


@pytest.mark.parametrize("name", FLOAT8)
def test_float8_codes(name):
    found = torch.tensor(NUMBERS).to(getattr(torch, name)).view(torch.uint8).tolist()
    assert tuple(found) == CODES[name]


@pytest.mark.parametrize("name", FLOAT8)
def test_every_float8_survives(name):
    """All 256 codes, through each wider float and back."""
    every = torch.arange(256, dtype=torch.int32).to(torch.uint8).view(getattr(torch, name))
    is_number = ~every.float().isnan()
    for wide in ("float32", "float64", "bfloat16"):
        back = every.to(getattr(torch, wide)).to(every.dtype)
        same = back.view(torch.uint8) == every.view(torch.uint8)
        assert bool((same | ~is_number).all())
        assert bool((back.float().isnan() == ~is_number).all())


@pytest.mark.parametrize("name, bits", UNSIGNED.items())
def test_unsigned_range(name, bits):
    dtype = getattr(torch, name)
    largest = 2**bits - 1
    x = torch.tensor([0, 1, largest], dtype=dtype)
    assert x.tolist() == [0, 1, largest]
    assert x[2].item() == int(x[2]) == largest
    assert repr(x[:2]) == f"tensor([0, 1], dtype=torch.{name})"
    assert torch.full((2,), 7, dtype=dtype).tolist() == [7, 7]
    with pytest.raises((RuntimeError, ValueError)):
        torch.tensor([largest + 1], dtype=dtype)
    info = torch.iinfo(dtype)
    assert (info.min, info.max, info.bits) == (0, largest, bits)


def test_unsigned_conversions():
    large = torch.tensor([2**64 - 1, 2**63, 5], dtype=torch.uint64)
    assert large.to(torch.float64).tolist() == [2.0**64, 2.0**63, 5.0]
    assert large.to(torch.int64).tolist() == [-1, -(2**63), 5]
    assert large.to(torch.uint16).tolist() == [65535, 0, 5]
    assert large.to(torch.bool).tolist() == [True, True, True]
    assert torch.tensor([-1, 70000]).to(torch.uint16).tolist() == [65535, 4464]
    assert torch.tensor([1.9, 2.0**63]).to(torch.uint64).tolist() == [1, 2**63]


@pytest.mark.parametrize("name", STORED)
def test_elements_move(name):
    dtype = getattr(torch, name)
    x = torch.tensor([[1.0, 2, 4], [8, 16, 32]]).to(dtype)
    values = x.float()
    for move in (
        lambda t: t.clone(), lambda t: t.t().contiguous(), lambda t: t[:, 1:], lambda t: t.flip(0),
        lambda t: t.roll(1, 1), lambda t: torch.cat([t, t]), lambda t: torch.stack([t, t]),
        lambda t: t[torch.tensor([1, 0])], lambda t: t.index_select(1, torch.tensor([2, 0])),
        lambda t: t[torch.tensor([[True, False, True], [False, True, True]])],
        lambda t: t.repeat(2, 2),
        lambda t: torch.where(torch.tensor([True, False, True]), t, t.flip(1)),
        lambda t: t.reshape(3, 2), lambda t: t.expand(2, 2, 3).contiguous(), copy.deepcopy,
        lambda t: pickle.loads(pickle.dumps(t)),
    ):  # fmt: skip
        moved = move(x)
        assert moved.dtype is dtype
        assert moved.float().tolist() == move(values).tolist()
    y = x.clone()
    y[0] = 64
    y[:, 2].copy_(torch.tensor([1.0, 2.0]))
    assert y.float().tolist() == [[64.0, 64.0, 1.0], [8.0, 16.0, 2.0]]
    assert torch.equal(x, x.clone())
    assert (x == y).tolist() == [[False, False, False], [True, True, False]]
    assert (x * x).dtype is dtype


@pytest.mark.parametrize("name", STORED)
def test_what_is_not_computed_is_refused(name):
    x = torch.ones(2, 2).to(getattr(torch, name))
    for call in (x.max, lambda: x + x, lambda: x @ x, x.sort, lambda: x.softmax(0), x.cumsum):
        with pytest.raises((NotImplementedError, TypeError)):
            call(0) if call == x.cumsum else call()
    with pytest.raises(NotImplementedError, match="not implemented for"):
        x.cumsum(0)


def test_promotion():
    assert torch.promote_types(torch.uint16, torch.float16) is torch.float16
    assert torch.promote_types(torch.complex64, torch.float64) is torch.complex128
    assert torch.promote_types(torch.complex32, torch.int64) is torch.complex32
    assert torch.promote_types(torch.complex32, torch.bfloat16) is torch.complex64
    with pytest.raises(RuntimeError, match="Promotion for uint16, uint32, uint64 types is not"):
        torch.promote_types(torch.uint16, torch.int8)
    with pytest.raises(RuntimeError, match="Promotion for Float8 Types is not supported"):
        torch.promote_types(torch.float8_e5m2, torch.float32)
    assert not torch.can_cast(torch.complex64, torch.float32)
    assert torch.can_cast(torch.float8_e5m2, torch.complex64)


def test_numpy():
    for name in UNSIGNED:
        array = np.array([1, 2, 3], name)
        shared = torch.from_numpy(array)
        assert str(shared.dtype) == f"torch.{name}"
        array[0] = 9
        assert shared.tolist() == [9, 2, 3]
        assert shared.numpy().dtype == array.dtype
    for name in ("complex64", "complex128"):
        array = np.array([1 + 2j, 3], name)
        assert torch.from_numpy(array).numpy().tolist() == [1 + 2j, 3]
    for name in (*FLOAT8, "complex32"):
        with pytest.raises(TypeError, match="Got unsupported ScalarType"):
            torch.zeros(2, dtype=getattr(torch, name)).numpy()


def test_dlpack():
    """NumPy takes what it knows; here every dtype comes back as it went."""
    for name in ("uint16", "uint64", "complex64", "complex128"):
        x = torch.tensor([1, 2]).to(getattr(torch, name))
        assert np.from_dlpack(x).dtype == np.dtype(name)
        assert torch.from_dlpack(np.array([1, 2], name)).dtype is x.dtype
    for name in (*STORED, *COMPLEX):
        x = torch.tensor([1.0, 2.0]).to(getattr(torch, name))
        back = torch.from_dlpack(x)
        assert back.dtype is x.dtype
        assert back.data_ptr() == x.data_ptr()


def test_save_and_load(tmp_path):
    tensors = {n: torch.tensor([1.0, 2.0]).to(getattr(torch, n)) for n in (*STORED, *COMPLEX)}
    torch.save(tensors, tmp_path / "all.pt")
    for mmap in (False, True):
        found = torch.load(tmp_path / "all.pt", mmap=mmap)
        for name, tensor in found.items():
            assert tensor.dtype is tensors[name].dtype
            assert tensor.tolist() == tensors[name].tolist()


@pytest.mark.parametrize("target", [*COMMON, *STORED, *COMPLEX])
@pytest.mark.parametrize("source", [*COMMON, *STORED, *COMPLEX])
def test_conversions_of_torch(torch_gives, source, target):
    def converted(library):
        given = library.tensor([0.0, 1.0, 2.5, 100.25, 0.007, 240.0])
        given = given.to(getattr(library, source)).to(getattr(library, target))
        return given.to(library.complex128).numpy()

    np.testing.assert_array_equal(converted(torch), torch_gives(converted))


@pytest.mark.parametrize("name", [*STORED, *COMPLEX])
def test_texts_of_torch(torch_gives, name):
    def texts(module):
        dtype = getattr(module, name)
        x = module.tensor([[1.0, 2.0], [0.5, 16.0]]).to(dtype)
        info = module.iinfo if name in UNSIGNED else module.finfo
        return repr(x), repr(x[0, 0]), str(info(dtype)), x.type(), x.tolist()

    assert texts(torch) == torch_gives(texts)


@pytest.mark.parametrize("first", [*COMMON, *STORED, *COMPLEX])
def test_promotion_of_torch(torch_gives, first):
    def promoted(module, second):
        try:
            found = module.promote_types(getattr(module, first), getattr(module, second))
        except RuntimeError as error:
            return str(error)
        return str(found)

    def table(module):
        return {second: promoted(module, second) for second in (*COMMON, *STORED, *COMPLEX)}

    assert table(torch) == torch_gives(table)
