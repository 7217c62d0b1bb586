"""torch.autograd.profiler_util: the events that a profiler saw, and their sums by name."""

import bisect

from mindtorch_v2 import _kinds
from mindtorch_v2.autograd._profiler_event import (
    EventMetadata,
    FormattedTimesMixin,
    FunctionEvent,
    FunctionEventAvg,
    Interval,
    Kernel,
)
from mindtorch_v2.autograd._profiler_settings import DeviceType
from mindtorch_v2.autograd._profiler_table import build_table

__all__ = [
    "EventList",
    "EventMetadata",
    "FormattedTimesMixin",
    "FunctionEvent",
    "FunctionEventAvg",
    "Interval",
    "Kernel",
    "MemRecordsAcc",
    "StringTable",
]

MEMORY_EVENT_NAME = "[memory]"
OUT_OF_MEMORY_EVENT_NAME = "[OutOfMemory]"


class StringTable(dict):
    """Readable names: those of events here are readable as they are."""

    def __missing__(self, key):
        self[key] = key
        return key


class MemRecordsAcc:
    """Records of memory by their time, to find those of an interval."""

    def __init__(self, mem_records):
        self._records = sorted(mem_records, key=lambda record: record[0].start_ns())
        self._times = [record[0].start_ns() for record in self._records]

    def in_interval(self, start_ns, end_ns):
        """The records from start_ns to end_ns."""
        first = bisect.bisect_left(self._times, start_ns)
        yield from self._records[first : bisect.bisect_right(self._times, end_ns)]


def _device_words():
    """torch's names for what is a device's time or memory here."""
    return (*_kinds.ACCELERATORS, "xpu", "privateuse1")


def device_attribute(name):
    """self_device_time_total for self_cuda_time_total and self_npu_time_total."""
    for word in _device_words():
        name = name.replace(word, "device")
    return name


class EventList(list):
    """Events, or sums of events, with tables of them."""

    def __init__(self, *args, use_device=None, profile_memory=False, with_flops=False):
        super().__init__(*args)
        self._use_device = use_device
        self._profile_memory = profile_memory
        self._with_flops = with_flops
        self._tree_built = False

    def __str__(self):
        return self.table()

    def _like_this(self, events):
        made = EventList(
            events,
            use_device=self._use_device,
            profile_memory=self._profile_memory,
            with_flops=self._with_flops,
        )
        made._tree_built = self._tree_built
        return made

    @property
    def self_cpu_time_total(self):
        """The time of all events, each without its children."""
        return sum(event.self_cpu_time_total for event in self)

    def table(
        self,
        sort_by=None,
        row_limit=100,
        max_src_column_width=75,
        max_name_column_width=55,
        max_shapes_column_width=80,
        header=None,
        top_level_events_only=False,
        time_unit=None,
    ):
        """A text with one line for each event, the largest by `sort_by` first: cpu_time_total,
        self_cpu_time_total, device_time_total, cpu_memory_usage, count and the like. `time_unit`
        is "s", "ms", "us", or what suits each time.

        >>> with torch.profiler.profile() as prof:
        ...     _ = torch.ones(2) + 1
        >>> table = prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=5)
        >>> "Self CPU %" in table and "aten::add" in table
        True
        """
        events = self
        if sort_by is not None:
            wanted = device_attribute(sort_by)
            events = sorted(self, key=lambda event: getattr(event, wanted), reverse=True)
        return build_table(
            events,
            row_limit=row_limit,
            max_src_column_width=max_src_column_width,
            max_name_column_width=max_name_column_width,
            max_shapes_column_width=max_shapes_column_width,
            header=header,
            profile_memory=self._profile_memory,
            with_flops=self._with_flops,
            top_level_events_only=top_level_events_only,
            time_unit=time_unit,
        )

    def export_chrome_trace(self, path):
        """Writes the events as a trace that chrome://tracing and Perfetto open."""
        import json

        trace = [
            {
                "name": event.trace_name,
                "ph": "X",
                "ts": event.time_range.start,
                "dur": event.time_range.elapsed_us(),
                "tid": event.thread,
                "pid": "CPU functions" if event.device_type == DeviceType.CPU else "Devices",
                "args": {},
            }
            for event in self
            if event.trace_name is not None
        ]
        with open(path, "w") as file:
            json.dump(trace, file)

    def supported_export_stacks_metrics(self):
        """What export_stacks() can weigh stacks by."""
        return [
            "self_cpu_time_total",
            *(f"self_{word}_time_total" for word in _device_words()),
        ]

    def export_stacks(self, path, metric):
        """Writes the stacks of events, outermost frame first, each with its time in microseconds:
        what tools that draw flame graphs read."""
        if metric not in self.supported_export_stacks_metrics():
            raise ValueError(f"metric should be one of: {self.supported_export_stacks_metrics()}")
        wanted = device_attribute(metric)
        without_separators = str.maketrans(" ;\t\n", "____")
        with open(path, "w") as file:
            for event in self:
                weight = int(getattr(event, wanted))
                if event.stack and weight > 0:
                    frames = [frame.translate(without_separators) for frame in event.stack[::-1]]
                    file.write(f"{';'.join(frames)} {weight}\n")

    def key_averages(
        self, group_by_input_shapes=False, group_by_stack_n=0, group_by_overload_name=False
    ):
        """Sums by name and, if asked for, by shapes of the inputs, by the innermost
        `group_by_stack_n` frames of the stack, and by overload."""
        if not self._tree_built:
            raise AssertionError("Expected tree to be built before calling key_averages")
        sums = {}
        for event in self:
            key = [
                event.key,
                event.node_id,
                event.device_type,
                event.is_legacy,
                event.is_user_annotation,
            ]
            if group_by_overload_name:
                key.append(event.overload_name)
            if group_by_input_shapes:
                key.append(str(event.input_shapes))
            if group_by_stack_n > 0:
                key += (event.stack or [])[:group_by_stack_n]
            sums.setdefault(tuple(key), FunctionEventAvg()).add(event)
        for each in sums.values():
            each.stack = (each.stack or [])[:group_by_stack_n]
            if not group_by_input_shapes:
                each.input_shapes = ""
            if not group_by_overload_name:
                each.overload_name = ""
        return self._like_this(sums.values())

    def total_average(self):
        """The sum of all events, under the key "Total"."""
        total = FunctionEventAvg()
        for event in self:
            total.key = event.key if total.key is not None else None
            total.add(event)
        total.key = "Total"
        return total
