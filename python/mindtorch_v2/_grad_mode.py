"""Switches of gradient mode and inference mode: with-blocks, decorators, plain calls."""

import functools
import inspect

from mindtorch_v2 import _C


def is_grad_enabled():
    """Whether ops on tensors that require gradients are recorded.

    >>> torch.is_grad_enabled()
    True
    """
    return _C._is_grad_enabled()


def is_inference_mode_enabled():
    """Whether inference mode is on.

    >>> torch.is_inference_mode_enabled()
    False
    """
    return _C._is_inference_mode_enabled()


class _Mode:
    """A with-block, or a decorator; `_switch` sets the modes that hold inside."""

    def __new__(cls, function=None, **kwargs) -> "_Mode":
        self = super().__new__(cls)
        self._states = []  # one per block that is entered
        # @torch.no_grad without brackets
        return self(function) if callable(function) else self

    def __enter__(self):
        self._states.append(_C._grad_state())
        self._switch()

    def __exit__(self, *exc_info):
        _C._restore_grad_state(self._states.pop())

    def clone(self):
        """Another of the same kind."""
        return self.__class__()

    def __call__(self, function):
        if inspect.isclass(function):
            function.__init__ = self(function.__init__)
            return function
        if inspect.isgeneratorfunction(function):
            return self._wrap_generator(function)

        # The decorated function may run in several threads at once: no state is kept in self.
        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            state = _C._grad_state()
            try:
                self._switch()
                return function(*args, **kwargs)
            finally:
                _C._restore_grad_state(state)

        return wrapped

    def _wrap_generator(self, function):
        # The mode holds while the generator runs, not while its caller does.
        def run(resume, value):
            state = _C._grad_state()
            try:
                self._switch()
                return resume(value)
            finally:
                _C._restore_grad_state(state)

        @functools.wraps(function)
        def wrapped(*args, **kwargs):
            generator = function(*args, **kwargs)
            resume, value = generator.send, None
            while True:
                try:
                    item = run(resume, value)
                except StopIteration as stop:
                    return stop.value
                try:
                    resume, value = generator.send, (yield item)
                except GeneratorExit:
                    run(lambda _: generator.close(), None)
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

    def _switch(self):
        _C._set_grad_enabled(False)


class enable_grad(_Mode):
    """Gradient mode on, in a with-block or a decorated function.

    >>> with torch.no_grad(), torch.enable_grad():
    ...     torch.is_grad_enabled()
    True
    """

    def _switch(self):
        _C._set_grad_enabled(True)


class inference_mode(_Mode):
    """Gradient mode off and inference mode on, in a with-block or a decorated function.

    >>> with torch.inference_mode():
    ...     torch.is_inference_mode_enabled()
    True
    """

    def __init__(self, mode=True):
        self.mode = callable(mode) or bool(mode)

    def __new__(cls, mode=True) -> "inference_mode":
        if not callable(mode):
            return super().__new__(cls)
        return cls()(mode)  # @torch.inference_mode without brackets

    def clone(self):
        """Another of the same mode."""
        return self.__class__(self.mode)

    def _switch(self):
        _C._set_inference_mode_enabled(self.mode)
        _C._set_grad_enabled(not self.mode)


class set_grad_enabled(_Mode):
    """Sets gradient mode at once; as a with-block it sets it back at the end.

    >>> with torch.set_grad_enabled(False):
    ...     torch.is_grad_enabled()
    False
    """

    def __new__(cls, mode) -> "set_grad_enabled":
        return super().__new__(cls)

    def __init__(self, mode):
        self.mode = bool(mode)
        self._before = _C._grad_state()
        self._switch()

    def __enter__(self):
        self._switch()

    def __exit__(self, *exc_info):
        _C._restore_grad_state(self._before)

    def clone(self):
        """Another of the same mode, which is set at once."""
        return self.__class__(self.mode)

    def __call__(self, function):
        # As a decorator it must not change the mode of the code around.
        _C._restore_grad_state(self._before)
        return super().__call__(function)

    def _switch(self):
        _C._set_grad_enabled(self.mode)
