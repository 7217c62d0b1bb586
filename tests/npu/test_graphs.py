"""torch.npu's graphs: work captured once and run many times."""

import pytest

CALLS = {
    "one op": lambda t, x, y: x + y,
    "composed": lambda t, x, y: t.hypot(x, y) + t.nextafter(x, y),
    "lists": lambda t, x, y: t.cat([x, y]).sort(0).values,
    "products": lambda t, x, y: (x @ y.t()).softmax(0),
    "other dtypes": lambda t, x, y: t.lcm(x.int(), y.int()).to(t.float16),
    "indices": lambda t, x, y: x.gather(0, y.argsort(0)).cummax(0).values,
    "statistics": lambda t, x, y: x.var(0) + y.norm(3, 0),
}


def test_a_graph_reads_what_its_inputs_are_at_each_replay(torch):
    x = torch.zeros(3, device="npu")
    w = torch.full((3,), 2.0, device="npu")
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        assert torch.npu.is_current_stream_capturing()
        y = (x + 1) * w
    assert not torch.npu.is_current_stream_capturing()
    for value in (1, 5):
        x.fill_(value)
        graph.replay()
        assert y.tolist() == [(value + 1) * 2] * 3


def test_capturing_runs_nothing_and_replay_calls_no_op(torch, simulator):
    x = torch.zeros(3, device="npu")
    graph = torch.npu.NPUGraph()
    simulator.set(log=True)
    with torch.npu.graph(graph):
        x.add_(1)
    torch.npu.synchronize()
    assert x.tolist() == [0, 0, 0]
    simulator.clear_calls()
    for _ in range(3):
        graph.replay()
    calls = [c.function for c in simulator.calls() if c.kind == "call"]
    assert calls == ["aclmdlRIExecuteAsync"] * 3, calls
    assert x.tolist() == [3, 3, 3]


def test_by_hand_on_other_streams(torch):
    x = torch.zeros(3, device="npu")
    graph = torch.npu.NPUGraph()
    with pytest.raises(RuntimeError, match="non-default stream"):
        graph.capture_begin()
    with pytest.raises(RuntimeError, match="without a preceding"):
        graph.replay()
    with pytest.raises(RuntimeError, match="No capture"):
        graph.capture_end()
    side = torch.npu.Stream()
    side.wait_stream(torch.npu.current_stream())
    with side:
        graph.capture_begin(capture_error_mode="thread_local")
        x.add_(2)
        graph.capture_end()
        with pytest.raises(RuntimeError, match="already"):
            graph.capture_begin()
    other = torch.npu.Stream()
    other.wait_stream(torch.npu.current_stream())
    with other:
        graph.replay()
    torch.npu.current_stream().wait_stream(other)
    graph.replay()
    assert x.tolist() == [4, 4, 4]
    with pytest.raises(RuntimeError, match="npu:0 and cannot run on npu:1"), torch.npu.device(1):
        graph.replay()
    graph.reset()
    with pytest.raises(RuntimeError, match="without a preceding"):
        graph.replay()


def test_the_memory_of_a_graph_stays_its_own(torch):
    x = torch.ones(1000, device="npu")
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        hidden = x + 1  # not kept: the graph needs its memory all the same
        y = hidden * 2
        del hidden
    keep = [torch.zeros(1000, device="npu") for _ in range(50)]
    graph.replay()
    assert y.sum().item() == 4000 and all(k.sum().item() == 0 for k in keep)
    pool = graph.pool()
    assert torch.npu.memory_segments(pool) and pool != (0, 0)
    second = torch.npu.NPUGraph()
    with torch.npu.graph(second, pool=pool):
        z = x * 3
    assert second.pool() == pool
    second.replay()
    assert z.sum().item() == 3000
    held = torch.npu.memory_reserved()
    del y, z
    graph.reset()
    second.reset()
    torch.npu.synchronize()
    torch.npu.empty_cache()
    assert torch.npu.memory_reserved() < held


def test_reading_a_value_while_capturing_is_an_error_and_leaves_all_well(torch):
    x = torch.ones(3, device="npu")
    graph = torch.npu.NPUGraph()
    with pytest.raises(RuntimeError):
        with torch.npu.graph(graph):
            (x + 1).cpu()
    with pytest.raises(RuntimeError):
        with torch.npu.graph(graph):
            y = x + 1
            torch.npu.current_stream().synchronize()
    assert torch.npu.current_stream().stream_id == 0
    assert (x + 1).tolist() == [2, 2, 2]
    with torch.npu.graph(graph):
        y = x + 1
    graph.replay()
    assert y.tolist() == [2, 2, 2]


