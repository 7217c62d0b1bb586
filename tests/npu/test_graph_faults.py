"""What goes wrong while windows are captured and replayed: nobody notices, or at the next wait."""

import threading
import time

import pytest

from tests.npu.graph_windows import (
    FAILED,
    MEGABYTE,
    REPLAY,
    check_equal,
    inputs,
    is_capture,
    is_replay,
    ops_of,
    program,
)


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
