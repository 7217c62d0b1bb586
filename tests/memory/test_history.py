"""Recording what allocators do; snapshots that torch's memory viewer opens."""

import contextlib
import io
import json
import os
import pickle
import pickletools
import subprocess
import sys
import threading

import pytest

MIB = 1 << 20
ACTIONS = {"alloc", "free_requested", "free_completed", "segment_alloc", "segment_free",
           "segment_map", "segment_unmap", "snapshot", "oom"}  # fmt: skip


# --- what the viewer needs ----------------------------------------------------------------------


def check_plain(value):
    """Only what the viewer's unpickler knows."""
    if type(value) in (list, tuple):
        for item in value:
            check_plain(item)
    elif type(value) is dict:
        for key, item in value.items():
            assert type(key) is str
            check_plain(item)
    else:
        assert type(value) in (int, float, str, bool, type(None)), type(value)


def check_frames(frames):
    for frame in frames:
        assert set(frame) == {"name", "filename", "line"}
        assert frame["name"] and frame["filename"] and frame["line"] > 0


def check_segment(segment):
    assert set(segment) == {"device", "address", "total_size", "allocated_size", "active_size",
                            "requested_size", "stream", "segment_type", "segment_pool_id",
                            "is_expandable", "frames", "blocks"}  # fmt: skip
    assert segment["segment_type"] in ("small", "large")
    check_frames(segment["frames"])
    address, sums = segment["address"], {"active_allocated": 0, "active_pending_free": 0,
                                         "inactive": 0}  # fmt: skip
    requested = 0
    for block in segment["blocks"]:
        assert set(block) == {"address", "size", "requested_size", "state", "frames"}
        assert block["address"] == address and block["size"] > 0
        address += block["size"]
        sums[block["state"]] += block["size"]
        check_frames(block["frames"])
        if block["state"] == "inactive":
            assert block["frames"] == []
        else:
            requested += block["requested_size"]
    assert address == segment["address"] + segment["total_size"]
    assert segment["allocated_size"] == sums["active_allocated"]
    assert segment["active_size"] == sums["active_allocated"] + sums["active_pending_free"]
    assert segment["requested_size"] == requested


def check_entry(entry):
    assert entry["action"] in ACTIONS
    assert ("device_free" if entry["action"] == "oom" else "addr") in entry
    assert type(entry["size"]) is type(entry["stream"]) is type(entry["time_us"]) is int
    assert entry["compile_context"] == "N/A" and entry["user_metadata"] == ""
    assert "category" not in entry
    check_frames(entry.get("frames", []))


def check_states(segments, trace):
    """Walks back from the present: at each point every block lies in a segment that exists, and a
    free that was asked for and is not complete belongs to a block that waits."""
    memory = {s["address"]: s["total_size"] for s in segments}
    blocks = {
        b["address"]: (b["requested_size"], b["state"])
        for s in segments
        for b in s["blocks"]
        if b["state"] != "inactive"
    }

    def inside(address, size):
        return any(a <= address and address + size <= a + n for a, n in memory.items())

    for entry in reversed(trace):
        action, address, size = entry["action"], entry.get("addr"), entry["size"]
        if action == "alloc":
            assert blocks.pop(address) == (size, "active_allocated")
        elif action == "free_completed":
            assert address not in blocks
            blocks[address] = (size, "active_pending_free")
        elif action == "free_requested":
            assert blocks[address] == (size, "active_pending_free")
            blocks[address] = (size, "active_allocated")
        elif action == "segment_alloc":
            assert memory.pop(address) == size
        elif action == "segment_free":
            memory[address] = size
        for block, (size, _) in blocks.items():
            assert inside(block, size), (entry, hex(block))


