"""Host data beside device data, where torch takes it; and device numbers that nobody reads."""

import pytest

WAITS = ("aclrtSynchronizeStream", "aclrtSynchronizeDevice", "aclrtSynchronizeEvent")

KEYS = {
    "a list": [2, 0],
    "a list of bools": [True, False, True, False],
    "a tuple of lists": ([0, 1], [2, 2]),
    "a list and a slice": (slice(1, 3), [0, 2]),
}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS.keys())
def test_python_lists_index(torch, key):
    x = torch.arange(12).reshape(4, 3)
    y = x.npu()
    assert y[key].device.type == "npu"
    assert y[key].tolist() == x[key].tolist()
    x[key] = 7
    y[key] = 7
    assert y.tolist() == x.tolist()
    x[key] += 1
    y[key] += 1
    assert y.tolist() == x.tolist()


@pytest.mark.parametrize("index", [[2, 0], [True, False, True, False]])
def test_host_tensors_index(torch, index):
    x = torch.arange(12).reshape(4, 3)
    y = x.npu()
    index = torch.tensor(index)
    assert y[index].tolist() == x[index].tolist()
    y[index] = x[index] = 5
    assert y.tolist() == x.tolist()
    assert (
        y.index_put((index,), torch.tensor(1)).tolist()
        == x.index_put((index,), torch.tensor(1)).tolist()
    )


def test_host_values_are_assigned(torch):
    x = torch.zeros(4, device="npu")
    x[[1, 3]] = 5.0
    x[:1] = torch.tensor(4.0)
    assert x.tolist() == [4, 5, 0, 5]
    with pytest.raises(TypeError, match="can't assign a list to a"):
        x[[1, 3]] = [5.0, 6.0]


def test_device_tensors_do_not_index_the_host(torch):
    index = torch.tensor([0], device="npu")
    with pytest.raises(RuntimeError, match="on the same device"):
        torch.arange(3)[index]


def test_a_tensor_that_is_written_while_it_is_read(torch):
    """Refused, as on the CPU, but for views with gaps: they see the elements as they were."""
    x = torch.arange(6, device="npu")
    with pytest.raises(RuntimeError, match="Please clone"):
        x[torch.arange(1, 6, device="npu")] = x[:5]
    with pytest.raises(RuntimeError, match="Please clone"):
        x[x] = torch.zeros(6, dtype=torch.int64, device="npu")
    x[torch.tensor([0, 1, 2], device="npu")] = x[::2]
    assert x.tolist() == [0, 2, 4, 3, 4, 5]
    with pytest.warns(UserWarning, match="expanded"), pytest.raises(RuntimeError, match="clone"):
        x[:1].expand(3)[torch.tensor([1], device="npu")] = 1


@pytest.mark.parametrize(
    "call",
    ["x.clamp(n, n)", "x.clamp(min=n)", "x.clamp_min(n)", "x.clamp_max(n)", "torch.lerp(x, x, n)",
     "x ** n", "x == n", "x % n", "x.masked_fill(x > 0, n)", "torch.where(x > 0, n, x)",
     "x.clone().fill_(n)", "torch.clamp(x, n, x.clone())"],
)  # fmt: skip
def test_a_number_on_the_device_is_not_waited_for(torch, called, call):
    x, n = torch.rand(3).npu(), torch.tensor(0.5).npu()
    code = compile(call, "call", "eval")
    names = {"torch": torch, "x": x, "n": n}
    functions = called(lambda: eval(code, names))
    assert not set(WAITS) & set(functions)
    host = {"torch": torch, "x": x.cpu(), "n": n.cpu()}
    torch.testing.assert_close(eval(code, names).cpu(), eval(code, host))


def test_a_number_on_the_device_is_read_where_only_a_number_will_do(torch):
    n = torch.tensor(2.0, device="npu")
    assert torch.full((2,), n).tolist() == [2, 2]
    assert torch.nn.functional.threshold(n.expand(1), n, 7).tolist() == [7]


