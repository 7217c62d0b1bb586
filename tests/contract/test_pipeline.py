"""torch.pipeline: ops run later and together, with the results of running them one by one."""

import gc
import json
import pickle
import threading
import time

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


# --- what repeats ---------------------------------------------------------------------------------


def chain(x, number=2.0):
    y = (x * number + 1).relu()
    return (y - x).abs() / number


def test_windows_that_repeat_are_planned_once(torch):
    x = torch.randn(100)
    expected = [chain(x + i, 2.0 + i) for i in range(6)]
    made = []
    for i in range(6):  # blocks of one thread share their plans
        with torch.pipeline() as pipe:
            for k in (0, i):
                y = chain(x + k, 2.0 + k)
                pipe.flush()
                assert torch.equal(y, expected[k])
            made.append(pipe._plans_made())
    assert made[-1] == made[0]


def test_a_result_kept_once_and_dropped_the_next_time(torch):
    x = torch.randn(50)
    kept = []
    for round in range(6):
        with torch.pipeline():
            inner = x * 2 + 1
            outer = inner.relu() - 3
            if round % 2:
                kept.append(inner)
            del inner
        assert torch.equal(outer, (x * 2 + 1).relu() - 3)
    for inner in kept:
        assert torch.equal(inner, x * 2 + 1)


def test_the_same_ops_on_other_shapes_and_aliases(torch):
    for shape in ((4, 6), (6, 4), (24,), (4, 6)):
        x, y = torch.randn(*shape), torch.randn(*shape)
        for a, b in ((x, y), (x, x), (y, x)):
            expected = (a * b + a).sin()
            with torch.pipeline():
                got = (a * b + a).sin()
            assert torch.equal(got, expected)


def test_the_default_dtype_changes_between_windows(torch):
    x = torch.arange(4)
    try:
        for dtype in (torch.float32, torch.float64, torch.float32):
            torch.set_default_dtype(dtype)
            with torch.pipeline():
                y = (x / 2) + x.float().sum() / x
            assert y.dtype == dtype
    finally:
        torch.set_default_dtype(torch.float32)


def test_kernels_that_repeat_with_other_arguments(torch):
    x = torch.randn(6, 8)
    for dims in ((0,), (1,), (0, 1), (1,), (0,)):
        for k in (2, 3):
            with torch.pipeline():
                y = x.sum(dims, keepdim=True) + x.topk(k, 1)[0].sum()
                z = torch.cat([x, y.expand(6, 8)], dim=k - 2)
            assert torch.equal(y, x.sum(dims, keepdim=True) + x.topk(k, 1)[0].sum())
            assert torch.equal(z, torch.cat([x, y.expand(6, 8)], dim=k - 2))


def test_in_place_on_a_tensor_from_outside_repeats(torch):
    weight, step = torch.zeros(8), torch.ones(8)
    for round in range(5):
        with torch.pipeline():
            update = step * 0.5
            weight.add_(update)
            weight.mul_(1.0)
        assert weight.tolist() == [0.5 * (round + 1)] * 8


# --- settings -------------------------------------------------------------------------------------


def wait_for(condition, seconds=20):
    end = time.monotonic() + seconds
    while not condition() and time.monotonic() < end:
        time.sleep(0.001)
    return condition()


def test_max_wait_needs_no_further_op(torch):
    with torch.pipeline(max_wait_us=2000) as pipe:
        y = torch.ones(3) + 1
        assert wait_for(lambda: not y._pending)
        assert wait_for(lambda: pipe.last_flush_reason == "wait") and pipe.flush_id == 1
        z = y * 2  # the next window waits anew
        assert wait_for(lambda: not z._pending)
    assert z.tolist() == [4, 4, 4]
    with torch.pipeline(max_wait_us=60_000_000):
        y = torch.ones(3) + 1
        assert y._pending


def test_pending_bytes_count_the_window(torch):
    x = torch.ones(100)
    with torch.pipeline(max_pending_bytes=1000) as pipe:
        ys = [x + 1, x + 2]
        assert all(y._pending for y in ys)
        ys.append(x + 3)
        assert not any(y._pending for y in ys) and pipe.last_flush_reason == "bytes"


