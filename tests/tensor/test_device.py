"""torch.device: parsing, comparing, printing; and devices that are not there."""

import copy
import pickle

import pytest


@pytest.mark.parametrize(
    "args, kind, index, text",
    [
        (("cpu",), "cpu", None, "device(type='cpu')"),
        (("cpu:0",), "cpu", 0, "device(type='cpu', index=0)"),
        (("meta",), "meta", None, "device(type='meta')"),
        (("npu",), "npu", None, "device(type='npu')"),
        (("npu:3",), "npu", 3, "device(type='npu', index=3)"),
        (("npu", 3), "npu", 3, "device(type='npu', index=3)"),
        (("cuda",), "cuda", None, "device(type='cuda')"),
        (("cuda:1",), "cuda", 1, "device(type='cuda', index=1)"),
        (("cuda", 0), "cuda", 0, "device(type='cuda', index=0)"),
        (("mps",), "mps", None, "device(type='mps')"),
        (("xpu:2",), "xpu", 2, "device(type='xpu', index=2)"),
        (("privateuseone", 1), "privateuseone", 1, "device(type='privateuseone', index=1)"),
    ],
)
def test_parse(torch, args, kind, index, text):
    device = torch.device(*args)
    assert (device.type, device.index, repr(device)) == (kind, index, text)
    assert str(device) == (kind if index is None else f"{kind}:{index}")
    assert torch.device(device) == device
    assert torch.device(type=kind, index=index or 0).index == (index or 0)
    assert pickle.loads(pickle.dumps(device)) == device
    assert copy.deepcopy(device) == device and copy.copy(device) == device


def test_compare_and_hash(torch):
    device = torch.device
    assert device("npu") == device("npu") and device("npu") != device("npu:0")
    assert device("cpu") != device("cpu:0") and device("cuda", 1) == device("cuda:1")
    assert device("npu:1") != device("cuda:1")
    assert hash(device("npu:1")) == hash(device("npu", 1))
    assert len({device("npu"), device("npu:0"), device("npu:0"), device("cpu")}) == 3
    assert device("cpu") != "cpu" and device("cpu") is not None
    assert isinstance(device("cpu"), torch.device)
    with pytest.raises(TypeError):
        device("cpu") < device("npu")  # noqa: B015


def test_kinds_without_a_backend(torch):
    mps = torch.device("mps")
    assert mps == torch.device(mps) and mps != torch.device("mps:0") and mps != torch.device("xpu")
    assert torch.zeros(1).device != mps
    for use in (
        lambda: torch.zeros(1, device=mps),
        lambda: torch.zeros(1, device="mps:0"),
        lambda: torch.zeros(1).to("mps"),
        lambda: torch.zeros(1).to(device=mps),
        lambda: torch.tensor([1.0], device=mps),
        lambda: torch.empty_like(torch.zeros(1), device="xpu"),
        lambda: torch.nn.Linear(2, 2).to(mps),
        lambda: torch.Generator("mps"),
        lambda: torch.UntypedStorage(4, device="mps"),
    ):
        with pytest.raises(RuntimeError, match="Cannot use device (mps|xpu)"):
            use()


@pytest.mark.parametrize(
    "args, exception, text",
    [
        (
            ("foo",),
            RuntimeError,
            "Expected one of cpu, .* device type at start of device string: foo",
        ),
        (("foo:1",), RuntimeError, "at start of device string: foo"),
        (("cpu:x",), RuntimeError, "Invalid device string: 'cpu:x'"),
        (("cuda:-1",), RuntimeError, "Invalid device string: 'cuda:-1'"),
        (("cpu:1:2",), RuntimeError, "Invalid device string: 'cpu:1:2'"),
        (("cuda:01",), RuntimeError, "Invalid device string: 'cuda:01'"),
        (("cuda:",), RuntimeError, "Invalid device string: 'cuda:'"),
        (("mps:x",), RuntimeError, "Invalid device string: 'mps:x'"),
        (("",), RuntimeError, "Device string must not be empty"),
        (("cuda", -1), RuntimeError, "Device index must not be negative"),
        (("CPU",), RuntimeError, "Expected one of cpu, .* at start of device string: CPU"),
        (("cuda", "x"), TypeError, r"argument 'index' \(position 2\) must be int, not str"),
        ((1.5,), TypeError, r"got \(float\), but expected one of:\n \* \(torch.device device\)\n"),
        ((), TypeError, r"device\(\) received an invalid combination of arguments - got \(\)"),
        ((None,), TypeError, r"some of the arguments have invalid types: \(!NoneType!\)"),
        (("cpu", 1, 2), TypeError, r"got \(str, int, int\).*\n.*\n \* \(str type, int index"),
    ],
)
def test_bad_devices(torch, args, exception, text):
    with pytest.raises(exception, match=text):
        torch.device(*args)


