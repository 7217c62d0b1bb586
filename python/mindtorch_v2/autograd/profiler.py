"""torch.autograd.profiler: what a program does and how long it takes.

torch.profiler has schedules on top of it.

>>> with torch.autograd.profiler.profile() as prof:
...     _ = torch.ones(2) + 1
>>> "aten::add" in prof.table()
True
"""

import sys
import warnings
from contextlib import ContextDecorator

from mindtorch_v2 import _C, _kinds
from mindtorch_v2.autograd._profiler_events import Recording, make_events
from mindtorch_v2.autograd._profiler_modules import ModuleRanges
from mindtorch_v2.autograd._profiler_settings import (
    DeviceType,
    ExperimentalConfig,
    ProfilerActivity,
    kineto_available,
    supported_activities,
)
from mindtorch_v2.autograd.profiler_util import (
    MEMORY_EVENT_NAME,
    OUT_OF_MEMORY_EVENT_NAME,
    EventList,
    FunctionEvent,
    MemRecordsAcc,
)

__all__ = [
    "EnforceUnique",
    "KinetoStepTracker",
    "emit_itt",
    "emit_nvtx",
    "load_nvprof",
    "parse_nvprof_trace",
    "profile",
    "record_function",
]

# What the recorder is asked for, as bits.
_HOST, _ARGUMENTS, _STACKS, _MEMORY, _DEVICE, _ALL_THREADS = (1 << bit for bit in range(6))
_ACTIVITY_BITS = {
    ProfilerActivity.CPU: _HOST,
    ProfilerActivity.PrivateUse1: _DEVICE,
    ProfilerActivity.CUDA: _DEVICE,
}
_supported_activities = supported_activities
_ExperimentalConfig = ExperimentalConfig
# Whether any profiler runs.
_is_profiler_enabled = False


def _note_profilers():
    global _is_profiler_enabled
    _is_profiler_enabled = _C._profiler_is_recording()


def _usable_device(device):
    """The name of the device whose work is recorded, or None with a warning."""
    if device is None:
        return None
    if device not in (*_kinds.ACCELERATORS, "xpu", "mtia", "hpu", "privateuseone"):
        raise ValueError(f"The {device} is not supported by profiler.")
    if device == "privateuseone":
        device = _kinds.of_dispatch_key("PrivateUse1")
    meant = _C.device(device).type
    if meant in _kinds.ACCELERATORS and _kinds.module(meant).is_available():
        return device
    kind = device.upper()
    warnings.warn(f"{kind} is not available, disabling {kind} profiling", stacklevel=4)
    return None


