"""From what the recorder saw to events by torch's names."""

from typing import Any, NamedTuple

from mindtorch_v2.autograd._profiler_flops import flops_of
from mindtorch_v2.autograd._profiler_settings import DeviceType
from mindtorch_v2.autograd.profiler_util import (
    MEMORY_EVENT_NAME,
    EventList,
    EventMetadata,
    FunctionEvent,
)

# Kinds of what threads do, as the recorder numbers them.
OP, ENGINE, NODE, USER, PIPELINE, POOL = range(6)
_SCOPES = {NODE: 1, USER: 7}
_BACKWARD_SCOPE = 1

# Any pointwise function by its number: torch has no such op.
_OWN_OPS = frozenset(["_pointwise"])

_TYPE_NAMES = {
    "bool": "bool",
    "uint8": "unsigned char",
    "int8": "signed char",
    "int16": "short int",
    "int32": "int",
    "int64": "long int",
    "uint16": "short unsigned int",
    "uint32": "unsigned int",
    "uint64": "long unsigned int",
    "float16": "c10::Half",
    "bfloat16": "c10::BFloat16",
    "float32": "float",
    "float64": "double",
    "complex32": "c10::complex<c10::Half>",
    "complex64": "c10::complex<float>",
    "complex128": "c10::complex<double>",
}


class HostEvent(NamedTuple):
    """What a thread did, as the recorder tells it. Times are nanoseconds."""

    id: int
    parent: int
    kind: int
    is_async: bool
    name: str
    detail: str
    start_ns: int
    end_ns: int
    sequence: int
    arguments: list | None
    stack: list | None

    @property
    def full_name(self):
        """torch's name for it."""
        if self.kind == OP:
            if "::" in self.name:
                return self.name
            return f"{'mindtorch' if self.name in _OWN_OPS else 'aten'}::{self.name}"
        if self.kind == ENGINE:
            return f"autograd::engine::evaluate_function: {self.name}"
        if self.kind == PIPELINE:
            return f"pipeline::{self.name}"
        return self.name


class MemoryEvent(NamedTuple):
    """Memory that was taken, or, with bytes below 0, given back."""

    time_ns: int
    inside: int
    address: int
    bytes: int
    allocated_bytes: int
    reserved_bytes: int
    device_kind: str
    device_index: int

    @property
    def is_host(self):
        return self.device_index < 0


class DeviceEvent(NamedTuple):
    """Work of a stream."""

    id: int
    launched_by: int
    launch_thread: int
    launch_ns: int
    name: str
    device_kind: str
    device_index: int
    stream: int
    start_ns: int
    end_ns: int
    bytes: int


class Thread(NamedTuple):
    number: int
    system_id: int
    name: str
    events: list
    memory: list


class Recording:
    """What one session saw."""

    def __init__(self, raw):
        self.start_ns = raw["start_ns"]
        self.end_ns = raw["end_ns"]
        self.unix_minus_clock_ns = raw["unix_minus_clock_ns"]
        self.threads = [
            Thread(
                number,
                system_id,
                name,
                [HostEvent(*event) for event in events],
                [MemoryEvent(*event) for event in memory],
            )
            for number, system_id, name, events, memory in raw["threads"]
        ]
        self.device = [DeviceEvent(*event) for event in raw["device"]]

    def microseconds(self, time_ns):
        """Since the session began."""
        return (time_ns - self.start_ns) / 1000


class Inputs:
    """The arguments of an op as torch shows them."""

    def __init__(self, arguments: list[tuple[str, Any]]):
        self.shapes, self.structured_shapes, self.strides = [], [], []
        self.dtypes, self.concrete = [], []
        for kind, value in arguments:
            dtype, shape, strides, concrete = "", [], [], None
            if kind == "tensor":
                dtype, shape, strides = _TYPE_NAMES.get(value[0], value[0]), value[1], value[2]
            elif kind == "tensors":
                dtype = "TensorList"
                shape = [each[1] for each in value]
                strides = [each[2] for each in value]
            elif kind in ("number", "dtype", "text"):
                dtype, concrete = "Scalar", value
            elif kind == "list":
                dtype, concrete = "ScalarList", value
            self.dtypes.append(dtype)
            self.shapes.append([] if kind == "tensors" else shape)
            self.structured_shapes.append(shape)
            self.strides.append(strides)
            self.concrete.append(concrete)


_NO_INPUTS = Inputs([])