def test_a_device_holds_the_weight_and_the_count(torch):
    x = torch.tensor([1.0, 2.0, 3.0], device="npu")
    for weight in (torch.tensor(0.5, dtype=torch.float64), torch.tensor(2)):
        expected = torch.lerp(x.cpu(), x.cpu() + 1, weight)
        assert torch.lerp(x, x + 1, weight.npu()).tolist() == expected.tolist()
    k = torch.tensor(2, device="npu")
    assert x.topk(k).values.tolist() == [3, 2]
    assert x.select(0, k).item() == 3 and x.roll(k).tolist() == [2, 3, 1]


def test_the_result_is_on_the_device(torch):
    host, device = torch.tensor(3.0), torch.tensor(1.0, device="npu")
    for name in ("clamp_min", "clamp_max", "maximum", "add", "clamp"):
        for operands in ((host, device), (device, host)):
            assert getattr(torch, name)(*operands).device.type == "npu"


INDEXED = {
    "take": lambda torch, x, i: torch.take(x, i),
    "put": lambda torch, x, i: x.put(i, torch.ones(2, device=x.device)),
    "index_copy": lambda torch, x, i: x.index_copy(0, i, x),
    "index_fill": lambda torch, x, i: x.index_fill(0, i, 7.0),
    "nll_loss": lambda torch, x, i: torch.nn.functional.nll_loss(x, i),
    "cross_entropy": lambda torch, x, i: torch.nn.functional.cross_entropy(x, i),
    "nll_loss2d": lambda torch, x, i: torch.nn.functional.nll_loss(x[..., None], i[:, None]),
}


@pytest.mark.parametrize("name", INDEXED)
def test_indices_of_int32(torch, name):
    # As with torch_npu. On the CPU torch insists on int64.
    call = INDEXED[name]
    x = torch.arange(6.0).view(2, 3)
    index = torch.tensor([1, 0])
    wanted = call(torch, x, index)
    on_npu = x.npu().requires_grad_()
    found = call(torch, on_npu, index.int().npu())
    assert torch.allclose(found.cpu(), wanted)
    found.sum().backward()
    on_cpu = x.clone().requires_grad_()
    call(torch, on_cpu, index).sum().backward()
    assert torch.allclose(on_npu.grad.cpu(), on_cpu.grad)
    with pytest.raises((RuntimeError, IndexError), match=r"[Ll]ong|int64"):
        call(torch, x, index.int())


def test_classes_of_int32(torch):
    one_hot = torch.nn.functional.one_hot
    classes = torch.tensor([2, 0], dtype=torch.int32)
    for count in (-1, 4):
        found = one_hot(classes.npu(), count)
        assert found.dtype == torch.int32
        assert found.tolist() == one_hot(classes.long(), count).tolist()
    with pytest.raises(RuntimeError, match="index tensor of type LongTensor"):
        one_hot(classes, 3)


def test_a_tensor_on_the_cpu_is_written_at_indices_on_the_npu(torch):
    x, index = torch.zeros(3), torch.tensor([1, 2]).npu()
    x[index] = torch.ones(2)
    assert x.tolist() == [0, 1, 1]
    x.index_put_((torch.tensor([True, False, False]).npu(),), torch.tensor(5.0))
    assert x.tolist() == [5, 1, 1]
    with pytest.raises(RuntimeError, match="indices should be either on cpu"):
        x[index]


@pytest.mark.parametrize(
    "call",
    [
        "arange(0, 4, {})", "zeros(4, {})", "ones(4, {})", "full((4,), 2.0, {})",
        "linspace(0, 1, 4, {})", "logspace(0, 1, 4, {})", "eye(2, {})", "empty(4, {})",
        "rand(4, {})", "randn(4, {})", "randint(3, (4,), {})", "range(0, 3, {})",
    ],
)  # fmt: skip
@pytest.mark.parametrize("named", ["npu", "npu:0"])
def test_what_is_made_in_out_has_its_device(torch, call, named):
    out = torch.empty(0, device="npu:0")
    code = "torch." + call.format("out=out, device=device")
    made = eval(code, {"torch": torch, "out": out, "device": named})
    assert made is out and made.numel() == 4 and made.device == torch.device("npu:0")
    with pytest.raises(RuntimeError, match=r"device type cpu does not match .* \(npu\)$"):
        eval(code, {"torch": torch, "out": out, "device": "cpu"})
