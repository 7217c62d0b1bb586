"""Reads and writes outside ops, random numbers of nested blocks, numbers that are checked."""

import ctypes
import io
import pickle
import threading

import numpy as np
import pytest

# Slots of the interpreter, which must not let an error through.
LOOKS = {
    "asarray": lambda torch, x: np.asarray(x),
    "data_ptr": lambda torch, x: x.data_ptr(),
    "storage data_ptr": lambda torch, x: x.untyped_storage().data_ptr(),
    "storage buffer": lambda torch, x: memoryview(x.untyped_storage()),
    "pickle": lambda torch, x: pickle.dumps(x),
    "save": lambda torch, x: torch.save(x, io.BytesIO()),
}
WRITES = {
    "fill": lambda x: x.untyped_storage().fill_(0),
    "item": lambda x: x.untyped_storage().__setitem__(slice(0, 12), 0),
    "buffer": lambda x: memoryview(x.untyped_storage()).__setitem__(slice(0, 12), bytes(12)),
    "address": lambda x: ctypes.memset(x.data_ptr(), 0, 12),
    "storage address": lambda x: ctypes.memset(x.untyped_storage().data_ptr(), 0, 12),
}


@pytest.mark.parametrize("name", LOOKS)
def test_every_look_is_told(torch, name):
    with pytest.raises(IndexError), torch.pipeline():
        x = torch.ones(3)[torch.tensor([0, 7])]
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        LOOKS[name](torch, x)


@pytest.mark.parametrize("name", WRITES)
def test_writes_past_the_ops_come_after_what_was_recorded(torch, name):
    x = torch.ones(3)
    with torch.pipeline():
        y = x + 1
        WRITES[name](x)
    assert y.tolist() == [2, 2, 2] and x.tolist() == [0, 0, 0]


@pytest.mark.parametrize("inner", ["rand", "seed", "state"])
def test_random_numbers_in_blocks_inside_blocks(torch, inner):
    def program():
        torch.manual_seed(1)
        first = torch.rand(3)
        with torch.pipeline():
            if inner == "rand":
                second = torch.rand(3)
            elif inner == "seed":
                torch.manual_seed(5)
                second = torch.ones(3)
            else:
                second = torch.get_rng_state()
        return first, second, torch.rand(3)

    torch.manual_seed(1)
    first = torch.rand(3)
    if inner == "rand":
        second = torch.rand(3)
    elif inner == "seed":
        torch.manual_seed(5)
        second = torch.ones(3)
    else:
        second = torch.get_rng_state()
    expected = first, second, torch.rand(3)
    with torch.pipeline():
        got = program()
    for ours, theirs in zip(got, expected, strict=True):
        assert torch.equal(ours, theirs)


def test_threads_that_wait_for_one_failing_window(torch):
    """One runs it; the others must not count a flush, nor clear its error."""
    for _ in range(200):
        start = threading.Barrier(3)
        with torch.pipeline() as pipe:
            bad = torch.ones(3)[torch.tensor([0, 7])]

            def read(start=start, bad=bad):
                start.wait(30)
                with pytest.raises(IndexError):
                    bad.tolist()

            threads = [threading.Thread(target=read) for _ in range(3)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert pipe.flush_id == 1 and pipe.last_error() is not None


def test_numbers_are_checked_in_windows_that_repeat(torch):
    """Eager refuses; the third trace gives numbers, since its plan is known."""
    x = torch.tensor([2, 3])
    for number in (0, 0, 0, -1):
        with torch.pipeline():
            if number < 0:
                with pytest.raises(RuntimeError, match="negative integer powers"):
                    x.pow(number)
            else:
                x.pow(number).tolist()


def test_a_storage_resized_after_it_was_read(torch):
    x = torch.arange(1000.0)
    with torch.pipeline():
        y = x + 1
        x.untyped_storage().resize_(0)
        x.untyped_storage().resize_(8000)
    assert torch.equal(y, torch.arange(1000.0) + 1)
