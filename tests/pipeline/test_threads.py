"""Pipelines on several threads: what one thread recorded, others read, write and outlive."""

import gc
import os
import queue
import random
import signal
import subprocess
import sys
import threading
import time

import pytest

WAIT = 30  # seconds; a thread that takes longer hangs


@pytest.fixture(autouse=True)
def hasty_switches():
    """Threads take turns far more often than they would."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def run_threads(*works):
    """Runs functions side by side; raises the first thing that went wrong."""
    problems = []

    def guarded(work):
        try:
            work()
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=guarded, args=(work,), daemon=True) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(WAIT)
        assert not thread.is_alive(), "a thread hangs"
    if problems:
        raise problems[0]


def breathe():
    """Lets others run, and a device catch up with what is asked of it."""
    time.sleep(0.0005)


def test_threads_record_over_shared_inputs(torch, device):
    """Each thread its own program, its own thresholds; the inputs are everybody's."""
    shared = [torch.randn(40, 40).to(device) for _ in range(3)]

    def program(seed):
        source = random.Random(seed)
        values = list(shared)
        for _ in range(25):
            a, b = source.choice(values), source.choice(values)
            kind = source.randrange(5)
            if kind == 0:
                values.append(a + b)
            elif kind == 1:
                values.append((a * 0.5).relu())
            elif kind == 2:
                values.append(a @ shared[0])
            elif kind == 3:
                values.append(a.t().clone().add_(b))
            else:
                values.append(a - a.mean(0))
        return values[3:]

    def work(seed):
        for turn in range(60):
            expected = program(seed)
            with torch.pipeline(max_ops=1 + (seed + turn) % 20):
                got = program(seed)
            for ours, theirs in zip(got, expected, strict=True):
                assert torch.equal(ours, theirs)

    run_threads(*(lambda seed=seed: work(seed) for seed in range(4)))


@pytest.mark.parametrize("deferred", [False, True], ids=["eager writer", "deferred writer"])
def test_one_thread_writes_what_another_has_recorded(torch, device, deferred):
    """An op reads what was there when it was called, whoever writes afterwards."""
    x = torch.zeros(1000, device=device)
    order, stop = threading.Lock(), threading.Event()
    counter = [0]

    def write():
        while not stop.is_set():
            with order:
                x.add_(1)
                counter[0] += 1
            breathe()

    def write_deferred():
        while not stop.is_set():
            with torch.pipeline(max_ops=7):
                for _ in range(10):
                    with order:
                        x[:500] += 1
                        x[500:].add_(1)
                        counter[0] += 1
                    breathe()

    def read():
        try:
            for _ in range(300):
                seen = []
                with torch.pipeline():
                    for _ in range(5):
                        with order:
                            seen.append((x * 2, counter[0]))
                for value, count in seen:
                    assert value.amin().item() == value.amax().item() == 2 * count
        finally:
            stop.set()

    run_threads(write_deferred if deferred else write, read)
    assert x.amin().item() == x.amax().item() == counter[0]


def test_threads_take_turns_in_place(torch, device):
    """All write the same tensor, each in its own pipeline: no write is lost."""
    x = torch.zeros(100, device=device)
    order = threading.Lock()

    def work():
        for _ in range(300):
            with torch.pipeline():
                for _ in range(5):
                    with order:
                        x.add_(1)

    run_threads(work, work, work)
    assert x.tolist() == [4500] * 100
    assert x._version == 4500


def test_pending_tensors_go_through_queues(torch, device):
    """Made on one thread, used on the next, read on the last."""
    first, second = queue.Queue(), queue.Queue()
    rounds = 900

    def produce():
        for start in range(0, rounds, 10):
            with torch.pipeline():
                for number in range(start, start + 10):
                    tensor = torch.full((300,), float(number), device=device) + 1
                    first.put((number, tensor))
                    del tensor

    def pass_on():
        for start in range(0, rounds, 6):
            with torch.pipeline(max_ops=4):
                for _ in range(start, start + 6):
                    number, tensor = first.get(timeout=WAIT)
                    second.put((number, tensor[:100] * 2, tensor))

    def read():
        for _ in range(rounds):
            number, result, tensor = second.get(timeout=WAIT)
            assert result.shape == (100,) and tensor.shape == (300,)
            assert result.tolist() == [2 * (number + 1)] * 100
            assert tensor.sum().item() == 300 * (number + 1)

    run_threads(produce, pass_on, read)


