"""torch.pipeline's settings, its errors, and what it dumps."""

import asyncio
import functools
import inspect
import pathlib
import subprocess
import sys
import time

import numpy as np
import pytest


def chain(x, number=2.0):
    y = (x * number + 1).relu()
    return (y - x).abs() / number


def failing(torch):
    """An op whose mistake lies in values."""
    return torch.ones(3)[torch.tensor([0, 7])]


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
        z = y * 2  # the next trace waits anew
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
    pending()  # a small trace
    assert pending(adaptive_defer=True) == [False] * 3 + [True] * 3
    assert pending(adaptive_defer=True, adaptive_min_defer_ops=2) == [False] + [True] * 5
    assert pending(adaptive_defer=True, min_defer_ops=1) == [True] * 6
    assert pending(adaptive_defer=True, adaptive_small_window_ops=1) == [True] * 6


LIMITS = (
    "max_ops max_pending_bytes max_wait_us min_defer_ops adaptive_small_window_ops "
    "adaptive_min_defer_ops"
).split()


@pytest.mark.parametrize("setting", LIMITS)
def test_settings_that_make_no_sense(torch, setting):
    before = torch.get_pipeline_config()[setting]
    with pytest.raises(ValueError, match=setting):
        torch.pipeline(**{setting: -1})
    with pytest.raises(TypeError, match=setting):
        torch.pipeline(**{setting: "many"})
    with pytest.raises(ValueError, match=f"{setting} is too large for 64 bits: {2**70}"):
        torch.pipeline(**{setting: 2**70})
    with pytest.raises(ValueError, match=setting):
        torch.pipeline_config(**{setting: -1})
    assert torch.get_pipeline_config()[setting] == before


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
        with pytest.raises(RuntimeError, match="source < number of ones in mask"):
            x.masked_scatter(torch.ones(3, dtype=torch.bool), torch.ones(1))
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


@pytest.mark.parametrize("debug", [False, True])
def test_a_dump_of_what_failed_knows_nothing_of_the_next_window(torch, debug):
    with torch.pipeline(debug_enabled=debug) as pipe:
        failing(torch)
        with pytest.raises(IndexError):
            pipe.flush()
        y = [torch.ones(3) + i for i in range(3)]
        dump = pipe.debug_dump(failed_only=True)
        error = dump["last_error"]
        assert dump["pending_count"] == pipe.pending_count() > error["op_seq"]
        assert dump["entries"] == [{n: error[n] for n in ("op_seq", "op_name", "callsite")}]
        assert dump["entries"][0]["callsite"]["func"] == "failing"
        pipe.flush()
        assert pipe.debug_dump(failed_only=True)["entries"] == []
    assert y[2].tolist() == [3, 3, 3]


def calls(torch, name, module):
    """Ops whose mistakes lie in values, called by functions that are written in Python."""
    wrong = torch.tensor([0, 7])
    if name == "functional":
        return torch.nn.functional.embedding(wrong, torch.ones(3, 2))
    if name == "decorated":
        return torch.no_grad()(failing)(torch)
    if name == "wrapped":
        return functools.wraps(failing)(lambda: failing(torch))()
    assert name == "a package of a like name"
    return module["index"](torch.ones(3), wrong)


@pytest.mark.parametrize(
    ("name", "function"),
    [
        ("functional", "calls"),
        ("decorated", "failing"),
        ("wrapped", "failing"),
        ("a package of a like name", "index"),
    ],
)
def test_call_sites_are_the_users(torch, name, function):
    folder = pathlib.Path(torch.__file__).parent
    module = {}
    file = f"{folder.parent}/of_others/{folder.name}/user.py"
    exec(compile("def index(x, i): return x[i]", file, "exec"), module)
    with torch.pipeline() as pipe:
        calls(torch, name, module)
        queued = pipe.queue
        with pytest.raises(IndexError) as raised:
            pipe.flush()
    site = pipe.last_error().callsite
    assert site["func"] == function
    assert site["file"] == (file if function == "index" else __file__)
    assert f"{site['file']}:{site['line']} in {function}" in str(raised.value)
    assert not any(entry["callsite"]["file"].startswith(f"{folder}/") for entry in queued)


def test_a_block_needs_few_modules():
    program = (
        "import sys, mindtorch_v2 as torch; before = set(sys.modules)\n"
        "with torch.pipeline(): torch.ones(3) + 1\n"
        "print(*sorted(set(sys.modules) - before))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    loaded = set(done.stdout.split())
    assert "mindtorch_v2._pipeline" in loaded
    assert not loaded & {"collections", "functools", "hashlib", "inspect", "json", "re"}


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


def test_decorated_generators_and_coroutines(torch):
    @torch.pipeline()
    def numbers():
        for i in range(3):
            yield (torch.ones(2) + i)._pending

    @torch.pipeline()
    async def later():
        await asyncio.sleep(0)
        return (torch.ones(2) + 1)._pending

    @torch.pipeline()
    async def steps():
        seen = []
        try:
            while len(seen) < 9:
                try:
                    seen.append((yield (torch.ones(2) + 1)._pending))
                except KeyError as error:
                    seen.append(type(error))
        finally:
            ended.append((seen, (torch.ones(2) + 1)._pending))

    async def walk():
        return [pending async for pending in steps()]

    async def talk():
        talker = steps()
        assert await anext(talker) and await talker.asend("a") and await talker.athrow(KeyError())
        await talker.aclose()

    ended = []
    assert inspect.isasyncgenfunction(steps) and asyncio.run(walk()) == [True] * 9
    asyncio.run(talk())
    assert ended == [([None] * 9, True), (["a", KeyError], True)]
    assert list(numbers()) == [True] * 3
    assert inspect.iscoroutinefunction(later) and asyncio.run(later())
    assert torch.current_pipeline() is None


def test_waiting_for_ever(torch):
    with torch.pipeline(max_wait_us=2**62) as pipe:
        y = torch.ones(3) + 1
        time.sleep(0.02)  # the timer looked at it
        assert y._pending and pipe.flush_id == 0
