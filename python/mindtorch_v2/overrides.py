"""torch.overrides: classes and modes that handle calls of torch's functions themselves.

A class with a method __torch_function__(cls, func, types, args=(), kwargs=None) handles every call
that one of its objects is an argument of. Subclasses of Tensor have one: it runs the function and
makes its results instances of the subclass. A mode handles all calls of its thread:

    class Log(torch.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            print(torch.overrides.resolve_name(func))
            return func(*args, **(kwargs or {}))

    with Log():
        torch.zeros(2) + 1
"""

import contextlib
import functools
import warnings

from mindtorch_v2 import _C
from mindtorch_v2._C import _has_torch_function as has_torch_function
from mindtorch_v2._C import _has_torch_function_unary as has_torch_function_unary
from mindtorch_v2._C import _has_torch_function_variadic as has_torch_function_variadic
from mindtorch_v2._override_tables import (
    get_default_nowrap_functions,
    get_ignored_functions,
    get_overridable_functions,
    get_testing_overrides,
    is_tensor_method_or_property,
    resolve_name,
)

__all__ = [
    "enable_reentrant_dispatch",
    "get_ignored_functions",
    "get_overridable_functions",
    "get_testing_overrides",
    "handle_torch_function",
    "has_torch_function",
    "is_tensor_like",
    "is_tensor_method_or_property",
    "redispatch_function",
    "resolve_name",
    "wrap_torch_function",
]

_DISABLED = _C._disabled_torch_function_impl


def _get_overloaded_args(relevant_args, get_type_fn=None):
    """The arguments that handle calls, one of each class: subclasses first, then from left to
    right.
    """
    get_type = get_type_fn or type
    if not _C._is_torch_function_enabled():
        return []
    classes, found = set(), []
    for argument in relevant_args:
        cls = get_type(argument)
        handler = getattr(cls, "__torch_function__", _DISABLED)
        if cls in classes or handler is _DISABLED:
            continue
        classes.add(cls)
        place = next(
            (i for i, other in enumerate(found) if issubclass(cls, get_type(other))), len(found)
        )
        found.insert(place, argument)
    return found


def handle_torch_function(public_api, relevant_args, *args, **kwargs):
    """Lets the active mode, then the classes of `relevant_args`, handle public_api(*args,
    **kwargs). For functions written in Python, after has_torch_function said yes.

    >>> def double(x):
    ...     if torch.overrides.has_torch_function((x,)):
    ...         return torch.overrides.handle_torch_function(double, (x,), x)
    ...     return 2 * x
    >>> double(torch.ones(1))
    tensor([2.])
    """
    handlers = _get_overloaded_args(relevant_args)
    types = tuple(map(type, handlers))
    if _C._is_torch_function_mode_enabled():
        with _pop_mode_temporarily() as mode:
            result = mode.__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    for handler in handlers:
        result = handler.__torch_function__(public_api, types, args, kwargs)
        if result is not NotImplemented:
            return result
    name = f"{public_api.__module__}.{public_api.__name__}"
    raise TypeError(
        f"no implementation found for '{name}' on types that implement __torch_function__: "
        f"{list(types)}"
    )


def redispatch_function(func, types, args=(), kwargs=None):
    """What func(*args, **kwargs) gives without the class whose handler asks.

    >>> torch.overrides.redispatch_function(torch.add, (), (torch.ones(1), 1))
    tensor([2.])
    """
    with _C.DisableTorchFunctionSubclass():
        return func(*args, **(kwargs or {}))


def wrap_torch_function(dispatcher):
    """Makes a function written in Python one that classes can handle; dispatcher(*args, **kwargs)
    gives the arguments whose classes are asked.

    >>> @torch.overrides.wrap_torch_function(lambda a: (a,))
    ... def double(a):
    ...     return 2 * a
    >>> double(torch.ones(1))
    tensor([2.])
    """

    def wrap(func):
        @functools.wraps(func)
        def wrapped(*args, **kwargs):
            relevant_args = dispatcher(*args, **kwargs)
            if has_torch_function(relevant_args):
                return handle_torch_function(wrapped, relevant_args, *args, **kwargs)
            return func(*args, **kwargs)

        return wrapped

    return wrap


def is_tensor_like(inp):
    """Whether `inp` is a tensor or handles calls as if it were one.

    >>> torch.overrides.is_tensor_like(torch.ones(1)), torch.overrides.is_tensor_like(1)
    (True, False)
    """
    return type(inp) is _C.Tensor or hasattr(inp, "__torch_function__")


# --- modes ------------------------------------------------------------------------------------


class TorchFunctionMode:
    """Handles all calls of the thread inside `with mode:`. Subclasses write __torch_function__;
    what it calls goes to the mode around it, if any.

    >>> class Double(torch.overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         result = func(*args, **(kwargs or {}))
    ...         return result * 2 if func is torch.ones else result
    >>> with Double():
    ...     torch.ones(2)
    tensor([2., 2.])
    """

    inner: "TorchFunctionMode"

    def __init__(self):
        pass

    def __torch_function__(self, func, types, args=(), kwargs=None):
        raise NotImplementedError

    def __enter__(self):
        _push_mode(self)
        return self

    def __exit__(self, *exc_info):
        _pop_mode()

    @classmethod
    def push(cls, *args, **kwargs):
        """The old form of cls(*args, **kwargs)."""
        warnings.warn(
            "`Mode.push()` is no longer necessary and can be replaced with just `with Mode()`",
            stacklevel=2,
        )
        return cls(*args, **kwargs)


class BaseTorchFunctionMode(TorchFunctionMode):
    """Changes nothing."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        return func(*args, **(kwargs or {}))


def _push_mode(mode):
    _C._push_on_torch_function_stack(mode)


def _pop_mode():
    return _C._pop_torch_function_stack()


def _get_current_function_mode():
    """The innermost mode, or None."""
    count = _C._len_torch_function_stack()
    return _C._get_function_stack_at(count - 1) if count > 0 else None


def _get_current_function_mode_stack():
    """All modes of the thread, the innermost last."""
    return [_C._get_function_stack_at(i) for i in range(_C._len_torch_function_stack())]


@contextlib.contextmanager
def _pop_mode_temporarily():
    mode = _pop_mode()
    try:
        yield mode
    finally:
        _push_mode(mode)


@contextlib.contextmanager
def _enable_torch_function():
    """Turns overrides on again inside a block that turned them off."""
    with _C._EnableTorchFunction():
        yield


@contextlib.contextmanager
def enable_reentrant_dispatch():
    """A block in which handlers may call back. They always may here: torch's name for programs
    that ask for it.

    >>> with torch.overrides.enable_reentrant_dispatch():
    ...     torch.ones(1)
    tensor([1.])
    """
    yield
