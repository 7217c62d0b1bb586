"""The stubs of torch.pipeline, torch.npu and torch.cuda. Read by make_stubs.py."""

PIPELINE = """
class pipeline:
    flush_id: _int
    last_flush_reason: str
    config: dict[str, Any]
    queue: list[dict[str, Any]]
    def __init__(
        self,
        *,
        max_ops: _int | None = None,
        max_pending_bytes: _int | None = None,
        max_wait_us: _int | None = None,
        min_defer_ops: _int | None = None,
        adaptive_defer: _bool | None = None,
        adaptive_small_window_ops: _int | None = None,
        adaptive_min_defer_ops: _int | None = None,
        debug_enabled: _bool | None = None,
    ) -> None: ...
    def __call__(self, function: Callable[..., Any], /) -> Callable[..., Any]: ...
    def __enter__(self) -> pipeline: ...
    def __exit__(self, kind: Any, error: Any, trace: Any) -> None: ...
    def flush(self, reason: str = "manual") -> None: ...
    def pending_count(self) -> _int: ...
    def last_error(self) -> Any: ...
    def format_error(self, style: str = "short") -> str: ...
    def debug_dump(self, failed_only: _bool = False) -> dict[str, Any]: ...
    def _error(self) -> dict[str, Any] | None: ...
    def _pending_ops(self) -> list[dict[str, Any]]: ...
    def _last_ops(self) -> list[dict[str, Any]]: ...
    def _plans_made(self) -> _int: ...
    def _last_launches(self) -> _int: ...

def current_pipeline() -> pipeline | None: ...
def get_pipeline_config() -> dict[str, Any]: ...
def pipeline_config(
    *,
    max_ops: _int | None = ...,
    max_pending_bytes: _int | None = ...,
    max_wait_us: _int | None = ...,
    min_defer_ops: _int | None = ...,
    adaptive_defer: _bool | None = ...,
    adaptive_small_window_ops: _int | None = ...,
    adaptive_min_defer_ops: _int | None = ...,
    debug_enabled: _bool | None = ...,
) -> dict[str, Any]: ...
"""

# Of torch.npu and torch.cuda: what each function returns, and what its parameters take.
MODULE_HEAD = """# Written by tools/make_stubs.py: run `make stubs` after a change.
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from types import SimpleNamespace
from typing import Any

from mindtorch_v2 import _graphs, _streams
from mindtorch_v2._C import Generator, Tensor
from mindtorch_v2._C import OutOfMemoryError as OutOfMemoryError
from mindtorch_v2._C import device as _device
"""
_BY_RESULT = {
    "bool": "can_device_access_peer is_available is_bf16_supported is_current_stream_capturing "
    "is_initialized is_pinned",
    "int": "caching_allocator_alloc current_device device_count get_sync_debug_mode initial_seed "
    "max_memory_allocated max_memory_cached max_memory_reserved memory_allocated memory_cached "
    "memory_reserved",
    "float": "get_per_process_memory_fraction",
    "str": "get_allocator_backend get_device_name memory_summary",
    "tuple[int, int]": "get_device_capability graph_pool_handle mem_get_info stream_priority_range",
    "dict[str, Any]": "host_memory_stats host_memory_stats_as_nested_dict memory_snapshot "
    "memory_stats memory_stats_as_nested_dict",
    "list[dict[str, Any]]": "memory_segments",
    "Tensor": "get_rng_state pin_memory",
    "list[Tensor]": "get_rng_state_all",
    "SimpleNamespace": "get_device_properties",
    "Stream": "current_stream default_stream get_stream_from_external",
    "StreamContext": "stream",
    "AbstractContextManager[None]": "use_mem_pool",
    "Any": "make_graphed_callables",
}
RESULTS = {name: result for result, names in _BY_RESULT.items() for name in names.split()}
PARAMETERS = {
    "abbreviated": "bool",
    "allow_unused_input": "bool",
    "callables": "Callable[..., Any] | tuple[Callable[..., Any], ...]",
    "data_ptr": "int",
    "debug_mode": "str | int",
    "device": "_Device",
    "fraction": "float",
    "including_emulation": "bool",
    "mem_ptr": "int",
    "mempool_id": "tuple[int, int] | None",
    "new_state": "Tensor",
    "new_states": "Sequence[Tensor]",
    "num_warmup_iters": "int",
    "peer_device": "_Device",
    "pool": "Any",
    "sample_args": "tuple[Any, ...]",
    "seed": "int",
    "size": "int",
    "stream": "_streams.Stream | int | None",
    "tensor": "Tensor",
}
MODULE_CLASSES = """
_Device = _device | str | int | None

class Stream(_streams.Stream):
    {kind}_stream: int

class ExternalStream(Stream):
    def __init__(self, stream_ptr: int, device: _Device = None) -> None: ...

class Event(_streams.Event):
    {kind}_event: int
    def __init__(
        self,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> None: ...

StreamContext = _streams.StreamContext

class {graph}(_graphs.Graph): ...
class graph(_graphs.GraphContext): ...

class device:
    def __init__(self, device: _Device) -> None: ...
    def __enter__(self) -> None: ...
    def __exit__(self, *error: object) -> bool: ...

class device_of(device):
    def __init__(self, obj: Tensor) -> None: ...

class MemPool:
    id: tuple[int, int]
    def __init__(
        self, allocator: None = None, use_on_oom: bool = False, no_split: bool = False
    ) -> None: ...
    def use_count(self) -> int: ...
    def snapshot(self, include_traces: bool = True) -> list[dict[str, Any]]: ...

default_generators: tuple[Generator, ...]

"""