class profile:
    """Records what the block does: ops, nodes of backward passes, ranges that the program names.

    `use_device="npu"` records the work of streams; `record_shapes` the inputs of ops, `with_stack`
    where in the program they were called, `profile_memory` what memory they took, `with_flops` how
    much arithmetic products and convolutions do, `with_modules` calls of modules. A profiler that
    is not `enabled` does nothing.

    >>> with torch.autograd.profiler.profile(record_shapes=True) as prof:
    ...     _ = torch.ones(2, 3) + 1
    >>> [event.input_shapes for event in prof.function_events if event.name == "aten::add"]
    [[[2, 3], [], []]]
    """

    def __init__(
        self,
        enabled=True,
        *,
        use_cuda=False,
        use_device=None,
        record_shapes=False,
        with_flops=False,
        profile_memory=False,
        with_stack=False,
        with_modules=False,
        use_kineto=False,
        use_cpu=True,
        experimental_config=None,
        acc_events=False,
        custom_trace_id_callback=None,
        post_processing_timeout_s=None,
        activity_filters=None,
    ):
        self.enabled = enabled
        self.use_cuda = use_cuda
        if use_cuda:
            warnings.warn(
                "The attribute `use_cuda` will be deprecated soon, "
                "please use ``use_device = 'cuda'`` instead.",
                FutureWarning,
                stacklevel=2,
            )
            use_device = "cuda"
        self.use_device = _usable_device(use_device) if enabled else None
        self.record_shapes = record_shapes | with_flops
        self.with_flops = with_flops
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_modules = with_modules
        self.use_cpu = use_cpu
        self.acc_events = acc_events
        self.experimental_config = experimental_config or ExperimentalConfig()
        self.entered = False
        self.recording = None
        self._session = None
        self._function_events = None
        self._earlier_events = []
        self._modules = ModuleRanges() if with_modules or with_stack else None

    def _wanted(self):
        wanted = _HOST if self.use_cpu else 0
        wanted |= _ARGUMENTS if self.record_shapes else 0
        wanted |= _STACKS if self.with_stack else 0
        wanted |= _MEMORY if self.profile_memory else 0
        wanted |= _DEVICE if self.use_device else 0
        wanted |= _ALL_THREADS if self.experimental_config.profile_all_threads else 0
        return wanted

    def __enter__(self):
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self._prepare_trace()
        self._start_trace()
        return self

    def _prepare_trace(self):
        self.entered = True

    def _start_trace(self):
        self.entered = True
        if self._modules is not None:
            self._modules.install()
        self._session = _C._profiler_start(self._wanted())
        _note_profilers()

    def __exit__(self, exc_type, exc_val, exc_tb):
        if not self.enabled:
            return None
        if self._session is None:
            return False
        if self.use_device:
            _kinds.module(_C.device(self.use_device).type).synchronize()
        if self.acc_events and self._function_events is not None:
            self._earlier_events = list(self._function_events)
        self._function_events = None
        session, self._session = self._session, None
        prefixes = sorted((f"{path.rstrip('/')}/" for path in sys.path if path), key=len)
        self.recording = Recording(_C._profiler_stop(session, prefixes[::-1]))
        _note_profilers()
        if self._modules is not None:
            self._modules.remove()
        if self.acc_events and not self.experimental_config.trace_only:
            self._ensure_function_events()
        return False

    def __del__(self):
        # One that was started and never stopped.
        if getattr(self, "_session", None) is not None and _C is not None:
            self.__exit__(None, None, None)

    def _ensure_function_events(self):
        if self.experimental_config.trace_only:
            raise RuntimeError(
                "events() is not available when trace_only=True in "
                "ExperimentalConfig. Use export_chrome_trace() instead."
            )
        if self._function_events is not None or self.recording is None:
            return
        self._function_events = make_events(
            self.recording,
            use_device=self.use_device,
            profile_memory=self.profile_memory,
            with_flops=self.with_flops,
            record_shapes=self.record_shapes,
            overloads=self.experimental_config.capture_overload_names,
        )
        self._function_events.extend(self._earlier_events)

    @property
    def function_events(self):
        """The events, of the last cycle or, with acc_events, of all."""
        self._ensure_function_events()
        return self._function_events

    def _events_or_raise(self):
        self._ensure_function_events()
        if self._function_events is None:
            raise AssertionError("Expected profiling results")
        return self._function_events

    def __repr__(self):
        if not self.enabled or self.recording is None:
            return "<unfinished torch.autograd.profile>"
        return repr(self.function_events)

    def __str__(self):
        if not self.enabled or self.recording is None:
            return "<unfinished torch.autograd.profile>"
        return str(self.function_events)

    def table(
        self,
        sort_by=None,
        row_limit=100,
        max_src_column_width=75,
        max_name_column_width=55,
        max_shapes_column_width=80,
        header=None,
        top_level_events_only=False,
    ):
        """A table of the events: see EventList.table()."""
        return self._events_or_raise().table(
            sort_by=sort_by,
            row_limit=row_limit,
            max_src_column_width=max_src_column_width,
            max_name_column_width=max_name_column_width,
            max_shapes_column_width=max_shapes_column_width,
            header=header,
            top_level_events_only=top_level_events_only,
        )

    def key_averages(
        self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False
    ):
        """Sums of the events: see EventList.key_averages()."""
        return self._events_or_raise().key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name
        )

    def total_average(self):
        """The sum of all events."""
        return self._events_or_raise().total_average()

    @property
    def self_cpu_time_total(self):
        """The time of all events, each without its children."""
        return self._events_or_raise().self_cpu_time_total

    def export_chrome_trace(self, path, metadata=None, use_python_export=False):
        """Writes the lanes of the last cycle as a trace that Perfetto and chrome://tracing open."""
        from mindtorch_v2.profiler._chrome_trace import write_trace

        if self.recording is None:
            raise AssertionError("Expected profiling results")
        write_trace(path, self.recording, metadata or {}, record_shapes=self.record_shapes)

    def export_stacks(self, path, metric="self_cpu_time_total"):
        """Writes stacks with their times: see EventList.export_stacks()."""
        events = self._events_or_raise()
        if not self.with_stack:
            raise AssertionError("export_stacks() requires with_stack=True")
        return events.export_stacks(path, metric)

    def toggle_collection_dynamic(self, enabled, activities):
        """Stops recording the activities for a while, or goes on with it."""
        if self._session is None:
            return
        wanted = self._wanted()
        stopped = 0
        for activity in set(activities):
            stopped |= _ACTIVITY_BITS.get(activity, 0)
        self._stopped = (getattr(self, "_stopped", 0) | stopped) & ~(stopped if enabled else 0)
        _C._profiler_change(self._session, wanted & ~self._stopped)


