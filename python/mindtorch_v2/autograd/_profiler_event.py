"""One event of a profiler, and the sum of several."""

from collections import namedtuple
from typing import Any, NamedTuple

from mindtorch_v2.autograd._profiler_settings import DeviceType
from mindtorch_v2.autograd._profiler_table import format_time

Kernel = namedtuple("Kernel", ["name", "device", "duration"])
Kernel.__doc__ = "What an event of the host launched on a device; the duration in microseconds."


class EventMetadata(NamedTuple):
    """What else is known of an event of a device: its stream, and the bytes of a copy."""

    stream: int | None = None
    bytes: int | None = None


class Interval:
    """From `start` to `end`, in microseconds since the profiler began.

    >>> torch.autograd.profiler_util.Interval(2, 5).elapsed_us()
    3
    """

    def __init__(self, start, end):
        self.start = start
        self.end = end

    def elapsed_us(self):
        """How long it is."""
        return self.end - self.start


class FormattedTimesMixin:
    """Times as texts, and averages: of what has `*_time_total` and `count`."""

    @property
    def cpu_time(self):
        """Of one call, in microseconds."""
        return 0.0 if self.count == 0 else self.cpu_time_total / self.count

    @property
    def device_time(self):
        """Of one call, in microseconds."""
        return 0.0 if self.count == 0 else self.device_time_total / self.count

    cpu_time_str = property(lambda self: format_time(self.cpu_time))
    device_time_str = property(lambda self: format_time(self.device_time))
    cpu_time_total_str = property(lambda self: format_time(self.cpu_time_total))
    device_time_total_str = property(lambda self: format_time(self.device_time_total))
    self_cpu_time_total_str = property(lambda self: format_time(self.self_cpu_time_total))
    self_device_time_total_str = property(lambda self: format_time(self.self_device_time_total))
    # Older names.
    cuda_time = property(lambda self: self.device_time)


class FunctionEvent(FormattedTimesMixin):
    """Something that happened once: an op, a node of a backward pass, a range of the user, or work
    of a device. Times are microseconds, memory is bytes. A total includes the children, what begins
    with `self_` does not.

    >>> with torch.profiler.profile() as prof:
    ...     _ = torch.ones(2) + 1
    >>> [event.name for event in prof.events() if event.cpu_parent is None]
    ['aten::ones', 'aten::add']
    """

    def __init__(
        self,
        id,
        name,
        thread,
        start_us,
        end_us,
        overload_name=None,
        fwd_thread=None,
        input_shapes=None,
        stack=None,
        scope=0,
        use_device=None,
        cpu_memory_usage=0,
        device_memory_usage=0,
        is_async=False,
        is_remote=False,
        sequence_nr=-1,
        node_id=-1,
        device_type=DeviceType.CPU,
        device_index=0,
        device_resource_id=None,
        is_legacy=False,
        flops=None,
        trace_name=None,
        concrete_inputs=None,
        kwinputs=None,
        is_user_annotation=False,
        is_python_function=False,
        activity_type=None,
        metadata_json=None,
        flow_id=None,
        flow_type=None,
        flow_start=None,
        external_id=0,
        linked_correlation_id=0,
        extra_meta=None,
        structured_input_shapes=None,
        structured_input_strides=None,
        input_dtypes=None,
        python_id=-1,
        python_parent_id=-1,
        python_module_id=-1,
    ):
        self.id = id
        self.node_id = node_id
        self.name = name
        self.overload_name = overload_name
        self.trace_name = trace_name
        self.time_range = Interval(start_us, end_us)
        self.thread = thread
        self.fwd_thread = fwd_thread
        self.kernels = []
        self.count = 1
        self.cpu_children = []
        self.cpu_parent = None
        self.input_shapes = input_shapes
        self.concrete_inputs = concrete_inputs
        self.kwinputs = kwinputs
        self.stack = stack
        self.scope = scope
        self.use_device = use_device
        self.cpu_memory_usage = cpu_memory_usage
        self.device_memory_usage = device_memory_usage
        self.is_async = is_async
        self.is_remote = is_remote
        self.sequence_nr = sequence_nr
        self.device_type = device_type
        self.device_index = device_index
        self.device_resource_id = thread if device_resource_id is None else device_resource_id
        self.is_legacy = is_legacy
        self.flops = flops
        self.is_user_annotation = is_user_annotation
        self.is_python_function = is_python_function
        self.activity_type = activity_type
        self.self_cpu_percent = -1
        self.total_cpu_percent = -1
        self.total_device_percent = -1
        self.metadata_json = metadata_json
        self.flow_id = flow_id
        self.flow_type = flow_type
        self.flow_start = flow_start
        self.external_id = external_id
        self.linked_correlation_id = linked_correlation_id
        self.event_metadata = extra_meta
        self.structured_input_shapes = structured_input_shapes
        self.structured_input_strides = structured_input_strides
        self.input_dtypes = input_dtypes
        self.python_id = python_id
        self.python_parent_id = python_parent_id
        self.python_module_id = python_module_id

    def _check_cpu(self, other=None):
        for event in (self, other):
            if event is not None and event.device_type != DeviceType.CPU:
                raise AssertionError("Expected device_type to be CPU")

    def append_kernel(self, name, device, duration):
        """Adds work that it launched on a device."""
        self._check_cpu()
        self.kernels.append(Kernel(name, device, duration))

    def append_cpu_child(self, child):
        """Adds an event that happened directly inside it."""
        self._check_cpu(child)
        self.cpu_children.append(child)

    def set_cpu_parent(self, parent):
        """Names the event that it happened directly inside of."""
        self._check_cpu(parent)
        self.cpu_parent = parent

    def _has_self(self):
        return not self.is_async and self.device_type == DeviceType.CPU

    @property
    def cpu_time_total(self):
        """Zero for work of a device."""
        return self.time_range.elapsed_us() if self.device_type == DeviceType.CPU else 0

    @property
    def self_cpu_time_total(self):
        """Without the children."""
        if not self._has_self():
            return 0
        return self.cpu_time_total - sum(child.cpu_time_total for child in self.cpu_children)

    @property
    def device_time_total(self):
        """Of the work of a device: its time; of an event of the host: of what it launched."""
        if self.is_async or not self.use_device:
            return 0
        if self.device_type != DeviceType.CPU:
            return self.time_range.elapsed_us()
        launched = sum(kernel.duration for kernel in self.kernels)
        return launched + sum(child.device_time_total for child in self.cpu_children)

    @property
    def self_device_time_total(self):
        """Without the children."""
        if self.is_async or not self.use_device:
            return 0
        children = self.cpu_children if self.device_type == DeviceType.CPU else ()
        return self.device_time_total - sum(child.device_time_total for child in children)

    @property
    def self_cpu_memory_usage(self):
        """Without the children."""
        if not self._has_self():
            return 0
        return self.cpu_memory_usage - sum(child.cpu_memory_usage for child in self.cpu_children)

    @property
    def self_device_memory_usage(self):
        """Without the children."""
        if not self._has_self():
            return 0
        children = sum(child.device_memory_usage for child in self.cpu_children)
        return self.device_memory_usage - children

    @property
    def key(self):
        """By which events are summed up."""
        return self.name

    # Older names.
    cuda_time_total = property(lambda self: self.device_time_total)
    self_cuda_time_total = property(lambda self: self.self_device_time_total)
    self_cuda_memory_usage = property(lambda self: self.self_device_memory_usage)

    def __repr__(self):
        device = self.use_device
        children = [child.id for child in self.cpu_children]
        return (
            f"<FunctionEvent id={self.id} name={self.name} overload_name={self.overload_name} "
            f"device_type={self.device_type} node_id={self.node_id} cpu_time={self.cpu_time_str} "
            f"start_us={self.time_range.start} end_us={self.time_range.end} "
            f"cpu_children={children} {device}_time={self.device_time_str} name={self.name} "
            f"thread={self.thread} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} "
            f"{device}_memory_usage={self.device_memory_usage} is_async={self.is_async} "
            f"is_remote={self.is_remote} seq_nr={self.sequence_nr} is_legacy={self.is_legacy}>"
        )


