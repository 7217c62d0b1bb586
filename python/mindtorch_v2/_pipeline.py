"""torch.pipeline: ops run later and together, with the results of running them one by one."""

import functools
import hashlib
import json
import threading

from mindtorch_v2 import _C

__all__ = ["Pipeline", "current_pipeline", "get_pipeline_config", "pipeline", "pipeline_config"]

_DEFAULTS = {
    "max_ops": None,
    "max_pending_bytes": None,
    "max_wait_us": None,
    "debug_enabled": False,
    "min_defer_ops": None,
    "adaptive_defer": False,
    "adaptive_small_window_ops": 24,
    "adaptive_min_defer_ops": 4,
}
_config = dict(_DEFAULTS)
_local = threading.local()


class Pipeline(_C._Pipeline):
    """Ops that wait to be run. `with torch.pipeline() as pipe:` gives one."""

    def flush(self, reason: str = "manual") -> None:
        """Runs what is recorded; raises the first error.

        >>> with torch.pipeline() as pipe:
        ...     y = torch.ones(3) + 1
        ...     pipe.flush()
        """
        super().flush(reason)

    def last_error(self) -> dict | None:
        """What the last flush that failed has to say, or None."""
        error = self._error()
        if error is None:
            return None
        site = error["callsite"]
        text = f"{error['op_name']}{error['phase']}{site['file']}{site['line']}{error['message']}"
        return {"error_id": hashlib.sha1(text.encode()).hexdigest()[:16], **error}

    def format_error(self, style: str = "short") -> str:
        """The last error in one line ("short") or as JSON ("full"); "" without one."""
        if style not in ("short", "full"):
            raise ValueError(f"style must be 'short' or 'full', not {style!r}")
        error = self.last_error()
        if error is None:
            return ""
        if style == "full":
            return json.dumps(error, sort_keys=True)
        return (
            f"flush {error['flush_id']}: op {error['op_seq']} ({error['op_name']}): "
            f"{error['message']}"
        )


def current_pipeline() -> Pipeline | None:
    """The pipeline that takes this thread's ops, or None."""
    return getattr(_local, "pipeline", None)


def _set_current(pipe):
    _local.pipeline = pipe
    _C._set_pipeline(pipe)


class pipeline:
    """Runs ops together: with the results of running them one by one, and in less time.

    >>> with torch.pipeline():
    ...     y = (torch.ones(3) * 2 + 1).relu()
    >>> y
    tensor([3., 3., 3.])
    """

    def __init__(self, **overrides: object) -> None:
        unknown = set(overrides) - set(_DEFAULTS)
        if unknown:
            raise TypeError(f"pipeline() got an unexpected keyword argument {sorted(unknown)[0]!r}")
        self._overrides = overrides

    def __call__(self, function):
        @functools.wraps(function)
        def deferred(*args, **kwargs):
            with pipeline(**self._overrides):
                return function(*args, **kwargs)

        return deferred

    def __enter__(self) -> Pipeline:
        config = {**_config, **{k: v for k, v in self._overrides.items() if v is not None}}
        self._outer = current_pipeline()
        self._pipe = Pipeline(
            max_ops=config["max_ops"],
            max_pending_bytes=config["max_pending_bytes"],
            max_wait_us=config["max_wait_us"],
            min_defer_ops=config["min_defer_ops"],
            debug_enabled=config["debug_enabled"],
        )
        _set_current(self._pipe)
        return self._pipe

    def __exit__(self, kind, error, trace):
        _set_current(self._outer)
        try:
            self._pipe.flush("context_exit")
        except Exception:
            if error is None:
                raise


def pipeline_config(**settings: object) -> dict:
    """Sets the defaults of all pipelines made from now on; gives them all.

    >>> torch.pipeline_config(max_ops=64)["max_ops"]
    64
    >>> torch.pipeline_config(max_ops=None)["max_ops"]
    """
    for name, value in settings.items():
        if name in _DEFAULTS:
            _config[name] = value
    return dict(_config)


def get_pipeline_config() -> dict:
    """The defaults of all pipelines.

    >>> torch.get_pipeline_config()["adaptive_small_window_ops"]
    24
    """
    return dict(_config)
