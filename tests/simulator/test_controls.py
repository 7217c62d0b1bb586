"""torch.npu.simulator: settings, checks, call log and faults, from Python."""

import json
import pathlib
import re
import shutil
import subprocess

import pytest

from tests.support.simulated import run, start

RACE = """
x = torch.zeros(1000, device="npu")
torch.npu.synchronize()
side = torch.npu.Stream()
x.add_(1)               # line 6
with torch.npu.stream(side):
    y = x * 2           # line 8: nothing says that this comes second
"""
ORDERED = RACE.replace("with torch", "side.wait_stream(torch.npu.current_stream())\nwith torch")


# Choosing it.


def test_a_program_can_choose_it():
    run(
        """
assert not torch.npu.simulator.is_enabled()
torch.npu.simulator.enable(devices=3, memory="1G", soc="Ascend910B1")
assert torch.npu.simulator.is_enabled()
assert torch.npu.device_count() == 3
assert torch.npu.get_device_properties(2).total_memory == 1 << 30
assert torch.npu.get_device_name() == "Ascend910B1"
torch.npu.simulator.enable(log=True)  # again changes nothing
""",
        MINDTORCH_NPU="off",
    )


def test_a_program_can_choose_it_where_there_is_no_npu():
    run(
        """
assert not torch.npu.is_available()
try:
    torch.ones(3).npu()
except RuntimeError:
    torch.npu.simulator.enable(devices=2)
assert torch.npu.is_available() and torch.npu.device_count() == 2
assert (torch.ones(3).npu() + 1).tolist() == [2, 2, 2]
""",
        MINDTORCH_NPU="cann",
        ASCEND_HOME_PATH="/nowhere",
    )


def test_too_late_to_choose_is_said():
    text = run(
        """
torch.npu.is_available()
torch.npu.simulator.enable()  # it is what is in use
try:
    torch._C._npu_choose("cann")
except RuntimeError as error:
    print(error)
"""
    )
    assert "before its first use" in text


def test_the_loader_may_find_it_in_place_of_cann():
    folder = start(["-m", "mindtorch_v2.npu.simulator", "--folder"]).stdout.strip()
    run(
        """
assert torch.npu.is_available() and torch.npu.simulator.is_enabled()
torch.npu.simulator.set(log=True)
torch.npu.synchronize()
assert torch.npu.simulator.calls("aclrtSynchronizeDevice")
assert "This is the simulator" in torch.npu.doctor.describe(torch.npu.doctor.examine(ops=[]))
""",
        MINDTORCH_NPU="cann",
        LD_LIBRARY_PATH=folder,
    )


def test_a_trace_can_be_asked_for_from_outside(tmp_path):
    path = tmp_path / "trace.json"
    run(
        'torch.ones(3, device="npu").tolist()',
        MINDTORCH_SIM_LOG="1",
        MINDTORCH_SIM_TRACE=str(path),
    )
    assert "aclrtSynchronizeStream" in path.read_text()


def test_without_it_every_function_says_how_to_get_it():
    text = run(
        """
s = torch.npu.simulator
for call in (s.calls, s.reports, s.reset, s.settings, s.clear_calls, s.clear_faults, s.release,
             lambda: s.set(log=1), lambda: s.add_faults("memory:0:1"), lambda: s.trace("x")):
    try:
        call()
    except RuntimeError as error:
        print(error)
""",
        MINDTORCH_NPU="off",
    )
    assert text.count("MINDTORCH_NPU=sim") == 10


def test_some_settings_are_for_the_beginning():
    run(
        """
import pytest
s = torch.npu.simulator
s.set(devices=2, memory=1 << 24)
assert torch.npu.device_count() == 2 and torch.npu.mem_get_info()[1] == 1 << 24
for name, value in {"devices": 3, "memory": "1G", "soc": "Ascend310P3"}.items():
    with pytest.raises(RuntimeError, match="before the first use"):
        s.set(**{name: value})
s.set(latency=2.5, checks="races,memory", slowness=2)
assert s.settings()["latency"] == "2.5" and s.settings()["checks"] == "memory,races"
for name, value in {"colour": "red", "checks": "everything", "latency": "soon",
                    "faults": "nonsense"}.items():
    with pytest.raises(ValueError, match=name):
        s.set(**{name: value})
s.reset()
assert s.settings()["latency"] == "0" and "leaks" in s.settings()["checks"]
assert s.settings()["devices"] == "2" and s.settings()["memory"] == str(1 << 24)
"""
    )


