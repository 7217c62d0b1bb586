"""The rule that a pipe has one iterator at a time."""

import functools


class _Iteration:
    """An iterator of a pipe, until the pipe gets another one."""

    def __init__(self, pipe, start):
        self._pipe = pipe
        pipe.__dict__["_iteration"] = self
        with self._with_name_of_pipe():
            pipe.reset()
            self._iterator = iter(start(pipe))

    def __iter__(self):
        return self

    def __next__(self):
        if self._pipe.__dict__.get("_iteration") is not self:
            raise RuntimeError(
                "This iterator has been invalidated because another iterator has been created "
                f"from the same IterDataPipe: {description_of(self._pipe)}\n"
                "This may be caused by multiple references to the same IterDataPipe. We recommend "
                "using `.fork()` if that is necessary."
            )
        with self._with_name_of_pipe():
            return next(self._iterator)

    def _with_name_of_pipe(self):
        return _NameOfPipe(self._pipe)

    def __getattr__(self, name):
        return getattr(self.__dict__["_iterator"], name)


class _NameOfPipe:
    """Errors that leave the block say in which pipe they were raised first."""

    def __init__(self, pipe):
        self._pipe = pipe

    def __enter__(self):
        pass

    def __exit__(self, error_type, error, trace):
        if error is None or isinstance(error, StopIteration) or not isinstance(error, Exception):
            return
        if getattr(error, "_names_a_pipe", False):
            return
        where = f"\nThis exception is thrown by __iter__ of {description_of(self._pipe)}"
        if error.args and isinstance(error.args[0], str):
            error.args = (error.args[0] + where, *error.args[1:])
        error._names_a_pipe = True


def description_of(pipe):
    """A pipe with its settings, as `Class(name=value)`."""
    settings = ", ".join(
        f"{name}={getattr(value, '__name__', value)}"
        for name, value in sorted(pipe.__dict__.items())
        if not name.startswith("_")
    )
    return f"{type(pipe).__qualname__}({settings})"


def one_iterator_at_a_time(start):
    """__iter__ of a pipe, with the rule."""
    if getattr(start, "_has_rule", False):
        return start

    @functools.wraps(start)
    def begin(pipe):
        # super().__iter__() is a part of the iteration that has begun.
        inner = pipe.__dict__.get("_starting", False)
        if inner:
            return start(pipe)
        pipe.__dict__["_starting"] = True
        try:
            return _Iteration(pipe, start)
        finally:
            del pipe.__dict__["_starting"]

    begin._has_rule = True
    return begin
