"""Ops whose failure only values show: which tensors raise at the flush, and what still works."""

import copy
import gc

import numpy as np
import pytest

LOOKS = {
    "tolist": lambda torch, x: x.tolist(),
    "item": lambda torch, x: x[0].item(),
    "numpy": lambda torch, x: x.numpy(),
    "dlpack": lambda torch, x: np.from_dlpack(x),
    "print": lambda torch, x: str(x),
    "format": lambda torch, x: f"{x[0]:.2f}",
    "bool": lambda torch, x: bool(x[0]),
    "int": lambda torch, x: int(x[0]),
    "iterate": lambda torch, x: [float(each) for each in x],
    "equal": lambda torch, x: torch.equal(x, x + 1),
    "storage": lambda torch, x: x.untyped_storage().tolist(),
    "copy": lambda torch, x: copy.deepcopy(x).tolist(),
    "nonzero": lambda torch, x: x.nonzero(),
    "mask": lambda torch, x: x[x > 0],
    "view": lambda torch, x: x[1:].tolist(),
    "detached": lambda torch, x: x.detach().tolist(),
    "cast": lambda torch, x: x.double().tolist(),
    "op": lambda torch, x: (x + 1).tolist(),
    "write": lambda torch, x: x.zero_().tolist(),
    "out": lambda torch, x: torch.add(x, 1, out=torch.empty(2)).tolist(),
    "list": lambda torch, x: torch.cat([torch.ones(2), x]).tolist(),
}


def failing(torch, source=None):
    """An op whose mistake lies in values."""
    return (torch.ones(3) if source is None else source)[torch.tensor([0, 7])]


def flush(pipe):
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        pipe.flush()


@pytest.mark.parametrize("name", LOOKS)
@pytest.mark.parametrize("when", ["pending", "failed", "after the block"])
def test_every_look_is_told(torch, name, when):
    def look(x):
        with pytest.raises(IndexError, match="index 7 is out of bounds"):
            LOOKS[name](torch, x)

    block = torch.pipeline()
    pipe = block.__enter__()
    try:
        x = failing(torch)
        derived = (x * 2 + 1).relu()
        if when == "failed":
            flush(pipe)
        if when != "after the block":
            look(derived)
            look(x)
    finally:
        if when == "after the block":
            with pytest.raises(IndexError):
                block.__exit__(None, None, None)
        else:
            block.__exit__(None, None, None)
    look(x)
    look(derived)


def test_an_error_in_the_middle(torch):
    """What came before has values; what depended on it raises; the rest does either."""
    kept = torch.zeros(4)
    with torch.pipeline() as pipe:
        before = torch.arange(4.0) + 1
        kept.add_(before)
        index = before[:3].long() * 2  # 2, 4, 6: too large
        bad = before[index]
        rows = torch.stack([bad, bad]).sum(0)
        alone = torch.full((3,), 5.0) * 2
        with pytest.raises(IndexError, match="out of bounds"):
            pipe.flush()
        assert before.tolist() == [1, 2, 3, 4] and kept.tolist() == [1, 2, 3, 4]
        assert index.tolist() == [2, 4, 6]
        for tensor in (bad, rows):
            with pytest.raises(IndexError, match="out of bounds"):
                tensor.tolist()
        try:
            assert alone.tolist() == [10] * 3
        except IndexError as error:
            assert "out of bounds" in str(error)
        error = pipe.last_error()
        assert "index" in error.op_name and error.op_seq > 2
        assert error.callsite["func"] == "test_an_error_in_the_middle"
        assert any("4" in text for text in error.read_set)
        again = before[index - index]
        pipe.flush()
        assert again.tolist() == [1, 1, 1] and pipe.last_error() is None


def test_shapes_of_what_failed_are_known(torch):
    with torch.pipeline() as pipe:
        bad = failing(torch)
        flush(pipe)
    assert bad.shape == (2,) and bad.stride() == (1,) and bad.dtype == torch.float32
    assert bad[1:].shape == (1,) and bad._version == 0


def test_writes_that_were_not_done(torch):
    """A tensor from before the block, that an op was to write after the one that failed."""
    kept = torch.ones(2)
    view = kept[:1]
    with torch.pipeline() as pipe:
        kept.add_(failing(torch))
        flush(pipe)
        with pytest.raises(IndexError, match="index 7 is out of bounds"):
            view.tolist()
    kept.fill_(3)
    assert kept.tolist() == [3, 3] and view.tolist() == [3]


def test_the_first_error_wins(torch):
    with torch.pipeline() as pipe:
        first = failing(torch)
        second = torch.ones(3)[torch.tensor([9])]
        flush(pipe)
        for tensor in (first, second):
            with pytest.raises(IndexError, match="index 7 is out of bounds"):
                tensor.tolist()


