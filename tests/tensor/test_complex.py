"""Complex tensors as Python objects: making, showing, reading and writing them."""

import copy
import pickle

import mindtorch_v2 as torch
import pytest


def test_made_of_numbers():
    x = torch.tensor([1 + 2j, 3])
    assert x.dtype is torch.complex64
    assert x.is_complex()
    assert not x.is_floating_point()
    assert x.tolist() == [1 + 2j, 3 + 0j]
    assert torch.tensor(1j).item() == 1j
    assert torch.tensor([1, 2], dtype=torch.cdouble).dtype is torch.complex128
    assert torch.full((2,), 2j).dtype is torch.complex64
    assert torch.zeros(2, dtype=torch.cfloat).tolist() == [0, 0]
    with pytest.raises(TypeError, match="must be real number, not complex"):
        torch.tensor([1j], dtype=torch.float32)
    with pytest.raises(RuntimeError, match="without overflow"):
        torch.full((2,), 1j, dtype=torch.float32)


def test_follows_the_default_dtype():
    torch.set_default_dtype(torch.float64)
    try:
        assert torch.tensor(1j).dtype is torch.complex128
        assert (torch.ones(1, dtype=torch.float32) * 1j).dtype is torch.complex64
    finally:
        torch.set_default_dtype(torch.float32)
    assert (torch.ones(1, dtype=torch.float64) * 1j).dtype is torch.complex128
    assert (torch.ones(1, dtype=torch.int64) * 1j).dtype is torch.complex64
    assert torch.result_type(torch.ones(1), 1j) is torch.complex64


def test_dtype():
    assert torch.complex64.is_complex
    assert torch.complex128.to_real() is torch.float64
    assert torch.float16.to_complex() is torch.complex32
    assert torch.complex64.itemsize == 8
    assert (torch.cfloat, torch.cdouble, torch.chalf) == (
        torch.complex64, torch.complex128, torch.complex32)  # fmt: skip
    assert torch.finfo(torch.complex64).eps == torch.finfo(torch.float32).eps


def test_repr():
    assert repr(torch.tensor([1 + 2j, -3j])) == "tensor([1.+2.j, -0.-3.j])"
    assert repr(torch.tensor([1.5j], dtype=torch.complex128)) == (
        "tensor([0.+1.5000j], dtype=torch.complex128)"
    )


def test_numbers_of_python():
    x = torch.tensor(3 + 0j)
    assert (complex(x), float(x), int(x), bool(x)) == (3 + 0j, 3.0, 3, True)
    with pytest.raises(RuntimeError, match="cannot be converted to type double without overflow"):
        float(torch.tensor(1j))
    with pytest.raises(RuntimeError, match="without overflow"):
        int(torch.tensor(1j))
    assert bool(torch.tensor(1j))


def test_parts_are_views():
    x = torch.tensor([1 + 2j, 3 - 4j])
    x.real.fill_(9)
    x.imag = torch.tensor([0.0, 1.0])
    assert x.tolist() == [9, 9 + 1j]
    torch.view_as_real(x)[0] = torch.tensor([5.0, 6.0])
    assert x.tolist() == [5 + 6j, 9 + 1j]
    assert x.real.data_ptr() == x.data_ptr()
    pairs = torch.zeros(2, 2)
    torch.view_as_complex(pairs).add_(1 + 2j)
    assert pairs.tolist() == [[1, 2], [1, 2]]
    real = torch.ones(2)
    assert real.real is not None
    assert real.real.data_ptr() == real.data_ptr()
    with pytest.raises(RuntimeError, match="not implemented for tensors with non-complex dtypes"):
        real.imag  # noqa: B018


def test_adjoints():
    x = torch.tensor([[1 + 2j, 3], [4j, 5]])
    assert x.H.tolist() == x.mH.tolist() == x.adjoint().tolist() == [[1 - 2j, -4j], [3, 5]]
    assert x.mT.tolist() == [[1 + 2j, 4j], [3, 5]]
    assert not x.conj().is_conj()
    assert x.conj().resolve_conj().tolist() == [[1 - 2j, 3], [-4j, 5]]


def test_refusals():
    x = torch.tensor([1 + 2j])
    for call in (
        lambda: x < x, lambda: torch.maximum(x, x), x.sort, x.argmax, x.floor, lambda: x % 2,
        lambda: torch.nn.functional.relu(x), lambda: torch.atan2(x, x), x.sign,
        lambda: torch.ones(1).add_(x), lambda: torch.add(x, x, out=torch.ones(1)),
        lambda: torch.add(torch.ones(1), 1, alpha=1j),
    ):  # fmt: skip
        with pytest.raises((RuntimeError, TypeError)):
            call()
    assert x.tolist() == [1 + 2j]


def test_copies():
    x = torch.randn(3, 4, dtype=torch.complex128)
    for made in (copy.deepcopy(x), pickle.loads(pickle.dumps(x)), x.clone(), x.T.contiguous().T):
        assert torch.equal(made, x)
    y = x[::2, ::3]
    assert torch.equal(pickle.loads(pickle.dumps(y)), y)
    module = torch.nn.Linear(3, 2, dtype=torch.complex64)
    assert module(torch.ones(3, dtype=torch.complex64)).dtype is torch.complex64


def test_random_numbers():
    torch.manual_seed(0)
    x = torch.randn(20000, dtype=torch.complex64)
    assert abs(x.abs().square().mean().item() - 1) < 0.05
    assert abs(x.mean().abs().item()) < 0.05
    assert torch.rand(5, dtype=torch.complex64).real.min().item() >= 0


def test_inside_a_pipeline():
    x = torch.randn(4, 4, dtype=torch.complex64)
    for _ in range(3):
        with torch.pipeline():
            y = (x @ x.mH + 2j).abs().sum() * x
            z = torch.addmm(x, x, x, beta=1j, alpha=2j)
        assert torch.allclose(y, (x @ x.mH + 2j).abs().sum() * x)
        assert torch.allclose(z, 1j * x + 2j * (x @ x))
