"""python -m mindtorch_v2.memory replay: what a recorded program needs under other settings."""

import json
import pickle
import subprocess
import sys

import pytest
from mindtorch_v2 import memory

MIB = 1 << 20


def growing_trace(steps=200):
    """A buffer that is replaced by a larger one, again and again."""
    trace, last = [], None
    for step in range(steps):
        trace.append({"action": "alloc", "addr": step + 1, "size": (20 + step) * MIB, "stream": 0})
        if last is not None:
            trace.append({"action": "free_requested", "addr": last, "size": 0, "stream": 0})
            trace.append({"action": "free_completed", "addr": last, "size": 0, "stream": 0})
        last = step + 1
    return trace


@pytest.fixture
def recording(tmp_path):
    path = tmp_path / "run.pickle"
    path.write_bytes(pickle.dumps({"segments": [], "device_traces": [growing_trace()]}, 4))
    return path


def run(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "mindtorch_v2.memory", *map(str, arguments)],
        capture_output=True,
        text=True,
    )


def test_the_command_prints_a_table_and_recommends(recording):
    done = run("replay", recording)
    assert done.returncode == 0, done.stderr
    assert "200 allocations" in done.stdout
    assert "expandable_segments:True" in done.stdout
    assert 'Recommended: MINDTORCH_NPU_ALLOC_CONF="expandable_segments:True"' in done.stdout


def test_confs_of_the_user_are_tried_in_order(recording):
    done = run("replay", recording, "--conf", "max_split_size_mb:64", "--conf", "bogus:1", "--json")
    figures = json.loads(done.stdout)
    assert [row["conf"] for row in figures["results"]] == ["max_split_size_mb:64", "bogus:1"]
    assert "bogus" in done.stderr


def test_a_device_that_is_too_small_runs_out_at_a_known_entry(recording):
    done = run("replay", recording, "--conf", "outgrown_segment_age:0", "--memory", "300MiB")
    assert "out of memory" in done.stdout and "at entry" in done.stdout
    assert "Every setting runs out of memory." in done.stdout
    [(_, result)] = memory.replay(growing_trace(), [""], device_bytes=300 * MIB)
    step = next(
        i for i, entry in enumerate(growing_trace()) if entry["size"] > 140 * MIB
    )  # two of that size do not fit together
    assert abs(result["out_of_memory_at"] - step) < 40
    assert result["peak_reserved_bytes"] <= 300 * MIB


def test_settings_change_the_peak():
    results = dict(
        memory.replay(growing_trace(), ["outgrown_segment_age:0", "outgrown_segment_age:8"])
    )
    torch_rules, ours = results.values()
    assert ours["peak_reserved_bytes"] < torch_rules["peak_reserved_bytes"] / 4
    assert ours["peak_active_bytes"] == torch_rules["peak_active_bytes"]


def test_json_recordings_and_other_devices(tmp_path):
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"device_traces": [[], growing_trace(3)]}))
    assert run("replay", path, "--device", 1).returncode == 0
    done = run("replay", path)
    assert done.returncode == 1 and "_record_memory_history" in done.stderr
    done = run("replay", path, "--device", 5)
    assert done.returncode == 1 and "no device 5" in done.stderr


def torch_cuda_snapshot():
    """What torch.cuda.memory._snapshot() gives: every kind of entry, with all that torch writes."""
    frames = [{"name": "forward", "filename": "model.py", "line": 7}]
    common = {"stream": 0, "time_us": 1, "compile_context": "N/A", "user_metadata": ""}
    place, trace = 0x7F0000000000, []

    def add(action, **fields):
        trace.append({"action": action, **common, **fields})

    add("segment_alloc", addr=place, size=20 * MIB, frames=frames)
    add("free_completed", addr=1234, size=77, frames=frames)  # from before the recording
    for step in range(3):
        add("alloc", addr=place, size=5 * MIB - 100, frames=frames)
        add("alloc", addr=place + 6 * MIB, size=3 * MIB, stream=0x55550000, frames=frames)
        add("free_requested", addr=place, size=5 * MIB - 100, frames=frames)
        add("free_completed", addr=place, size=5 * MIB - 100)
        add("free_requested", addr=place + 6 * MIB, size=3 * MIB, stream=0x55550000)
        add("snapshot", addr=0, size=step)
    add("segment_map", addr=place + 64 * MIB, size=20 * MIB, pool_id=(0, 0))
    trace.append({"action": "oom", "device_free": 5, "size": 512, **common, "frames": frames})
    add("segment_unmap", addr=place + 64 * MIB, size=20 * MIB)
    add("segment_free", addr=place, size=20 * MIB)
    segment = {"device": 0, "address": place, "total_size": 20 * MIB, "allocated_size": 0,
               "active_size": 0, "requested_size": 0, "stream": 0, "segment_type": "large",
               "segment_pool_id": (0, 0), "is_expandable": False, "frames": [],
               "blocks": []}  # fmt: skip
    settings = {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1}
    return {"segments": [segment], "device_traces": [trace, []], "allocator_settings": settings,
            "external_annotations": []}  # fmt: skip