_TAKEN_FROM_FIRST = (
    "key node_id is_async is_remote cpu_parent cpu_children overload_name input_shapes stack scope "
    "device_type is_legacy use_device is_user_annotation"
).split()
_SUMMED = (
    "cpu_time_total device_time_total self_cpu_time_total self_device_time_total cpu_memory_usage "
    "device_memory_usage self_cpu_memory_usage self_device_memory_usage count"
).split()


class FunctionEventAvg(FormattedTimesMixin):
    """The sum of events that have the same key.

    >>> with torch.profiler.profile() as prof:
    ...     _ = torch.ones(2) + 1 + 1
    >>> [sums.count for sums in prof.key_averages() if sums.key == "aten::add"]
    [2]
    """

    def __init__(self):
        self.key: str | None = None
        self.count = 0
        self.node_id = 0
        self.is_async = False
        self.is_remote = False
        self.use_device: str | None = None
        self.cpu_time_total = 0
        self.device_time_total = 0
        self.self_cpu_time_total = 0
        self.self_device_time_total = 0
        self.input_shapes: Any = None
        self.overload_name: str | None = None
        self.stack: list | None = None
        self.scope: int | None = None
        self.cpu_memory_usage = 0
        self.device_memory_usage = 0
        self.self_cpu_memory_usage = 0
        self.self_device_memory_usage = 0
        self.cpu_children: list | None = None
        self.cpu_parent: FunctionEvent | None = None
        self.device_type = DeviceType.CPU
        self.is_legacy = False
        self.is_user_annotation = False
        self.flops = 0

    def add(self, other):
        """Adds an event, or a sum, that has the same key."""
        if not isinstance(other, (FunctionEvent, FunctionEventAvg)):
            raise AssertionError("Expected other to be a FunctionEvent or FunctionEventAvg")
        if self.key is None:
            for name in _TAKEN_FROM_FIRST:
                setattr(self, name, getattr(other, name))
        if other.key != self.key:
            raise AssertionError(f"Expected keys to match, but got {other.key} vs {self.key}")
        for name in _SUMMED:
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.flops += other.flops or 0
        return self

    __iadd__ = add

    def __repr__(self):
        device = self.use_device or "cuda"
        return (
            f"<FunctionEventAvg key={self.key} self_cpu_time={self.self_cpu_time_total_str} "
            f"cpu_time={self.cpu_time_str}  self_{device}_time={self.self_device_time_total_str} "
            f"{device}_time={self.device_time_str} input_shapes={self.input_shapes} "
            f"cpu_memory_usage={self.cpu_memory_usage} "
            f"{device}_memory_usage={self.device_memory_usage}>"
        )
