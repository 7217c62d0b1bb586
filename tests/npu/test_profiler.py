"""Profiles of NPUs: lanes of streams, times by events of the device, memory of the allocator."""

import json

import pytest


@pytest.fixture
def profiled(torch, tmp_path):
    """profiled(program): the profiler, and the events of its trace by category."""

    def run(program, **settings):
        with torch.profiler.profile(**settings) as prof:
            program()
        path = tmp_path / "trace.json"
        prof.export_chrome_trace(str(path))
        found = {}
        for event in json.loads(path.read_text())["traceEvents"]:
            found.setdefault(event.get("cat", event["ph"]), []).append(event)
        return prof, found

    return run


def test_launches_are_kernels_of_the_ops_that_made_them(torch, profiled):
    assert torch.profiler.ProfilerActivity.PrivateUse1 in torch.profiler.supported_activities()
    a, b = torch.ones(8).to("npu"), torch.ones(8).to("npu")
    prof, found = profiled(lambda: torch.relu(a + b))
    events = {event.name: event for event in prof.events()}
    device = torch.profiler.DeviceType
    assert [kernel.name for kernel in events["aten::add"].kernels] == ["aclnnAdd"]
    assert events["aclnnAdd"].device_type == device.PrivateUse1
    assert events["aclnnAdd"].linked_correlation_id == events["aten::add"].id
    assert events["aclnnAdd"].device_index == 0
    # By construction: a launch has the time that its op is said to have used.
    for op, kernel in (("aten::add", "aclnnAdd"), ("aten::relu", "aclnnRelu")):
        assert events[op].device_time_total == events[kernel].device_time_total
        assert events[op].self_device_time_total == pytest.approx(events[op].device_time_total)
        assert events[kernel].self_cpu_time_total == 0
    total = sum(event.self_device_time_total for event in prof.events() if event.kernels)
    sums = prof.key_averages()
    assert f"Self NPU time total: {total:.3f}us" in sums.table(time_unit="us")
    assert "NPU time avg" in sums.table(sort_by="self_npu_time_total")
    [add, relu] = found["kernel"]
    assert (add["name"], relu["name"]) == ("aclnnAdd", "aclnnRelu")
    assert add["args"]["stream"] == add["tid"] and add["args"]["device"] == add["pid"] == 0


def test_work_runs_after_its_launch_and_in_the_order_of_its_stream(torch, profiled):
    a = torch.ones(64, 64).to("npu")

    def program():
        for _ in range(20):
            torch.mm(a, a)
        torch.npu.synchronize()

    _, found = profiled(program)
    kernels = found["kernel"]
    assert len(kernels) == 20
    for before, after in zip(kernels, kernels[1:], strict=False):
        assert before["ts"] + before["dur"] <= after["ts"] + 0.01  # a device's own rounding
    starts = {event["id"]: event for event in found["ac2g"] if event["ph"] == "s"}
    ends = {event["id"]: event for event in found["ac2g"] if event["ph"] == "f"}
    assert starts.keys() == ends.keys() and len(starts) == 20
    ops = {event["args"]["External id"]: event for event in found["cpu_op"]}
    for kernel in kernels:
        number = kernel["args"]["correlation"]
        op = ops[kernel["args"]["External id"]]
        assert op["name"] == "aten::mm" and starts[number]["tid"] == op["tid"]
        assert op["ts"] <= starts[number]["ts"] <= op["ts"] + op["dur"]
        assert ends[number]["ts"] == kernel["ts"] >= starts[number]["ts"]


def test_every_stream_has_a_lane(torch, profiled):
    a = torch.ones(8).to("npu")
    side = torch.npu.Stream()

    def program():
        a + 1
        side.wait_stream(torch.npu.current_stream())
        with torch.npu.stream(side):
            a * 2
        torch.npu.current_stream().wait_stream(side)

    _, found = profiled(program)
    [add, mul] = found["kernel"]
    assert add["tid"] == 0 and mul["tid"] == side.stream_id != 0
    names = {
        (event["pid"], event["tid"]): event["args"]["name"]
        for event in found["M"]
        if event["name"] == "thread_name"
    }
    assert names[0, 0] == "stream 0" and names[0, mul["tid"]] == f"stream {mul['tid']}"
    labels = [e["args"]["labels"] for e in found["M"] if e["name"] == "process_labels"]
    assert labels == ["CPU", "NPU 0"]


