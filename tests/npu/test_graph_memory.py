"""The memory of pipelines' graphs: told, shared, bounded and given back."""

import gc

from tests.npu.graph_windows import MEGABYTE, inputs, is_capture, is_replay, ops_of


def reserved(torch):
    gc.collect()
    torch.npu.synchronize()
    torch.npu.empty_cache()
    return torch.npu.memory_reserved()


def large_program(torch, x):
    return ((x + 1) * 2 - 3).relu().sum()


def test_memory_of_graphs_is_told_and_given_back(torch, log):
    x = torch.ones(MEGABYTE, device="npu")
    before = reserved(torch)
    for _ in range(4):
        result, names = log.run(large_program, torch, x)
        del result
    assert is_replay(names)
    pools = {segment["segment_pool_id"] for segment in torch.npu.memory_segments()}
    assert len(pools) > 1
    assert torch.npu.memory_reserved() > before
    assert reserved(torch) == before
    result, names = log.run(large_program, torch, x)
    assert ops_of(names) and result.item() == MEGABYTE


def test_a_cache_that_is_emptied_while_replays_run(torch, log, simulator):
    x = torch.ones(MEGABYTE, device="npu")
    for _ in range(8):
        result, names = log.run(large_program, torch, x)
        if is_replay(names):
            torch.npu.empty_cache()
        assert result.item() == MEGABYTE
        del result


def test_graphs_go_when_memory_is_short(torch, log, simulator):
    x = torch.ones(MEGABYTE, device="npu")
    reserved(torch)
    simulator.add_faults(f"memory:0:{96 * MEGABYTE}")
    for _ in range(4):
        result, names = log.run(large_program, torch, x)
        del result
    assert is_replay(names)
    most = torch.empty(64 * MEGABYTE, dtype=torch.uint8, device="npu")
    result, names = log.run(large_program, torch, x[:4])
    assert result.item() == 4
    del most, result
    simulator.clear_faults()
    torch.npu.empty_cache()


def test_graphs_of_one_stream_share_their_memory(torch, log):
    """A second trace with results of the same size needs no further memory."""
    x = torch.ones(MEGABYTE, device="npu")
    for _ in range(5):
        log.run(large_program, torch, x)
    torch.npu.synchronize()
    before = torch.npu.memory_reserved()
    for _ in range(5):
        result, names = log.run(lambda: ((x + 2) * 2 - 5).relu().sum())
        assert result.item() == MEGABYTE
        del result
    assert is_replay(names)
    assert torch.npu.memory_reserved() == before


def test_windows_with_much_memory_in_between_are_replayed(torch, log):
    x = torch.ones(6 * MEGABYTE, device="npu")
    for _ in range(5):
        result, names = log.run(large_program, torch, x)
        assert result.item() == x.numel()
        del result
    assert is_replay(names)


def test_windows_that_need_much_of_the_memory_are_launched(torch, log, simulator):
    x = torch.ones(6 * MEGABYTE + 8, device="npu")
    simulator.add_faults(f"memory:0:{1024 * MEGABYTE}")
    for _ in range(5):
        result, names = log.run(large_program, torch, x)
        assert not is_capture(names) and ops_of(names)
        del result
    simulator.clear_faults()


def test_graphs_of_forgotten_windows_are_destroyed(torch, log, simulator):
    """A queue keeps the plans it used last, and their graphs with them."""
    x, _ = inputs(torch)
    for number in range(300):
        for _ in range(3):
            with torch.pipeline():
                flat = (x + 1).exp().reshape(-1)
                result = flat[number % 20 :].repeat(1 + number // 20).neg() + 2
                del flat
            del result
    torch.npu.synchronize()
    created = len(simulator.calls("aclmdlRICaptureEnd"))
    destroyed = len(simulator.calls("aclmdlRIDestroy"))
    assert created == 300 and 20 < destroyed < 64
