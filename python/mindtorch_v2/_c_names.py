"""Names of torch._C that libraries use and that need no C++."""

from mindtorch_v2._library.dispatch_keys import (
    DispatchKey,
    DispatchKeySet,
    _ExcludeDispatchKeyGuard,
)

NAMES = (
    "DispatchKey",
    "DispatchKeySet",
    "_ExcludeDispatchKeyGuard",
    "_get_tracing_state",
    "_log_api_usage_once",
)
__all__ = ["DispatchKey", "DispatchKeySet", "_ExcludeDispatchKeyGuard"]


def _log_api_usage_once(*names):
    """Nobody counts which functions are used: it does nothing."""


def _get_tracing_state():
    """None: torch.jit.trace does not trace."""
    return None
