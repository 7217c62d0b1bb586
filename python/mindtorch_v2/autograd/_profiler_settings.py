"""What a profiler can record, by torch's names."""

import enum

from mindtorch_v2 import _C, _kinds


class DeviceType(enum.Enum):
    """Kinds of devices, numbered as torch does; an NPU is PrivateUse1.

    >>> torch.profiler.DeviceType.CPU
    <DeviceType.CPU: 0>
    """

    CPU = 0
    CUDA = 1
    MKLDNN = 2
    OPENGL = 3
    OPENCL = 4
    IDEEP = 5
    HIP = 6
    FPGA = 7
    MAIA = 8
    XLA = 9
    Vulkan = 10
    Metal = 11
    XPU = 12
    MPS = 13
    Meta = 14
    HPU = 15
    VE = 16
    Lazy = 17
    IPU = 18
    MTIA = 19
    PrivateUse1 = 20


class ProfilerActivity(enum.Enum):
    """Whose work is recorded; an NPU's is PrivateUse1.

    >>> torch.profiler.ProfilerActivity.CPU
    <ProfilerActivity.CPU: 0>
    """

    CPU = 0
    XPU = 1
    CUDA = 2
    HPU = 3
    MTIA = 4
    PrivateUse1 = 5


class RecordScope(enum.Enum):
    """What an event is: an op, a node of a backward pass, a range of the user."""

    FUNCTION = 0
    BACKWARD_FUNCTION = 1
    TORCHSCRIPT_FUNCTION = 2
    KERNEL_FUNCTION_DTYPE = 3
    CUSTOM_CLASS = 4
    BUILD_FEATURE = 5
    LITE_INTERPRETER = 6
    USER_SCOPE = 7
    STATIC_RUNTIME_OP = 8
    STATIC_RUNTIME_MODEL = 9


class ExperimentalConfig:
    """Settings that torch may change: `profile_all_threads` records every thread of the process and
    not only the one that starts the profiler, `capture_overload_names` tells overloads of ops
    apart, and `trace_only` gives a trace and no list of events. The others are accepted; they mean
    CUDA's libraries.
    """

    def __init__(
        self,
        profiler_metrics=(),
        profiler_measure_per_kernel=False,
        verbose=False,
        performance_events=(),
        enable_cuda_sync_events=False,
        adjust_profiler_step=False,
        disable_external_correlation=False,
        profile_all_threads=False,
        capture_overload_names=False,
        record_python_gc_info=False,
        expose_kineto_event_metadata=False,
        custom_profiler_config="",
        adjust_timestamps=False,
        trace_only=False,
    ):
        self.profiler_metrics = list(profiler_metrics)
        self.profiler_measure_per_kernel = profiler_measure_per_kernel
        self.verbose = verbose
        self.performance_events = list(performance_events)
        self.enable_cuda_sync_events = enable_cuda_sync_events
        self.adjust_profiler_step = adjust_profiler_step
        self.disable_external_correlation = disable_external_correlation
        self.profile_all_threads = profile_all_threads
        self.capture_overload_names = capture_overload_names
        self.record_python_gc_info = record_python_gc_info
        self.expose_kineto_event_metadata = expose_kineto_event_metadata
        self.custom_profiler_config = custom_profiler_config
        self.adjust_timestamps = adjust_timestamps
        self.trace_only = trace_only


ExperimentalConfig.__name__ = ExperimentalConfig.__qualname__ = "_ExperimentalConfig"


def supported_activities():
    """What can be recorded here: the CPU, and the accelerator where there is one.

    >>> torch.profiler.ProfilerActivity.CPU in torch.profiler.supported_activities()
    True
    """
    if kind := _C._accelerator_kind():
        return {ProfilerActivity.CPU, getattr(ProfilerActivity, _kinds.ROWS[kind].dispatch_key)}
    return {ProfilerActivity.CPU}


def kineto_available():
    """True: events have what torch gives them with its library of that name.

    >>> torch.profiler.kineto_available()
    True
    """
    return True
