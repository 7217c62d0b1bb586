"""Traces in Chrome's format: one lane for each thread, pipeline, stream, and device's memory."""

import gzip
import json
import os
import socket

from mindtorch_v2 import _kinds
from mindtorch_v2.autograd._profiler_events import (
    ENGINE,
    NODE,
    OP,
    PIPELINE,
    POOL,
    USER,
    Inputs,
)

_CATEGORIES = {
    OP: "cpu_op",
    ENGINE: "cpu_op",
    NODE: "cpu_op",
    USER: "user_annotation",
    PIPELINE: "pipeline",
    POOL: "thread_pool",
}
_DEVICE_ORDER = 5_000_000  # devices below the host
_PIPELINE_LANES = 1 << 32  # above any thread's number


def write_trace(path, recording, metadata, *, record_shapes):
    """Writes a recording; `metadata` are texts of JSON by name."""
    trace = {
        "schemaVersion": 1,
        "deviceProperties": _device_properties(recording),
        **{key: json.loads(value) for key, value in metadata.items()},
        "host_name": socket.gethostname(),
        "displayTimeUnit": "ms",
        "baseTimeNanoseconds": recording.unix_minus_clock_ns,
        "traceEvents": _Lanes(recording, record_shapes).events(),
        "traceName": os.fspath(path),
    }
    open_file = gzip.open if os.fspath(path).endswith(".gz") else open
    with open_file(path, "wt") as file:
        file.write(json.dumps(trace))


def _devices(recording):
    return sorted({(work.device_kind, work.device_index) for work in recording.device})


def _device_properties(recording):
    found = []
    for kind, index in _devices(recording):
        found.append({"id": index, "name": _kinds.module(kind).get_device_name(index)})
    return found


