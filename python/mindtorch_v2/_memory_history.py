"""What allocators did: recording it, and files that torch's memory viewer opens."""

import pickle
import sys

_LEVELS = {None: 0, "state": 1, "alloc": 2, "all": 3}


def _check_choice(name, value, choices):
    if value not in choices:
        raise RuntimeError(f"{name} must be one of {choices}, but got {value!r}")


def _settings(
    enabled="all",
    context="all",
    stacks="all",
    max_entries=sys.maxsize,
    device=None,
    clear_history=False,
    compile_context=False,
    global_record_annotations=False,
    skip_actions=None,
):
    _check_choice("enabled", enabled, (None, "state", "all"))
    _check_choice("context", context, tuple(_LEVELS))
    _check_choice("stacks", stacks, ("python", "all"))
    if enabled is None:
        return device, (False, 0, 1, [], clear_history)
    entries = max_entries if enabled == "all" else 1
    return device, (True, _LEVELS[context], entries, list(skip_actions or ()), clear_history)


def _legacy_settings(
    enabled,
    record_context=True,
    trace_alloc_max_entries=1,
    trace_alloc_record_context=False,
    device=None,
    record_context_cpp=False,
    clear_history=False,
    compile_context=False,
    global_record_annotations=False,
):
    level = "alloc" if trace_alloc_record_context else "state" if record_context else None
    return device, (enabled, _LEVELS[level], trace_alloc_max_entries, [], clear_history)


class History:
    """The functions of a memory module that record; beside Memory."""

    def _record_memory_history(self, enabled="all", *args, **kwargs):
        """Starts or stops recording what the allocators do, with the Python lines that asked.

        enabled: None (off), "state" (who holds what is allocated now) or "all" (that, and a list of
        all that happens). context: None, "state", "alloc" or "all": for which of them the lines are
        kept. max_entries: the length of the list. skip_actions: what is left out of it.

        >>> torch.npu.memory._record_memory_history(max_entries=1000)
        >>> torch.npu.memory._record_memory_history(None)
        """
        read = _legacy_settings if isinstance(enabled, bool) else _settings
        device, settings = read(enabled, *args, **kwargs)
        for index in range(self._module().device_count()):
            self._used_allocator(index)
        allocator = self._allocator(device)
        table = self._table()
        table.configure_history(*settings)
        if allocator not in table.all():
            allocator._configure_history(*settings)

    def _snapshot(self, device=None, augment_with_fx_traces=False):
        """Segments, traces and settings of all devices, in the form of torch.cuda.memory."""
        segments, traces, settings = [], [], {}
        for allocator in self._allocators():
            snapshot = allocator.snapshot()
            segments += snapshot["segments"]
            for index, trace in enumerate(snapshot.get("device_traces", [])):
                traces += [[] for _ in range(index + 1 - len(traces))]
                traces[index] += trace
            settings = settings or snapshot.get("allocator_settings", {})
        traces += [[] for _ in range(self._module().device_count() - len(traces))]
        return {
            "segments": segments,
            "device_traces": traces or [[]],
            "allocator_settings": settings,
            "external_annotations": [],
        }

    def _dump_snapshot(self, filename="dump_snapshot.pickle"):
        """Writes _snapshot() to a file that pytorch.org/memory_viz opens."""
        with open(filename, "wb") as file:
            # The viewer reads no newer protocol.
            pickle.dump(self._snapshot(), file, protocol=4)
