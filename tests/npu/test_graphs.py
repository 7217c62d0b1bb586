"""Graphs of kernels that are several calls, and of calls whose plans are used again later."""

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


@pytest.mark.parametrize("name", ["uniform_", "normal_", "bernoulli_", "exponential_", "random_"])
def test_random_numbers_are_not_captured(torch, name):
    """A replay would draw the same numbers again, which nobody means."""
    x = torch.zeros(4, device="npu")
    state = torch.npu.get_rng_state()
    with (
        pytest.raises(RuntimeError, match="cannot be captured in an NPU graph"),
        torch.npu.graph(torch.npu.NPUGraph()),
    ):
        getattr(x, name)()
    assert torch.equal(torch.npu.get_rng_state(), state)
    assert getattr(x, name)() is x