def test_a_window_has_an_end_where_nobody_says_so(torch):
    x = torch.ones(4)
    with torch.pipeline() as pipe:
        for _ in range(1000):
            x = x + 1
        assert pipe.flush_id >= 1 and pipe.pending_count() < 1000
    assert x.tolist() == [1001] * 4
    with torch.pipeline(max_ops=2000) as pipe:  # the user's word goes before
        for _ in range(1000):
            x = x + 1
        assert pipe.flush_id == 0


def test_min_defer_ops_and_adaptive_defer(torch):
    x = torch.ones(3)

    def pending(**settings):
        with torch.pipeline(**settings):
            return [(x + i)._pending for i in range(6)]

    assert pending(min_defer_ops=3) == [False, False, True, True, True, True]
    pending()  # a small window
    assert pending(adaptive_defer=True) == [False] * 3 + [True] * 3
    assert pending(adaptive_defer=True, adaptive_min_defer_ops=2) == [False] + [True] * 5
    assert pending(adaptive_defer=True, min_defer_ops=1) == [True] * 6
    assert pending(adaptive_defer=True, adaptive_small_window_ops=1) == [True] * 6


@pytest.mark.parametrize("setting", ["max_ops", "max_pending_bytes", "max_wait_us"])
def test_settings_that_make_no_sense(torch, setting):
    with pytest.raises(ValueError, match=setting):
        torch.pipeline(**{setting: -1})
    with pytest.raises(TypeError, match=setting):
        torch.pipeline(**{setting: "many"})
    with pytest.raises(ValueError, match=setting):
        torch.pipeline_config(**{setting: -1})
    assert torch.get_pipeline_config()[setting] is None


def test_a_pipeline_entered_twice(torch):
    pipe = torch.pipeline(max_ops=50)
    with pipe:
        a = torch.ones(2) + 1
    assert a.tolist() == [2, 2] and pipe.flush_id == 1
    with pipe as outer:
        b = torch.ones(2) + 2
        with pipe as inner:
            assert inner is outer
            c = b + 1
        assert not b._pending and torch.current_pipeline() is pipe
        d = c + 1
        assert d._pending
    assert torch.current_pipeline() is None and d.tolist() == [5, 5]


def test_a_mistake_is_told_although_nobody_sees_the_result(torch):
    with torch.pipeline() as pipe:
        failing(torch)
        with pytest.raises(IndexError, match="out of bounds"):
            pipe.flush()
        x = torch.ones(3)
        x[torch.tensor([5])]
        with pytest.raises(IndexError, match="out of bounds"):
            pipe.flush()


def test_debug_dump(torch):
    with torch.pipeline(debug_enabled=True) as pipe:
        y = chain(torch.ones(3))
        waiting = pipe.debug_dump()
        assert waiting["pending_count"] == len(waiting["entries"]) >= 5
        assert waiting["entries"][-1]["callsite"]["func"] == "chain"
        pipe.flush("mine")
    dump = pipe.debug_dump()
    assert dump["reason"] == "context_exit" and dump["flush_id"] == 1
    assert [entry["op_seq"] for entry in dump["entries"]] == list(range(len(dump["entries"])))
    assert dump["entries"] == waiting["entries"] and y.shape == (3,)


def test_debug_dump_of_what_failed(torch):
    with torch.pipeline(debug_enabled=True) as pipe:
        bad = failing(torch)
        with pytest.raises(IndexError):
            pipe.flush("mine")
        dump = pipe.debug_dump(failed_only=True)
    assert dump["last_error"]["op_name"] == dump["entries"][0]["op_name"]
    assert len(dump["entries"]) == 1 and dump["reason"] == "mine"
    with pytest.raises(IndexError):
        bad.tolist()


