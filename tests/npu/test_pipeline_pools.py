"""Deferred ops take their memory from the pool that was open when they were recorded."""

import pytest


@pytest.fixture
def x(torch):
    return torch.ones(1 << 20, device="npu")


def pool_of(torch, tensor):
    for segment in torch.npu.memory_snapshot()["segments"]:
        if 0 <= tensor.data_ptr() - segment["address"] < segment["total_size"]:
            return segment["segment_pool_id"]
    raise AssertionError("no segment holds the tensor")


def test_a_scope_inside_a_block(torch, x):
    outer, inner = torch.npu.MemPool(), torch.npu.MemPool()
    with torch.pipeline() as pipe:
        before = x + 1
        with torch.npu.use_mem_pool(outer):
            assert not before._pending and pipe.last_flush_reason == "stream"
            first = x + 2
            with torch.npu.use_mem_pool(inner):
                second = x + 3
            third = x + 4
            assert third._pending
        after = x + 5
    tensors = before, first, second, third, after
    assert [pool_of(torch, tensor) for tensor in tensors] == [
        (0, 0),
        outer.id,
        inner.id,
        outer.id,
        (0, 0),
    ]
    assert [tensor[-1].item() for tensor in tensors] == [2, 3, 4, 5, 6]


def test_a_flush_inside_a_scope_moves_nothing_there(torch, x):
    pool = torch.npu.MemPool()
    with torch.pipeline() as pipe:
        result = x + 1
        with torch.npu.use_mem_pool(pool):
            pipe.flush()
    assert pool_of(torch, result) == (0, 0)


def test_a_block_inside_a_scope(torch, x):
    pool = torch.npu.MemPool()
    with torch.npu.use_mem_pool(pool), torch.pipeline():
        result = x + 1
    assert pool_of(torch, result) == pool.id


def test_blocks_around_a_scope_that_fails(torch, x):
    pool = torch.npu.MemPool()
    with torch.pipeline():
        before = x + 1
        with torch.pipeline():
            with pytest.raises(KeyError), torch.npu.use_mem_pool(pool):
                inside = x + 2
                raise KeyError
            after = x + 3
    assert [pool_of(torch, tensor) for tensor in (before, inside, after)] == [
        (0, 0),
        pool.id,
        (0, 0),
    ]


def test_a_capture_has_the_pool_to_itself(torch, x):
    graph = torch.npu.NPUGraph()
    with torch.pipeline():
        before = x + 1
        with torch.npu.graph(graph):
            inside = x + 2
        after = x + 3
        graph.replay()
    assert [pool_of(torch, tensor) for tensor in (before, inside, after)] == [
        (0, 0),
        graph.pool(),
        (0, 0),
    ]
    assert inside[-1].item() == 3