class _Lanes:
    def __init__(self, recording, record_shapes):
        self._recording = recording
        self._record_shapes = record_shapes
        self._process = os.getpid()
        self._thread_ids = {thread.number: thread.system_id for thread in recording.threads}

    def events(self):
        return [
            *self._names(),
            *self._host(),
            *self._device(),
            *self._memory(),
            *self._arrows_to_backward(),
            *self._frame(),
        ]

    def _time(self, time_ns):
        return time_ns / 1000

    # --- names of lanes -----------------------------------------------------------------------

    def _name(self, kind, process, lane, **args):
        time = self._time(self._recording.start_ns)
        return {"ph": "M", "name": kind, "ts": time, "pid": process, "tid": lane, "args": args}

    def _names(self):
        yield self._name("process_name", self._process, 0, name="python")
        yield self._name("process_labels", self._process, 0, labels="CPU")
        yield self._name("process_sort_index", self._process, 0, sort_index=self._process)
        for thread in self._recording.threads:
            lane = thread.system_id
            name = f"thread {lane} ({thread.name})"
            yield self._name("thread_name", self._process, lane, name=name)
            yield self._name("thread_sort_index", self._process, lane, sort_index=lane)
            if any(event.kind == PIPELINE for event in thread.events):
                name = f"pipeline of thread {lane}"
                lane += _PIPELINE_LANES
                yield self._name("thread_name", self._process, lane, name=name)
                yield self._name("thread_sort_index", self._process, lane, sort_index=lane)
        for kind, device in _devices(self._recording):
            yield self._name("process_name", device, 0, name="python")
            yield self._name("process_labels", device, 0, labels=f"{kind.upper()} {device}")
            yield self._name("process_sort_index", device, 0, sort_index=_DEVICE_ORDER + device)
        streams = {(work.device_index, work.stream) for work in self._recording.device}
        for device, stream in sorted(streams):
            yield self._name("thread_name", device, stream, name=f"stream {stream}")
            yield self._name("thread_sort_index", device, stream, sort_index=stream)

    # --- threads and pipelines ----------------------------------------------------------------

    def _host(self):
        index = 0
        for thread in self._recording.threads:
            for event in thread.events:
                lane = thread.system_id + (_PIPELINE_LANES if event.kind == PIPELINE else 0)
                yield {
                    "ph": "X",
                    "cat": _CATEGORIES[event.kind],
                    "name": event.full_name,
                    "pid": self._process,
                    "tid": lane,
                    "ts": self._time(event.start_ns),
                    "dur": (event.end_ns - event.start_ns) / 1000,
                    "args": {**self._args(event, thread), "Ev Idx": index},
                }
                index += 1

    def _args(self, event, thread):
        args = {"External id": event.id, "Record function id": 0}
        if event.kind == PIPELINE and event.detail:
            args["Reason"] = event.detail
        if event.kind == USER and event.detail:
            args["Arguments"] = event.detail
        if event.sequence >= 0:
            args["Sequence number"] = event.sequence
            args["Fwd thread id"] = thread.number if event.kind in (ENGINE, NODE) else 0
        if self._record_shapes and event.arguments:
            inputs = Inputs(event.arguments)
            args["Concrete Inputs"] = [
                "" if value is None else str(value) for value in inputs.concrete
            ]
            args["Input type"] = inputs.dtypes
            args["Input Strides"] = inputs.strides
            args["Input Dims"] = inputs.structured_shapes
        if event.stack:
            args["Call stack"] = ";".join(reversed(event.stack))
        return args

    def _arrows_to_backward(self):
        """From each op to the node that differentiates it: the innermost op with its number."""
        for thread in self._recording.threads:
            forward = {
                event.sequence: event
                for event in thread.events
                if event.kind == OP and event.sequence >= 0
            }
            for event in thread.events:
                op = forward.get(event.sequence)
                if event.kind != NODE or op is None or op.start_ns > event.start_ns:
                    continue
                lane = thread.system_id
                yield from self._arrow(
                    "fwdbwd",
                    op.id,
                    (self._process, lane, op.start_ns),
                    (self._process, lane, event.start_ns),
                )

    def _arrow(self, name, number, start, end):
        for phase, (process, lane, time_ns) in (("s", start), ("f", end)):
            event = {
                "ph": phase,
                "id": number,
                "cat": name,
                "name": name,
                "pid": process,
                "tid": lane,
                "ts": self._time(time_ns),
            }
            yield {**event, "bp": "e"} if phase == "f" else event

    # --- streams ------------------------------------------------------------------------------

    def _device(self):
        lanes = {}
        for thread in self._recording.threads:
            for event in thread.events:
                is_pipeline = event.kind == PIPELINE
                lanes[event.id] = thread.system_id + (_PIPELINE_LANES if is_pipeline else 0)
        for work in self._recording.device:
            args = {
                "External id": work.launched_by,
                "device": work.device_index,
                "stream": work.stream,
                "correlation": work.id,
            }
            if work.bytes:
                args["bytes"] = work.bytes
            yield {
                "ph": "X",
                "cat": "gpu_memcpy" if work.bytes else "kernel",
                "name": work.name,
                "pid": work.device_index,
                "tid": work.stream,
                "ts": self._time(work.start_ns),
                "dur": (work.end_ns - work.start_ns) / 1000,
                "args": args,
            }
            if work.launched_by in lanes:
                yield from self._arrow(
                    "ac2g",
                    work.id,
                    (self._process, lanes[work.launched_by], work.launch_ns),
                    (work.device_index, work.stream, work.start_ns),
                )

    # --- memory -------------------------------------------------------------------------------

    def _memory(self):
        for thread in self._recording.threads:
            for memory in thread.memory:
                time = self._time(memory.time_ns)
                yield {
                    "ph": "i",
                    "cat": "cpu_instant_event",
                    "s": "t",
                    "name": "[memory]",
                    "pid": self._process,
                    "tid": thread.system_id,
                    "ts": time,
                    "args": {
                        "Total Reserved": memory.reserved_bytes,
                        "Total Allocated": memory.allocated_bytes,
                        "Bytes": memory.bytes,
                        "Device Id": memory.device_index,
                        "Device Type": _kinds.ROWS[memory.device_kind].torch_type,
                        "Addr": memory.address,
                    },
                }
                device = "CPU" if memory.is_host else f"{memory.device_kind}:{memory.device_index}"
                counted = {"Allocated": memory.allocated_bytes}
                if not memory.is_host:
                    counted["Reserved"] = memory.reserved_bytes
                yield {
                    "ph": "C",
                    "name": f"Memory ({device})",
                    "pid": self._process,
                    "tid": 0,
                    "ts": time,
                    "args": counted,
                }

    # --- the whole ----------------------------------------------------------------------------

    def _frame(self):
        start, end = self._time(self._recording.start_ns), self._time(self._recording.end_ns)
        yield {
            "ph": "X",
            "cat": "Trace",
            "name": "PyTorch Profiler (0)",
            "pid": "Spans",
            "tid": "PyTorch Profiler",
            "ts": start,
            "dur": end - start,
            "args": {"Op count": 0},
        }
        for name, time in (
            ("Iteration Start: PyTorch Profiler", start),
            ("Record Window End", end),
        ):
            yield {
                "ph": "i",
                "s": "g",
                "name": name,
                "pid": "Traces",
                "tid": "Trace PyTorch Profiler",
                "ts": time,
            }
