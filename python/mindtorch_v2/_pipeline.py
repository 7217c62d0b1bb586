"""Deferred execution, torch.pipeline: the Python side of errors, dumps and decorators."""

from mindtorch_v2._C import current_pipeline, get_pipeline_config, pipeline, pipeline_config

__all__ = [
    "ErrorEnvelope",
    "Pipeline",
    "current_pipeline",
    "get_pipeline_config",
    "pipeline",
    "pipeline_config",
    "pipeline_context",
]


class ErrorEnvelope:
    """The error of a flush: which op, where it was called, what it read and wrote."""

    def __init__(self, fields: dict) -> None:
        import hashlib

        site = fields["callsite"]
        where = f"{site['file']}:{site['line']}:{site['func']}"
        text = f"{fields['op_name']}|{fields['phase']}|{where}|{fields['message']}"
        # The same failure at the same place has the same number.
        self.error_id = hashlib.sha1(text.encode()).hexdigest()[:16]
        self.__dict__.update(fields)

    def to_dict(self) -> dict:
        """All fields, as plain data."""
        return dict(self.__dict__)

    def __repr__(self) -> str:
        return f"ErrorEnvelope({_short(self)})"


def _short(error):
    return f"flush {error.flush_id}: op {error.op_seq} ({error.op_name}): {error.message}"


def _last_error(self) -> ErrorEnvelope | None:
    """The error of the last flush that failed, or None."""
    fields = self._error()
    return None if fields is None else ErrorEnvelope(fields)


def _format_error(self, style: str = "short") -> str:
    """The last error in one line ("short") or as JSON ("full"); "" without one."""
    if style not in ("short", "full"):
        raise ValueError(f"style must be 'short' or 'full', not {style!r}")
    error = self.last_error()
    if error is None:
        return ""
    if style == "short":
        return _short(error)
    import json

    return json.dumps(error.to_dict(), sort_keys=True)


_ENTRY = ("op_seq", "op_name", "callsite")


def _debug_dump(self, failed_only: bool = False) -> dict:
    """The pending ops or, with debug_enabled, those of the last flush.

    With failed_only, the op that failed in the last flush.
    """
    error = self.last_error()
    fields = None if error is None else error.to_dict()
    if failed_only:
        entries = [] if fields is None else [{name: fields[name] for name in _ENTRY}]
    else:
        entries = self._pending_ops() or self._last_ops()
    return {
        "flush_id": self.flush_id,
        "reason": self.last_flush_reason,
        "pending_count": self.pending_count(),
        "last_error": fields,
        "entries": entries,
    }


def _decorate(self, function):
    import functools
    import inspect

    settings = {name: value for name, value in self.config.items() if value is not None}

    def deferred(*args, **kwargs):
        with pipeline(**settings):
            return function(*args, **kwargs)

    def generator(*args, **kwargs):
        with pipeline(**settings):
            return (yield from function(*args, **kwargs))

    async def coroutine(*args, **kwargs):
        with pipeline(**settings):
            return await function(*args, **kwargs)

    async def async_generator(*args, **kwargs):
        with pipeline(**settings):
            inner = function(*args, **kwargs)
            try:
                value = await anext(inner)
                while True:
                    try:
                        sent = yield value
                    except GeneratorExit:
                        await inner.aclose()
                        raise
                    except BaseException as error:
                        value = await inner.athrow(error)
                    else:
                        value = await inner.asend(sent)
            except StopAsyncIteration:
                pass

    if inspect.isgeneratorfunction(function):
        deferred = generator
    elif inspect.isasyncgenfunction(function):
        deferred = async_generator
    elif inspect.iscoroutinefunction(function):
        deferred = coroutine
    return functools.wraps(function)(deferred)


pipeline.last_error = _last_error
pipeline.format_error = _format_error
pipeline.debug_dump = _debug_dump
pipeline.__call__ = _decorate
pipeline.queue = property(lambda self: self._pending_ops(), doc="The ops that wait.")
Pipeline = pipeline_context = pipeline
