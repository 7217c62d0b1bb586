"""Streams, events, graphs, memory, processes: what torch_npu asks of CANN's runtime."""

import os

import torch

MiB = 1 << 20


def test_nothing_is_preloaded():
    assert "LD_PRELOAD" not in os.environ
    assert torch.npu.get_device_name() == "Ascend910B3"
    assert torch.npu.get_device_properties(0).name == "Ascend910B3"
    assert torch.npu.device_count() == 2


def test_streams_and_events_order_work():
    side = torch.npu.Stream()
    first, last = torch.npu.Event(enable_timing=True), torch.npu.Event(enable_timing=True)
    a = torch.ones(1000, device="npu")
    first.record()
    side.wait_stream(torch.npu.current_stream())
    with torch.npu.stream(side):
        b = a * 2
        for _ in range(20):
            b = b + 1
    b.record_stream(side)
    torch.npu.current_stream().wait_stream(side)
    c = b + a
    last.record()
    last.synchronize()
    assert c[0].item() == 23
    assert side.query() and last.query()
    assert first.elapsed_time(last) >= 0


def test_a_stream_that_does_not_wait_races(reports):
    side = torch.npu.Stream()
    a = torch.ones(1000, device="npu")
    torch.npu.synchronize()
    a.add_(1)
    with torch.npu.stream(side):
        b = a * 2
    found = [text for text in reports() if text.startswith("races")]
    # Both lines of this file, though it knows nothing of the simulator.
    assert len(found) == 1 and found[0].count("test_runtime.py:") == 2, found
    del b


def test_a_graph_replays():
    x, y = torch.ones(16, device="npu"), torch.zeros(16, device="npu")
    torch.npu.synchronize()
    graph = torch.npu.NPUGraph()
    with torch.npu.graph(graph):
        y.copy_(x * 2 + 1)
    for value in (5.0, 7.0):
        x.fill_(value)
        graph.replay()
        torch.npu.synchronize()
        assert y[0].item() == 2 * value + 1


def test_memory_is_counted():
    torch.npu.empty_cache()
    torch.npu.reset_peak_memory_stats()
    before = torch.npu.memory_allocated()
    free, total = torch.npu.mem_get_info()
    a = torch.ones(4 * MiB, device="npu")
    assert torch.npu.memory_allocated() - before >= 16 * MiB
    assert torch.npu.max_memory_allocated() >= torch.npu.memory_allocated()
    assert torch.npu.mem_get_info()[0] <= free - 16 * MiB
    assert torch.npu.mem_get_info()[1] == total
    assert torch.npu.memory_stats()["allocation.all.current"] >= 1
    assert "Allocated memory" in torch.npu.memory_summary()
    del a
    torch.npu.empty_cache()
    assert torch.npu.memory_allocated() == before