@pytest.mark.parametrize("keeps_pipe", [True, False])
def test_a_thread_ends_with_pending_tensors(torch, device, keeps_pipe):
    """It never leaves its block; what it recorded is still there."""
    for _ in range(20):
        kept = []

        def work(kept=kept):
            block = torch.pipeline()
            pipe = block.__enter__()
            x = torch.ones(50, device=device)
            kept.extend([x + 1, (x * 3)[10:], torch.zeros(5, device=device).add_(x[:5])])
            if keeps_pipe:
                kept.append(pipe)

        run_threads(work)
        gc.collect()
        assert kept[0].tolist() == [2] * 50
        assert kept[1].tolist() == [3] * 40
        assert kept[2].tolist() == [1] * 5
        with torch.pipeline():
            more = kept[0] + kept[2].sum()
        assert more.tolist() == [7] * 50


def test_threads_read_one_window_at_once(torch, device):
    for _ in range(100):
        start = threading.Barrier(4)
        with torch.pipeline() as pipe:
            x = torch.ones(2000, device=device)
            results = [x * number + 1 for number in range(4)]

            def read(number, start=start, results=results):
                start.wait(WAIT)
                assert results[number].sum().item() == 2000 * (number + 1)

            run_threads(*(lambda number=number: read(number) for number in range(4)))
            assert pipe.pending_count() == 0 and pipe.last_flush_reason == "read"
            later = results[0] + results[3]
        assert later[0].item() == 5


def test_another_thread_flushes(torch, device):
    """The owner goes on recording while another thread flushes all the time."""
    stop = threading.Event()
    with torch.pipeline() as pipe:

        def flush():
            while not stop.is_set():
                pipe.flush("elsewhere")
                breathe()

        thread = threading.Thread(target=flush, daemon=True)
        thread.start()
        x = torch.zeros(64, device=device)
        kept = []
        for number in range(300):
            x = x + 1
            x.mul_(1)
            if number % 50 == 0:
                kept.append(x)
        stop.set()
        thread.join(WAIT)
        assert not thread.is_alive()
    assert x.tolist() == [300] * 64
    assert [each[0].item() for each in kept] == [1, 51, 101, 151, 201, 251]


def test_names_are_dropped_on_other_threads(torch, device):
    """The last name of a pending tensor goes while its owner records or runs."""
    bin_ = queue.Queue()

    def record():
        for turn in range(900):
            with torch.pipeline(max_ops=5 + turn % 7):
                x = torch.full((100,), float(turn), device=device)
                for _ in range(6):
                    y = x + 1
                    bin_.put(y)
                    x = y * 1
                    del y
            assert x.tolist() == [turn + 6] * 100
        bin_.put(None)

    def drop():
        while bin_.get(timeout=WAIT) is not None:
            pass

    run_threads(record, drop)


def test_random_numbers_of_threads_with_their_own_generators(torch, device):
    def draw(seed):
        generator = torch.Generator(device).manual_seed(seed)
        return [torch.rand(20, generator=generator, device=device) * 2 for _ in range(10)]

    expected = [draw(seed) for seed in range(4)]

    def work(seed):
        for _ in range(5):
            with torch.pipeline():
                got = draw(seed)
            for ours, theirs in zip(got, expected[seed], strict=True):
                assert torch.equal(ours, theirs)

    run_threads(*(lambda seed=seed: work(seed) for seed in range(4)))


def failing(torch, device):
    """Recorded on the CPU of every device: NPUs do not look at indices."""
    return torch.ones(3)[torch.tensor([0, 7])]


def test_an_error_is_told_to_the_thread_that_reads(torch, device):
    for _ in range(10):
        texts = []
        with torch.pipeline() as pipe:
            good = torch.ones(3, device=device) + 1
            bad = failing(torch, device)
            after = bad * 2

            def read(tensor):
                with pytest.raises(IndexError, match="out of bounds") as caught:
                    tensor.tolist()
                texts.append(str(caught.value))  # noqa: B023

            for tensor in (bad, after, bad):
                run_threads(lambda tensor=tensor: read(tensor))
            assert len(set(texts)) == 1 and len(texts) == 3
            assert "index" in pipe.last_error().op_name
            assert pipe.last_error().callsite["func"] == "failing"
            assert good.tolist() == [2] * 3
            pipe.flush()  # nothing is left to fail
        with pytest.raises(IndexError, match="out of bounds"):
            after.tolist()


def test_a_failing_window_of_another_thread(torch, device):
    """Recording over what failed elsewhere raises at the call; the thread's own trace is whole."""
    handed = queue.Queue()
    done = threading.Event()

    def fail():
        with pytest.raises(IndexError), torch.pipeline():
            handed.put(failing(torch, device))
            assert done.wait(WAIT)
            raise IndexError  # the trace was flushed already

    def use():
        with torch.pipeline():
            mine = torch.ones(3, device=device) + 1
            bad = handed.get(timeout=WAIT)
            with pytest.raises(IndexError, match="out of bounds"):
                bad + 1
            done.set()
            more = mine + 1
        assert more.tolist() == [3] * 3

    run_threads(fail, use)


