"""Switches of gradient mode. There is no autograd yet: the switches keep a flag per thread, which
programs may set and read, and no op looks at it."""

import functools
import inspect
import threading

_state = threading.local()


def is_grad_enabled():
    """Whether gradient mode is on.

    >>> torch.is_grad_enabled()
    True
    """
    return getattr(_state, "grad", True)


def is_inference_mode_enabled():
    """Whether inference mode is on.

    >>> torch.is_inference_mode_enabled()
    False
    """
    return getattr(_state, "inference", False)


class _Mode:
    """A with-block, or a decorator, in which gradient mode is `_grad`."""

    _grad = None
    _inference = None

    def __new__(cls, function=None, **kwargs) -> "_Mode":
        self = super().__new__(cls)
        # @torch.no_grad without brackets
        return self(function) if callable(function) else self

    def __enter__(self):
        self.__dict__.setdefault("_saved", []).append(
            (is_grad_enabled(), is_inference_mode_enabled())
        )
        self._switch()

    def __exit__(self, *exc_info):
        _state.grad, _state.inference = self._saved.pop()

    def _switch(self):
        _state.grad = self._grad
        if self._inference is not None:
            _state.inference = self._inference

    def __call__(self, function):
        if inspect.isclass(function):
            function.__init__ = self(function.__init__)
            return function
        if inspect.isgeneratorfunction(function):
            return self._wrap_generator(function)

        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            with self._clone():
                return function(*args, **kwargs)

        return wrapped

    def _clone(self):
        mode = object.__new__(type(self))
        mode._grad, mode._inference = self._grad, self._inference
        return mode

    def _wrap_generator(self, function):
        # The mode holds while the generator runs, not while its caller does.
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            generator = function(*args, **kwargs)
            resume, value = generator.send, None
            while True:
                try:
                    with self._clone():
                        item = resume(value)
                except StopIteration as stop:
                    return stop.value
                try:
                    resume, value = generator.send, (yield item)
                except GeneratorExit:
                    generator.close()
                    raise
                except BaseException as error:
                    resume, value = generator.throw, error

        return wrapped


class no_grad(_Mode):
    """Gradient mode off, in a with-block or a decorated function.

    >>> with torch.no_grad():
    ...     torch.is_grad_enabled()
    False
    """

    _grad = False


class enable_grad(_Mode):
    """Gradient mode on, in a with-block or a decorated function.

    >>> with torch.no_grad(), torch.enable_grad():
    ...     torch.is_grad_enabled()
    True
    """

    _grad = True


class inference_mode(_Mode):
    """Gradient mode off and inference mode on, in a with-block or a decorated function.

    >>> with torch.inference_mode():
    ...     torch.is_inference_mode_enabled()
    True
    """

    _grad, _inference = False, True

    def __init__(self, mode=True):
        if not callable(mode):
            self._grad, self._inference = not mode and is_grad_enabled(), bool(mode)


class set_grad_enabled(_Mode):
    """Sets gradient mode at once; as a with-block it sets it back at the end.

    >>> with torch.set_grad_enabled(False):
    ...     torch.is_grad_enabled()
    False
    """

    def __init__(self, mode):
        self._saved = [(is_grad_enabled(), is_inference_mode_enabled())]
        self._grad = bool(mode)
        self._switch()

    def __enter__(self):
        self._switch()

    def __exit__(self, *exc_info):
        _state.grad, _state.inference = self._saved[0]

    def __call__(self, function):
        # As a decorator it must not change the mode of the code around.
        _state.grad, _state.inference = self._saved[0]
        return super().__call__(function)

    def _clone(self):
        mode = object.__new__(_FixedMode)
        mode._grad = self._grad
        return mode


class _FixedMode(_Mode):
    pass
