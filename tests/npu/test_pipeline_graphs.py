"""Traces that repeat are captured once and replayed: fewer calls, the same results."""

import contextlib
import gc
import itertools
import os
import subprocess
import sys
import threading
import time

import pytest

FAILED = 507899
MEGABYTE = 1 << 20
REPLAY = "aclmdlRIExecuteAsync"
SIZES = itertools.count(4)


def program(torch, x, w):
    """Several kinds of ops, more than one result."""
    product = (x @ w).relu()
    total = (product * 2 + 1).sum(0)
    return product, torch.cat([total, total]).sort(0).values


def inputs(torch, seed=0, columns=None):
    """By default of a size that no test had before: its traces are new."""
    columns = columns or next(SIZES)
    torch.manual_seed(seed)
    return torch.randn(6, columns).npu(), torch.randn(columns, 3).npu()


class Log:
    """The calls of each flush."""

    def __init__(self, torch, simulator):
        self.torch = torch
        self.simulator = simulator

    def run(self, function, *arguments):
        """What the function returns, run as one trace, and the names of the calls."""
        with self.torch.pipeline() as pipe:
            result = function(*arguments)
            self.simulator.clear_calls()
            pipe.flush()
            names = [call.function for call in self.simulator.calls() if call.kind == "call"]
        return result, names


@pytest.fixture
def log(torch, simulator):
    torch.npu.empty_cache()  # forgets the graphs of earlier tests
    return Log(torch, simulator)


def ops_of(names):
    return [name for name in names if name.startswith("aclnn")]


def is_replay(names):
    return names.count(REPLAY) == 1 and not ops_of(names)


def is_capture(names):
    return "aclmdlRICaptureBegin" in names


def check_equal(torch, got, expected):
    for ours, theirs in zip(got, expected, strict=True):
        assert torch.equal(ours.cpu(), theirs.cpu())


def test_a_window_that_repeats_is_replayed(torch, log):
    x, w = inputs(torch)
    expected = program(torch, x, w)
    kinds = []
    for _ in range(6):
        result, names = log.run(program, torch, x, w)
        kinds.append("capture" if is_capture(names) else "replay" if is_replay(names) else "launch")
        assert (REPLAY in names) == (len(kinds) > 2)
        check_equal(torch, result, expected)
        del result
    assert kinds == ["launch", "launch", "capture", "replay", "replay", "replay"]


def test_replays_see_the_inputs_of_the_moment(torch, log):
    x, w = inputs(torch)
    replays = 0
    for seed in range(16):
        for tensor, new in zip((x, w), inputs(torch, seed, x.shape[1]), strict=True):
            tensor.copy_(new)
        result, names = log.run(program, torch, x, w)
        replays += is_replay(names)
        check_equal(torch, result, program(torch, x, w))
        del result
    assert replays >= 5


def test_results_that_take_turns(torch, log):
    """The result of the run before is still there while the next is made: two sets of addresses."""
    x, w = inputs(torch)
    replays = 0
    result = None
    for seed in range(14):
        x.copy_(inputs(torch, seed, x.shape[1])[0])
        before, expected_before = result, None if result is None else [t.cpu() for t in result]
        result, names = log.run(program, torch, x, w)
        replays += is_replay(names)
        check_equal(torch, result, program(torch, x, w))
        if before is not None:
            check_equal(torch, before, expected_before)
    assert replays >= 5


def test_results_that_are_all_kept(torch, log):
    x, w = inputs(torch)
    expected = program(torch, x, w)
    kept = [log.run(program, torch, x, w)[0] for _ in range(50)]
    for result in kept:
        check_equal(torch, result, expected)


def test_other_addresses_are_not_replayed(torch, log):
    x, w = inputs(torch)
    for _ in range(5):
        log.run(program, torch, x, w)
    for seed in range(1, 9):
        fresh = inputs(torch, seed, x.shape[1])
        result, _ = log.run(program, torch, *fresh)
        check_equal(torch, result, program(torch, *fresh))
        result, _ = log.run(program, torch, x, w)
        check_equal(torch, result, program(torch, x, w))