def test_generators_leave_their_blocks_in_any_order(torch):
    def steps(number):
        with torch.pipeline():
            yield torch.ones(3) + number

    first, second = steps(1), steps(2)
    a, b = next(first), next(second)
    with torch.pipeline() as pipe:
        c = torch.ones(3) + 3
        first.close()
        second.close()
        del first, second
        assert torch.current_pipeline() is pipe
        d = c + 1
    assert torch.current_pipeline() is None
    assert [t.tolist()[0] for t in (a, b, c, d)] == [2, 3, 4, 5]
    assert not (torch.ones(3) + 1)._pending


def test_a_block_that_ends_on_another_thread(torch):
    def steps():
        with torch.pipeline():
            yield torch.ones(3) + 1

    box = [steps()]
    y = next(box[0])
    assert y._pending
    run_threads(box.clear)  # the generator goes, and with it the block
    assert not y._pending and torch.current_pipeline() is None
    assert (torch.ones(3) + 1).tolist() == [2, 2, 2]


def test_one_pipeline_is_for_one_thread(torch):
    def enter():
        with pytest.raises(RuntimeError, match="in use by another thread"):
            pipe.__enter__()

    with torch.pipeline() as pipe:
        run_threads(enter)
        assert torch.current_pipeline() is pipe
    with pipe:
        assert (torch.ones(3) + 1)._pending


def status_of(child):
    for _ in range(WAIT * 100):
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.01)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    pytest.fail("the child hangs")


def test_the_timer_of_a_child_process(torch):
    with torch.pipeline(max_wait_us=1000):
        y = torch.ones(3) + 1
        wait_until_run(y)  # the timer's thread waits for more
    child = os.fork()
    if child == 0:
        for _ in range(10):
            with torch.pipeline(max_wait_us=100):
                y = torch.ones(3) + 1
                wait_until_run(y)
        os._exit(0)
    assert status_of(child) == 0


def test_a_child_of_a_process_that_compiles(torch):
    """It is born while another thread prepares what the child runs, too."""

    def program(number):
        x = torch.ones(512, 64)
        with torch.pipeline():
            for i in range(60):
                x = (x * 1.01).relu().tanh() if number >> i % 10 & 1 else (x - 1).abs().sqrt()
        return x

    at, done = [0], threading.Event()

    def prepare():
        while not done.is_set():
            at[0] += 1
            for _ in range(3):
                program(at[0])

    worker = threading.Thread(target=prepare)
    worker.start()
    try:
        for i in range(12):
            time.sleep(0.003 * (i % 5))
            number = at[0]
            child = os.fork()
            if child == 0:
                for _ in range(3):
                    program(number)
                os._exit(0)
            assert status_of(child) == 0
    finally:
        done.set()
        worker.join()


def test_leaving_while_threads_run_windows(torch):
    """Daemon threads are in the middle of a trace when the interpreter ends."""
    program = """
import threading, time
import mindtorch_v2 as torch
def work():
    a = torch.ones(300, 300)
    while True:
        with torch.pipeline():
            x = a
            for _ in range(5):
                x = (x * 2 + a).tanh()
        y = torch.ones(100_000) + x.sum()
for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
time.sleep(0.1)
"""
    for _ in range(3):
        result = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=120)
        assert (result.returncode, result.stderr) == (0, b"")


def wait_until_run(tensor):
    deadline = time.monotonic() + WAIT
    while tensor._pending and time.monotonic() < deadline:
        time.sleep(0.001)
    assert not tensor._pending


def test_other_threads_flush_all_the_time(torch):
    """Also while its block ends, and after."""
    x = torch.randn(4000)
    box, stop = [], threading.Event()

    def watchdog():
        while not stop.is_set():
            for pipe in box[-1:]:
                pipe.flush()

    threads = [threading.Thread(target=watchdog) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        end = time.monotonic() + 1.5
        while time.monotonic() < end:
            with torch.pipeline() as pipe:
                box[:] = [pipe]
                y = x
                for _ in range(12):
                    y = y * 2
            assert y[0].item() == x[0].item() * 2**12
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def test_leaving_while_the_timer_holds_a_window(torch):
    program = """
import atexit
atexit.register(sum, range(2 * 10**7))  # holds the interpreter while the timer wants it
import mindtorch_v2 as torch
def block():
    with torch.pipeline(max_wait_us=50_000):
        yield torch.ones(3) + 1
generator = block()
next(generator)
"""
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, timeout=60)
    assert result.returncode == 0, result.stderr
