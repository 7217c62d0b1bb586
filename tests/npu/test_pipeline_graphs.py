"""Traces that repeat are captured once and replayed: fewer calls, the same results."""

import os
import subprocess
import sys

import pytest

from tests.npu.graph_windows import (
    REPLAY,
    check_equal,
    inputs,
    is_capture,
    is_replay,
    ops_of,
    program,
)


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
