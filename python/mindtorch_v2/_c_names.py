"""Names of torch._C that libraries use and that need no C++."""

NAMES = ("_get_tracing_state", "_log_api_usage_once")


def _log_api_usage_once(*names):
    """Nobody counts which functions are used: it does nothing."""


def _get_tracing_state():
    """None: torch.jit.trace does not trace."""
    return None