# The call log.


def test_the_call_log_has_functions_arguments_streams_order_and_time():
    run(
        """
s = torch.npu.simulator
a = torch.ones(3, device="npu")
assert s.calls() == []  # off
s.set(log=True)
side = torch.npu.Stream()
side.wait_stream(torch.npu.current_stream())
with side:
    b = a + a
side.synchronize()
calls = s.calls()
assert [call.order for call in calls] == list(range(len(calls)))
call, task = s.calls("aclnnAdd")
assert (call.kind, task.kind) == ("call", "task") and call.order < task.order
assert call.stream == task.stream != s.calls("aclrtRecordEvent")[0].stream
assert call.arguments["stream"] == hex(side.npu_stream)
assert task.device == 0 and task.duration_ns > 0 and call.time_ns <= task.time_ns
assert call.code == task.code == 0
assert s.calls("aclrtSynchronizeStream")[0].stream == task.stream
s.clear_calls()
assert s.calls() == []
s.set(log=5)
for _ in range(10):
    torch.npu.synchronize()
assert len(s.calls()) == 5
s.set(log=0)
torch.npu.synchronize()
assert s.calls() == []
"""
    )


def test_the_trace_has_a_lane_for_each_stream(tmp_path):
    path = tmp_path / "trace.json"
    run(
        f"""
torch.npu.simulator.set(log=True)
a = torch.ones(3, device="npu")
with torch.npu.Stream() as side:
    torch.ones(3, device="npu")
torch.npu.synchronize()
torch.npu.simulator.trace({str(path)!r})
"""
    )
    events = json.loads(path.read_text())["traceEvents"]
    lanes = {event["args"]["name"] for event in events if event["name"] == "thread_name"}
    assert {"stream 0", "stream 1"} <= lanes
    assert {"aclnnInplaceFillScalar", "aclrtSynchronizeDevice"} <= {e["name"] for e in events}


# Checks.


def test_a_race_names_both_operations_streams_and_lines():
    text = run(
        RACE
        + """
[report] = torch.npu.simulator.reports()
print(report)
assert torch.npu.simulator.reports() == [report]
torch.npu.simulator.clear_reports()
assert torch.npu.simulator.reports() == []
"""
    )
    assert re.match(r"races: aclnn\w*Mul\w* on stream 1", text), text
    assert re.search(r"aclnn\w*Add\w* on stream 0", text), text
    assert "<string>:6)" in text and "<string>:8)" in text


def test_the_ordered_twin_is_silent():
    run(ORDERED + "\ntorch.npu.synchronize()\nassert torch.npu.simulator.reports() == []")


def test_lines_of_functions_that_let_other_threads_run():
    """A large copy gives the interpreter's lock up; its line is known all the same."""
    text = run(
        """
x = torch.zeros(1 << 16, device="npu")
torch.npu.synchronize()
host = torch.zeros(1 << 16)
side = torch.npu.Stream()
x.add_(1)
with side:
    host = x.cpu()  # line 9
print(torch.npu.simulator.reports()[0])
"""
    )
    assert "<string>:9)" in text


def test_threads_without_the_lock_are_safe():
    """Many threads make calls with every check on, some holding the interpreter's lock."""
    run(
        """
import threading
torch.npu.simulator.set(log=True)
def work():
    with torch.npu.Stream():
        x = torch.ones(1 << 15, device="npu")
        for _ in range(20):
            x = (x + 1).cpu().npu()
        assert x[0].item() == 21
threads = [threading.Thread(target=work) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
assert torch.npu.simulator.reports() == []
"""
    )


def test_reports_can_be_exceptions():
    text = run(
        f"""
with torch.npu.simulator.checked():
    torch.ones(3, device="npu").add_(1)
try:
    with torch.npu.simulator.checked():
        program = {RACE!r}
        exec(program)
except torch.npu.simulator.SimulatorReport as error:
    assert isinstance(error, RuntimeError)
    assert [report.check for report in error.reports] == ["races"]
    print(error)
"""
    )
    assert "aclnnMul" in text


