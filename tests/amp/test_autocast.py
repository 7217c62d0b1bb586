"""torch.autocast as a block: nesting, decorators, caches, threads, backward passes."""

import threading
import warnings

import mindtorch_v2
import numpy
import pytest

from tests.training.programs import PROGRAMS, losses


def product(torch, dtype="float32"):
    x = torch.ones(2, 2, dtype=getattr(torch, dtype))
    return (x @ x).dtype


def test_nested(torch, default_device):
    with torch.autocast(default_device, dtype=torch.bfloat16):
        assert product(torch) == torch.bfloat16
        with torch.autocast(default_device, dtype=torch.float16):
            assert product(torch) == torch.float16
            with torch.autocast(default_device, enabled=False):
                assert product(torch) == torch.float32
                assert not torch.is_autocast_enabled(default_device)
            assert product(torch) == torch.float16
        assert product(torch) == torch.bfloat16
        assert torch.is_autocast_enabled(default_device)
        assert torch.is_autocast_cpu_enabled() == (default_device == "cpu")
    assert product(torch) == torch.float32


def test_decorator_and_reuse(torch, default_device):
    block = torch.autocast(default_device, dtype=torch.float16)

    @block
    def function(depth):
        """Documented."""
        return product(torch) if depth == 0 else function(depth - 1)

    assert function.__doc__ == "Documented."
    assert function(3) == torch.float16
    with block, block:
        assert product(torch) == torch.float16
    assert product(torch) == torch.float32


def test_an_error_ends_the_block(torch, default_device):
    with pytest.raises(ZeroDivisionError), torch.autocast(default_device, dtype=torch.bfloat16):
        raise ZeroDivisionError
    assert product(torch) == torch.float32
    assert torch.autocast_increment_nesting() == 1
    assert torch.autocast_decrement_nesting() == 0


def test_threads_have_their_own(torch, default_device):
    seen = []
    with torch.autocast(default_device, dtype=torch.bfloat16):
        thread = threading.Thread(target=lambda: seen.append(product(torch)))
        thread.start()
        thread.join()
    assert seen == [torch.float32]


def test_grad_mode_is_another_switch(torch, default_device):
    lower = torch.get_autocast_dtype(default_device)
    with torch.no_grad():
        torch.set_autocast_enabled(default_device, True)
    try:
        assert product(torch) == lower
        with torch.inference_mode():
            assert product(torch) == lower
    finally:
        torch.set_autocast_enabled(default_device, False)


def test_weights_are_cast_once(torch, default_device):
    weight = torch.randn(3, 3, requires_grad=True)
    x = torch.randn(3, 3)
    with torch.autocast(default_device, dtype=torch.bfloat16):
        nodes = {(x @ weight).grad_fn.next_functions[1][0] for _ in range(3)}
        assert len(nodes) == 1
        with torch.autocast(default_device, cache_enabled=False):
            assert (x @ weight).grad_fn.next_functions[1][0] not in nodes
        before = (x @ weight).detach()
        with torch.no_grad():
            assert not (x @ weight).requires_grad
            weight.mul_(2)
        assert torch.equal((x @ weight).detach(), 2 * before)
        assert (x @ weight).requires_grad
    with torch.autocast(default_device, dtype=torch.bfloat16):
        assert (x @ weight).grad_fn.next_functions[1][0] not in nodes


def test_gradients_have_the_weights_dtype(torch, default_device):
    layer = torch.nn.Linear(4, 4)
    with torch.autocast(default_device, dtype=torch.bfloat16):
        y = layer(torch.randn(2, 4))
        assert y.dtype == torch.bfloat16
        y.float().sum().backward()
    assert layer.weight.grad.dtype == layer.bias.grad.dtype == torch.float32


def test_in_place_and_out_are_not_cast(torch, default_device):
    a = torch.ones(2, 2)
    with torch.autocast(default_device, dtype=torch.bfloat16):
        assert torch.mm(a, a, out=torch.empty(2, 2)).dtype == torch.float32
        assert torch.ones(2, 2).addmm_(a, a).dtype == torch.float32


def test_pipeline(torch, default_device):
    a = torch.randn(4, 4)
    with torch.autocast(default_device, dtype=torch.bfloat16):
        want = torch.nn.functional.mse_loss(a @ a, a)
        with torch.pipeline():
            got = torch.nn.functional.mse_loss(a @ a, a)
    assert got.dtype == torch.float32 and torch.equal(got, want)


