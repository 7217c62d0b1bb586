"""`python -m mindtorch_v2.memory replay FILE` shows what a program would have needed under other
allocator settings, from a recording of what it did:

    torch.npu.memory._record_memory_history()
    ...                                          # the program
    torch.npu.memory._dump_snapshot("run.pickle")

Recordings of torch.cuda are read as well.
"""

import argparse
import json
import pickle
import sys

from mindtorch_v2 import _C, _kinds

# What is tried when no --conf is given; the first is torch's own behaviour.
DEFAULT_CONFS = (
    "outgrown_segment_age:0",
    "",
    "expandable_segments:True",
    "roundup_power2_divisions:4",
    "max_split_size_mb:64",
    "max_split_size_mb:256",
    "garbage_collection_threshold:0.8",
)
_NAMES = {"": "(defaults)", "outgrown_segment_age:0": "outgrown_segment_age:0 (torch's rules)"}
# A more complicated setting has to save at least this part of the peak to be recommended.
_WORTH_IT = 0.02


class _PlainUnpickler(pickle.Unpickler):
    """A recording holds plain types only: nothing in it may name a class to be made."""

    def find_class(self, module, name):
        raise pickle.UnpicklingError(f"a memory recording holds no {module}.{name}")


def load_trace(path, device=0):
    """The list of what happened on one device, out of a file written by _dump_snapshot()."""
    with open(path, "rb") as file:
        start = file.read(1)
        file.seek(0)
        snapshot = json.load(file) if start in b"{[" else _PlainUnpickler(file).load()
    traces = snapshot.get("device_traces") if isinstance(snapshot, dict) else None
    if traces is None:
        raise ValueError(f"{path} holds no device_traces: it is not a memory snapshot")
    if not 0 <= device < len(traces):
        raise ValueError(f"{path} has no device {device}: it holds {len(traces)}")
    if not traces[device]:
        raise ValueError(
            f"{path} holds no trace of device {device}: "
            "call _record_memory_history() before the program runs"
        )
    return traces[device]


def replay(trace, confs=DEFAULT_CONFS, device_bytes=None, virtual_memory=True, progress=None):
    """[(conf, result)] of a trace under each conf; `result` is a dict of figures.

    >>> from mindtorch_v2 import memory
    >>> trace = [{"action": "alloc", "addr": 1, "size": 1000, "stream": 0}]
    >>> [(conf, result)] = memory.replay(trace, confs=[""])
    >>> result["peak_reserved_bytes"]
    2097152
    """
    recorded = _C._RecordedTrace(list(trace))
    results = []
    for number, conf in enumerate(confs):
        step = None
        if progress is not None:
            total = max(len(recorded), 1)

            def step(done, number=number, total=total):
                progress((number + done / total) / len(confs))

        results.append((conf, recorded.replay(conf, device_bytes, virtual_memory, step)))
    return results


def recommend(results):
    """The conf to use: runs to the end, then the lowest peak; what gains little is not worth it.

    >>> from mindtorch_v2 import memory
    >>> memory.recommend([("", {"peak_reserved_bytes": 100, "out_of_memory_at": None,
    ...                        "device_allocations": 1})])
    ''
    """
    fitting = [item for item in results if item[1]["out_of_memory_at"] is None]
    if not fitting:
        return None
    lowest = min(result["peak_reserved_bytes"] for _, result in fitting)
    close = [item for item in fitting if item[1]["peak_reserved_bytes"] <= lowest * (1 + _WORTH_IT)]
    return min(close, key=lambda item: (len(item[0]), item[1]["device_allocations"]))[0]


def _size(count):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.0f} {unit}" if unit == "B" else f"{count:.1f} {unit}"
        count /= 1024


def format_report(results):
    """The table that the command prints.

    >>> from mindtorch_v2 import memory
    >>> trace = [{"action": "alloc", "addr": 1, "size": 1000, "stream": 0}]
    >>> print(memory.format_report(memory.replay(trace, confs=[""])).splitlines()[2])
    (defaults)  2.0 MiB  1.0 KiB           100%             1  -
    """
    head = ("setting", "peak", "in use", "fragmentation", "driver calls", "out of memory")
    rows = []
    for conf, result in results:
        failed = result["out_of_memory_at"]
        rows.append(
            (
                _NAMES.get(conf, conf),
                _size(result["peak_reserved_bytes"]),
                _size(result["peak_active_bytes"]),
                f"{result['fragmentation_at_peak']:.0%}",
                str(result["device_allocations"] + result["device_frees"]),
                "-"
                if failed is None
                else f"at entry {failed}, asking for {_size(result['out_of_memory_bytes'])}",
            )
        )
    widths = [max(len(row[i]) for row in [head, *rows]) for i in range(len(head))]
    align = ("<", ">", ">", ">", ">", "<")

    def line(row):
        cells = (f"{c:{a}{w}}" for c, a, w in zip(row, align, widths, strict=True))
        return "  ".join(cells).rstrip()

    lines = [line(head), "  ".join("-" * width for width in widths), *map(line, rows)]
    best = recommend(results)
    if best is None:
        lines.append("\nEvery setting runs out of memory.")
    else:
        advice = f'{_alloc_conf_variable()}="{best}"' if best else "the defaults"
        lines.append(f"\nRecommended: {advice}")
    return "\n".join(lines)


def _alloc_conf_variable():
    """The one that the accelerator here reads."""
    return _kinds.ROWS[_C._accelerator_kind() or _kinds.ACCELERATORS[0]].alloc_conf


def _parse_size(text):
    units = {"k": 2**10, "m": 2**20, "g": 2**30, "t": 2**40}
    number = text.strip().lower().removesuffix("ib").removesuffix("b")
    factor = units.get(number[-1:], 1)
    try:
        return int(float(number.rstrip("kmgt")) * factor)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no size: write 64GiB or 500M") from None


def _progress_bar(done, width=40):
    filled = int(done * width)
    end = "\r\033[K" if done >= 1 else ""
    print(f"\r[{'#' * filled}{'.' * (width - filled)}] {done:4.0%}{end}", end="", file=sys.stderr)


def main(arguments):
    parser = argparse.ArgumentParser(prog="python -m mindtorch_v2.memory")
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("replay", help="what a recorded program needs under settings")
    command.add_argument("trace", help="a file written by _dump_snapshot()")
    command.add_argument(
        "--conf",
        action="append",
        help=f"settings to try, as in {_alloc_conf_variable()}; may be given more than once",
    )
    command.add_argument("--device", type=int, default=0, help="the device of the recording")
    command.add_argument("--memory", type=_parse_size, help="memory of the device played: 64GiB")
    command.add_argument(
        "--no-virtual-memory", action="store_true", help="play a device without expandable segments"
    )
    command.add_argument("--json", action="store_true", help="print figures for a program")
    options = parser.parse_args(arguments)

    try:
        trace = load_trace(options.trace, options.device)
        results = replay(
            trace,
            options.conf or DEFAULT_CONFS,
            options.memory,
            not options.no_virtual_memory,
            _progress_bar if sys.stderr.isatty() else None,
        )
    except (OSError, ValueError, pickle.UnpicklingError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    for mistake in dict.fromkeys(text for _, result in results for text in result["warnings"]):
        print(f"warning: {mistake}", file=sys.stderr)
    if options.json:
        figures = [{"conf": conf, **result} for conf, result in results]
        print(json.dumps({"results": figures, "recommended": recommend(results)}, indent=2))
    else:
        print(f"{len(trace)} entries, {results[0][1]['allocations']} allocations\n")
        print(format_report(results))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
