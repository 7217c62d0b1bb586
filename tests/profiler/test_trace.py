"""Chrome traces: valid JSON, with a lane for everything that works."""

import collections
import json
import os

import pytest


def by_category(trace):
    found = collections.defaultdict(list)
    for event in trace["traceEvents"]:
        found[event.get("cat", event["ph"])].append(event)
    return found


def test_a_trace_is_valid_and_has_its_frame(torch, profiled, trace_of):
    trace = trace_of(profiled(lambda: torch.ones(2), record_shapes=True))
    assert trace["schemaVersion"] == 1 and trace["displayTimeUnit"] == "ms"
    assert trace["record_shapes"] == 1 and "with_stack" not in trace
    assert trace["traceName"].endswith("trace.json") and trace["deviceProperties"] == []
    names = {event["name"] for event in trace["traceEvents"]}
    assert {"PyTorch Profiler (0)", "Record Window End", "process_name"} <= names
    [window] = by_category(trace)["Trace"]
    for event in trace["traceEvents"]:
        assert {"ph", "name", "pid", "tid", "ts"} <= event.keys()
        if event["ph"] == "X":
            assert event["dur"] >= 0
            assert window["ts"] <= event["ts"] <= window["ts"] + window["dur"]


def test_ops_and_ranges_have_their_lane_and_arguments(torch, profiled, trace_of):
    def program():
        with torch.profiler.record_function("range", "with arguments"):
            torch.ones(2, 3).sum(0)

    found = by_category(trace_of(profiled(program, record_shapes=True, with_stack=True)))
    [annotation] = found["user_annotation"]
    assert annotation["name"] == "range"
    [ones, total] = found["cpu_op"]
    assert (ones["name"], total["name"]) == ("aten::ones", "aten::sum")
    assert {event["tid"] for event in (annotation, ones, total)} == {annotation["tid"]}
    assert annotation["pid"] == os.getpid()
    assert annotation["ts"] <= ones["ts"] and ones["ts"] + ones["dur"] <= total["ts"]
    args = total["args"]
    assert args["Input Dims"][0] == [2, 3] and args["Input type"][0] == "float"
    assert args["Input Strides"][0] == [3, 1] and args["Concrete Inputs"][:2] == ["", "[0]"]
    assert "test_trace.py" in args["Call stack"]


def test_arrows_from_ops_to_their_gradients(torch, profiled, trace_of):
    x = torch.ones(2, requires_grad=True)
    found = by_category(trace_of(profiled(lambda: x.exp().sum().backward())))
    starts = {event["id"]: event for event in found["fwdbwd"] if event["ph"] == "s"}
    ends = {event["id"]: event for event in found["fwdbwd"] if event["ph"] == "f"}
    assert len(starts) == 2 and starts.keys() == ends.keys()
    at = {event["ts"]: event["name"] for event in found["cpu_op"]}
    pairs = {(at[starts[each]["ts"]], at[ends[each]["ts"]]) for each in starts}
    assert pairs == {("aten::exp", "ExpBackward0"), ("aten::sum", "SumBackward0")}


def test_pipelines_have_a_lane_of_their_own(torch, profiled, trace_of):
    a = torch.ones(64)
    results = []

    def program():
        with torch.pipeline():
            results.append((a + 1).relu())
            results.append(torch.mm(torch.ones(2, 2), torch.ones(2, 2)))

    found = by_category(trace_of(profiled(program)))
    lane = {event["name"]: event for event in found["pipeline"]}
    assert {
        "pipeline::record",
        "pipeline::flush",
        "pipeline::plan",
        "pipeline::execute",
        "pipeline::fused(add, relu)",
        "pipeline::mm",
    } <= lane.keys()
    [number] = {event["tid"] for event in found["pipeline"]}
    assert number not in {event["tid"] for event in found["cpu_op"]}
    names = {
        event["tid"]: event["args"]["name"]
        for event in found["M"]
        if event["name"] == "thread_name"
    }
    assert names[number].startswith("pipeline of thread")
    recorded, flushed = lane["pipeline::record"], lane["pipeline::flush"]
    assert recorded["ts"] + recorded["dur"] <= flushed["ts"]
    assert flushed["args"]["Reason"] == "context_exit"
    # Ops take their time while they are recorded.
    [add] = [event for event in found["cpu_op"] if event["name"] == "aten::add"]
    assert recorded["ts"] <= add["ts"] + add["dur"] <= flushed["ts"]


def test_threads_of_the_pool_have_lanes(torch, profiled, trace_of):
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        # A busy machine may not run the second thread in time; then the first does all. It has the
        # longer the more there is to do.
        for attempt in range(100):
            x = torch.ones(1 << min(20 + attempt // 10, 25))
            found = by_category(trace_of(profiled(x.exp)))
            [op] = found["cpu_op"]
            if any(event["tid"] != op["tid"] for event in found["thread_pool"]):
                break
        else:
            pytest.fail("one thread did all")
    finally:
        torch.set_num_threads(threads)
    for event in found["thread_pool"]:
        assert event["name"] == "parallel_for"
        assert op["ts"] <= event["ts"] and event["ts"] + event["dur"] <= op["ts"] + op["dur"]


def test_compressed_traces_and_metadata(torch, trace_of):
    prof = torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CPU])
    prof.preset_metadata_json("preset", "[1, 2]")
    with prof:
        torch.ones(2)
        prof.add_metadata("text", 'with "quotes"')
        prof.add_metadata_json("number", "3")
    trace = trace_of(prof, "trace.json.gz")
    assert trace["preset"] == [1, 2] and trace["number"] == 3
    assert trace["text"] == 'with "quotes"'


def test_a_trace_can_be_had_without_events(torch, profiled, trace_of):
    config = torch.profiler._ExperimentalConfig(trace_only=True)
    prof = profiled(lambda: torch.ones(2), experimental_config=config)
    assert by_category(trace_of(prof))["cpu_op"]
    with pytest.raises(RuntimeError, match="trace_only=True"):
        prof.events()


def test_lists_of_events_can_be_written(torch, profiled, tmp_path):
    path = tmp_path / "events.json"
    profiled(lambda: torch.ones(2)).events().export_chrome_trace(str(path))
    assert [event["name"] for event in json.loads(path.read_text())] == ["aten::ones"]
