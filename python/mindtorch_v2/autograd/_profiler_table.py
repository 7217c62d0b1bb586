"""Tables of a profiler's events, with torch's columns."""

import math

from mindtorch_v2.autograd._profiler_settings import DeviceType

_WIDTH = 12
_GAP = "  "
_UNITS_US = {"s": 1e6, "ms": 1e3, "us": 1.0}
_FLOP_UNITS = ("FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs")


def format_time(time_us, unit=None):
    """A time in the unit that suits it, or in the given one.

    >>> from mindtorch_v2.autograd._profiler_table import format_time
    >>> format_time(1500.0)
    '1.500ms'
    """
    if unit not in _UNITS_US:
        unit = next((name for name in ("s", "ms") if time_us >= _UNITS_US[name]), "us")
    return f"{time_us / _UNITS_US[unit]:.3f}{unit}"


def format_memory(nbytes):
    """Bytes in the unit that suits them.

    >>> from mindtorch_v2.autograd._profiler_table import format_memory
    >>> format_memory(2048)
    '2.00 KB'
    """
    for power, unit in ((3, "GB"), (2, "MB"), (1, "KB")):
        if abs(nbytes) >= 1024**power:
            return f"{nbytes / 1024**power:.2f} {unit}"
    return f"{nbytes} B"


def _share(part, whole):
    return "NaN" if whole == 0 else f"{part * 100.0 / whole:.2f}%"


def _shorten_name(name, limit):
    if limit is not None and len(name) >= limit - 3:
        return name[: limit - 3] + "..."
    return name


def _shorten_path(path, width):
    """Its end says more than its beginning."""
    return path if len(path) <= width else "..." + path[len(path) - width + 3 :]


def _width(texts, limit):
    width = max(len(text) for text in texts) + 4
    return width if limit is None else min(width, limit)


class _Column:
    def __init__(self, title, text, width=_WIDTH, align=">"):
        self.title = title
        self.text = text  # of an event
        self.format = f"{{:{align}{width}}}"
        self.line = "-" * width


def _flop_column(events):
    smallest = min((event.flops for event in events if event.flops), default=0)
    if smallest <= 0:
        return None
    power = min(int(math.log10(smallest) / 3), len(_FLOP_UNITS) - 1) if smallest >= 1 else 0

    def text(event):
        return f"{event.flops / 1000**power:8.3f}" if event.flops else "--"

    return _Column(f"Total {_FLOP_UNITS[power]}", text)


def _is_device_work(event):
    return event.device_type != DeviceType.CPU and not event.is_user_annotation


def build_table(
    events,
    row_limit,
    max_src_column_width,
    max_name_column_width,
    max_shapes_column_width,
    header,
    profile_memory,
    with_flops,
    top_level_events_only,
    time_unit,
):
    """The events as a text, one line each and more where an event has a stack."""
    if len(events) == 0:
        return ""
    cpu_total = sum(event.self_cpu_time_total for event in events)
    device_total = sum(event.self_device_time_total for event in events if _is_device_work(event))
    has_device_time = any(event.self_device_time_total > 0 for event in events)
    device = (events[0].use_device or "None").upper()

    def time(name):
        return lambda event: format_time(getattr(event, name), time_unit)

    def share(name, total):
        return lambda event: 0 if event.is_async else _share(getattr(event, name), total)

    def memory(name):
        return lambda event: format_memory(getattr(event, name))

    columns = [
        _Column(
            "Name",
            lambda event: _shorten_name(event.key, max_name_column_width),
            _width([event.key for event in events], max_name_column_width),
        )
    ]
    if any(event.overload_name for event in events):
        columns.append(
            _Column(
                "Overload Name",
                lambda event: _shorten_name(event.overload_name or "", max_name_column_width),
                _width([event.key for event in events], max_name_column_width),
            )
        )
    columns += [
        _Column("Self CPU %", share("self_cpu_time_total", cpu_total)),
        _Column("Self CPU", time("self_cpu_time_total")),
        _Column("CPU total %", share("cpu_time_total", cpu_total)),
        _Column("CPU total", time("cpu_time_total")),
        _Column("CPU time avg", time("cpu_time")),
    ]
    if has_device_time:
        columns += [
            _Column(f"Self {device}", time("self_device_time_total")),
            _Column(f"Self {device} %", share("self_device_time_total", device_total)),
            _Column(f"{device} total", time("device_time_total")),
            _Column(f"{device} time avg", time("device_time")),
        ]
    if profile_memory:
        columns += [
            _Column("CPU Mem", memory("cpu_memory_usage")),
            _Column("Self CPU Mem", memory("self_cpu_memory_usage")),
        ]
        if events[0].use_device and any(event.self_device_memory_usage > 0 for event in events):
            columns += [
                _Column(f"{device} Mem", memory("device_memory_usage")),
                _Column(f"Self {device} Mem", memory("self_device_memory_usage")),
            ]
    columns.append(_Column("# of Calls", lambda event: event.count))
    if any(event.node_id != -1 for event in events):
        columns.append(_Column("Node ID", lambda event: event.node_id))
    if any(event.input_shapes for event in events):
        width = _width([str(event.input_shapes) for event in events], max_shapes_column_width)
        columns.append(
            _Column("Input Shapes", lambda event: str(event.input_shapes)[:width], width)
        )
    frames = [frame for event in events for frame in event.stack or ()]
    if frames:
        source_width = _width(frames, max_src_column_width)
        columns.append(
            _Column(
                "Source Location",
                lambda event: _shorten_path(event.stack[0], source_width) if event.stack else "",
                source_width,
                "<",
            )
        )
    if with_flops and (flops := _flop_column(events)):
        columns.append(flops)

    row_format = "".join(column.format + _GAP for column in columns)
    rule = "".join(column.line + _GAP for column in columns)
    lines = []
    if header is not None:
        lines += ["=" * (len(rule) - len(_GAP)), header]
    if top_level_events_only:
        lines += ["=" * (len(rule) - len(_GAP))]
        lines += ["This report only display top-level ops statistics"]
    lines += [rule, row_format.format(*(column.title for column in columns)), rule]
    source = next((i for i, column in enumerate(columns) if column.title == "Source Location"), -1)
    rows = 0
    for event in events:
        if rows == row_limit:
            break
        if top_level_events_only and event.cpu_parent is not None:
            continue
        rows += 1
        lines.append(row_format.format(*(column.text(event) for column in columns)))
        if source >= 0:
            for frame in [*(event.stack or ())[1:], ""]:
                cells = [""] * len(columns)
                cells[source] = _shorten_path(frame, source_width)
                lines.append(row_format.format(*cells))
    lines += [rule, f"Self CPU time total: {format_time(cpu_total, time_unit)}"]
    if has_device_time:
        lines.append(f"Self {device} time total: {format_time(device_total, time_unit)}")
    return "\n".join([*lines, ""])
