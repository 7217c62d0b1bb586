"""Random ops in the graphs of pipelines: replays draw the numbers that eager mode would."""

import contextlib

import pytest

from tests.npu.graph_windows import FAILED, REPLAY, inputs, is_replay, ops_of


def noisy(torch, x):
    noise = torch.rand(x.shape, device="npu") + x
    noise = torch.dropout(noise, 0.25, True).relu() * torch.randint(1, 5, x.shape, device="npu")
    return noise + torch.randn(x.shape, device="npu").exponential_()


# What a program does between two windows.
BETWEEN = {
    "nothing": lambda torch, kept, step: None,
    "draws": lambda torch, kept, step: torch.rand(step % 4, device="npu"),
    "seeds": lambda torch, kept, step: torch.manual_seed(step // 2),
    "saves and restores": lambda torch, kept, step: (
        kept.append(torch.npu.get_rng_state())
        if step % 3 == 0
        else torch.npu.set_rng_state(kept[-1])
    ),
}


@pytest.mark.parametrize("between", BETWEEN.values(), ids=BETWEEN.keys())
def test_replays_draw_the_numbers_that_eager_would(torch, log, between):
    x, _ = inputs(torch)

    def rounds(run):
        torch.manual_seed(7)
        kept, found = [], []
        for step in range(12):
            between(torch, kept, step)
            found.append((run().cpu(), torch.npu.get_rng_state()))
        return found

    replays = []

    def replayed():
        result, names = log.run(noisy, torch, x)
        replays.append(is_replay(names))
        return result

    for got, want in zip(rounds(replayed), rounds(lambda: noisy(torch, x)), strict=True):
        assert torch.equal(got[0], want[0]) and torch.equal(got[1], want[1])
    assert sum(replays) >= 6


def test_numbers_of_a_generator_of_ones_own(torch, log):
    """A window ends where such a generator is used: nothing else keeps it alive."""
    x, _ = inputs(torch)

    def draw(generator):
        y = (x + 1).relu().exp().sum(0)
        return y * torch.rand(y.shape, generator=generator, device="npu")

    generators = [torch.Generator("npu").manual_seed(5) for _ in range(2)]
    for _ in range(8):
        want = draw(generators[0]).cpu()
        with torch.pipeline():
            got = draw(generators[1])
        assert torch.equal(got.cpu(), want)
    assert torch.equal(*(generator.get_state() for generator in generators))


@pytest.mark.parametrize("name", ["bernoulli_", "geometric_", "normal_", "random_", "uniform_"])
def test_each_way_to_draw(torch, log, name):
    """Those that CANN cannot draw in a graph are launched, and draw the same."""
    x, _ = inputs(torch)

    def draw():
        y = (x + 1).relu().exp()
        return getattr(y, name)(*((0.5,) if name == "geometric_" else ())) * 2 + 1

    torch.manual_seed(4)
    expected = [draw().cpu() for _ in range(8)]
    torch.manual_seed(4)
    replays = 0
    for want in expected:
        result, names = log.run(draw)
        assert torch.equal(result.cpu(), want)
        replays += is_replay(names)
        del result
    assert replays >= 3 if name != "bernoulli_" else replays == 0


def train(torch, steps, scope):
    """A network with dropout in its layers and inside its attention; windows of one step."""
    torch.manual_seed(1)
    layer = torch.nn.TransformerEncoderLayer(32, 2, 64, dropout=0.2, batch_first=True).npu()
    optimizer = torch.optim.SGD(layer.parameters(), lr=0.05)
    x, y = torch.randn(3, 8, 32).npu(), torch.randn(3, 8, 32).npu()
    losses = []
    for step in range(steps):
        if step == steps // 2:
            torch.manual_seed(9)
        with scope():
            optimizer.zero_grad(set_to_none=False)
            loss = (layer(x) - y).square().mean()
            loss.backward()
            optimizer.step()
        losses.append(loss.item())
    return losses, [p.detach().cpu() for p in layer.parameters()], torch.npu.get_rng_state()


def test_training_with_dropout_is_replayed(torch, log, simulator):
    losses, weights, state = train(torch, 14, contextlib.nullcontext)
    simulator.clear_calls()
    replayed = train(torch, 14, torch.pipeline)
    assert len(simulator.calls(REPLAY)) >= 8
    assert replayed[0] == pytest.approx(losses, rel=1e-5)
    assert len(set(losses)) == len(losses)
    for got, want in zip(replayed[1], weights, strict=True):
        torch.testing.assert_close(got, want, rtol=1e-5, atol=1e-6)
    assert torch.equal(replayed[2], state)


def test_a_replay_that_fails_draws_nothing(torch, log, simulator):
    """The ops are launched instead, with the numbers that the replay would have drawn."""
    x, _ = inputs(torch)
    torch.manual_seed(2)
    expected = [noisy(torch, x).cpu() for _ in range(6)]
    torch.manual_seed(2)
    for step, want in enumerate(expected):
        fault = f"call:{REPLAY}:1:{FAILED}" if step == 5 else ""
        with simulator.faults(fault) if fault else contextlib.nullcontext():
            result, names = log.run(noisy, torch, x)
        assert (REPLAY in names) == (step > 1) and bool(ops_of(names)) == (step in (0, 1, 2, 5))
        assert torch.equal(result.cpu(), want)
        del result