def test_what_an_error_says(torch):
    def run():
        with torch.pipeline() as pipe:
            x = torch.ones(4)
            x[:2].add_(1)
            bad = x.view(2, 2)[torch.tensor([5])]
            with pytest.raises(IndexError):
                pipe.flush()
            return pipe.last_error(), bad

    error, bad = run()
    fields = error.to_dict()
    assert set(fields) == set(
        "error_id flush_id op_seq op_name schema phase backend callsite read_set write_set "
        "alias_set version_plan dependency_edges runtime_code suppressed_errors message".split()
    )
    assert any("float32[2, 2]" in text for text in error.read_set)
    assert {edge["to"] for edge in error.dependency_edges} == {error.op_seq}
    assert any(edge["reason"].startswith("alias_set:") for edge in error.dependency_edges)
    assert error.runtime_code is None and error.suppressed_errors == []
    assert len(error.error_id) == 16 and run()[0].error_id == error.error_id
    with pytest.raises(IndexError):
        bad.tolist()


def test_storages_show_values(torch):
    with torch.pipeline():
        y = torch.ones(3) + 1
        assert np.asarray(y.storage.data).tolist() == [2, 2, 2]
        z = y + 1
        assert np.asarray(z.storage().data).tolist() == [3, 3, 3]


def launches(torch, program):
    with torch.pipeline() as pipe:
        kept = program()  # noqa: F841 - what is seen is stored
        pipe.flush()
        return pipe._last_launches()


def test_what_runs_as_one(torch):
    x, w = torch.randn(33, 200), torch.randn(200)
    other, column = torch.randn(33, 200), torch.randn(33, 1)

    def softmax():
        e = (x * 0.5 - (x * 0.5).amax(-1, keepdim=True)).exp()
        return e / e.sum(-1, keepdim=True)

    def norm():
        centred = x - x.mean(-1, keepdim=True)
        return centred * (centred.square().mean(-1, keepdim=True) + 1e-5).rsqrt() * w + column

    def in_place():
        y = x * 2
        y.add_(w).mul_(y)
        return y.masked_fill(y > 1, 0.0), y.to(torch.float64) + 1

    assert launches(torch, lambda: (x * 2 + w).relu().where(x > 0, other) / column) == 1
    assert launches(torch, softmax) == 1
    assert launches(torch, norm) == 1
    assert launches(torch, in_place) == 1
    assert launches(torch, lambda: (x * 2).half().float().clone() + 1) == 1
    assert launches(torch, lambda: torch.empty(33, 200).copy_(x * 2).add_(1)) == 1
    assert launches(torch, lambda: ((x - other) ** 2).mean()) == 1
    assert launches(torch, lambda: (x * 0.125 + w).softmax(-1) * 2) == 1
    assert launches(torch, lambda: (x @ x.t()).relu() + 1) == 2
    assert launches(torch, lambda: (x.exp() + 1, torch.ones(5) + 1 - 3)) >= 2


def test_softmax_and_norms_by_hand(torch):
    x = torch.randn(33, 200)
    w, b = torch.randn(200), torch.randn(200)

    def softmax():
        e = (x * 0.5 - (x * 0.5).amax(-1, keepdim=True)).exp()
        return e / e.sum(-1, keepdim=True)

    def norm():
        centred = x - x.mean(-1, keepdim=True)
        return centred * (centred.square().mean(-1, keepdim=True) + 1e-5).rsqrt() * w + b

    def softmax_of_max():
        e = (x - x.max(-1, keepdim=True)[0]).exp()
        return e / e.sum(-1, keepdim=True), (x * 2).min(1)[1], (x + 1).max(1).values

    def standardized():
        y = x * 3 + 1
        return (y - y.mean(-1, keepdim=True)) / (y.std(-1, keepdim=True) + 1e-6), y.var(1) * 2

    def softmax_of_scaled():
        return (x * 0.125 + w).softmax(-1) * 2, (x - 1).log_softmax(1).neg()

    def mse():
        return ((x - w) ** 2).mean(), ((x - w) ** 2).sum(-1), (x * w).sum((0, 1))

    for program in (softmax, norm, mse, softmax_of_max, standardized, softmax_of_scaled):
        expected = program()
        for _ in range(3):
            with torch.pipeline():
                got = program()
            for ours, theirs in zip(
                *(t if isinstance(t, tuple) else (t,) for t in (got, expected)), strict=True
            ):
                assert ours.shape == theirs.shape and ours.stride() == theirs.stride()
                torch.testing.assert_close(ours, theirs, rtol=1e-5, atol=1e-6)