def test_other_numbers_are_not_replayed(torch, log):
    x, _ = inputs(torch)

    def scaled(factor):
        return (((x * factor + factor).relu() - 3) * factor).exp()

    for factor in (2.0,) * 5 + (3.0, 2.0, 0.5, 2.0, 2.0, 0.5, 0.5, 0.5, 0.5):
        result, _ = log.run(scaled, factor)
        assert torch.equal(result.cpu(), scaled(factor).cpu())
        del result


def test_tensors_that_are_changed_in_place(torch, log):
    x, _ = inputs(torch)
    state, copy = torch.zeros(x.shape, device="npu"), torch.zeros(x.shape, device="npu")

    def step(state):
        state.mul_(0.5)
        state[1:].add_(x[:-1].exp())
        state.t()[0].sub_(1)
        return state.relu().sum()

    replays = 0
    for _ in range(8):
        total, names = log.run(step, state)
        replays += is_replay(names)
        assert torch.equal(total.cpu(), step(copy).cpu()) and torch.equal(state.cpu(), copy.cpu())
        del total
    assert replays >= 3


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


def parted(torch, x, w):
    """In the middle what no graph may hold, and results of the first half that the second reads."""
    hidden = ((x @ w).relu() * 2 + 1).exp()
    total = hidden.sum(1, keepdim=True) + 1
    changed = (hidden + torch.empty_like(hidden).bernoulli_(0.5)) / total
    return (changed.t() @ hidden).relu().sum(0) * 3, changed


def seeded(torch, seed, function, *arguments):
    torch.manual_seed(seed)
    return function(*arguments)


def test_what_lies_around_ops_that_no_graph_holds_is_replayed(torch, log):
    x, w = inputs(torch)
    for seed in range(8):
        x.copy_(inputs(torch, seed, x.shape[1])[0])
        expected = [tensor.cpu() for tensor in seeded(torch, seed, parted, torch, x, w)]
        result, names = seeded(torch, seed, log.run, parted, torch, x, w)
        check_equal(torch, result, expected)
        del result
    assert names.count(REPLAY) == 2
    assert {name.replace("GetWorkspaceSize", "") for name in ops_of(names)} == {
        "aclnnInplaceBernoulli"
    }


def test_what_goes_wrong_in_a_capture_of_a_part_is_not_noticed(torch, log, simulator):
    x, w = inputs(torch)
    columns = x.shape[1]

    def run_until_captured(rows, fault=None):
        fresh = torch.zeros(rows, columns, device="npu") + x[:1]
        for seed in range(4):
            expected = [tensor.cpu() for tensor in seeded(torch, seed, parted, torch, fresh, w)]
            torch.npu.synchronize()
            if fault is None or seed != 2:
                result, names = seeded(torch, seed, log.run, parted, torch, fresh, w)
            else:
                with simulator.faults(fault):
                    result, names = seeded(torch, seed, log.run, parted, torch, fresh, w)
            check_equal(torch, result, expected)
            if fault is None and seed == 2:
                return names
            del result

    names = run_until_captured(7)
    assert names.count("aclmdlRICaptureBegin") == 2
    rows = 8
    for function in ("aclmdlRICaptureBegin", "aclmdlRICaptureEnd", REPLAY, "aclnnMatmul"):
        for number in range(1, names.count(function) + 1):
            run_until_captured(rows, f"call:{function}:{number}:{FAILED}")
            rows += 1


def test_an_optimizer_that_counts_its_steps_leaves_the_rest_to_graphs(torch, log, simulator):
    x, w = inputs(torch)

    def training():
        torch.manual_seed(3)
        model = torch.nn.Sequential(
            torch.nn.Linear(x.shape[1], 8), torch.nn.ReLU(), torch.nn.Linear(8, 3)
        ).npu()
        optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)

        def step():
            optimizer.zero_grad()
            loss = (model(x) - 1).pow(2).mean()
            loss.backward()
            optimizer.step()
            return loss.detach()

        return step, list(model.parameters())

    (step, weights), (eager_step, eager_weights) = training(), training()
    for _ in range(20):
        expected = [tensor.cpu() for tensor in (eager_step(), *eager_weights)]
        torch.npu.synchronize()
        simulator.clear_calls()
        with torch.pipeline(max_ops=512):
            loss = step()
        names = [call.function for call in simulator.calls() if call.kind == "call"]
        check_equal(torch, [loss, *weights], expected)
        del loss
    assert names.count(REPLAY) == 1
    assert set(ops_of(names)) <= {
        "aclnnApplyAdamWV2",
        "aclnnApplyAdamWV2GetWorkspaceSize",
        "aclnnInplaceFillScalar",  # the number of the step
        "aclnnInplaceFillScalarGetWorkspaceSize",
    }