def test_an_index_means_the_accelerator_of_this_machine(torch):
    if torch.accelerator.is_available():
        assert torch.device(0) == torch.device(torch.accelerator.current_accelerator().type, 0)
        return
    for use in (lambda: torch.device(0), lambda: torch.ones(1, device=0)):
        with pytest.raises(RuntimeError, match="Cannot access accelerator device when none is"):
            use()


def test_devices_do_not_change(torch):
    device = torch.device("cpu")
    with pytest.raises(AttributeError):
        device.type = "npu"
    with pytest.raises(AttributeError):
        device.index = 1


# The class is torch's: AssertionError where a build knows no CUDA, RuntimeError elsewhere.
ABSENT = (RuntimeError, AssertionError)


@pytest.mark.parametrize("kind", ["npu", "cuda"])
def test_absent_devices_say_why(torch, kind):
    module = getattr(torch, kind)
    if module.is_available():
        assert module.device_count() > 0
        return
    assert module.device_count() == 0
    x = torch.ones(2)
    for call in (
        lambda: torch.zeros(2, device=kind),
        lambda: torch.zeros(2, device=f"{kind}:0"),
        lambda: torch.tensor([1.0], device=kind),
        lambda: torch.empty(2, device=torch.device(kind)),
        lambda: x.to(kind),
        lambda: getattr(x, kind)(),
        lambda: torch.rand(2, device=kind),
        lambda: torch.ones_like(x, device=kind),
        lambda: x.new_zeros(2, device=kind),
        lambda: torch.arange(3, device=kind),
    ):
        with pytest.raises(ABSENT) as error:
            call()
        text = str(error.value)
        assert kind in text.lower(), text
        assert len(text) > 20, text
    assert x.tolist() == [1, 1] and x.device.type == "cpu"


def test_the_reason_names_what_is_missing(torch):
    if torch.npu.is_available():
        return
    with pytest.raises(RuntimeError) as error:
        torch.zeros(2, device="npu")
    # A user must learn what to install or to set.
    assert any(
        word in str(error.value) for word in ("CANN", "libascendcl", "MINDTORCH_NPU", "Ascend")
    )


def test_meta_tensors(torch):
    x = torch.ones(2, 3, device="meta")
    assert x.is_meta and x.device == torch.device("meta")
    assert repr(x) == "tensor(..., device='meta', size=(2, 3))"
    assert (x + 1).is_meta and (x @ x.t()).shape == (2, 2)
    assert x.sum(1).shape == (2,) and x.to(torch.int8).dtype == torch.int8
    assert x.data_ptr() == 0
    assert torch.empty_like(x, device="cpu").device.type == "cpu"
    assert torch.ones(2, 3).t().to("meta").stride() == (1, 3)
    assert x.copy_(torch.ones(2, 3)) is x
    huge = torch.empty(2**35, 4, device="meta")
    assert (huge + huge).shape == (2**35, 4)
    x.add_(1)
    assert x._version > 0
    x[0] = 5
    assert x[0].shape == (3,)


def test_no_silent_fallback(torch):
    """Data-dependent ops have no answer on meta, and say so."""
    x = torch.ones(3, device="meta")
    for call in (lambda: x.nonzero(), lambda: x[x > 0], lambda: x.unique(), lambda: x.tolist()):
        with pytest.raises((NotImplementedError, RuntimeError)):
            call()


def test_index_select_on_meta_looks_at_the_size_of_the_index_only(torch):
    """As torch does; programs shape their models on the meta device with what is at hand."""
    x = torch.empty(3, 4, device="meta")
    for index in (
        torch.empty(2, 2, dtype=torch.int64, device="meta"),
        torch.ones(4, device="meta"),
    ):
        assert torch.index_select(x, 0, index).shape == (4, 4)
        assert torch.index_select(x, 1, index).shape == (3, 4)
        assert torch.index_select(torch.empty((), device="meta"), 0, index).shape == ()


def test_tensors_are_on_no_device_without_a_backend(torch):
    for name in "ipu maia mkldnn mps mtia vulkan xla xpu".split():
        assert getattr(torch.ones(1), f"is_{name}") is False
