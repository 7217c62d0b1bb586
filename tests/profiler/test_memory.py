"""Memory in profiles is what the program took and gave back."""

import gzip
import json

import pytest


def usage(prof):
    return {each.key: each.cpu_memory_usage for each in prof.key_averages()}


def test_memory_of_ops_is_that_of_their_results(torch, profiled):
    kept = []

    def program():
        kept.append(torch.ones(100))
        kept.append(kept[0].exp())
        kept.append(kept[0].t())

    found = usage(profiled(program, profile_memory=True))
    assert found == {"aten::ones": 400, "aten::exp": 400, "aten::t": 0}


def test_memory_given_back_outside_of_ops_is_an_event_of_its_own(torch, profiled):
    def program():
        x = torch.ones(1000)
        del x

    prof = profiled(program, profile_memory=True)
    assert usage(prof) == {"aten::ones": 4000, "[memory]": -4000}
    # What was there before does not count.
    before = torch.ones(10)
    holder = [before]
    del before
    assert usage(profiled(holder.clear, profile_memory=True)) == {}


def test_children_are_taken_away_from_self(torch, profiled):
    kept = []

    def program():
        with torch.profiler.record_function("outer"):
            kept.append(torch.nn.functional.linear(torch.ones(2, 4), torch.ones(3, 4)))

    prof = profiled(program, profile_memory=True)
    sums = {each.key: each for each in prof.key_averages()}
    assert sums["aten::linear"].cpu_memory_usage == 24
    assert sums["aten::linear"].self_cpu_memory_usage == 0
    # The arguments of linear() are gone when the range ends, or a moment later.
    total = sum(event.self_cpu_memory_usage for event in prof.events())
    assert total == 24


def test_large_memory_and_threads(torch, profiled):
    kept = []
    prof = profiled(lambda: kept.append(torch.zeros(1 << 20)), profile_memory=True)
    assert usage(prof) == {"aten::zeros": 4 << 20}
    assert "4.00 MB" in prof.key_averages().table()


def test_memory_in_the_trace(torch, profiled, trace_of):
    def program():
        x = torch.ones(25)
        y = x.exp()
        del x, y

    events = trace_of(profiled(program, profile_memory=True))["traceEvents"]
    instants = [event["args"] for event in events if event["name"] == "[memory]"]
    assert [each["Bytes"] for each in instants] == [100, 100, -100, -100]
    assert [each["Total Allocated"] for each in instants] == [100, 200, 100, 0]
    assert {each["Device Type"] for each in instants} == {0}
    assert instants[0]["Addr"] == instants[2]["Addr"] != instants[1]["Addr"]
    counters = [event for event in events if event["ph"] == "C"]
    assert {event["name"] for event in counters} == {"Memory (CPU)"}
    assert [event["args"]["Allocated"] for event in counters] == [100, 200, 100, 0]


def test_timeline_of_memory(torch, profiled, tmp_path):
    def program():
        x = torch.ones(25)
        y = x.exp()
        del x, y

    settings = {"profile_memory": True, "record_shapes": True, "with_stack": True}
    prof = profiled(program, **settings)
    path = str(tmp_path / "memory.json")
    prof.export_memory_timeline(path, device="cpu")
    times, totals = json.loads((tmp_path / "memory.json").read_text())
    assert totals == [100, 200, 100, 0] and times == sorted(times)
    raw = str(tmp_path / "memory.raw.json.gz")
    prof.export_memory_timeline(raw)
    with gzip.open(raw) as file:
        assert [entry[1:] for entry in json.load(file)] == [
            ["create", 100],
            ["create", 100],
            ["destroy", 100],
            ["destroy", 100],
        ]
    for missing in settings:
        with pytest.raises(ValueError, match=f"{missing}=True required"):
            profiled(program, **{**settings, missing: False}).export_memory_timeline(path)
    with pytest.raises(ValueError, match="json"):
        prof.export_memory_timeline(str(tmp_path / "memory.html"))