def test_numbers_in_cpu_tensors_are_read_anew(torch, log):
    x, _ = inputs(torch)
    factor = torch.tensor(1.0)
    for number in range(6):
        factor.fill_(number)
        result, names = log.run(lambda: ((x * factor).relu() + factor).exp())
        assert torch.equal(result.cpu(), ((x * number).relu() + number).exp().cpu())
        assert not is_capture(names)
        del result


def test_a_number_in_a_cpu_tensor_is_part_of_a_graph(torch, log):
    x, _ = inputs(torch)
    replays = 0
    for value in [2.0] * 5 + [3.0, 2.0, 3.0, 3.0, 3.0]:
        factor = torch.tensor(value)
        result, names = log.run(lambda factor: ((x * factor).relu() + factor).exp(), factor)
        assert torch.equal(result.cpu(), ((x * value).relu() + value).exp().cpu())
        replays += is_replay(names)
        del result
    assert replays >= 4


def test_a_number_that_is_written_in_the_window(torch, log):
    x, _ = inputs(torch)
    factor = torch.tensor(1.0)
    for _ in range(5):
        factor.add_(1)
        result, names = log.run(lambda: ((x * factor.mul_(2)).relu() + factor).exp())
        expected = factor.item()
        assert torch.equal(result.cpu(), ((x * expected).relu() + expected).exp().cpu())
        assert not is_capture(names)
        del result


def test_each_stream_has_its_own(torch, log, simulator):
    x, w = inputs(torch)
    expected = [tensor.cpu() for tensor in program(torch, x, w)]
    torch.npu.synchronize()
    streams = [torch.npu.current_stream(), torch.npu.Stream()]
    for _ in range(10):
        for stream in streams:
            with torch.npu.stream(stream):
                result, names = log.run(program, torch, x, w)
                done = stream.record_event()
            done.synchronize()
            check_equal(torch, result, expected)
            del result
    for stream in streams:
        with torch.npu.stream(stream):
            result, names = log.run(program, torch, x, w)
            assert is_replay(names)
            (replay,) = simulator.calls(REPLAY)
            stream.synchronize()
            (wait,) = simulator.calls("aclrtSynchronizeStream")
            assert replay.stream == wait.stream
        del result


def test_an_event_after_the_flush_covers_the_replay(torch, log):
    x, w = inputs(torch)
    side = torch.npu.Stream()
    for _ in range(6):
        result, _ = log.run(program, torch, x, w)
        done = torch.npu.Event()
        done.record()
        with torch.npu.stream(side):
            done.wait()
            copies = [tensor + 0 for tensor in result]
        side.synchronize()
        check_equal(torch, copies, program(torch, x, w))
        del result, copies


def test_a_capture_of_the_user_takes_the_ops(torch, log):
    x, w = inputs(torch)
    for _ in range(5):
        log.run(program, torch, x, w)
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        result, names = log.run(program, torch, x, w)
    assert ops_of(names) and REPLAY not in names
    for seed in range(3):
        x.copy_(inputs(torch, seed, x.shape[1])[0])
        graph.replay()
        check_equal(torch, result, program(torch, x, w))
        check_equal(torch, log.run(program, torch, x, w)[0], program(torch, x, w))
    torch.npu.synchronize()


def test_few_ops_are_launched(torch, log):
    x, _ = inputs(torch)
    for _ in range(6):
        result, names = log.run(lambda: (x + 1).relu())
        assert not is_capture(names) and names.count("aclnnRelu") == 1
        del result


# --- memory ---


def reserved(torch):
    gc.collect()
    torch.npu.synchronize()
    torch.npu.empty_cache()
    return torch.npu.memory_reserved()


def large_program(torch, x):
    return ((x + 1) * 2 - 3).relu().sum()