def make_function(torch, cast_inputs, device):
    class Product(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type=device, cast_inputs=cast_inputs)
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            ctx.seen = a.dtype
            return a @ b

        @staticmethod
        @torch.amp.custom_bwd(device_type=device)
        def backward(ctx, grad):
            a, b = ctx.saved_tensors
            product = grad.to(a.dtype) @ b.t()
            Product.backward_dtype = product.dtype
            return product, a.t() @ grad.to(a.dtype)

    return Product


@pytest.mark.parametrize("cast", [None, "float32"])
def test_custom_function(torch, cast, default_device):
    function = make_function(torch, cast and getattr(torch, cast), default_device)
    a, b = (torch.randn(2, 2, requires_grad=True) for _ in range(2))
    with torch.autocast(default_device, dtype=torch.bfloat16):
        y = function.apply(a, b.bfloat16() if cast else b)
    assert y.dtype == (torch.float32 if cast else torch.bfloat16)
    y.sum().backward()
    assert function.backward_dtype == y.dtype
    assert a.grad.dtype == torch.float32


BAD = [
    "torch.autocast(3)",
    "torch.autocast('meta')",
    "torch.is_autocast_enabled('meta')",
    "torch.amp.custom_fwd(device_type=3)",
]


@pytest.mark.parametrize("text", BAD)
def test_mistakes_like_torch(torch_gives, text):
    def mistake(torch):
        with pytest.raises(Exception) as raised:
            eval(text, {"torch": torch})
        return raised.type, str(raised.value)

    assert mistake(mindtorch_v2) == torch_gives(mistake)


def test_unsupported_dtype(torch, default_device):
    with pytest.warns(UserWarning, match="only supports dtypes of torch.bfloat16, torch.float16"):
        block = torch.autocast(default_device, dtype=torch.float32)
    with block:
        assert product(torch) == torch.float32
    with pytest.warns(FutureWarning, match="deprecated"):
        torch.cpu.amp.autocast()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        torch.npu.amp.autocast(enabled=False)


# torch's own LSTM has no float16 on CPUs.
PAIRS = [(name, dtype) for name in PROGRAMS for dtype in ("bfloat16", "float16")]
PAIRS.remove(("lstm", "float16"))


@pytest.mark.parametrize(("name", "dtype"), PAIRS)
def test_losses_like_torch(torch_gives, name, dtype, default_device):
    expected = torch_gives(losses, name, autocast=dtype)
    found = losses(mindtorch_v2, name, default_device, autocast=dtype)
    numpy.testing.assert_allclose(found, expected, rtol=2e-3)


@pytest.mark.parametrize("name", PROGRAMS)
def test_losses_in_a_pipeline(torch, name, default_device):
    numpy.testing.assert_allclose(
        losses(torch, name, default_device, pipeline=True, autocast="bfloat16"),
        losses(torch, name, default_device, autocast="bfloat16"),
        rtol=2e-3,
    )


@pytest.mark.parametrize("wrong", [3, "float16", None])
def test_settings_of_a_wrong_type(torch, wrong, default_device):
    before = torch.get_autocast_dtype(default_device)
    with pytest.raises(TypeError, match="must be torch.dtype, not"):
        torch.set_autocast_dtype(default_device, wrong)
    with pytest.raises(TypeError, match="must be bool, not Tensor"):
        torch.set_autocast_enabled(default_device, torch.ones(1))
    assert torch.get_autocast_dtype(default_device) == before


def test_arguments_of_a_wrong_type_change_nothing(torch):
    for text in ("dtype='bf16'", "enabled=3", "cache_enabled=3"):
        block = eval(f"torch.autocast('cpu', {text})", {"torch": torch})
        with pytest.raises(TypeError, match="must be"), block:
            pass
        assert not torch.is_autocast_cpu_enabled()
        assert torch.autocast_increment_nesting() == 1
        assert torch.autocast_decrement_nesting() == 0


def test_recurrent_layers(torch, default_device):
    x = torch.ones(2, 1, 2)
    with torch.autocast(default_device, dtype=torch.bfloat16):
        dtypes = [getattr(torch.nn, name)(2, 3)(x)[0].dtype for name in ("LSTM", "RNN", "GRU")]
    # Torch casts what cuDNN computes, but no GRU of the CPU.
    of_gru = torch.float32 if default_device == "cpu" else torch.bfloat16
    assert dtypes == [torch.bfloat16, torch.bfloat16, of_gru]
