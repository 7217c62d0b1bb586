"""torch.npu.simulator: NPUs without a card, with checks that a card does not have.

The simulator exports CANN's own functions, so that programs for NPUs run on any machine. It is
taken instead of CANN where MINDTORCH_NPU=sim says so, or enable() does before the first use.
`python -m mindtorch_v2.npu.simulator` says where the libraries are and what they simulate.

>>> torch.npu.simulator.is_enabled()
True
"""

import contextlib
import ctypes
import json
import os
import typing
from collections.abc import Iterator

from mindtorch_v2 import _C, _streams
from mindtorch_v2.npu.simulator import _library

__all__ = [
    "Call",
    "Report",
    "SimulatorReport",
    "add_faults",
    "calls",
    "checked",
    "clear_calls",
    "clear_faults",
    "clear_reports",
    "enable",
    "faults",
    "hang",
    "is_enabled",
    "release",
    "reports",
    "reset",
    "set",
    "settings",
    "trace",
]

# Settings whose values are made at the first use.
_FIXED = ("devices", "memory", "soc")


class Call(typing.NamedTuple):
    """One entry of the call log: a call that the program made, or a task that a stream ran."""

    order: int
    kind: str  # "call" or "task"
    function: str
    arguments: dict[str, int | str]
    device: int | None  # of a task
    stream: int | None  # the id of the stream; None where the call names none
    thread: int | None  # of a call
    time_ns: int  # since the log began
    duration_ns: int | None  # of a task
    code: int  # of a call that a fault made fail, or of a task that failed


class Report(typing.NamedTuple):
    """What a check found: the check's name, and a text for people."""

    check: str
    text: str

    def __str__(self):
        return f"{self.check}: {self.text}"


class SimulatorReport(RuntimeError):
    """Checks of the simulator found something; `reports` has all of it."""

    def __init__(self, reports: list[Report]) -> None:
        super().__init__("\n".join(str(report) for report in reports))
        self.reports = reports


_reports: list[Report] = []
_raise_at_synchronize = False


def is_enabled() -> bool:
    """Whether the simulator is behind torch.npu, or will be at the first use."""
    if _C._npu_is_in_use():
        return bool(_C._npu_load_report()["simulated"])
    return _C._npu_chosen() == "sim"


def _control():
    if not is_enabled():
        raise RuntimeError(
            "the Ascend simulator is not the library in use; set MINDTORCH_NPU=sim, or call "
            "torch.npu.simulator.enable() before anything else of torch.npu"
        )
    return _library.control()


def _text(value):
    if isinstance(value, bool):
        return str(int(value))
    return value if isinstance(value, str) else str(value)


def enable(**settings: object) -> None:
    """Chooses the simulator, as MINDTORCH_NPU=sim does, and sets what set() takes. To be called
    before NPUs are used; also where there is none, after torch.npu.is_available() has said so.

    >>> torch.npu.simulator.enable(checks="all")
    """
    if not (is_enabled() and _C._npu_is_in_use()):
        _library.folder()
        _C._npu_choose("sim")
    set(**settings)


def set(*, raise_reports: bool | None = None, **settings: object) -> None:
    """Sets how the simulator behaves. Numbers take K, M and G as texts.

    Only before the first use: devices (their number), memory (bytes of each), soc (its name).
    At any time:
      checks           "all", "none", or some of "memory,lifetime,leaks,uninitialized,races"
      print            whether reports go to stderr; abort: whether the first ends the process
      raise_reports    whether the next wait, also that of reading a value, raises SimulatorReport
      log              entries that the call log keeps; True for 65536, 0 to turn it off
      trace            a file that is written as a Chrome trace at the end
      faults           see add_faults()
      latency, jitter  microseconds before each task, and at most so many more; seed: of the jitter
      slowness         a task takes so many times longer
      units            tasks that a device runs at once, higher priority first; 0: all
      phase_one        microseconds of the host that planning an op takes at least; repeat: that
                       running it again does
      compute          False: ops are checked, queued and ordered, but compute nothing

    >>> torch.npu.simulator.set(checks="races,memory", latency=50)
    >>> torch.npu.simulator.settings()["latency"]
    '50'
    """
    control = _control()
    for name, value in settings.items():
        if name in _FIXED and _C._npu_is_in_use():
            raise RuntimeError(
                f"{name} is set before the first use of torch.npu; the simulator is in use already"
            )
        if control.mtsim_set(name.encode(), _text(value).encode()) != 0:
            expected = _library.text("expected", name.encode())
            if not expected:
                raise ValueError(f"the simulator has no setting {name}={value!r}")
            raise ValueError(f"{name} of the simulator is {expected}, not {value!r}")
    if raise_reports is not None:
        _set_raising(bool(raise_reports))


def _set_raising(wanted: bool) -> None:
    global _raise_at_synchronize
    _raise_at_synchronize = wanted
    _C._npu_raise_reports_at_sync(wanted)


def settings() -> dict[str, str]:
    """The settings in force, as texts.

    >>> torch.npu.simulator.settings()["devices"]
    '8'
    """
    _control()
    return json.loads(_library.text("settings"))


