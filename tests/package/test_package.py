"""The package as a module: names, settings, modes, and how it is imported."""

import pickle
import subprocess
import sys
import threading

import pytest


def run(code):
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split()


def test_import_loads_little():
    loaded = run(
        "import sys; before = set(sys.modules); import mindtorch_v2; "
        "print(*sorted(m.partition('.')[0] for m in set(sys.modules) - before))"
    )
    assert not {"numpy", "torch", "inspect", "typing", "re", "pickle"} & set(loaded)


def test_every_name_can_be_had(torch):
    for name in dir(torch):
        assert getattr(torch, name, "missing") != "missing", name
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        torch.no_such_name  # noqa: B018
    assert {"FloatTensor", "no_grad", "nn", "add", "float32", "inf"} <= set(dir(torch))


def test_star_import_and_submodules(torch):
    import mindtorch_v2.linalg
    import mindtorch_v2.nn.functional as F
    from mindtorch_v2 import cuda, nn, no_grad
    from mindtorch_v2.utils.dlpack import from_dlpack

    assert F is nn.functional is torch.nn.functional and cuda is torch.cuda
    assert no_grad is torch.no_grad and from_dlpack is torch.from_dlpack
    assert mindtorch_v2.linalg is torch.linalg


def test_names_of_dtypes_do_not_hide_builtins_inside(torch):
    assert torch.float is torch.float32 and torch.int is torch.int32
    assert torch.typename(3) == "int" and torch.is_nonzero(torch.ones(1)) is True
    assert torch.inf == float("inf") and torch.newaxis is None


def test_functions_are_pickled_by_name(torch):
    for function in (torch.add, torch.tensor, torch.no_grad, torch.Tensor.add):
        assert pickle.loads(pickle.dumps(function)) is function


def test_versions(torch):
    assert torch.__version__ == torch.version.__version__
    assert torch.version.cuda is None and torch.compiler.is_compiling() is False


# --- gradient mode ------------------------------------------------------------------------------


def test_grad_mode(torch):
    assert torch.is_grad_enabled()
    with torch.no_grad():
        assert not torch.is_grad_enabled()
        with torch.enable_grad():
            assert torch.is_grad_enabled()
        assert not torch.is_grad_enabled()
    with torch.inference_mode():
        assert not torch.is_grad_enabled() and torch.is_inference_mode_enabled()
    with torch.inference_mode(mode=False):
        assert torch.is_grad_enabled() and not torch.is_inference_mode_enabled()
    with torch.set_grad_enabled(False):
        assert not torch.is_grad_enabled()
    torch.set_grad_enabled(False)
    assert not torch.is_grad_enabled()
    torch.set_grad_enabled(True)
    with pytest.raises(KeyError), torch.no_grad():
        raise KeyError
    assert torch.is_grad_enabled()


def test_grad_mode_as_decorator(torch):
    seen = []

    @torch.no_grad()
    def with_brackets():
        seen.append(torch.is_grad_enabled())
        return 1

    @torch.no_grad
    def without():
        seen.append(torch.is_grad_enabled())

    @torch.set_grad_enabled(False)
    def fixed():
        seen.append(torch.is_grad_enabled())

    @torch.no_grad()
    def numbers():
        got = yield torch.is_grad_enabled()
        seen.append((got, torch.is_grad_enabled()))

    assert torch.is_grad_enabled()
    assert with_brackets() == 1 and with_brackets.__name__ == "with_brackets"
    without()
    fixed()
    generator = numbers()
    assert next(generator) is False and torch.is_grad_enabled()
    with pytest.raises(StopIteration):
        generator.send(5)
    assert seen == [False, False, False, (5, False)] and torch.is_grad_enabled()