@pytest.mark.parametrize("protocol", [2, 4, 5])
def test_a_recording_of_torch_cuda(tmp_path, protocol):
    path = tmp_path / "run.pickle"
    path.write_bytes(pickle.dumps(torch_cuda_snapshot(), protocol))
    done = run("replay", path, "--json", "--conf", "")
    assert done.returncode == 0, done.stderr
    [result] = json.loads(done.stdout)["results"]
    assert result["allocations"] == 6
    assert result["peak_reserved_bytes"] == 40 * MIB  # two streams
    assert result["peak_active_bytes"] == 8 * MIB
    assert result["out_of_memory_at"] is None


@pytest.mark.parametrize(
    "entry", [{"action": "alloc"}, {"action": "alloc", "addr": 1, "size": -5, "stream": 0},
              {"action": 5}, {"addr": 1}, {"action": "alloc", "addr": "x", "size": 1, "stream": 0},
              "alloc"]
)  # fmt: skip
def test_damaged_recordings_are_refused(tmp_path, entry):
    path = tmp_path / "run.pickle"
    path.write_bytes(pickle.dumps({"device_traces": [[*growing_trace(2), entry]]}))
    done = run("replay", path)
    assert done.returncode == 1
    assert done.stderr.startswith("error: entry 4 of the trace"), done.stderr


@pytest.mark.parametrize(
    "content", [b"", b"junk", b"{", pickle.dumps([1, 2]), pickle.dumps({"segments": []})]
)
def test_files_that_are_no_recording_are_refused(tmp_path, content):
    path = tmp_path / "file"
    path.write_bytes(content)
    done = run("replay", path)
    assert done.returncode == 1
    assert done.stderr.startswith("error: ") and "Traceback" not in done.stderr


def test_recordings_cannot_run_code(tmp_path):
    class Evil:
        def __reduce__(self):
            return (print, ("evil",))

    path = tmp_path / "evil.pickle"
    path.write_bytes(pickle.dumps({"device_traces": [[Evil()]]}))
    done = run("replay", path)
    assert done.returncode == 1 and "evil" not in done.stdout


def test_sizes_are_read_as_people_write_them():
    for text, size in [("64GiB", 64 << 30), ("500M", 500 << 20), ("1.5kb", 1536), ("7", 7)]:
        assert memory._parse_size(text) == size
    with pytest.raises(Exception, match="no size"):
        memory._parse_size("lots")


def test_progress_reaches_the_end():
    seen = []
    memory.replay(growing_trace(5000), ["", "expandable_segments:True"], progress=seen.append)
    assert seen == sorted(seen) and seen[-1] == 1.0 and len(seen) > 2


def test_what_an_allocator_recorded_replays_to_its_own_figures(allocator):
    allocator._configure_history(True, 0, sys.maxsize, [], True)
    blocks = [allocator.malloc(size) for size in (700, 3 * MIB, 30 * MIB, 5 * MIB)]
    for block in blocks[::2]:
        allocator.free(block)
    allocator.malloc(31 * MIB)
    stats = allocator.memory_stats()
    [(_, result)] = memory.replay(allocator.snapshot()["device_traces"][0], [""])
    assert result["peak_reserved_bytes"] == stats["reserved_bytes.all.peak"]
    assert result["peak_active_bytes"] == stats["active_bytes.all.peak"]
    assert result["device_allocations"] == stats["num_device_alloc"]