def test_an_exception_leaves_the_block_with_queued_work(torch):
    """The work runs; the exception is the user's."""
    for error in (KeyError, KeyboardInterrupt, StopIteration):
        kept = torch.zeros(2)
        with pytest.raises(error, match="mine"), torch.pipeline() as pipe:
            result = torch.ones(2) + 1
            kept.add_(result)
            raise error("mine")
        assert not result._pending and pipe.pending_count() == 0
        assert result.tolist() == [2, 2] and kept.tolist() == [2, 2]
        assert torch.current_pipeline() is None


def test_an_exception_leaves_the_block_with_work_that_fails(torch):
    with pytest.raises(KeyError, match="mine"), torch.pipeline() as pipe:
        good, bad = torch.ones(2) + 1, failing(torch)
        raise KeyError("mine")
    assert good.tolist() == [2, 2] and "index" in pipe.format_error("short")
    with pytest.raises(IndexError, match="index 7 is out of bounds"):
        bad.tolist()
    assert torch.current_pipeline() is None


def test_leaving_the_block_tells(torch):
    @torch.pipeline()
    def block():
        return failing(torch)

    for _ in range(3):
        with pytest.raises(IndexError, match="index 7 is out of bounds"):
            block()
    assert torch.current_pipeline() is None


def test_thresholds_tell_at_the_op_that_reaches_them(torch):
    with torch.pipeline(max_ops=4) as pipe:
        x = torch.ones(3)
        bad = failing(torch, x)
        with pytest.raises(IndexError, match="index 7 is out of bounds"):
            for _ in range(4):
                x = x + 1
        assert pipe.pending_count() == 0 and pipe.last_flush_reason == "ops"
        with pytest.raises(IndexError, match="index 7 is out of bounds"):
            bad.tolist()
        later = torch.ones(2) + 1
    assert later.tolist() == [2, 2]


def test_blocks_inside_blocks(torch):
    """An inner block fails: the outer one goes on, unless it needs what failed."""
    with torch.pipeline() as outer:
        mine = torch.ones(3) + 1
        with pytest.raises(IndexError, match="index 7 is out of bounds"), torch.pipeline() as inner:
            bad = failing(torch)
        assert inner.last_error() is not None and outer.last_error() is None
        with pytest.raises(IndexError, match="index 7 is out of bounds"):
            mine + bad[0]
        more = mine * 2
    assert more.tolist() == [4, 4, 4]


def test_the_outer_window_fails_in_the_inner_block(torch):
    with torch.pipeline() as outer:
        bad = failing(torch)
        with torch.pipeline() as inner:
            mine = torch.ones(2) + 1
            with pytest.raises(IndexError, match="index 7 is out of bounds"):
                bad + mine
            more = mine + 1
        assert inner.last_error() is None and outer.last_error() is not None
        assert more.tolist() == [3, 3]


def test_failures_leave_nothing_behind(torch):
    """Nothing is held but what names hold: the memory that failing traces allocated is freed."""
    import weakref

    for _ in range(3):
        with torch.pipeline() as pipe:
            source = torch.ones(3)
            other = source + 1
            bad = failing(torch, source)
            flush(pipe)
            held = [weakref.ref(each) for each in (source, other, bad)]
            del source, other, bad
            gc.collect()
            assert [reference() for reference in held] == [None] * 3


def test_the_same_failure_has_the_same_name(torch):
    """Traces that repeat fail as they did before, with the same error_id; and then work."""
    x = torch.ones(3)
    ids = set()
    for index in (7, 7, 0, 7, 0):
        with torch.pipeline() as pipe:
            y = (x * 2)[torch.tensor([0, index])] + 1
            if index:
                flush(pipe)
                ids.add(pipe.last_error().error_id)
        if not index:
            assert y.tolist() == [3, 3] and pipe.last_error() is None
    assert len(ids) == 1


def test_a_divisor_of_zero_is_told_although_nobody_sees_the_result(torch):
    x, zeros = torch.arange(3), torch.zeros(3, dtype=torch.int64)
    for divide in (torch.floor_divide, torch.remainder, torch.fmod):
        with torch.pipeline() as pipe:
            divide(x, zeros)
            with pytest.raises(RuntimeError, match="ZeroDivisionError"):
                pipe.flush()


def test_ops_before_a_divisor_of_zero_are_done(torch):
    x = torch.arange(200_000)
    divisors = torch.ones(200_000, dtype=torch.int64)
    divisors[150_000] = 0
    with torch.pipeline() as pipe:
        twice = x * 2
        x.add_(1)
        bad = x // divisors
        with pytest.raises(RuntimeError, match=r"ZeroDivisionError \(op 2 .*floor_divide"):
            pipe.flush()
    assert torch.equal(twice, torch.arange(200_000) * 2)
    assert torch.equal(x, torch.arange(200_000) + 1)
    with pytest.raises(RuntimeError, match="ZeroDivisionError"):
        bad.tolist()