class record_function(ContextDecorator):
    """Names a range of the program, as a block or as a decorator of a function.

    >>> with torch.autograd.profiler.profile() as prof:
    ...     with torch.autograd.profiler.record_function("my part"):
    ...         _ = torch.ones(2)
    >>> [event.name for event in prof.function_events][:2]
    ['my part', 'aten::ones']
    """

    def __init__(self, name, args=None):
        self.name = name
        self.args = args
        self.run_callbacks_on_exit = True
        self._range = None

    def _recreate_cm(self):
        return record_function(self.name, self.args)

    def __enter__(self):
        if not isinstance(self.name, str):
            raise RuntimeError(
                "profiler::_record_function_enter_new() Expected a value of type 'str' for "
                f"argument 'name' but instead found type '{type(self.name).__name__}'."
            )
        self._range = _C._profiler_range(self.name, self.args or "")
        return self

    def __exit__(self, exc_type, exc_value, traceback):
        if self.run_callbacks_on_exit and self._range is not None:
            self._range.end()
            self._range = None

    def _call_end_callbacks_on_future(self, fut):
        """Ends the range when the future is done."""
        if not self.run_callbacks_on_exit:
            raise RuntimeError("_call_end_callbacks_on_future can only be called once.")
        self.run_callbacks_on_exit = False
        ended = self._range

        def end(future):
            if ended is not None:
                ended.end()
            return future.value()

        return fut.then(end)


class _VendorRanges:
    """Of a tool that is not here."""

    _vendor = ""

    def __init__(self, enabled=True, record_shapes=False):
        self.enabled = enabled
        self.record_shapes = record_shapes

    def __enter__(self):
        if not self.enabled:
            return None
        raise RuntimeError(f"{self._vendor} functions not installed. Are you sure you have it?")

    def __exit__(self, exc_type, exc_val, exc_tb):
        return False


class emit_nvtx(_VendorRanges):
    """NVIDIA's ranges, which need CUDA: RuntimeError, unless enabled=False.

    >>> with torch.autograd.profiler.emit_nvtx(enabled=False):
    ...     pass
    """

    _vendor = "NVTX"


class emit_itt(_VendorRanges):
    """Ranges of Intel's VTune: RuntimeError, unless enabled=False.

    >>> with torch.autograd.profiler.emit_itt(enabled=False):
    ...     pass
    """

    _vendor = "ITT"


def load_nvprof(path):
    """RuntimeError: there is no nvprof without CUDA."""
    raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")


parse_nvprof_trace = load_nvprof


class EnforceUnique:
    """Raises RuntimeError when a key is seen twice.

    >>> torch.autograd.profiler.EnforceUnique().see("key")
    """

    def __init__(self):
        self.seen = set()

    def see(self, *key):
        """Notes the key."""
        if key in self.seen:
            raise RuntimeError("duplicate key: " + str(key))
        self.seen.add(key)


class KinetoStepTracker:
    """Counts the steps of several requesters; the largest count is the current step."""

    _current_step = 0
    _step_dict: dict = {}

    @classmethod
    def init_step_count(cls, requester):
        """The requester begins at the current step."""
        cls._step_dict[requester] = cls._current_step

    @classmethod
    def erase_step_count(cls, requester):
        """Forgets the requester; False if it was unknown."""
        return cls._step_dict.pop(requester, None) is not None

    @classmethod
    def increment_step(cls, requester):
        """One more step of the requester; the current step."""
        cls._step_dict[requester] = cls._step_dict.get(requester, cls._current_step) + 1
        cls._current_step = max(cls._current_step, *cls._step_dict.values())
        return cls._current_step

    @classmethod
    def current_step(cls):
        """The largest count."""
        return cls._current_step
