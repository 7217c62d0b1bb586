"""torch.profiler.profile: profilers with a schedule, and what to do with a trace that is ready."""

import enum
import os
import socket
import time
import warnings

from mindtorch_v2 import _kinds
from mindtorch_v2.autograd import profiler as _autograd_profiler
from mindtorch_v2.autograd._profiler_settings import ProfilerActivity, supported_activities

__all__ = [
    "ProfilerAction",
    "profile",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


class ProfilerAction(enum.Enum):
    """What a profiler does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def schedule(*, wait, warmup, active, repeat=0, skip_first=0, skip_first_wait=0):
    """What to do in each step: after `skip_first` steps, cycles of `wait`, `warmup` and `active`
    steps, as often as `repeat` says, or without end. The first cycle does not wait if
    `skip_first_wait` is set.

    >>> plan = torch.profiler.schedule(wait=1, warmup=1, active=2)
    >>> [plan(step).name for step in range(5)]
    ['NONE', 'WARMUP', 'RECORD', 'RECORD_AND_SAVE', 'NONE']
    """
    if wait < 0 or warmup < 0 or active <= 0 or repeat < 0 or skip_first < 0:
        raise AssertionError("Invalid profiler schedule arguments")
    if warmup == 0:
        warnings.warn(
            "Profiler won't be using warmup, this can skew profiler results", stacklevel=2
        )

    def action(step):
        if step < 0:
            raise AssertionError(f"Step must be non-negative. Got {step}.")
        step -= skip_first
        if step < 0:
            return ProfilerAction.NONE
        if skip_first_wait:
            step += wait
        length = wait + warmup + active
        cycle, place = divmod(step, length)
        if (repeat and cycle >= repeat) or place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        return ProfilerAction.RECORD if place < length - 1 else ProfilerAction.RECORD_AND_SAVE

    return action


def tensorboard_trace_handler(dir_name, worker_name=None, use_gzip=False, use_python_export=False):
    """For on_trace_ready: writes each trace to a file of its own in the folder, where TensorBoard's
    plugin looks for `*.pt.trace.json`. The worker is named by host and process unless given.

        torch.profiler.profile(on_trace_ready=torch.profiler.tensorboard_trace_handler("log"))
    """

    def write(prof):
        if not os.path.isdir(dir_name):
            try:
                os.makedirs(dir_name, exist_ok=True)
            except Exception as error:
                raise RuntimeError("Can't create directory: " + dir_name) from error
        worker = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        # Nanoseconds: cycles may follow each other quickly.
        name = f"{worker}.{time.time_ns()}.pt.trace.json" + (".gz" if use_gzip else "")
        prof.export_chrome_trace(os.path.join(dir_name, name))

    return write


def _parse(activities):
    """The set of activities; a dict names an activity and what of it is wanted."""
    parsed = set()
    for item in activities:
        for activity in item if isinstance(item, dict) else [item]:
            if not isinstance(activity, ProfilerActivity):
                raise TypeError(f"Expected ProfilerActivity or dict, got {type(activity).__name__}")
            if activity in parsed:
                raise ValueError(f"Activity {activity} specified more than once")
            parsed.add(activity)
    return parsed


def _device_of(activities):
    """The kind of device whose work is recorded, or None."""
    for activity in ProfilerActivity:
        if activity in activities and activity is not ProfilerActivity.CPU:
            return _kinds.of_dispatch_key(activity.name) or activity.name.lower()
    return None


class _KinetoProfile:
    """A profiler without a schedule: start() and stop(), or prepare_trace(), start_trace() and
    stop_trace(). See `profile`."""

    def __init__(
        self,
        *,
        activities=None,
        record_shapes=False,
        profile_memory=False,
        with_stack=False,
        with_flops=False,
        with_modules=False,
        experimental_config=None,
        execution_trace_observer=None,
        acc_events=False,
        custom_trace_id_callback=None,
        post_processing_timeout_s=None,
    ):
        self.activities = supported_activities() if activities is None else _parse(activities)
        if not self.activities:
            raise AssertionError("No valid profiler activities found")
        self.record_shapes = record_shapes
        self.profile_memory = profile_memory
        self.with_stack = with_stack
        self.with_flops = with_flops
        self.with_modules = with_modules
        self.experimental_config = experimental_config
        self.execution_trace_observer = execution_trace_observer
        self.acc_events = acc_events
        self.custom_trace_id_callback = custom_trace_id_callback
        self.post_processing_timeout_s = post_processing_timeout_s
        self.profiler = None
        self.use_device = _device_of(self.activities)
        self.preset_metadata = {}
        self._trace_metadata = {}

    def start(self):
        """Records from here on."""
        self.prepare_trace()
        self.start_trace()

    def stop(self):
        """Records no more; the events can be read."""
        self.stop_trace()

    def prepare_trace(self):
        """Before start_trace()."""
        if self.profiler is not None and not self.acc_events:
            warnings.warn(
                "Warning: Profiler clears events at the end of each cycle. Only events from the "
                "current cycle will be reported. To keep events across cycles, set "
                "acc_events=True.",
                stacklevel=3,
            )
        if self.profiler is None or not self.acc_events:
            self.profiler = _autograd_profiler.profile(
                use_cpu=ProfilerActivity.CPU in self.activities,
                use_device=self.use_device,
                record_shapes=self.record_shapes,
                with_flops=self.with_flops,
                profile_memory=self.profile_memory,
                with_stack=self.with_stack,
                with_modules=self.with_modules,
                experimental_config=self.experimental_config,
                acc_events=self.acc_events,
            )
        self.profiler._prepare_trace()

    def start_trace(self):
        """Records from here on."""
        if self.execution_trace_observer:
            self.execution_trace_observer.start()
        self._need("starting trace")._start_trace()
        for setting in (
            "profile_memory",
            "with_stack",
            "record_shapes",
            "with_modules",
            "with_flops",
        ):
            if getattr(self, setting):
                self.add_metadata_json(setting, "1")
        for key, value in self.preset_metadata.items():
            self.add_metadata_json(key, value)

    def stop_trace(self):
        """Records no more."""
        if self.execution_trace_observer:
            self.execution_trace_observer.stop()
        self._need("stopping trace").__exit__(None, None, None)

    def _need(self, purpose):
        if self.profiler is None:
            raise AssertionError(f"Profiler must be initialized before {purpose}")
        return self.profiler

    def export_chrome_trace(self, path, use_python_export=False):
        """Writes the last cycle as a trace that Perfetto and chrome://tracing open; compressed if
        the name ends with ".gz"."""
        self._need("exporting chrome trace").export_chrome_trace(path, self._trace_metadata)

    def export_stacks(self, path, metric="self_cpu_time_total"):
        """Writes the stacks of the events with their times: what flame graphs are made of."""
        return self._need("exporting stacks").export_stacks(path, metric)

    def export_memory_timeline(self, path, device=None):
        """Writes the bytes in use over time: all devices' or one's. A path that ends with
        ".raw.json.gz" gets each allocation, ".json" and ".json.gz" two lists: times in
        microseconds, and bytes. Needs profile_memory=True."""
        from mindtorch_v2.profiler._memory_timeline import write_timeline

        for setting in ("record_shapes", "profile_memory", "with_stack"):
            if not getattr(self, setting):
                raise ValueError(f"{setting}=True required for memory profiling.")
        write_timeline(path, self._need("exporting memory timeline").recording, device)

    def toggle_collection_dynamic(self, enable, activities):
        """Stops recording activities for a while, or goes on with it.

        >>> with torch.profiler.profile() as prof:
        ...     prof.toggle_collection_dynamic(False, [torch.profiler.ProfilerActivity.CPU])
        ...     _ = torch.ones(2)
        >>> len(prof.events())
        0
        """
        if self.profiler is not None:
            self.profiler.toggle_collection_dynamic(enable, activities)

    def key_averages(
        self, group_by_input_shape=False, group_by_stack_n=0, group_by_overload_name=False
    ):
        """Sums by name and, if asked for, by input shapes, by the innermost `group_by_stack_n`
        lines of the program, and by overload."""
        return self._need("getting key averages").key_averages(
            group_by_input_shape, group_by_stack_n, group_by_overload_name
        )

    def events(self):
        """The events one by one."""
        return self._need("accessing events").function_events

    def add_metadata(self, key, value):
        """Adds a text to the trace."""
        self.add_metadata_json(key, '"' + value.replace('"', '\\"') + '"')

    def add_metadata_json(self, key, value):
        """Adds a value, given as JSON, to the trace."""
        self._trace_metadata[key] = value

    def preset_metadata_json(self, key, value):
        """The same, before the profiler is started."""
        self.preset_metadata[key] = value


class profile(_KinetoProfile):
    """Records what a program does: ops, backward nodes and ranges on the host, pipelines, the work
    of NPU streams, memory.

    `activities` are ProfilerActivity.CPU and PrivateUse1, the NPU; all there are by default.
    `schedule` says which steps to record, if the program calls step() after each; at the end of
    each cycle `on_trace_ready` is called with the profiler. `record_shapes`, `with_stack`,
    `profile_memory`, `with_flops` and `with_modules` record more: the inputs of ops, the lines of
    the program, memory, operations on numbers, calls of modules. With `acc_events` the events of
    all cycles are kept.

    >>> with torch.profiler.profile(profile_memory=True) as prof:
    ...     ones = torch.ones(100)
    >>> [event.cpu_memory_usage for event in prof.events() if event.name == "aten::ones"]
    [400]
    """

    def __init__(
        self,
        *,
        activities=None,
        schedule=None,
        on_trace_ready=None,
        record_shapes=False,
        profile_memory=False,
        with_stack=False,
        with_flops=False,
        with_modules=False,
        experimental_config=None,
        execution_trace_observer=None,
        acc_events=False,
        use_cuda=None,
        custom_trace_id_callback=None,
        post_processing_timeout_s=None,
    ):
        chosen = supported_activities() if activities is None else list(activities)
        if use_cuda is not None:
            warnings.warn(
                "`use_cuda` is deprecated, use `activities` argument instead",
                FutureWarning,
                stacklevel=2,
            )
            chosen = set(chosen) - {ProfilerActivity.CUDA}
            if use_cuda:
                chosen.add(ProfilerActivity.CUDA)
        super().__init__(
            activities=chosen,
            record_shapes=record_shapes,
            profile_memory=profile_memory,
            with_stack=with_stack,
            with_flops=with_flops,
            with_modules=with_modules,
            experimental_config=experimental_config,
            execution_trace_observer=execution_trace_observer,
            acc_events=acc_events,
            custom_trace_id_callback=custom_trace_id_callback,
            post_processing_timeout_s=post_processing_timeout_s,
        )
        self.record_steps = schedule is not None
        self.schedule = schedule if self.record_steps else lambda step: ProfilerAction.RECORD
        self.on_trace_ready = on_trace_ready
        self.step_num = 0
        self.current_action = self.schedule(self.step_num)
        self.step_rec_fn = None

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, exc_type, exc_val, exc_tb):
        self.stop()
        _autograd_profiler.KinetoStepTracker.erase_step_count("ProfilerStep")
        if self.execution_trace_observer:
            self.execution_trace_observer.cleanup()

    def start(self):
        """Begins with the first step."""
        self._pass_on(ProfilerAction.NONE, self.current_action)
        self._begin_step()

    def stop(self):
        """Ends the last step; a trace that is being recorded is ready."""
        self._end_step()
        self._pass_on(self.current_action, None)

    def step(self):
        """The next step of the program begins."""
        self._end_step()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        self._pass_on(before, self.current_action)
        _autograd_profiler.KinetoStepTracker.increment_step("ProfilerStep")
        self._begin_step()

    def _begin_step(self):
        if self.record_steps:
            self.step_rec_fn = _autograd_profiler.record_function(f"ProfilerStep#{self.step_num}")
            self.step_rec_fn.__enter__()

    def _end_step(self):
        if self.step_rec_fn is not None:
            self.step_rec_fn.__exit__(None, None, None)
            self.step_rec_fn = None

    def set_custom_trace_id_callback(self, callback):
        """Names traces: accepted, and of no use without torch's daemon."""
        self.custom_trace_id_callback = callback

    def get_trace_id(self):
        """The name of the trace: what the callback gives, or None."""
        return None if self.custom_trace_id_callback is None else self.custom_trace_id_callback()

    def _trace_ready(self):
        if self.on_trace_ready:
            self.on_trace_ready(self)

    def _pass_on(self, before, after):
        """From the action of one step to that of the next; None: there is none."""
        recorded = (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        saves = before is ProfilerAction.RECORD_AND_SAVE
        goes_on = before is ProfilerAction.RECORD and after in recorded
        if before in recorded and not goes_on:
            if not saves and after is not None:
                warnings.warn(
                    f"Incorrect schedule: {before.name} followed by {after.name}", stacklevel=4
                )
            self.stop_trace()
            if saves or after is None:
                self._trace_ready()
        if before is ProfilerAction.WARMUP and after in (ProfilerAction.NONE, None):
            if after is not None:
                warnings.warn("Incorrect schedule: WARMUP followed by NONE", stacklevel=4)
            self.start_trace()
            self.stop_trace()
        is_prepared = before is ProfilerAction.WARMUP or goes_on
        if after in (*recorded, ProfilerAction.WARMUP) and not is_prepared:
            self.prepare_trace()
        if after in recorded and not goes_on:
            self.start_trace()
