"""Workers that fail, die or are left: a clear error, no process and no shared memory behind."""

import gc
import multiprocessing
import os
import signal
import subprocess
import sys
import textwrap
import time
from multiprocessing import resource_tracker
from pickle import PicklingError

import mindtorch_v2 as torch
import pytest

from tests.data import datasets

data = torch.utils.data


def shared_memory():
    """Mapped segments of this process, and named ones of the machine."""
    gc.collect()
    with open("/proc/self/maps") as file:
        mapped = sum("memfd:mindtorch" in line for line in file)
    mine = f"torch_{os.getpid()}_"
    return mapped, [name for name in os.listdir("/dev/shm") if name.startswith(mine)]


@pytest.fixture(autouse=True)
def nothing_left():
    resource_tracker.ensure_running()  # a helper of multiprocessing, which stays
    before = shared_memory(), len(os.listdir("/proc/self/fd"))
    yield
    gc.collect()  # the traceback of an error refers to the iterator
    assert multiprocessing.active_children() == []
    assert (shared_memory(), len(os.listdir("/proc/self/fd"))) == before


def consume(dataset, **options):
    for _ in data.DataLoader(dataset, num_workers=2, **options):
        pass


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_error_in_getitem(method):
    with pytest.raises(KeyError) as caught:
        consume(datasets.BadKey(), multiprocessing_context=method)
    text = str(caught.value)
    assert text.startswith("Caught KeyError in DataLoader worker process 1.\nOriginal Traceback")
    assert 'raise KeyError("no such sample")' in text
    assert text.rstrip().endswith("KeyError: 'no such sample'")


def test_error_that_takes_no_text():
    with pytest.raises(RuntimeError, match="Caught StrictError in DataLoader worker process 0"):
        consume(datasets.BadStrict())


def test_error_in_worker_init_fn():
    with pytest.raises(ValueError, match="no start for worker 0"):
        consume(datasets.Squares(), worker_init_fn=datasets.fails_at_start)


def test_iteration_goes_on_after_an_error():
    batches = iter(data.DataLoader(datasets.BadKey(6), num_workers=2))
    seen = []
    while True:
        try:
            seen.append(next(batches).item())
        except KeyError:
            seen.append("error")
        except StopIteration:
            break
    assert seen == [0, 1, 2, "error", 4, 5]


def test_batch_that_cannot_be_sent():
    with pytest.raises(Exception, match="in DataLoader worker process 0"):
        consume(datasets.Unpicklable(), collate_fn=datasets.first)


def test_dataset_that_cannot_be_sent():
    with pytest.warns(UserWarning, match="Got pickle error when attempting to start a worker"):
        with pytest.raises((AttributeError, TypeError, PicklingError)):
            consume([lambda: 1], multiprocessing_context="spawn")


DEAD = r"DataLoader worker \(pid\(s\) \d+\) exited unexpectedly"


def test_killed_worker():
    with pytest.raises(RuntimeError, match=DEAD) as caught:
        consume(datasets.Killed())
    assert "is killed by signal: Killed." in str(caught.value.__cause__)


def test_worker_that_is_killed_from_outside():
    batches = iter(data.DataLoader(datasets.Images(1000), 4, num_workers=2))
    next(batches)
    pid = batches._workers[0].pid
    os.kill(pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match=DEAD) as caught:
        for _ in batches:
            pass
    assert str(pid) in str(caught.value)
    assert "is killed by signal: Killed." in str(caught.value.__cause__)


def test_worker_that_exits():
    with pytest.raises(RuntimeError, match=DEAD) as caught:
        consume(datasets.Exits())
    assert "exited unexpectedly with exit code 7." in str(caught.value.__cause__)


def test_timeout():
    with pytest.raises(RuntimeError, match="DataLoader timed out after 0.2 seconds"):
        # A worker that sleeps is ended, not waited for.
        consume(datasets.Slow(), timeout=0.2)


@pytest.mark.parametrize("persistent", [False, True])
def test_early_break(persistent):
    loader = data.DataLoader(datasets.Images(100), 4, num_workers=2, persistent_workers=persistent)
    for images, _ in loader:
        first = images
        break
    assert first[1, 0, 0, 0].item() == 1.0
    del first, images, loader
    gc.collect()


def test_persistent_workers_start_again_after_one_died():
    loader = data.DataLoader(datasets.Killed(), num_workers=2, persistent_workers=True)
    for _ in range(2):
        with pytest.raises(RuntimeError, match=DEAD):
            list(loader)
    del loader


def test_batches_outlive_their_workers():
    batches = [images for images, _ in data.DataLoader(datasets.Images(20), 4, num_workers=2)]
    assert [batch[0, 0, 0, 0].item() for batch in batches] == [0.0, 4.0, 8.0, 12.0, 16.0]
    del batches


PROGRAM = """
    import os, signal, sys, time
    import mindtorch_v2 as torch
    from tests.data import datasets
    # Where the tests run in the background, the signal is ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    loader = torch.utils.data.DataLoader(datasets.Images(10**6), 4, num_workers=2)
    batches = iter(loader)
    next(batches)
    print(*[worker.pid for worker in batches._workers], flush=True)
    {rest}
"""


def run_and_signal(rest, number):
    """Starts a program with workers, sends it a signal, and waits until all of it is gone."""
    program = textwrap.dedent(PROGRAM).format(rest=rest)
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    pids = [int(word) for word in process.stdout.readline().split()]
    assert len(pids) == 2
    if number == signal.SIGINT:
        os.killpg(process.pid, number)  # as a terminal does
    elif number:
        process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    end = time.monotonic() + 30
    while any(os.path.exists(f"/proc/{pid}") for pid in pids):
        assert time.monotonic() < end, "a worker lives on"
        time.sleep(0.05)
    return process.returncode, errors


def test_interrupt():
    code, errors = run_and_signal("for _ in batches: pass", signal.SIGINT)
    assert code == -signal.SIGINT
    assert errors.count("Traceback") == 1
    assert errors.rstrip().endswith("KeyboardInterrupt")


def test_loader_that_is_killed():
    code, _ = run_and_signal("for _ in batches: pass", signal.SIGKILL)
    assert code == -signal.SIGKILL


def test_end_of_the_program_with_workers():
    code, errors = run_and_signal("sys.exit(3)", None)
    assert (code, errors) == (3, "")


def test_forked_copy_of_an_iterator_leaves_the_workers_alone():
    batches = iter(data.DataLoader(datasets.Images(40), 4, num_workers=2))
    next(batches)
    pid = os.fork()
    if pid == 0:
        batches._pool.stop()
        os._exit(0)
    assert os.waitpid(pid, 0)[1] == 0
    assert len(list(batches)) == 9
    del batches
