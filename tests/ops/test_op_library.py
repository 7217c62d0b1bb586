"""An op that a library outside mindtorch defines works like one of ours: examples/cpp/gated.cpp."""

import numpy as np
import pytest

from tests.support import gated

TOLERANCE = {"float64": 1e-14, "float32": 1e-6, "float16": 4e-3, "bfloat16": 3e-2}


@pytest.fixture
def swiglu():
    return gated.load().swiglu


@pytest.fixture
def run(torch, mode):
    """Runs a function of tensors, eager or in a pipeline."""

    def call(function, *args, **kwargs):
        if mode == "eager":
            return function(*args, **kwargs)
        with torch.pipeline():
            return function(*args, **kwargs)

    return call


def tensors(torch, device, dtype="float32", shape=(3, 5)):
    numbers = np.linspace(-4, 4, int(np.prod(shape))).reshape(shape)
    make = dict(dtype=getattr(torch, dtype), device=device)
    return torch.tensor(numbers, **make), torch.tensor(numbers[::-1] + 0.5, **make)


def numbers(tensor):
    return tensor.detach().cpu().double().numpy()


def check(result, x, gate, beta=1.0, dtype="float32"):
    assert str(result.dtype) == f"torch.{dtype}"
    want = gated.swiglu(numbers(x), numbers(gate), beta)
    np.testing.assert_allclose(numbers(result), want, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_values(torch, swiglu, run, device, dtype):
    x, gate = tensors(torch, device, dtype)
    check(run(swiglu, x, gate), x, gate, dtype=dtype)
    check(run(swiglu, x, gate, beta=0.5), x, gate, 0.5, dtype=dtype)


@pytest.mark.parametrize(
    "view",
    [
        lambda x: x.t(),
        lambda x: x[:, ::2],
        lambda x: x[1:2].expand(4, 5),
        lambda x: x[:0],
        lambda x: x[0, 0],
    ],
    ids=["transposed", "sliced", "expanded", "empty", "0-dim"],
)
def test_strides(torch, swiglu, run, device, view):
    x, gate = (view(each) for each in tensors(torch, device))
    result = run(swiglu, x, gate)
    assert result.shape == x.shape
    check(result, x, gate)


def test_broadcasting_and_large(torch, swiglu, run, device):
    x, gate = tensors(torch, device, shape=(300, 400))
    check(run(swiglu, x, gate[0]), x, gate[0])
    check(run(swiglu, x[:, :1], gate), x[:, :1], gate)


def test_promotion(torch, swiglu, run, device):
    x, gate = tensors(torch, device, "float16")
    wide = gate.double()
    check(run(swiglu, x, wide), x, wide, dtype="float64")
    whole = torch.arange(5, device=device)
    result = run(swiglu, x, whole)
    assert result.dtype == torch.float16


def test_in_place(torch, swiglu, run, device):
    x, gate = tensors(torch, device)
    before = x.clone()
    assert run(gated.load().swiglu_, x, gate) is not None
    check(x, before, gate)
    with pytest.raises(
        RuntimeError, match="result type Float can't be cast to the desired output type Long"
    ):
        gated.load().swiglu_(torch.ones(3, dtype=torch.int64, device=device), gate[0, :3])
    with pytest.raises(RuntimeError, match="output with shape"):
        gated.load().swiglu_(x[0], gate)


def test_out(torch, swiglu, run, device):
    x, gate = tensors(torch, device)
    out = torch.empty(5, 3, device=device).t()
    assert run(swiglu, x, gate, out=out).data_ptr() == out.data_ptr()
    check(out, x, gate)
    wide = torch.empty(3, 5, dtype=torch.float64, device=device)
    run(swiglu, x, gate, out=wide)
    np.testing.assert_allclose(numbers(wide), gated.swiglu(numbers(x), numbers(gate)), rtol=1e-6)
    with pytest.raises(RuntimeError, match="result type Float can't be cast to the desired output"):
        swiglu(x, gate, out=torch.empty(3, 5, dtype=torch.int32, device=device))


def test_refusals(torch, swiglu, device):
    whole = torch.arange(3, device=device)
    with pytest.raises(NotImplementedError, match="\"swiglu\" not implemented for 'Long'"):
        swiglu(whole, whole)
    with pytest.raises(RuntimeError, match="must match the size"):
        swiglu(torch.ones(2, device=device), torch.ones(3, device=device))
    with pytest.raises(TypeError, match=r"swiglu\(\)"):
        swiglu(torch.ones(2, device=device))


def test_meta(torch, swiglu):
    x = torch.empty(3, 1, dtype=torch.float16, device="meta")
    result = swiglu(x, torch.empty(4, device="meta"))
    assert (result.shape, result.dtype) == ((3, 4), torch.float32)
    assert result.device.type == "meta"


def test_fused_with_neighbours(torch, swiglu, device):
    x, gate = tensors(torch, device, shape=(33, 200))
    eager = (swiglu(x * 2, gate) + 1).relu()
    with torch.pipeline() as pipe:
        result = (swiglu(x * 2, gate) + 1).relu()
        assert pipe.queue
        pipe.flush()
        launches = pipe._last_launches()
    assert torch.equal(result, eager)
    if device == "cpu":
        assert launches == 1


def test_documentation(swiglu):
    assert "swiglu(Tensor input, Tensor gate, *, Number beta = 1)" in swiglu.__doc__
    assert "self * sigmoid(beta * self) * gate." in swiglu.__doc__


def test_loading(torch, swiglu):
    path = next(iter(torch.ops.loaded_libraries))
    torch.ops.load_library(path)  # again
    assert torch.ops.gated.swiglu is swiglu
    assert not hasattr(torch, "swiglu")
    with pytest.raises(AttributeError, match="no library 'unknown' of ops is loaded"):
        torch.ops.unknown  # noqa: B018 - it raises
    with pytest.raises(OSError, match="Could not load this library: .*/no/such/library.so"):
        torch.ops.load_library("/no/such/library.so")
    with pytest.raises(RuntimeError, match="defines no ops: it has no MINDTORCH_LIBRARY"):
        torch._C._load_library("libm.so.6")