def reset() -> None:
    """As at the start: settings, faults, streams that hang, reports, call log. Between tests.
    Tensors, streams and events stay, and so do the devices in use: number, memory, name.
    """
    _control().mtsim_restore()
    _reports.clear()
    _set_raising(False)


# Calls.


def calls(function: str | None = None) -> list[Call]:
    """The call log, oldest first, where set(log=True) turned it on; of one function, if named.

    >>> torch.npu.simulator.set(log=True)
    >>> torch.npu.synchronize()
    >>> torch.npu.simulator.calls()[-1].function
    'aclrtSynchronizeDevice'
    """
    _control()
    entries = (json.loads(line) for line in _library.text("calls").splitlines())
    return [
        Call(
            entry["number"],
            entry["kind"],
            entry["name"],
            entry.get("arguments", {}),
            entry.get("device"),
            entry.get("stream"),
            entry.get("thread"),
            entry["time_ns"],
            entry.get("duration_ns"),
            entry["code"],
        )
        for entry in entries
        if function in (None, entry["name"])
    ]


def clear_calls() -> None:
    """Empties the call log."""
    _control().mtsim_clear_calls()


def trace(path: str | os.PathLike[str]) -> None:
    """Writes the call log as a Chrome trace, which ui.perfetto.dev opens: a lane for each stream
    and each thread.
    """
    if _control().mtsim_write_trace(str(path).encode()) != 0:
        raise OSError(f"the trace cannot be written to {path}")


# Checks.


def reports() -> list[Report]:
    """What checks have found so far: a list of Report.

    >>> torch.npu.simulator.reports()
    []
    """
    _control()
    lines = _library.text("take_reports").splitlines()
    _reports.extend(Report(**json.loads(line)) for line in lines)
    return list(_reports)


def clear_reports() -> None:
    """Forgets what checks have found."""
    reports()
    _reports.clear()


@contextlib.contextmanager
def checked() -> Iterator[None]:
    """A with-block that raises SimulatorReport at its end if a check found anything in it. The end
    waits for all work.

    >>> with torch.npu.simulator.checked():
    ...     x = torch.ones(3, device="npu") + 1
    """
    before = len(reports())
    yield
    from mindtorch_v2 import npu

    for device in range(npu.device_count()):
        npu.synchronize(device)
    found = reports()[before:]
    if found:
        raise SimulatorReport(found)


def _after_synchronize():
    """What torch.npu's waits do before they begin, and synchronize() at its end, too."""
    if _raise_at_synchronize:
        found = reports()
        _reports.clear()
        if found:
            raise SimulatorReport(found)


_streams._after_wait.append(_after_synchronize)


# Faults.


def add_faults(text: str) -> None:
    """Makes calls, tasks, streams or memory fail. Words separated by spaces:

      call:aclrtMalloc:3:207001   the third call from now fails with the code; 3+: all from it on
      task:aclnnAdd:1:507015      the first task fails on the device; * is any task
      hang:2:5                    the fifth task of stream 2 (its id, or *) hangs until release()
      memory:0:1048576            device 0 gives no more than so many bytes

    >>> torch.npu.simulator.add_faults("call:aclrtMallocHost:1:207001")
    >>> torch.npu.simulator.clear_faults()
    """
    if _control().mtsim_add_faults(text.encode()) != 0:
        raise ValueError(f"not understood: {text!r}; see help(torch.npu.simulator.add_faults)")


def clear_faults() -> None:
    """Nothing fails any more."""
    _control().mtsim_clear_faults()


@contextlib.contextmanager
def faults(text: str) -> Iterator[None]:
    """A with-block in which add_faults(text) holds; after it there are no faults.

    >>> with torch.npu.simulator.faults("task:*:1:507015"):
    ...     x = torch.ones(3, device="npu")
    ...     torch.npu.synchronize()
    Traceback (most recent call last):
    mindtorch_v2.AcceleratorError: ...
    """
    add_faults(text)
    try:
        yield
    finally:
        clear_faults()


def _number(stream: _C._Stream | int) -> int:
    """The id that the call log shows."""
    if isinstance(stream, int):
        return stream
    number = ctypes.c_int32()
    _C._memory_info("npu", stream.device_index)  # makes the device ACL's current one
    handle = ctypes.c_void_p(stream.native_handle)
    code = _control().aclrtStreamGetId(handle, ctypes.byref(number))
    if code != 0:
        raise RuntimeError(f"aclrtStreamGetId failed with error code {code}")
    return number.value


def hang(stream: _C._Stream | int = -1) -> None:
    """A stream, or its id in the call log, takes up no more tasks until release(); -1 is every
    stream there is.

    >>> torch.npu.simulator.hang(torch.npu.current_stream())
    >>> x = torch.ones(3, device="npu")
    >>> torch.npu.current_stream().query()
    False
    >>> torch.npu.simulator.release()
    """
    if _control().mtsim_hang_stream(_number(stream)) != 0:
        raise ValueError(f"there is no stream {stream}")


def release(stream: _C._Stream | int = -1) -> None:
    """A stream that hangs goes on; -1: all."""
    _control().mtsim_release_stream(_number(stream))
