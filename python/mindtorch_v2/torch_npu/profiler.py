"""torch_npu.profiler: torch.profiler by the names that programs for Ascend use.

>>> import mindtorch_v2.torch_npu as torch_npu
>>> with torch_npu.profiler.profile(activities=[torch_npu.profiler.ProfilerActivity.CPU]) as prof:
...     _ = torch.ones(2)
>>> [event.name for event in prof.events()]
['aten::ones']
"""

from mindtorch_v2.profiler import (
    ProfilerAction,
    profile,
    schedule,
    supported_activities,
)
from mindtorch_v2.profiler import (
    ProfilerActivity as _TorchActivity,
)
from mindtorch_v2.profiler import (
    tensorboard_trace_handler as _torch_handler,
)

__all__ = [
    "AiCMetrics",
    "ExportType",
    "ProfilerAction",
    "ProfilerActivity",
    "ProfilerLevel",
    "profile",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]


class ProfilerActivity:
    """Whose work is recorded."""

    CPU = _TorchActivity.CPU
    NPU = _TorchActivity.PrivateUse1


class ProfilerLevel:
    """How much of CANN's own recording is wanted; accepted, and of no effect."""

    Level_none = "Level_none"
    Level0 = "Level0"
    Level1 = "Level1"
    Level2 = "Level2"


class AiCMetrics:
    """Which counters of the cores are wanted; accepted, and of no effect."""

    PipeUtilization = "PipeUtilization"
    ArithmeticUtilization = "ArithmeticUtilization"
    Memory = "Memory"
    MemoryL0 = "MemoryL0"
    MemoryUB = "MemoryUB"
    ResourceConflictRatio = "ResourceConflictRatio"
    L2Cache = "L2Cache"
    MemoryAccess = "MemoryAccess"
    AiCoreNone = "ACL_AICORE_NONE"


class ExportType:
    """In which form CANN's files are wanted; accepted, and of no effect."""

    Text = "text"
    Db = "db"


class _ExperimentalConfig:
    """Settings of CANN's own recording: accepted, kept, and of no effect.

    >>> import mindtorch_v2.torch_npu as torch_npu
    >>> config = torch_npu.profiler._ExperimentalConfig(profiler_level="Level1", l2_cache=False)
    >>> config.profiler_level
    'Level1'
    """

    profile_all_threads = False
    capture_overload_names = False
    trace_only = False

    def __init__(self, **settings):
        self.__dict__.update(settings)


def tensorboard_trace_handler(
    dir_name=None, worker_name=None, analyse_flag=True, async_mode=False, **settings
):
    """For on_trace_ready: writes each trace into the folder, by default `./profiler_result`, where
    TensorBoard's plugin finds it."""
    return _torch_handler(dir_name or "./profiler_result", worker_name)
