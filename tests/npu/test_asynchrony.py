"""What an op asks of CANN, in which order, and that nobody waits without need."""

import pytest

SYNCS = {"aclrtSynchronizeStream", "aclrtSynchronizeDevice", "aclrtSynchronizeEvent"}


@pytest.fixture
def pair(torch):
    return torch.randn(8, 8).to("npu"), torch.randn(8, 8).to("npu")


def test_a_call_seen_before_only_gives_addresses(called, pair):
    a, b = pair
    kept = [a + b, a + b]
    functions = called(lambda: kept.append(a + b))
    assert functions[-1] == "aclnnAdd"
    assert set(functions) <= {"aclSetTensorAddr", "aclnnAdd"}


def test_a_call_with_the_same_addresses_is_one_call(called, pair):
    a, b = pair
    out = a + b
    a.add_(b)
    a.add_(b)
    assert called(lambda: a.add_(b)) == ["aclnnAdd"]
    del out


@pytest.mark.parametrize(
    "change",
    [
        "a[1:] + b[1:]", "a.t() + b", "a + b.half()", "a - b", "a + 2", "a.view(64) + b.view(64)",
        "torch.add(a, b, alpha=2)", "a[::2] + b[::2]", "a + a",
    ],
)  # fmt: skip
def test_another_layout_dtype_or_number_is_another_plan(torch, called, pair, change):
    a, b = pair
    code = compile(change, "change", "eval")
    for _ in range(2):
        a + b

    def planned():
        functions = called(lambda: eval(code, {"torch": torch, "a": a, "b": b}))
        return [name for name in functions if name.endswith("GetWorkspaceSize")]

    assert planned()
    assert not planned()


def test_plans_of_other_addresses_give_right_values(torch):
    """One executor serves them all; none may see another's tensors."""
    inputs = [torch.randn(5, 7) for _ in range(20)]
    devices = [x.to("npu") for x in inputs]
    results = [x * y for x in devices for y in devices]
    expected = [x * y for x in inputs for y in inputs]
    for got, want in zip(results, expected, strict=True):
        assert torch.equal(got.cpu(), want)


def test_in_place_and_out_of_place_have_plans_of_their_own(torch):
    a, b = torch.ones(3, device="npu"), torch.ones(3, device="npu")
    for _ in range(3):
        c = torch.add(a, b)
        a.add_(b)
        assert c.tolist() == a.tolist()


def test_an_op_does_not_wait(called, pair):
    a, b = pair
    functions = called(lambda: ((a @ b).relu() + a).sum(1).softmax(0))
    assert not SYNCS & set(functions)


@pytest.mark.parametrize(
    "call",
    ["a.t() + b", "a[1:, ::2] + b[:7, 1::2]", "a.expand(3, 8, 8) + b", "a[3].view(2, 4) + 1"],
)
def test_views_go_to_the_device_as_they_are(torch, called, pair, call):
    names = {"torch": torch, "a": pair[0], "b": pair[1]}
    functions = called(lambda: eval(call, names))
    assert functions[-1] in ("aclnnAdd", "aclnnAdds")
    assert not [name for name in functions if "Copy" in name or "cpy" in name]


@pytest.mark.parametrize(
    "copy",
    ["a.t().contiguous()", "a.half()", "a.t().to(torch.int32)", "b.copy_(a.t())", "a.clone()",
     "a[:, 1].to(torch.bool)", "torch.empty(8, 8, dtype=torch.float16, device='npu').copy_(a.t())"],
)  # fmt: skip
def test_copies_between_layouts_and_dtypes_run_on_the_device(torch, called, pair, copy):
    names = {"torch": torch, "a": pair[0], "b": pair[1]}
    functions = called(lambda: eval(copy, names))
    assert not [name for name in functions if "cpy" in name] and not SYNCS & set(functions)
    host = {"torch": torch, "a": pair[0].cpu(), "b": pair[1].cpu()}
    expected = eval(copy.replace("'npu'", "'cpu'"), host)
    assert torch.equal(eval(copy, names).cpu(), expected)


def test_an_op_returns_while_its_stream_hangs(torch, simulator, pair):
    a, b = pair
    expected = a.cpu() + b.cpu()
    torch.npu.synchronize()
    simulator.hang()
    c = a + b
    done = torch.npu.Event()
    done.record()
    assert not done.query()
    assert c.shape == (8, 8)
    simulator.release()
    assert torch.equal(c.cpu(), expected)
    assert done.query()


@pytest.mark.parametrize(
    "read",
    ["x.cpu()", "x.to('cpu')", "x.tolist()", "x[0].item()", "x.sum().item()", "repr(x)",
     "bool(x[0] == 2)", "bool((x > 0).all())", "x.cpu().numpy()", "float(x[0])",
     "torch.equal(x, x)", "torch.zeros(3).copy_(x)"],
)  # fmt: skip
def test_reading_waits_for_its_stream_and_nothing_else(torch, simulator, read):
    """Another stream hangs meanwhile."""
    other, side = torch.npu.Stream(), torch.npu.Stream()
    with other:
        busy = torch.ones(3, device="npu")
    with side:
        x = torch.ones(3, device="npu")
    torch.npu.synchronize()

    def stream_of(action):
        simulator.clear_calls()
        action()
        [number] = {call.stream for call in simulator.calls() if call.kind == "call"} - {None}
        torch.npu.synchronize()
        return number

    with other:
        hanging = stream_of(lambda: busy.add_(1))
    with side:
        own = stream_of(lambda: x.add_(1))
        simulator.hang(hanging)
        with other:
            busy.add_(1)
        simulator.clear_calls()
        eval(read, {"torch": torch, "x": x})
    waits = [c for c in simulator.calls() if "Synchronize" in c.function and c.kind == "call"]
    assert waits and {c.stream for c in waits} == {own}
    assert not other.query()
    simulator.release()


def test_bytes_are_read_after_the_wait(torch, simulator, pair):
    a, b = pair
    c = a + b
    simulator.clear_calls()
    c.to("cpu")
    log = [entry.function for entry in simulator.calls() if entry.kind == "call"]
    assert log[-2:] == ["aclrtMemcpyAsync", "aclrtSynchronizeStream"]


def test_memory_of_work_under_way_is_reused_in_order(torch, simulator, pair):
    """A freed block serves the next op on its stream at once, although nobody has waited."""
    a, b = pair
    expected = (a.cpu() + b.cpu()) * 2
    torch.npu.synchronize()
    simulator.hang()
    for _ in range(10):
        c = (a + b) * 2
    assert "aclrtMalloc" not in {entry.function for entry in simulator.calls()}
    simulator.release()
    assert torch.equal(c.cpu(), expected)


def test_a_failing_op_shows_at_the_next_wait(torch, simulator, pair):
    a, b = pair
    with simulator.faults("task:aclnnMul:1:507015"):
        c = a * b
        with pytest.raises(RuntimeError, match="507015.*ACL_ERROR_RT_AICORE_EXCEPTION"):
            torch.npu.synchronize()
    simulator.clear_reports()
    assert torch.equal((a * b).cpu(), a.cpu() * b.cpu())
    del c
