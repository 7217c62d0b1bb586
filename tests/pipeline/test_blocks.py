"""torch.pipeline: blocks, what flushes them, and that results equal those of eager mode."""

import gc
import json
import pickle
import threading

import numpy as np
import pytest


def test_values_wait_until_the_block_ends(torch):
    a, b = torch.ones(3), torch.full((3,), 2.0)
    with torch.pipeline() as pipe:
        c = a + b
        assert c._pending and pipe.pending_count() == 1
        assert (c.shape, c.dtype, c.stride(), c.device) == ((3,), torch.float32, (1,), a.device)
        d = c * c
        assert pipe.pending_count() == 2
    assert not c._pending and not d._pending
    assert pipe.last_flush_reason == "context_exit" and pipe.flush_id == 1
    assert c.tolist() == [3, 3, 3] and d.tolist() == [9, 9, 9]


READS = {
    "cpu": lambda torch, x: x.cpu().tolist(),
    "to": lambda torch, x: x.to("cpu", torch.float64).tolist(),
    "numpy": lambda torch, x: x.numpy().tolist(),
    "asarray": lambda torch, x: np.asarray(x).tolist(),
    "tolist": lambda torch, x: x.tolist(),
    "item": lambda torch, x: [v.item() for v in x],
    "float": lambda torch, x: [float(v) for v in x],
    "int": lambda torch, x: [int(v) for v in x],
    "repr": lambda torch, x: eval(repr(x).removeprefix("tensor")),
    "bool": lambda torch, x: [bool(v) for v in x] and [3, 3],
    "compare": lambda torch, x: [3, 3] if torch.equal(x, torch.full((2,), 3.0)) else None,
    "data_ptr": lambda torch, x: x.data_ptr() and x.tolist(),
    "pickle": lambda torch, x: pickle.loads(pickle.dumps(x)).tolist(),
    "nonzero": lambda torch, x: (x.nonzero().flatten() + 3 * (x != 9)).tolist()[:1] * 2,
    "mask": lambda torch, x: x[x > 0].tolist(),
    "dlpack": lambda torch, x: np.from_dlpack(x).tolist(),
    "iterate": lambda torch, x: [v.item() for v in list(x)],
    "format": lambda torch, x: [float(f"{v:.1f}") for v in x],
}


@pytest.mark.parametrize("name", READS)
def test_whoever_looks_gets_the_values(torch, name):
    a = torch.ones(2)
    with torch.pipeline() as pipe:
        c = (a + 1) + a
        assert c._pending
        assert READS[name](torch, c) == [3, 3]
        assert not c._pending
        assert pipe.flush_id >= 1


def test_asking_for_the_host_is_a_look(torch):
    asks = [
        lambda y: y.cpu(),
        lambda y: y.to("cpu"),
        lambda y: y.to(device="cpu", dtype=torch.float64),
        lambda y: y.to(torch.device("cpu"), torch.int32, copy=True),
    ]
    casts = [
        lambda y: y.to(torch.float64),
        lambda y: y.double(),
        lambda y: y.type_as(torch.ones(2).double()),
        lambda y: y.to(torch.ones(2).double()),
    ]
    with torch.pipeline():
        for ask in asks:
            y = torch.ones(2) * 2
            host = ask(y)
            assert not y._pending and not host._pending and host.tolist() == [2, 2]
        for cast in casts:
            y = torch.ones(2) * 2
            other = cast(y)
            assert y._pending and other._pending and other.tolist() == [2, 2]
        with pytest.raises(IndexError, match="index 7 is out of bounds"):
            torch.ones(3)[torch.tensor([7])].cpu()


def test_mistakes_are_told_at_the_call(torch):
    a = torch.ones(3)
    with torch.pipeline():
        with pytest.raises(RuntimeError, match="must match the size"):
            a + torch.ones(4)
        with pytest.raises(RuntimeError, match="mat1 and mat2 shapes cannot be multiplied"):
            torch.ones(2, 3) @ torch.ones(2, 3)
        with pytest.raises(NotImplementedError, match="not implemented for 'Bool'"):
            torch.abs(torch.ones(3, dtype=torch.bool))
        with pytest.raises(RuntimeError, match="can't be cast"):
            torch.ones(3, dtype=torch.int64).add_(0.5)
        b = a * 2
    assert b.tolist() == [2, 2, 2]