def check_viewer_rules(snapshot, whole_history=True):
    check_plain(snapshot)
    assert set(snapshot) == {"segments", "device_traces", "allocator_settings",
                             "external_annotations"}  # fmt: skip
    assert snapshot["external_annotations"] == []
    for segment in snapshot["segments"]:
        check_segment(segment)
        assert segment["device"] < len(snapshot["device_traces"])
    for device, trace in enumerate(snapshot["device_traces"]):
        mine = [s for s in snapshot["segments"] if s["device"] == device]
        assert [s["address"] for s in mine] == sorted(s["address"] for s in mine)
        times = [entry["time_us"] for entry in trace]
        assert times == sorted(times)
        for entry in trace:
            check_entry(entry)
        if whole_history:
            check_states(mine, trace)


def busy_run(allocator, npu, steps=300):
    """A program that allocates, frees, uses other streams and runs full."""
    npu.total = 300 * MIB
    held, value = [], 1
    for step in range(steps):
        value = value * 48271 % 2147483647
        size = value % (4 * MIB) + 1 if value % 3 else value % 3000 + 1
        held.append(allocator.malloc(size, stream=(step // 10) % 3))
        if step % 7 == 0:
            allocator.record_stream(held[-1], 7)
            npu.pending.add(7)
        if value % 2 and len(held) > 5:
            allocator.free(held.pop(value % len(held)))
        if step % 100 == 99:
            allocator.empty_cache()
        if step % 60 == 59:
            with contextlib.suppress(RuntimeError):
                allocator.malloc(290 * MIB)
    return held


def test_a_dumped_run_keeps_to_every_rule(npu_module, allocator, npu, tmp_path):
    npu_module.memory._record_memory_history()
    held = busy_run(allocator, npu)
    npu.pending.add(7)
    allocator.record_stream(held[0], 7)
    allocator.free(held.pop(0))
    path = tmp_path / "snapshot.pickle"
    npu_module.memory._dump_snapshot(str(path))
    data = path.read_bytes()
    assert data[:2] == b"\x80\x04"  # protocol 4: the newest the viewer reads
    opcodes = {opcode.name for opcode, _, _ in pickletools.genops(data)}
    assert not opcodes & {"GLOBAL", "STACK_GLOBAL", "REDUCE", "BUILD", "NEWOBJ", "INST"}
    snapshot = pickle.loads(data)
    check_viewer_rules(snapshot)
    json.dumps(snapshot)
    found = {entry["action"] for entry in snapshot["device_traces"][0]}
    assert found == {"alloc", "free_requested", "free_completed", "segment_alloc", "segment_free",
                     "snapshot", "oom"}  # fmt: skip
    states = {b["state"] for s in snapshot["segments"] for b in s["blocks"]}
    assert states == {"active_allocated", "active_pending_free", "inactive"}
    assert len(data) < 1 << 20  # texts and frames are written once


def test_the_default_file_name(npu_module, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    npu_module.memory._dump_snapshot()
    assert os.listdir(tmp_path) == ["dump_snapshot.pickle"]


def test_torchs_tools_read_it(oracle, npu_module, allocator, npu, tmp_path):
    from torch.cuda import _memory_viz

    npu_module.memory._record_memory_history()
    busy_run(allocator, npu)
    npu_module.memory._dump_snapshot(str(tmp_path / "s.pickle"))
    with open(tmp_path / "s.pickle", "rb") as file:
        snapshot = pickle.load(file)
    assert "total_reserved" in _memory_viz.segsum(snapshot)
    assert "alloc" in _memory_viz.trace(snapshot)
    assert "<body" in _memory_viz.trace_plot(snapshot)
    assert "<body" in _memory_viz.segment_plot(snapshot)
    assert sum(_memory_viz.calc_active(s) for s in snapshot["segments"]) == sum(
        s["active_size"] for s in snapshot["segments"]
    )


def test_history_may_start_late(npu_module, allocator, npu):
    before = allocator.malloc(100)
    npu_module.memory._record_memory_history()
    allocator.malloc(200)
    allocator.free(before)
    snapshot = npu_module.memory._snapshot()
    check_viewer_rules(snapshot)
    [trace] = snapshot["device_traces"]
    assert [e["action"] for e in trace] == ["alloc", "free_requested", "free_completed", "snapshot"]


# --- recording ----------------------------------------------------------------------------------


def actions(module):
    [trace] = module.memory._snapshot()["device_traces"]
    return [entry["action"] for entry in trace if entry["action"] != "snapshot"]


def test_nothing_is_kept_until_asked(npu_module, allocator):
    allocator.malloc(1)
    snapshot = npu_module.memory._snapshot()
    assert snapshot["device_traces"] == [[]]
    assert snapshot["segments"][0]["blocks"][0]["frames"] == []
    check_viewer_rules(snapshot)


def test_frames_are_the_callers(npu_module, allocator):
    npu_module.memory._record_memory_history()

    def inner():
        return allocator.malloc(100)

    def outer():
        return inner()

    ptr = outer()
    snapshot = npu_module.memory._snapshot()
    [segment] = snapshot["segments"]
    frames = segment["blocks"][0]["frames"]
    assert segment["blocks"][0]["address"] == ptr
    assert [f["name"].rsplit(".", 1)[-1] for f in frames[:3]] == [
        "inner",
        "outer",
        "test_frames_are_the_callers",
    ]
    first = inner.__code__.co_firstlineno
    assert frames[0]["line"] == first + 1 and frames[0]["filename"] == __file__
    assert frames[1]["line"] == outer.__code__.co_firstlineno + 1
    entry = next(e for e in snapshot["device_traces"][0] if e["action"] == "alloc")
    assert entry["frames"] == frames


@pytest.mark.parametrize(
    "context, on_block, on_alloc, on_free",
    [(None, False, False, False), ("state", True, False, False), ("alloc", True, True, False),
     ("all", True, True, True)],
)  # fmt: skip
def test_levels_of_context(npu_module, allocator, context, on_block, on_alloc, on_free):
    npu_module.memory._record_memory_history(context=context)
    kept = allocator.malloc(100)
    allocator.free(allocator.malloc(200))
    snapshot = npu_module.memory._snapshot()
    block = snapshot["segments"][0]["blocks"][0]
    assert block["address"] == kept and bool(block["frames"]) == on_block
    [trace] = snapshot["device_traces"]
    entries = {entry["action"]: entry for entry in trace}
    assert ("frames" in entries["alloc"]) == on_alloc
    assert ("frames" in entries["free_requested"]) == on_free


def test_state_keeps_no_history(npu_module, allocator):
    npu_module.memory._record_memory_history("state")
    for _ in range(3):
        allocator.malloc(100)
    snapshot = npu_module.memory._snapshot()
    assert len(snapshot["device_traces"][0]) == 1
    assert all(b["frames"] for b in snapshot["segments"][0]["blocks"][:3])


def test_the_list_has_an_end(npu_module, allocator):
    npu_module.memory._record_memory_history(max_entries=4)
    for _ in range(5):
        allocator.free(allocator.malloc(100))
    [trace] = npu_module.memory._snapshot()["device_traces"]
    assert [e["action"] for e in trace] == ["alloc", "free_requested", "free_completed", "snapshot"]


def test_enabling_again_keeps_clearing_forgets(npu_module, allocator):
    memory = npu_module.memory
    memory._record_memory_history()
    allocator.malloc(100)
    memory._record_memory_history()
    assert actions(npu_module) == ["segment_alloc", "alloc"]
    memory._record_memory_history(clear_history=True)
    assert actions(npu_module) == []
    allocator.malloc(100)
    memory._record_memory_history(None)
    assert actions(npu_module) == []


def test_actions_may_be_left_out(npu_module, allocator):
    npu_module.memory._record_memory_history(skip_actions=["free_requested", "segment_alloc"])
    allocator.free(allocator.malloc(100))
    assert actions(npu_module) == ["alloc", "free_completed"]


def test_the_form_with_a_bool(npu_module, allocator):
    memory = npu_module.memory
    memory._record_memory_history(True, trace_alloc_max_entries=10, trace_alloc_record_context=True)
    allocator.free(allocator.malloc(100))
    [trace] = memory._snapshot()["device_traces"]
    entries = {entry["action"]: entry for entry in trace}
    assert "frames" in entries["alloc"] and "frames" not in entries["free_requested"]
    memory._record_memory_history(False)
    assert actions(npu_module) == []


@pytest.mark.parametrize(
    "kwargs", [{"enabled": "everything"}, {"context": "none"}, {"stacks": "cpp"}]
)
def test_wrong_words_are_refused(npu_module, kwargs):
    with pytest.raises(RuntimeError, match=next(iter(kwargs))):
        npu_module.memory._record_memory_history(**kwargs)


def test_out_of_memory_is_recorded(npu_module, allocator, npu):
    npu.total = 30 * MIB
    npu_module.memory._record_memory_history()
    allocator.malloc(21 * MIB)
    with pytest.raises(npu_module.OutOfMemoryError):
        allocator.malloc(20 * MIB + 1)
    [trace] = npu_module.memory._snapshot()["device_traces"]
    [entry] = [e for e in trace if e["action"] == "oom"]
    assert entry["device_free"] == 8 * MIB and entry["size"] == 20 * MIB + 512
    assert "addr" not in entry and entry["frames"]


def test_settings_are_part_of_the_snapshot(npu_module, allocator):
    settings = npu_module.memory._snapshot()["allocator_settings"]
    assert settings["max_split_size"] == -1 and settings["garbage_collection_threshold"] == 0.0
    assert settings["expandable_segments"] is False
    assert settings["roundup_power2_divisions"] == {str(1 << i): 0 for i in range(16)}
    allocator.max_split_size = 30 * MIB
    assert npu_module.memory._snapshot()["allocator_settings"]["max_split_size"] == 30 * MIB


def test_devices_have_traces_of_their_own(torch, npu, clean_conf):
    """Allocators made before and after recording began."""
    first = npu.attach(torch.npu._get_allocator(0))
    torch.npu.memory._record_memory_history()
    third = npu.attach(torch.npu._get_allocator(2))
    first.malloc(1)
    third.malloc(5 * MIB)
    snapshot = torch.npu.memory._snapshot()
    assert [s["device"] for s in snapshot["segments"]] == [0, 2]
    assert [len(trace) for trace in snapshot["device_traces"]] == [3, 0, 3]
    check_viewer_rules(snapshot)
    torch.npu.memory._record_memory_history(None)
    assert [len(trace) for trace in torch.npu.memory._snapshot()["device_traces"]] == [0, 0, 0]


def test_code_that_is_gone_still_has_its_name(npu_module, allocator):
    npu_module.memory._record_memory_history()
    names = {}
    exec("def made_up(a):\n    return a.malloc(100)\n", names)
    names.pop("made_up")(allocator)
    names.clear()
    block = npu_module.memory._snapshot()["segments"][0]["blocks"][0]
    assert block["frames"][0]["name"] == "made_up" and block["frames"][0]["line"] == 2


def test_recording_in_threads(npu_module, allocator, npu):
    npu_module.memory._record_memory_history()
    errors = []

    def work(number):
        try:
            for turn in range(100):
                ptr = allocator.malloc(turn * 1000 + 1, stream=number)
                if turn % 9 == 0:
                    npu_module.memory._snapshot()
                allocator.free(ptr)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    allocator.empty_cache()
    check_viewer_rules(npu_module.memory._snapshot())


def test_leaving_with_history_on():
    """Interpreters end in peace whatever is recorded and held; nothing is leaked."""
    program = """
import mindtorch_v2 as torch
from mindtorch_v2._backends.npu.allocator import NpuAllocator
torch.npu.memory._record_memory_history()
a = torch.npu._get_allocator()
b = NpuAllocator()
b._configure_history(True, 3, 1000, [], False)
for each in (a, b):
    each._raw_malloc = lambda size: (1 << 33, size)
    each._raw_free = lambda ptr: None
    each.malloc(100)
    each.record_stream(each.malloc(50), "side")
"""
    result = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=60
    )
    assert result.returncode == 0, result.stderr
    assert result.stderr == ""


def test_snapshots_print_nothing(npu_module, allocator):
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        allocator.malloc(1)
        npu_module.memory._snapshot()
    assert out.getvalue() == ""