@pytest.mark.parametrize(
    "wait",
    ["torch.npu.synchronize", "side.synchronize", "event.synchronize", "x.tolist", "x[0].item",
     "x.cpu"],
)  # fmt: skip
def test_reports_can_be_raised_by_the_next_wait(wait):
    run(
        f"""
import pytest
torch.npu.simulator.set(raise_reports=True)
{RACE}
event = side.record_event()
with pytest.raises(torch.npu.simulator.SimulatorReport, match="aclnnMul"):
    {wait}()
{wait}()
torch.npu.simulator.reset()
{RACE}
torch.npu.synchronize()
assert len(torch.npu.simulator.reports()) == 1
"""
    )


def test_checks_can_be_switched_off():
    run(
        "torch.npu.simulator.set(checks='memory,lifetime')"
        + RACE
        + "\ntorch.npu.synchronize()\nassert torch.npu.simulator.reports() == []"
    )


def test_printing_can_be_switched_off():
    noisy, quiet = (
        start(["-c", "import mindtorch_v2 as torch\n" + RACE], MINDTORCH_SIM_PRINT=flag).stderr
        for flag in "10"
    )
    assert "races" in noisy and quiet == ""


# Faults.


def test_calls_and_tasks_can_fail():
    run(
        """
import pytest
s = torch.npu.simulator
x = torch.ones(3, device="npu")
with s.faults("call:aclrtSynchronizeDevice:2:507899"):
    torch.npu.synchronize()
    with pytest.raises(RuntimeError, match="507899"):
        torch.npu.synchronize()
s.add_faults("task:*:1:507015")
y = x + x  # the device fails later
with pytest.raises(RuntimeError, match="507015"):
    torch.npu.synchronize()
assert (x + x).tolist() == [2, 2, 2]
with pytest.raises(ValueError, match="nonsense"):
    s.add_faults("nonsense")
s.add_faults("call:aclrtSynchronizeDevice:1+:507899")
s.clear_faults()
torch.npu.synchronize()
"""
    )


def test_memory_can_run_out_at_a_byte():
    run(
        """
import pytest
with torch.npu.simulator.faults("memory:0:4194304"):
    with pytest.raises(torch.OutOfMemoryError):
        torch.empty(1 << 24, device="npu")
torch.empty(1 << 24, device="npu")
"""
    )


def test_a_stream_hangs_until_it_is_released():
    run(
        """
import pytest, threading
s = torch.npu.simulator
s.set(log=True)
side = torch.npu.Stream()
with side:
    x = torch.ones(3, device="npu")
side.synchronize()
number = s.calls("aclnnInplaceFillScalar")[0].stream
s.hang(side)
with side:
    x.add_(1)
assert not side.query()
s.release(torch.npu.Stream("npu:1"))  # another one
assert not side.query()
torch.npu.current_stream().synchronize()  # the others go on
timer = threading.Timer(0.05, s.release, [number])
timer.start()
side.synchronize()
assert side.query() and x.tolist() == [2, 2, 2]
with pytest.raises(ValueError, match="99"):
    s.hang(99)
s.hang()
x.add_(1)
s.reset()  # releases, too
assert x.tolist() == [3, 3, 3]
"""
    )


def test_a_slow_device_shows_that_work_is_asynchronous():
    run(
        """
torch.npu.simulator.set(latency=20000, log=True)  # 20 ms before each task
x = torch.ones(3, device="npu")
for _ in range(3):
    x.add_(1)
assert not torch.npu.current_stream().query()
assert x.tolist() == [4, 4, 4] and torch.npu.current_stream().query()
"""
    )


# python -m mindtorch_v2.npu.simulator


