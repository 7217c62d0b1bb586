"""Memory over time, from what a profiler saw."""

import gzip
import json

_ACTIONS = {True: "create", False: "destroy"}


def write_timeline(path, recording, device=None):
    """Writes the allocations of a device ("cpu", "npu:0"; None: of all) as JSON."""
    records = sorted(
        (memory.time_ns, memory.bytes)
        for thread in recording.threads
        for memory in thread.memory
        if device is None or _name(memory) == str(device)
    )
    records = [
        ((time_ns + recording.unix_minus_clock_ns) // 1000, size) for time_ns, size in records
    ]
    if path.endswith((".raw.json", ".raw.json.gz")):
        content = [[time, _ACTIONS[size > 0], abs(size)] for time, size in records]
    elif path.endswith((".json", ".json.gz")):
        times, totals, total = [], [], 0
        for time, size in records:
            total += size
            times.append(time)
            totals.append(total)
        content = [times, totals]
    else:
        raise ValueError(f"the name of a memory timeline ends with .json or .json.gz: {path}")
    open_file = gzip.open if path.endswith(".gz") else open
    with open_file(path, "wt") as file:
        json.dump(content, file)


def _name(memory):
    return "cpu" if memory.is_host else f"{memory.device_kind}:{memory.device_index}"