def make_events(recording, *, use_device, profile_memory, with_flops, record_shapes, overloads):
    """The list of events, with their tree, memory and launches."""
    by_id = {}
    for thread in recording.threads:
        for event in thread.events:
            if event.kind == POOL or event.is_async:
                continue
            made = _host_event(
                event, thread, recording, use_device, with_flops, record_shapes, overloads
            )
            by_id[event.id] = made
            parent = by_id.get(event.parent)
            if parent is not None:
                parent.append_cpu_child(made)
                made.set_cpu_parent(parent)
    events = list(by_id.values())
    if with_flops:
        _count_once(events)
    if profile_memory:
        events += _add_memory(recording, by_id, use_device)
    if use_device:
        events += _add_launches(recording, by_id, use_device)
    _take_stacks_of_forward(events)
    events.sort(key=lambda event: (event.time_range.start, -event.time_range.end))
    listed = EventList(
        events, use_device=use_device, profile_memory=profile_memory, with_flops=with_flops
    )
    listed._tree_built = True
    return listed


def _host_event(event, thread, recording, use_device, with_flops, record_shapes, overloads):
    name = event.full_name
    inputs = Inputs(event.arguments) if record_shapes and event.arguments else _NO_INPUTS
    is_backward = event.kind in (ENGINE, NODE)
    return FunctionEvent(
        id=event.id,
        name="ProfilerStep*" if name.startswith("ProfilerStep#") else name,
        trace_name=name,
        overload_name=event.detail if overloads and event.kind == OP else "",
        thread=thread.number,
        fwd_thread=thread.number if is_backward and event.sequence >= 0 else 0,
        start_us=recording.microseconds(event.start_ns),
        end_us=recording.microseconds(event.end_ns),
        input_shapes=inputs.shapes,
        structured_input_shapes=inputs.structured_shapes,
        structured_input_strides=inputs.strides,
        input_dtypes=inputs.dtypes,
        concrete_inputs=inputs.concrete,
        kwinputs={},
        stack=event.stack or [],
        scope=_SCOPES.get(event.kind, 0),
        use_device=use_device,
        sequence_nr=event.sequence,
        flops=flops_of(event.name, event.arguments) if with_flops and event.kind == OP else 0,
        is_user_annotation=event.kind == USER,
        activity_type="user_annotation" if event.kind == USER else "cpu_op",
        external_id=event.id,
    )


def _count_once(events):
    """An op that is made of others has their operations."""

    def inside(event):
        return any(child.flops or inside(child) for child in event.cpu_children)

    for event in events:
        if event.name == "aten::linear" and inside(event):
            event.flops = 0


def _add_memory(recording, by_id, use_device):
    """Adds to each event what was taken inside it; memory outside of all is events of its own."""
    alone = []
    for thread in recording.threads:
        for memory in thread.memory:
            usage = "cpu_memory_usage" if memory.is_host else "device_memory_usage"
            event = by_id.get(memory.inside)
            if event is None:
                time = recording.microseconds(memory.time_ns)
                event = FunctionEvent(
                    id=0,
                    name=MEMORY_EVENT_NAME,
                    trace_name=None,
                    overload_name="",
                    thread=thread.number,
                    fwd_thread=thread.number,
                    start_us=time,
                    end_us=time,
                    input_shapes=[],
                    stack=[],
                    use_device=use_device,
                    flops=0,
                    activity_type="cpu_instant_event",
                )
                alone.append(event)
            while event is not None:
                setattr(event, usage, getattr(event, usage) + memory.bytes)
                event = event.cpu_parent
    return alone


def _add_launches(recording, by_id, use_device):
    """The work of devices, each also a kernel of the event that launched it."""
    made = []
    for work in recording.device:
        event = FunctionEvent(
            id=work.id,
            name=work.name,
            trace_name=work.name,
            overload_name="",
            thread=work.stream,
            start_us=recording.microseconds(work.start_ns),
            end_us=recording.microseconds(work.end_ns),
            input_shapes=[],
            stack=[],
            use_device=use_device,
            device_type=DeviceType.PrivateUse1,
            device_index=work.device_index,
            device_resource_id=work.stream,
            flops=0,
            activity_type="gpu_memcpy" if work.bytes else "kernel",
            linked_correlation_id=work.launched_by,
            extra_meta=EventMetadata(stream=work.stream, bytes=work.bytes or None),
        )
        made.append(event)
        launcher = by_id.get(work.launched_by)
        if launcher is not None:
            launcher.append_kernel(work.name, work.device_index, event.time_range.elapsed_us())
    return made


def _backward_node(event):
    while event is not None and event.scope != _BACKWARD_SCOPE:
        event = event.cpu_parent
    return event


def _take_stacks_of_forward(events):
    """Of what a backward pass does, the stack is that of the op which is differentiated."""
    if not any(event.stack for event in events):
        return
    forward, backward = {}, []
    for event in events:
        node = _backward_node(event)
        if node is not None:
            backward.append((event, node))
        elif event.stack:
            forward.setdefault((event.sequence_nr, event.thread), event.stack)
    for event, node in backward:
        event.stack = forward.get((node.sequence_nr, node.fwd_thread), [])