def test_in_place_writes_through_views(torch):
    def program(torch):
        x = torch.arange(12.0).reshape(3, 4)
        row, column = x[1], x[:, 2]
        y = x * 2
        row.add_(100)
        z = x.t() + 1
        column.mul_(-1)
        x[0, 0] = 7
        w = row + column.sum()
        return x, y, z, w, x._version

    expected = program(torch)
    with torch.pipeline():
        got = program(torch)
    for ours, theirs in zip(got[:4], expected[:4], strict=True):
        assert torch.equal(ours, theirs)
    assert got[4] == expected[4]


def test_versions_count_at_the_call(torch):
    x = torch.zeros(3)
    with torch.pipeline():
        before = x._version
        x.add_(1)
        x[0] = 5
        assert x._version == before + 2
    assert x.tolist() == [5, 1, 1]


def test_an_op_reads_what_was_there_when_it_was_called(torch):
    x = torch.ones(3)
    with torch.pipeline():
        y = x + 1
        x.zero_()
        z = x + 1
    assert y.tolist() == [2, 2, 2] and z.tolist() == [1, 1, 1]


def test_memory_that_an_ndarray_shares(torch):
    array = np.ones(3, np.float32)
    x = torch.from_numpy(array)
    other = torch.ones(3)
    with torch.pipeline():
        y = x + 1
        array[:] = 5
        z = x + 1
        w = other + 1
        view = other.numpy()
        view[:] = 7
    assert y.tolist() == [2, 2, 2] and z.tolist() == [6, 6, 6] and w.tolist() == [2, 2, 2]


def test_shapes_that_change_after_an_op_was_recorded(torch):
    x = torch.arange(6.0)
    with torch.pipeline():
        y = x * 2
        x.resize_(2, 3)
        y.unsqueeze_(0)
        z = x + 1
    assert z.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert y.shape == (1, 6) and y.flatten().tolist() == [0, 2, 4, 6, 8, 10]