def test_memory_of_graphs_is_told_and_given_back(torch, log):
    x = torch.ones(MEGABYTE, device="npu")
    before = reserved(torch)
    for _ in range(4):
        result, names = log.run(large_program, torch, x)
        del result
    assert is_replay(names)
    pools = {segment["segment_pool_id"] for segment in torch.npu.memory_segments()}
    assert len(pools) > 1
    assert torch.npu.memory_reserved() > before
    assert reserved(torch) == before
    result, names = log.run(large_program, torch, x)
    assert ops_of(names) and result.item() == MEGABYTE


def test_a_cache_that_is_emptied_while_replays_run(torch, log, simulator):
    x = torch.ones(MEGABYTE, device="npu")
    for _ in range(8):
        result, names = log.run(large_program, torch, x)
        if is_replay(names):
            torch.npu.empty_cache()
        assert result.item() == MEGABYTE
        del result


def test_graphs_go_when_memory_is_short(torch, log, simulator):
    x = torch.ones(MEGABYTE, device="npu")
    reserved(torch)
    simulator.add_faults(f"memory:0:{96 * MEGABYTE}")
    for _ in range(4):
        result, names = log.run(large_program, torch, x)
        del result
    assert is_replay(names)
    most = torch.empty(64 * MEGABYTE, dtype=torch.uint8, device="npu")
    result, names = log.run(large_program, torch, x[:4])
    assert result.item() == 4
    del most, result
    simulator.clear_faults()
    torch.npu.empty_cache()


def test_graphs_of_one_stream_share_their_memory(torch, log):
    """A second trace with results of the same size needs no further memory."""
    x = torch.ones(MEGABYTE, device="npu")
    for _ in range(5):
        log.run(large_program, torch, x)
    torch.npu.synchronize()
    before = torch.npu.memory_reserved()
    for _ in range(5):
        result, names = log.run(lambda: ((x + 2) * 2 - 5).relu().sum())
        assert result.item() == MEGABYTE
        del result
    assert is_replay(names)
    assert torch.npu.memory_reserved() == before


def test_windows_with_much_memory_in_between_are_replayed(torch, log):
    x = torch.ones(6 * MEGABYTE, device="npu")
    for _ in range(5):
        result, names = log.run(large_program, torch, x)
        assert result.item() == x.numel()
        del result
    assert is_replay(names)


def test_windows_that_need_much_of_the_memory_are_launched(torch, log, simulator):
    x = torch.ones(6 * MEGABYTE + 8, device="npu")
    simulator.add_faults(f"memory:0:{1024 * MEGABYTE}")
    for _ in range(5):
        result, names = log.run(large_program, torch, x)
        assert not is_capture(names) and ops_of(names)
        del result
    simulator.clear_faults()


def test_numbers_of_functions_are_part_of_a_graph(torch, log):
    """alpha= and limits of clamp change, and the plan stays: no graph serves them all."""
    x, _ = inputs(torch)

    def scaled(alpha, limit):
        y = torch.add(x, x, alpha=alpha).exp().clamp(max=limit)
        y.add_(x, alpha=alpha)
        return (y.neg().sub_(x, alpha=alpha + 1),)

    replays = 0
    for alpha, limit in [(1, 4.0)] * 4 + [(2, 4.0)] * 4 + [(2, 3.0), (1, 4.0), (1, 4.0), (2, 4.0)]:
        result, names = log.run(scaled, alpha, limit)
        replays += is_replay(names)
        check_equal(torch, result, scaled(alpha, limit))
        del result
    assert replays >= 2


