"""Statistics of pinned host memory, by torch's names."""

from mindtorch_v2._memory import nested

_COUNTED = ("active_requests", "active_bytes", "allocations", "allocated_bytes")
_KINDS = ("current", "peak", "allocated", "freed")
_TIMED = ("host_alloc_time", "host_free_time")
_TIMES = ("total", "max", "min", "count", "avg")


class HostMemory:
    """The functions of a memory module about pinned memory; beside Memory."""

    def host_memory_stats(self):
        """All that is counted about pinned host memory.

        >>> torch.npu.host_memory_stats()["num_host_alloc"]
        0
        """
        keys = [f"{metric}.{kind}" for metric in _COUNTED for kind in _KINDS]
        keys += [f"{metric}.{part}" for metric in _TIMED for part in _TIMES]
        return dict.fromkeys(sorted([*keys, "num_host_alloc", "num_host_free"]), 0)

    def host_memory_stats_as_nested_dict(self):
        """host_memory_stats(), as dicts of dicts."""
        return nested(self.host_memory_stats())

    def reset_peak_host_memory_stats(self):
        """Every peak becomes the present value."""

    def reset_accumulated_host_memory_stats(self):
        """The sums of what was allocated and freed become 0."""
