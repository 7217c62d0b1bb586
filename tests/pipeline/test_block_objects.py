"""Blocks as Python objects: made, entered by any means, freed and used again."""

import contextlib
import gc
import sys

import pytest


def test_a_block_knows_nothing_of_an_earlier_one(torch):
    for _ in range(3):
        with pytest.raises(IndexError), torch.pipeline(debug_enabled=None) as pipe:
            torch.ones(3)[torch.tensor([7])]
        assert pipe.last_error() is not None and pipe.flush_id == 1
        del pipe
        with torch.pipeline() as pipe:
            assert (pipe.flush_id, pipe.last_flush_reason) == (0, "")
            assert pipe.last_error() is None and pipe.debug_dump()["entries"] == []
            pipe.flush("said by the program")
            assert pipe.last_flush_reason == "said by the program"
        assert pipe.last_flush_reason == "context_exit"


def test_new_defaults_hold_for_blocks_made_from_now_on(torch):
    before = torch.get_pipeline_config()
    for _ in range(3):
        torch.pipeline()
    try:
        torch.pipeline_config(max_ops=2)
        assert torch.pipeline().config["max_ops"] == 2
    finally:
        torch.pipeline_config(**before)
    assert torch.pipeline().config == before
    assert torch.pipeline(max_ops=None).config == before


def test_a_block_that_is_dropped_while_it_is_entered(torch):
    for _ in range(2):
        pipe = torch.pipeline()
        pipe.__enter__()
        x = torch.ones(2) + 1
        assert x._pending
        del pipe
        assert not x._pending and torch.current_pipeline() is None


def test_enter_and_exit_by_name(torch):
    pipe = torch.pipeline()
    enter, leave = pipe.__enter__, pipe.__exit__
    assert enter.__name__ == "__enter__" and leave.__self__ is pipe
    assert enter() is pipe and torch.current_pipeline() is pipe
    with pytest.raises(TypeError):
        leave()
    with pytest.raises(TypeError):
        enter(1)
    assert leave(None, None, None) is None and torch.current_pipeline() is None
    kind = torch.pipeline
    assert kind.__enter__(pipe) is pipe and torch.current_pipeline() is pipe
    kind.__exit__(pipe, None, None, None)
    assert torch.current_pipeline() is None
    with pytest.raises(TypeError):
        kind.__enter__(3)
    with contextlib.ExitStack() as stack:
        assert stack.enter_context(pipe) is pipe
        x = torch.ones(2) + 1
    assert x.tolist() == [2, 2] and torch.current_pipeline() is None


def test_bound_methods_keep_their_block(torch):
    leaves = []
    for _ in range(20):
        pipe = torch.pipeline()
        pipe.__enter__()
        leaves.append((pipe.__exit__, pipe, torch.ones(2) + len(leaves)))
        del pipe
    assert len({id(leave.__self__) for leave, _, _ in leaves}) == 20
    while leaves:
        leave, pipe, x = leaves.pop()
        assert torch.current_pipeline() is pipe
        leave(None, None, None)
        assert x[0].item() == 1 + len(leaves)


class Kept:
    pass


def test_a_subclass(torch):
    class Named(torch.pipeline):
        def __init__(self, name, **settings):
            super().__init__(**settings)
            self.name = name

    class Empty(torch.pipeline):
        def __init__(self):
            pass

    with Named("mine", max_ops=2) as pipe:
        x = torch.ones(2) + 1
        assert torch.current_pipeline() is pipe and pipe.config["max_ops"] == 2
    assert pipe.name == "mine" and x.tolist() == [2, 2]
    pipe.kept, pipe.leave = Kept(), pipe.__exit__  # a cycle
    del pipe
    gc.collect()
    assert not any(isinstance(each, Kept) for each in gc.get_objects())
    with pytest.raises(TypeError, match="__init__ of this pipeline was never called"):
        Empty().__enter__()


def test_settings_are_named(torch):
    with pytest.raises(TypeError):
        torch.pipeline(3)
    with pytest.raises(TypeError, match="unexpected keyword argument 'window'"):
        torch.pipeline(window=3)
    with pytest.raises(ValueError, match="must be positive"):
        torch.pipeline(max_ops=0)


def test_blocks_leak_nothing(torch):
    x = torch.ones(4)

    def work():
        for _ in range(200):
            with torch.pipeline() as pipe:
                y = x + 1
                pipe.flush()
                z = y * x
        return z

    work()
    counts = [sys.getrefcount(torch.pipeline), sys.getrefcount(work.__code__)]
    before = len(gc.get_objects())
    work()
    assert len(gc.get_objects()) <= before + 5
    assert [sys.getrefcount(torch.pipeline), sys.getrefcount(work.__code__)] == counts