def test_graphs_of_forgotten_windows_are_destroyed(torch, log, simulator):
    """A queue keeps the plans it used last, and their graphs with them."""
    x, _ = inputs(torch)
    for number in range(300):
        for _ in range(3):
            with torch.pipeline():
                flat = (x + 1).exp().reshape(-1)
                result = flat[number % 20 :].repeat(1 + number // 20).neg() + 2
                del flat
            del result
    torch.npu.synchronize()
    created = len(simulator.calls("aclmdlRICaptureEnd"))
    destroyed = len(simulator.calls("aclmdlRIDestroy"))
    assert created == 300 and 20 < destroyed < 64


# --- what goes wrong ---


def test_what_goes_wrong_in_a_capture_is_not_noticed(torch, log, simulator):
    """Each call of the run that captures fails in turn: the ops are launched instead."""
    x, w = inputs(torch)
    expected = program(torch, x, w)
    torch.npu.synchronize()

    def run_three_times(rows, fault=None):
        fresh = [torch.zeros(rows, 1, device="npu") + x[:1], w]
        for _ in range(2):
            log.run(program, torch, *fresh)
        torch.npu.synchronize()
        if fault is None:
            return log.run(program, torch, *fresh)
        with simulator.faults(fault):
            result, names = log.run(program, torch, *fresh)
        check_equal(torch, result, program(torch, *fresh))
        again, names = log.run(program, torch, *fresh)
        check_equal(torch, again, result)
        return again, names

    _, names = run_three_times(7)
    assert is_capture(names)
    rows = 8
    for function in dict.fromkeys(names):
        for number in range(1, names.count(function) + 1):
            run_three_times(rows, f"call:{function}:{number}:{FAILED}")
            rows += 1
    check_equal(torch, program(torch, x, w), expected)


def test_what_goes_wrong_in_a_replay_is_not_noticed(torch, log, simulator):
    x, w = inputs(torch)
    expected = program(torch, x, w)
    for _ in range(4):
        log.run(program, torch, x, w)
    with simulator.faults(f"call:{REPLAY}:1:{FAILED}"):
        result, names = log.run(program, torch, x, w)
    assert REPLAY in names and ops_of(names)
    check_equal(torch, result, expected)
    result, _ = log.run(program, torch, x, w)
    check_equal(torch, result, expected)


def test_a_task_of_a_replay_that_fails(torch, log, simulator):
    """Raised at the next wait, as for ops that are launched."""
    x, w = inputs(torch)
    expected = [tensor.cpu() for tensor in program(torch, x, w)]
    for _ in range(10):
        log.run(program, torch, x, w)
    torch.npu.synchronize()
    replays = 0
    for number in range(1, 5):
        with simulator.faults(f"task:*:{number}:{FAILED}"):
            result, names = log.run(program, torch, x, w)
            replays += is_replay(names)
            with pytest.raises(RuntimeError, match=str(FAILED)):
                torch.npu.synchronize()
        del result
        result, _ = log.run(program, torch, x, w)
        check_equal(torch, result, expected)
        del result
    assert replays > 0


def test_threads_that_capture_wait_and_empty_the_cache(torch):
    """Captures of one thread are nothing that another one notices."""
    torch.npu.empty_cache()
    problems, stop = [], threading.Event()

    def guarded(work):
        try:
            work()
        except BaseException as error:
            problems.append(error)

    def compute(seed):
        x, w = inputs_of_thread[seed]
        expected = [tensor.cpu() for tensor in program(torch, x, w)]
        for number in range(60):
            with torch.pipeline():
                result = program(torch, x, w)
            if number % 4 == 0:
                check_equal(torch, result, expected)
            del result

    def disturb():
        while not stop.is_set():
            torch.npu.synchronize()
            large = torch.empty(MEGABYTE, device="npu")
            del large
            torch.npu.empty_cache()
            time.sleep(0.003)

    inputs_of_thread = [inputs(torch, seed, 9) for seed in range(3)]
    torch.npu.synchronize()
    threads = [
        threading.Thread(target=guarded, args=(lambda seed=seed: compute(seed),), daemon=True)
        for seed in range(3)
    ]
    other = threading.Thread(target=guarded, args=(disturb,), daemon=True)
    for thread in (*threads, other):
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive(), "a thread hangs"
    stop.set()
    other.join(60)
    assert not other.is_alive() and not problems


OFF = """
import mindtorch_v2 as torch
torch.npu.simulator.set(log=True)
x = torch.ones(4, device="npu")
for _ in range(6):
    with torch.pipeline():
        y = ((x + 1) * 2 - 3).relu().exp()
    del y
print(len(torch.npu.simulator.calls("aclmdlRIExecuteAsync")))
"""


@pytest.mark.parametrize(("setting", "replays"), [("0", "0"), ("1", "4")])
def test_the_setting(setting, replays):
    environment = {**os.environ, "MINDTORCH_NPU_PIPELINE_GRAPHS": setting}
    done = subprocess.run(
        [sys.executable, "-c", OFF], env=environment, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == replays
    assert not done.stderr