def test_many_ops_and_pinned_inputs(torch):
    host = torch.zeros(4, 4).pin_memory()
    result = torch.empty(4, pin_memory=True)
    w = torch.eye(4).npu() * 3
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        x = host.to("npu", non_blocking=True)
        for _ in range(40):
            x = (x @ w / 3).relu() + 1
        result.copy_(x.softmax(1).sum(1), non_blocking=True)
    host.fill_(1)
    graph.replay()
    torch.npu.synchronize()
    assert torch.allclose(result, torch.ones(4))


def test_callables(torch):
    def double(x, y):
        return (x + y) * 2

    sample = torch.zeros(3, device="npu"), torch.zeros(3, device="npu")
    fast = torch.npu.make_graphed_callables(double, sample)
    a, b = torch.ones(3, device="npu"), torch.full((3,), 2.0, device="npu")
    assert fast(a, b).tolist() == [6, 6, 6] and fast(b, b).tolist() == [8, 8, 8]
    pair = torch.npu.make_graphed_callables((double, torch.abs), (sample, sample[:1]))
    assert pair[1](-a).tolist() == [1, 1, 1]
    assert isinstance(torch.npu.graph_pool_handle(), tuple)


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS.keys())
def test_replays_see_the_inputs_of_the_moment(torch, call):
    """Also when the plans of the captured calls have since served other tensors."""
    side = torch.npu.Stream()
    x, y = torch.randn(4, 4).npu(), torch.randn(4, 4).npu()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph, stream=side):
        result = call(torch, x, y)
    for _ in range(3):
        with torch.npu.stream(side):
            call(torch, torch.randn(4, 4).npu(), torch.randn(4, 4).npu())
        torch.npu.synchronize()
        a, b = torch.randn(4, 4), torch.randn(4, 4)
        x.copy_(a)
        y.copy_(b)
        graph.replay()
        torch.testing.assert_close(result.cpu(), call(torch, a.npu(), b.npu()).cpu())
    torch.npu.synchronize()


def draw_some(torch, x, generator=None):
    kept = torch.dropout(x, 0.5, True) + torch.rand(x.shape, device="npu", generator=generator)
    return kept, torch.randn(7, device="npu", dtype=torch.float64), x.clone().random_(9)


def test_replays_draw_the_next_numbers(torch):
    """Those that the same calls would draw now; capturing draws none."""
    x, generator = torch.ones(64).npu(), torch.Generator("npu")
    state = torch.npu.get_rng_state()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        results = draw_some(torch, x, generator)
    assert torch.equal(torch.npu.get_rng_state(), state)
    for seed in (3, 3, 4):
        torch.manual_seed(seed)
        generator.manual_seed(seed)
        expected = [[y.cpu() for y in draw_some(torch, x, generator)] for _ in range(3)]
        ends = torch.npu.get_rng_state(), generator.get_state()
        torch.manual_seed(seed)
        generator.manual_seed(seed)
        for want in expected:
            graph.replay()
            assert all(torch.equal(y.cpu(), w) for y, w in zip(results, want, strict=True))
        assert torch.equal(torch.npu.get_rng_state(), ends[0])
        assert torch.equal(generator.get_state(), ends[1])


def test_replays_that_wait_for_each_other(torch):
    """Each has numbers of its own, also when the device has not begun the first."""
    x = torch.ones(64).npu()
    graph = torch.npu.NPUGraph()
    total = torch.zeros(64).npu()
    with torch.npu.graph(graph):
        total.add_(torch.dropout(x, 0.5, True))
    total.zero_()
    torch.manual_seed(6)
    for _ in range(200):
        graph.replay()
    found = total.cpu()
    torch.manual_seed(6)
    assert torch.equal(found, sum(torch.dropout(x, 0.5, True).cpu() for _ in range(200)))


@pytest.mark.parametrize("name", ["bernoulli_", "randperm", "multinomial"])
def test_random_numbers_that_are_not_captured(torch, name):
    """CANN's op takes the seed as a number: a replay would draw the same again."""
    x = torch.full((4,), 0.5, device="npu")
    draw = {
        "bernoulli_": lambda: x.bernoulli_(),
        "randperm": lambda: torch.randperm(4, device="npu"),
        "multinomial": lambda: torch.multinomial(x, 2),
    }[name]
    state = torch.npu.get_rng_state()
    with (
        pytest.raises(RuntimeError, match="cannot be captured in an NPU graph"),
        torch.npu.graph(torch.npu.NPUGraph()),
    ):
        draw()
    assert torch.equal(torch.npu.get_rng_state(), state)
    draw()