def test_copies_are_work_with_bytes(torch, profiled):
    host = torch.ones(1000)

    def program():
        host.to("npu").cpu()

    prof, found = profiled(program)
    copies = [(event["name"], event["args"]["bytes"]) for event in found["gpu_memcpy"]]
    assert copies == [("Memcpy HtoD", 4000), ("Memcpy DtoH", 4000)]
    [event] = [each for each in prof.events() if each.name == "Memcpy HtoD"]
    assert event.event_metadata.bytes == 4000 and event.event_metadata.stream == 0


def test_memory_is_what_the_allocator_gave(torch, profiled):
    kept = []
    base = torch.ones(1000).to("npu")
    torch.npu.synchronize()
    before = torch.npu.memory_allocated()

    def program():
        kept.append(base.exp())
        kept.append(base + base)
        del kept[0]

    prof, found = profiled(program, profile_memory=True)
    sums = {each.key: each for each in prof.key_averages()}
    size = torch.npu.memory_allocated() - before
    assert size >= 4000
    assert sums["aten::exp"].device_memory_usage == size
    assert sums["aten::add"].self_device_memory_usage == size
    assert sums["[memory]"].device_memory_usage == -size
    assert sums["aten::exp"].cpu_memory_usage == 0
    table = prof.key_averages().table()
    assert "NPU Mem" in table and "Self NPU Mem" in table
    instants = [event["args"] for event in found["cpu_instant_event"]]
    assert [each["Bytes"] for each in instants] == [size, size, -size]
    assert [each["Total Allocated"] - before for each in instants] == [size, 2 * size, size]
    assert {each["Device Type"] for each in instants} == {20}
    assert {each["Total Reserved"] for each in instants} == {torch.npu.memory_reserved()}
    assert {event["name"] for event in found["C"]} == {"Memory (npu:0)"}


def test_pipelines_and_graphs(torch, profiled):
    a = torch.ones(16, 16).to("npu")

    def window():
        with torch.pipeline():
            x = torch.mm(a, a)
            x = torch.mm(x, a)
            x = torch.relu(torch.mm(x, a))
            return torch.mm(x, a).sum()

    def program():
        for _ in range(6):
            window()
        torch.npu.synchronize()

    prof, found = profiled(program)
    kernels = {event["name"] for event in found["kernel"]}
    assert {"aclnnMm", "Graph replay"} <= kernels
    lane = {event["args"]["External id"] for event in found["pipeline"]}
    assert all(event["args"]["External id"] in lane for event in found["kernel"])
    # What is captured into a graph runs with the graph, and is not work by itself.
    replays = sum(event["name"] == "Graph replay" for event in found["kernel"])
    products = sum(event["name"] == "aclnnMm" for event in found["kernel"])
    assert replays >= 1 and products == 4 * (6 - replays)


def test_only_the_host_or_only_the_device(torch, profiled):
    a = torch.ones(8).to("npu")
    activity = torch.profiler.ProfilerActivity
    prof, found = profiled(lambda: a + 1, activities=[activity.CPU])
    assert "kernel" not in found and [event.name for event in prof.events()] == ["aten::add"]
    assert "NPU" not in prof.key_averages().table()
    prof, found = profiled(lambda: a + 1, activities=[activity.PrivateUse1])
    assert "cpu_op" not in found and len(prof.events()) == 1
    assert prof.events()[0].name.startswith("aclnnAdd")


def test_more_launches_than_events_are_kept(torch, profiled):
    """Times of old launches are read on the way: devices have so many events and no more."""
    a = torch.ones(4).to("npu")

    def program():
        for _ in range(5000):
            a.add_(a)

    prof, found = profiled(program)
    assert len(found["kernel"]) == 5000
    starts = [event["ts"] for event in found["kernel"]]
    assert starts == sorted(starts)


def test_a_device_that_fails_is_the_programs_error_not_the_profilers(torch):
    a = torch.ones(8).to("npu")
    with torch.profiler.profile() as prof:
        a + 1
        with pytest.raises(RuntimeError):
            torch.mm(a.view(2, 4), a.view(2, 4))
        a + 1
    assert sum(event.name.startswith("aclnnAdd") for event in prof.events()) == 2
