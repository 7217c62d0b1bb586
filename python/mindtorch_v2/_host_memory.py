"""Pinned host memory, which devices read and write directly, and its statistics."""

from mindtorch_v2 import _C
from mindtorch_v2._memory import nested


class HostMemory:
    """The functions of a memory module about pinned memory; beside Memory."""

    def host_memory_stats(self):
        """All that is counted about pinned host memory.

        >>> torch.npu.host_memory_stats()["active_bytes.current"]
        0
        """
        return _C._host_memory_stats(self._kind)

    def host_memory_stats_as_nested_dict(self):
        """host_memory_stats(), as dicts of dicts."""
        return nested(self.host_memory_stats())

    def reset_peak_host_memory_stats(self):
        """Every peak becomes the present value."""
        _C._reset_host_memory_stats(self._kind, peak=True)

    def reset_accumulated_host_memory_stats(self):
        """The sums of what was allocated and freed become 0."""
        _C._reset_host_memory_stats(self._kind, peak=False)

    def host_empty_cache(self):
        """Gives pinned memory that is kept for later back to the system."""
        _C._empty_host_cache(self._kind)

    def pin_memory(self, tensor):
        """The tensor in pinned memory; itself if it lies there. Needs no device.

        >>> torch.npu.is_pinned(torch.npu.pin_memory(torch.ones(2)))
        True
        """
        return _C._pin_memory(tensor, self._kind)

    def is_pinned(self, tensor):
        """Whether a tensor lies in pinned memory.

        >>> torch.npu.is_pinned(torch.ones(2))
        False
        """
        return _C._is_pinned(tensor, self._kind)
