"""Running out of memory, again and again."""

import gc
import threading

import pytest

MEGABYTE = 1 << 20


@pytest.fixture
def little_memory(torch, simulator):
    gc.collect()
    torch.npu.synchronize()
    torch.npu.empty_cache()
    simulator.add_faults(f"memory:0:{64 * MEGABYTE}")
    yield 64 * MEGABYTE
    simulator.clear_faults()
    gc.collect()
    torch.npu.empty_cache()


def test_the_error_is_torchs_and_says_what_there_is(torch, little_memory):
    text = r"NPU out of memory. Tried to allocate 2.00 GiB. NPU 0 has a total capacity of 64.00 GiB"
    with pytest.raises(torch.OutOfMemoryError, match=text):
        torch.empty(1 << 31, dtype=torch.uint8, device="npu")
    assert torch.ones(3, device="npu").sum().item() == 3


def test_a_storm_leaves_nothing_behind(torch, little_memory):
    before = torch.npu.memory_allocated()
    for round_number in range(30):
        kept = []
        with pytest.raises(torch.OutOfMemoryError):
            while True:
                kept.append(torch.ones(MEGABYTE, device="npu") * round_number)
        assert kept, "nothing fitted"
        assert kept[-1][0].item() == round_number
        del kept
        gc.collect()
        assert torch.npu.memory_allocated() == before


def test_a_workspace_that_does_not_fit_is_an_error_like_any_other(torch, little_memory):
    kept = []
    with pytest.raises(torch.OutOfMemoryError):
        while True:
            kept.append(torch.empty(MEGABYTE // 4, device="npu"))
    x = kept.pop()
    del kept[:2]
    with pytest.raises(torch.OutOfMemoryError):
        for _ in range(200):
            kept.append(x.reshape(512, 512).t().contiguous().cumsum(0))
    del kept
    gc.collect()
    assert x.zero_().sum().item() == 0


def test_threads_share_what_there_is(torch, little_memory):
    problems, refusals = [], []

    def work(number):
        try:
            with torch.npu.Stream():
                for step in range(40):
                    size = (number % 3 + 1) * 3 * MEGABYTE
                    try:
                        x = torch.full((size,), number + step, device="npu", dtype=torch.uint8)
                        if (x + 1)[-1].item() != number + step + 1:
                            problems.append((number, step))
                    except torch.OutOfMemoryError as error:
                        assert "NPU out of memory" in str(error)
                        refusals.append(number)
        except Exception as error:
            problems.append(error)

    before = torch.npu.memory_allocated()
    hold = torch.empty(48 * MEGABYTE, device="npu", dtype=torch.uint8)
    threads = [threading.Thread(target=work, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not problems and refusals
    del hold
    torch.npu.synchronize()
    torch.npu.empty_cache()
    assert torch.npu.memory_allocated() == before
    assert torch.ones(MEGABYTE, device="npu").sum().item() == MEGABYTE
