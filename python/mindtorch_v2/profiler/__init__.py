"""torch.profiler: what a program does, when, and with how much memory.

    with torch.profiler.profile(profile_memory=True, record_shapes=True) as prof:
        train_step()
    print(prof.key_averages().table(sort_by="self_cpu_time_total", row_limit=10))
    prof.export_chrome_trace("trace.json")  # for https://ui.perfetto.dev

docs/profiler.md says what the lanes of a trace mean.
"""

from mindtorch_v2.autograd._profiler_settings import (
    DeviceType,
    ExperimentalConfig,
    ProfilerActivity,
    RecordScope,
    kineto_available,
    supported_activities,
)
from mindtorch_v2.autograd.profiler import KinetoStepTracker, record_function
from mindtorch_v2.profiler import itt
from mindtorch_v2.profiler.profiler import (
    ProfilerAction,
    _KinetoProfile,
    profile,
    schedule,
    tensorboard_trace_handler,
)

__all__ = [
    "DeviceType",
    "ProfilerAction",
    "ProfilerActivity",
    "kineto_available",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]

_ExperimentalConfig = ExperimentalConfig