def test_the_command_prints_where_what_and_how():
    text = start(["-m", "mindtorch_v2.npu.simulator"], MINDTORCH_NPU="off").stdout
    folder = start(["-m", "mindtorch_v2.npu.simulator", "--folder"]).stdout.strip()
    assert (pathlib.Path(folder) / "libascendcl.so").exists()
    assert folder in text and "LD_LIBRARY_PATH" in text and "MINDTORCH_NPU=sim" in text
    assert f"-L{folder}" in text
    libraries = re.findall(r"^  (lib\w+\.so)$", text, re.M)
    assert {"libascendcl.so", "libopapi.so", "libacl_op_compiler.so"} < set(libraries)
    assert all((pathlib.Path(folder) / name).exists() for name in libraries)


def test_the_list_is_what_the_libraries_answer():
    """A function that is listed as not supported says so by name."""
    lines = start(["-m", "mindtorch_v2.npu.simulator", "--list"]).stdout.splitlines()
    listed = dict(reversed(line.split("\t")) for line in lines)
    assert listed["aclnnAdd"] == listed["aclrtMalloc"] == listed["HcclAllReduce"] == "simulated"
    assert listed["aclnnTransQuantParam"] == listed["aclRfft1D"] == "simulated"
    assert listed["HcclBatchSendRecv"] == listed["acldvppMalloc"] == "not supported"
    assert listed["aclmdlLoadFromFile"] == listed["aclopExecute"] == "not supported"
    assert listed["aclopCompileAndExecute"] == listed["aclopCompileAndExecute Cast"] == "simulated"
    folder = start(["-m", "mindtorch_v2.npu.simulator", "--folder"]).stdout.strip()
    # Those with an older form, which programs then take, are not exported.
    assert listed["aclnnFusedMatmul"] == listed["aclnnFlashAttentionScoreV3"] == "not supported"
    text = run(
        f"""
import ctypes
opapi = ctypes.CDLL({folder + "/libopapi.so"!r})
acl = ctypes.CDLL({folder + "/libascendcl.so"!r})
acl.aclGetRecentErrMsg.restype = ctypes.c_char_p
print(opapi.aclnnFusedMatmulGetWorkspaceSize(*[None] * 9))
print(acl.aclGetRecentErrMsg().decode())
"""
    )
    assert text.startswith("561003") and "aclnnFusedMatmul" in text


DEVICES = """
#include <stdio.h>
int aclInit(const char*);
int aclrtGetDeviceCount(unsigned*);
int main(void) {
  unsigned count = 0;
  if (aclInit(0) || aclrtGetDeviceCount(&count)) return 1;
  printf("%u devices\\n", count);
  return 0;
}
"""
needs_gcc = pytest.mark.skipif(shutil.which("gcc") is None, reason="needs a C compiler")


def advice(start_of_line):
    text = start(["-m", "mindtorch_v2.npu.simulator"]).stdout
    [command] = [line.strip() for line in text.splitlines() if start_of_line in line]
    return command


@needs_gcc
def test_a_c_program_links_as_the_command_says(tmp_path):
    (tmp_path / "program.c").write_text(DEVICES)
    subprocess.run(advice("gcc").split(), cwd=tmp_path, check=True)
    done = subprocess.run(["./a.out"], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout == "8 devices\n"


@needs_gcc
@pytest.mark.parametrize(
    "way, flags",
    [("LD_LIBRARY_PATH=", "--enable-new-dtags"), ("LD_PRELOAD=", "--disable-new-dtags")],
)
def test_a_program_that_was_linked_to_cann_runs_as_the_command_says(tmp_path, way, flags):
    """To something that has its names and no devices."""
    (tmp_path / "program.c").write_text(DEVICES)
    cann = "int aclInit(const char* f) { return 0; }"
    cann += "int aclrtGetDeviceCount(unsigned* n) { return 0; }"
    (tmp_path / "cann.c").write_text(cann)
    library = ["-shared", "-Wl,-soname,libascendcl.so", "-o", "libascendcl.so"]
    subprocess.run(["gcc", "cann.c", *library], cwd=tmp_path, check=True)
    link = ["-o", "program", f"-L{tmp_path}", f"-Wl,{flags},-rpath,{tmp_path}", "-lascendcl"]
    subprocess.run(["gcc", "program.c", *link], cwd=tmp_path, check=True)
    for command, count in [("./program", 0), (advice(way), 8)]:
        done = subprocess.run(command, shell=True, cwd=tmp_path, capture_output=True, text=True)
        assert done.stdout == f"{count} devices\n"