def test_a_snapshot_of_memory(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where torch_npu puts a table of the device's memory
    torch.npu.memory._record_memory_history()
    try:
        a = torch.ones(100, device="npu")
        segments = torch.npu.memory._snapshot()["segments"]
        assert sum(segment["allocated_size"] for segment in segments) >= 400
        torch.npu.memory._dump_snapshot(str(tmp_path / "snapshot.pickle"))
        assert (tmp_path / "snapshot.pickle").stat().st_size > 0
        (table,) = tmp_path.glob("device_0_memUsageInfo*.csv")
        assert "APP" in table.read_text()
        del a
    finally:
        torch.npu.memory._record_memory_history(None)


def test_pinned_memory_is_copied_without_waiting():
    source = torch.arange(1000.0).pin_memory()
    assert source.is_pinned()
    there = source.to("npu", non_blocking=True)
    back = torch.empty(1000).pin_memory()
    back.copy_(there * 2, non_blocking=True)
    torch.npu.synchronize()
    assert back.tolist() == (torch.arange(1000.0) * 2).tolist()


def test_a_loader_with_pinned_memory():
    data = torch.utils.data.TensorDataset(torch.arange(64.0).view(16, 4))
    loader = torch.utils.data.DataLoader(data, batch_size=4, pin_memory=True)
    assert sum(batch.to("npu", non_blocking=True).sum().item() for (batch,) in loader) == 2016


def test_two_devices_exchange():
    there = torch.arange(4.0).to("npu:0").to("npu:1")
    assert (there + 1).tolist() == [1.0, 2.0, 3.0, 4.0]


def test_random_state_is_restored():
    torch.npu.manual_seed(3)
    state = torch.npu.get_rng_state()
    first = torch.randn(50, device="npu").tolist()
    torch.npu.set_rng_state(state)
    assert torch.randn(50, device="npu").tolist() == first
    assert torch.randn(50, device="npu").tolist() != first


def test_tensors_are_saved_and_loaded(tmp_path):
    torch.save({"a": torch.arange(6.0, device="npu")}, tmp_path / "a.pt")
    assert str(torch.load(tmp_path / "a.pt")["a"].device) == "npu:0"
    found = torch.load(tmp_path / "a.pt", map_location="cpu")["a"]
    assert found.tolist() == [0.0, 1.0, 2.0, 3.0, 4.0, 5.0]


EXPANDABLE = """
import torch, torch_npu
kept = [torch.full((1 << 20,), float(i), device="npu") for i in range(12)]
torch.npu.synchronize()
del kept[::2]
kept.append(torch.ones(5 << 20, device="npu"))
print(sum(t.sum().item() for t in kept) / (1 << 20))
assert torch.npu.memory_snapshot()[0]["is_expandable"]
torch.npu.empty_cache()
"""


def test_segments_expand(program):
    text, _ = program(EXPANDABLE, PYTORCH_NPU_ALLOC_CONF="expandable_segments:True")
    assert float(text) == 1 + 3 + 5 + 7 + 9 + 11 + 5


ONE_RANK = """
import os, torch, torch_npu, torch.distributed as dist
os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT="0")
dist.init_process_group("hccl", rank=0, world_size=1, store=dist.HashStore())
x = torch.arange(4.0, device="npu")
dist.all_reduce(x)
parts = [torch.zeros(4, device="npu")]
dist.all_gather(parts, x)
dist.broadcast(x, 0)
dist.barrier()
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 2).npu())
model(x).sum().backward()
print(parts[0].tolist(), model.module.weight.grad[0].tolist())
dist.destroy_process_group()
"""


def test_a_group_of_one_rank(program):
    text, _ = program(ONE_RANK)
    assert text == "[0.0, 1.0, 2.0, 3.0] [0.0, 1.0, 2.0, 3.0]\n"


AUTOLOAD = """
import torch
print(torch.ones(3, device="npu").add(1).tolist())
"""


def test_torch_alone_brings_the_device(program):
    """The entry point that torch looks for at import is torch_npu's."""
    text, _ = program(AUTOLOAD, TORCH_DEVICE_BACKEND_AUTOLOAD="1")
    assert text == "[2.0, 2.0, 2.0]\n"


PROFILED = """
import torch, torch_npu
from torch_npu import profiler
with profiler.profile(activities=[profiler.ProfilerActivity.CPU]) as run:
    (torch.ones(4, device="npu") + 1).cpu()
    run.step()
print("ran")
"""


def test_the_profiler_records_the_host(program, tmp_path):
    text, _ = program(PROFILED, ASCEND_WORK_PATH=str(tmp_path))
    assert text.endswith("ran\n")


SAVE_ASYNC = """
import os, sys, threading, torch, torch_npu
model = torch.nn.Sequential(*[torch.nn.Linear(64, 64) for _ in range(20)]).npu()
optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)
def step():
    optimizer.zero_grad()
    model(torch.ones(4, 64, device="npu")).sum().backward()
    optimizer.step()
for _ in range(3):
    step()
    torch_npu.utils.save_async(model.state_dict(), sys.argv[0] + ".pt", model=model)
    while threading.active_count() > 1:  # it is saving
        step()
torch.npu.synchronize()
os._exit(0)  # without what others leave behind
"""


def test_the_race_of_save_async_is_found(program):
    """It copies parameters on a stream of its own while the next step changes them."""
    _, errors = program(SAVE_ASYNC, MINDTORCH_SIM_CHECKS="races", MINDTORCH_SIM_LATENCY="200")
    assert "ascend simulator: races" in errors