def test_random_numbers_come_in_order(torch):
    def program():
        torch.manual_seed(1)
        a = torch.rand(3)
        b = torch.randn(3)
        torch.manual_seed(2)
        c = torch.rand(3)
        torch.rand(5)
        d = torch.rand(3)
        state = torch.get_rng_state()
        return a, b, c, d, state

    expected = program()
    with torch.pipeline():
        got = program()
    for ours, theirs in zip(got, expected, strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int64"])
def test_elements_of_several_sizes(torch, dtype):
    """A mask has smaller elements than what it chooses from: they share no memory on the way."""
    x = torch.arange(-50, 50).to(getattr(torch, dtype))

    def program():
        return torch.where(x > 3, 7, x) + 1

    expected = program()
    with torch.pipeline():
        got = program()
    assert torch.equal(got, expected)


def test_results_between_that_nobody_keeps(torch):
    a = torch.ones(1000)
    with torch.pipeline():
        for _ in range(50):
            a = a * 1.01
    assert abs(a[0].item() - 1.01**50) < 1e-4


def test_thresholds(torch):
    a = torch.ones(256)
    with torch.pipeline(max_ops=3) as pipe:
        kept = [a + i for i in range(7)]
        assert pipe.pending_count() == 1 and pipe.last_flush_reason == "ops"
    with torch.pipeline(max_pending_bytes=4096) as pipe:
        kept = [a + i for i in range(5)]
        assert pipe.pending_count() == 1 and pipe.last_flush_reason == "bytes"
    with torch.pipeline(min_defer_ops=3) as pipe:
        first, second, third = a + 1, a + 2, a + 3
        assert not first._pending and not second._pending and third._pending
    assert [k[0].item() for k in kept] == [1, 2, 3, 4, 5]


def test_flush(torch):
    with torch.pipeline() as pipe:
        assert torch.current_pipeline() is pipe
        a = torch.ones(2) + 1
        pipe.flush()
        assert not a._pending and pipe.pending_count() == 0
        assert (pipe.flush_id, pipe.last_flush_reason) == (1, "manual")
        pipe.flush("again")
        assert (pipe.flush_id, pipe.last_flush_reason) == (1, "again")
    assert torch.current_pipeline() is None


def test_nesting(torch):
    with torch.pipeline() as outer:
        a = torch.ones(2) + 1
        with torch.pipeline() as inner:
            assert torch.current_pipeline() is inner
            b = torch.ones(2) + 2
            assert a._pending and b._pending
            c = a + b
            assert not a._pending
        assert c.tolist() == [5, 5]
        assert torch.current_pipeline() is outer
    assert a.tolist() == [2, 2]


def test_as_a_decorator(torch):
    @torch.pipeline()
    def twice(x):
        assert torch.current_pipeline() is not None
        return x + x

    assert twice(torch.ones(2)).tolist() == [2, 2]
    assert twice.__name__ == "twice"


def test_a_block_left_by_an_exception_still_runs(torch):
    with pytest.raises(KeyError), torch.pipeline():
        a = torch.ones(2) + 1
        raise KeyError
    assert a.tolist() == [2, 2]


def failing(torch):
    """An op whose mistake lies in values."""
    return torch.ones(3)[torch.tensor([0, 7])]


def test_a_failing_op_is_named(torch):
    with torch.pipeline() as pipe:
        good = torch.ones(3) + 1
        bad = failing(torch)
        after = bad * 2
        with pytest.raises(IndexError, match="out of bounds") as raised:
            pipe.flush()
        assert f"{__file__}:{failing.__code__.co_firstlineno + 2} in failing" in str(raised.value)
        error = pipe.last_error()
        assert error.op_seq >= 1 and "index" in error.op_name
        assert error.callsite["func"] == "failing"
        assert error.callsite["file"] == __file__
        assert error.flush_id == 1 and error.phase == "submit" and error.backend == "cpu"
        assert "index" in pipe.format_error("short") and "\n" not in pipe.format_error("short")
        assert json.loads(pipe.format_error("full"))["error_id"] == error.error_id
        with pytest.raises(ValueError, match="style"):
            pipe.format_error("long")
        assert good.tolist() == [2, 2, 2]
        for tensor in (bad, after):
            for _ in range(2):
                with pytest.raises(IndexError, match="out of bounds"):
                    tensor.tolist()
        later = torch.ones(2) + 1
    assert later.tolist() == [2, 2]
    assert pipe.last_error() is None and pipe.format_error("full") == ""
    del bad, after
    gc.collect()


def test_threads_have_pipelines_of_their_own(torch):
    with torch.pipeline():
        a = torch.ones(1000) + 1
        seen = []

        def work():
            assert torch.current_pipeline() is None
            seen.append(a.sum().item())  # makes the other thread's ops run
            with torch.pipeline():
                b = a * 2
            seen.append(b.sum().item())

        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
        assert seen == [2000, 4000]


def test_another_thread_writes_what_a_recorded_op_reads(torch):
    x = torch.ones(1000)
    with torch.pipeline():
        y = x + 1
        thread = threading.Thread(target=x.zero_)
        thread.start()
        thread.join()
        z = x + 1
    assert y.sum().item() == 2000 and z.sum().item() == 1000


def test_many_threads_share_weights(torch):
    weight = torch.randn(64, 64)
    expected = (weight @ weight).relu() + weight
    problems = []

    def work():
        try:
            for _ in range(30):
                with torch.pipeline():
                    result = (weight @ weight).relu() + weight
                assert torch.equal(result, expected)
        except BaseException as error:
            problems.append(error)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems


def test_configuration(torch):
    before = torch.get_pipeline_config()
    assert before["max_ops"] is None and before["adaptive_small_window_ops"] == 24
    try:
        assert torch.pipeline_config(max_ops=2)["max_ops"] == 2
        with torch.pipeline() as pipe:
            torch.ones(2) + 1
            assert pipe.flush_id == 1
        with torch.pipeline(max_ops=100) as pipe:
            torch.ones(2) + 1
            assert pipe.flush_id == 0
    finally:
        torch.pipeline_config(**before)
    with pytest.raises(TypeError, match="unexpected keyword"):
        torch.pipeline(window=3)


@pytest.mark.parametrize("count", [66_000, 300_000])
def test_more_operands_than_a_window_counts(torch, count):
    """Than 16 bits count, and than a trace has indices for: such an op runs at once."""
    parts = [torch.tensor(float(i)) for i in range(count)]
    with torch.pipeline():
        first = parts[1] + 1
        joined = torch.stack([first, *parts]) * 2
    assert torch.equal(joined, torch.cat([torch.tensor([2.0]), torch.arange(float(count))]) * 2)


def test_inputs_that_nobody_else_keeps(torch):
    """Eager mode would have given their memory back."""
    whole = torch.ones(1 << 20)
    everywhere = whole > 0
    with torch.pipeline() as pipe:
        sums = []
        for _ in range(40):
            part = whole[everywhere]  # 4 MiB, and indices that are there at once
            sums.append((part * 2).sum())
            if pipe.flush_id != 0:
                break
        assert pipe.last_flush_reason == "bytes" and 3 < len(sums) < 40
        kept = torch.ones(1 << 20)
        flushes = pipe.flush_id
        for _ in range(40):
            kept = kept + 1
        assert pipe.flush_id == flushes
    assert sums[3].item() == 2 * (1 << 20)