def test_grad_mode_is_per_thread(torch):
    seen = []
    with torch.no_grad():
        thread = threading.Thread(target=lambda: seen.append(torch.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]


# --- where new tensors go -----------------------------------------------------------------------


def test_device_context(torch):
    assert torch.get_default_device() == torch.device("cpu")
    with torch.device("meta") as device:
        assert device == torch.device("meta") == torch.get_default_device()
        assert torch.zeros(2).is_meta and torch.tensor([1.0]).is_meta and torch.arange(3).is_meta
        assert torch.rand(2).is_meta and torch.as_tensor([1]).is_meta and torch.eye(2).is_meta
        assert torch.zeros(2, device="cpu").is_cpu and torch.tensor(1, device="cpu").is_cpu
        with torch.device("cpu"):
            assert torch.zeros(2).is_cpu
        assert torch.ones(2).is_meta
        local = torch.zeros(2, device="cpu")
        assert torch.zeros_like(local).is_cpu and local.new_zeros(2).is_cpu and (local + 1).is_cpu
    assert torch.zeros(2).is_cpu
    with pytest.raises(KeyError), torch.device("meta"):
        raise KeyError
    assert torch.zeros(2).is_cpu


def test_set_default_device(torch):
    torch.set_default_device("meta")
    try:
        assert torch.zeros(2).is_meta
        seen = []
        thread = threading.Thread(target=lambda: seen.append(torch.zeros(1).device.type))
        thread.start()
        thread.join()
        assert seen == ["cpu"]
    finally:
        torch.set_default_device(None)
    assert torch.zeros(2).is_cpu
    with pytest.raises(RuntimeError):
        torch.set_default_device("no_such_device")


def test_cpu_index_is_dropped(torch):
    x = torch.zeros(2, device="cpu:0")
    assert x.device == torch.device("cpu") and x.to("cpu:0") is x


# --- rules of dtypes, settings ------------------------------------------------------------------


def test_dtype_rules(torch):
    assert torch.promote_types(torch.int8, torch.uint8) == torch.int16
    assert torch.can_cast(torch.int32, torch.float16) and not torch.can_cast(torch.float32, int)
    assert torch.result_type(torch.ones(2, dtype=torch.int8), 1.5) == torch.float32
    assert torch.result_type(1, 2.0) == torch.float32
    for bad in (lambda: torch.promote_types(1, torch.int8), lambda: torch.result_type("a", 1)):
        with pytest.raises(TypeError):
            bad()


def test_default_dtype(torch, default_dtype):
    default_dtype(torch.float64)
    assert torch.tensor(1.5).dtype == torch.float64 and torch.zeros(1).dtype == torch.float64
    assert torch.Tensor([1]).dtype == torch.float64
    with pytest.raises(TypeError, match="only floating-point types"):
        torch.set_default_dtype(torch.int32)
    with pytest.raises(TypeError):
        torch.set_default_dtype("float32")


def test_threads(torch):
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    assert torch.get_num_threads() == 1
    torch.set_num_threads(before)
    for bad in (0, -1):
        with pytest.raises(RuntimeError):
            torch.set_num_threads(bad)
    assert torch.get_num_interop_threads() >= 1


def test_cpu_module(torch):
    assert torch.cpu.is_available() and torch.cpu.device_count() == 1
    torch.cpu.synchronize()
    torch.cpu.empty_cache()
    assert torch.cpu.memory_stats()["cached_bytes"] == 0


@pytest.mark.parametrize("kind", ["npu", "cuda"])
def test_absent_device_modules(torch, kind):
    module = getattr(torch, kind)
    if module.is_available():
        return
    assert module.device_count() == 0 and module.memory_allocated() == 0
    module.empty_cache()
    module.manual_seed_all(1)
    for call in (module.synchronize, module.current_device, module.init):
        with pytest.raises(RuntimeError, match=r"(?i)npu|cuda|cann|ascend|nvidia"):
            call()


def test_fork_rng(torch):
    torch.manual_seed(3)
    state = torch.get_rng_state()
    with torch.random.fork_rng():
        torch.rand(5)
        torch.manual_seed(9)
    assert torch.equal(torch.get_rng_state(), state)
    assert torch.random.default_generator is torch.default_generator


def test_return_types(torch):
    found = torch.max(torch.ones(1, 2), 1)
    assert type(found) is torch.return_types.max
    assert repr(found) == ("torch.return_types.max(\nvalues=tensor([1.]),\nindices=tensor([0]))")
    assert str(found) == found.__repr__() == repr(found)
    extremes = torch.aminmax(torch.tensor([[1, 2], [3, 4]]), dim=1, keepdim=True)
    assert repr(extremes) == (
        "torch.return_types.aminmax(\nmin=tensor([[1],\n        [3]]),\n"
        "max=tensor([[2],\n        [4]]))"
    )
    with pytest.raises(AttributeError):
        torch.return_types.no_such_op  # noqa: B018
