"""torch.jit: there is no TorchScript. Functions and modules run as the Python code they are.

What asks whether code is being compiled hears no; decorators for the compiler change nothing;
script() and trace() give what they are given, and warn. Files of compiled code cannot be read.
"""

import contextlib
import typing
import warnings

from mindtorch_v2.nn.modules.module import Module

__all__ = [
    "Attribute",
    "CompilationUnit",
    "Error",
    "Final",
    "RecursiveScriptModule",
    "ScriptFunction",
    "ScriptModule",
    "TracerWarning",
    "annotate",
    "export",
    "fork",
    "freeze",
    "ignore",
    "interface",
    "is_scripting",
    "is_tracing",
    "isinstance",
    "load",
    "optimize_for_inference",
    "optimized_execution",
    "save",
    "script",
    "script_if_tracing",
    "script_method",
    "strict_fusion",
    "trace",
    "trace_module",
    "unused",
    "wait",
]
Final = typing.Final
_is_instance = isinstance


class Error(RuntimeError):
    """An error of compiled code."""


class TracerWarning(Warning):
    """What torch warns of while it traces; nothing is traced."""

    @staticmethod
    def ignore_lib_warnings():
        """Lets no such warnings of torch's own code appear: there are none."""


class CompilationUnit:
    """Compiled functions. There are none: ScriptFunction's error."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError("torch.jit.CompilationUnit: there is no TorchScript")


class ScriptModule(Module):
    """A compiled module. No module is one: script() gives the module itself."""

    def __init__(self):
        super().__init__()
        _warn("a ScriptModule is a Module")


class RecursiveScriptModule(ScriptModule):
    """What script() makes of a module in torch."""


class ScriptFunction:
    """A compiled function. No function is one: script() gives the function itself."""

    def __init__(self, *args, **kwargs):
        raise NotImplementedError("torch.jit.ScriptFunction: there is no TorchScript")


class Attribute(typing.NamedTuple):
    """A value with the type that a compiler is to give it."""

    value: typing.Any
    type: typing.Any


def _warn(what):
    warnings.warn(f"torch.jit: there is no TorchScript; {what}", stacklevel=3)


def is_scripting():
    """False.

    >>> torch.jit.is_scripting()
    False
    """
    return False


def is_tracing():
    """False.

    >>> torch.jit.is_tracing()
    False
    """
    return False


def script(obj, optimize=None, _frames_up=0, _rcb=None, example_inputs=None):
    """The function, class or module itself, with a warning: it runs as Python code."""
    _warn("script() gives back what it was given")
    return obj


def trace(func, example_inputs=None, *args, **kwargs):
    """The function or module itself, with a warning: it runs as Python code."""
    _warn("trace() gives back what it was given")
    return func


def trace_module(mod, inputs, *args, **kwargs):
    """The module itself, with a warning."""
    _warn("trace_module() gives back what it was given")
    return mod


def freeze(mod, preserved_attrs=None, optimize_numerics=True):
    """The module itself, with a warning. As in torch it must be in evaluation mode."""
    if mod.training:
        raise RuntimeError(
            "Freezing is currently only implemented for modules in eval mode. "
            "Please call .eval() on your module before freezing."
        )
    _warn("freeze() gives back what it was given")
    return mod


def optimize_for_inference(mod, other_methods=None):
    """The module itself, with a warning."""
    _warn("optimize_for_inference() gives back what it was given")
    return mod


def script_if_tracing(fn):
    """The function itself: nothing is traced."""
    return fn


_script_if_tracing = script_if_tracing  # the name that libraries use


def _overload_method(fn):
    """The method itself: what tells TorchScript of another signature."""
    return fn


_overload = _overload_method


def script_method(fn):
    """The method itself."""
    return fn


def export(fn):
    """The method itself; in torch it says that a method is to be compiled.

    >>> torch.jit.export(len) is len
    True
    """
    return fn


def ignore(drop=False, **kwargs):
    """The function itself; in torch it says that a method is not to be compiled.

    >>> torch.jit.ignore(len) is len
    True
    """
    return drop if callable(drop) else lambda function: function


def unused(fn):
    """The method itself; in torch it says that a method is not to be compiled.

    >>> torch.jit.unused(len) is len
    True
    """
    return fn


def interface(obj):
    """The class itself."""
    return obj


def annotate(the_type, the_value):
    """The value.

    >>> torch.jit.annotate(int, 3)
    3
    """
    return the_value


def isinstance(obj, target_type):
    """Whether an object has a type, which may be of typing: list[int], Optional[str].

    >>> torch.jit.isinstance([1, 2], list[int])
    True
    """
    origin, arguments = typing.get_origin(target_type), typing.get_args(target_type)
    if _is_instance(target_type, tuple):
        return any(isinstance(obj, one) for one in target_type)
    if origin is None:
        return _is_instance(obj, type(None) if target_type is None else target_type)
    if _is_union(origin):
        return any(isinstance(obj, one) for one in arguments)
    if not _is_instance(obj, origin):
        return False
    if origin is dict:
        key, value = arguments
        return all(isinstance(k, key) and isinstance(v, value) for k, v in obj.items())
    if origin is tuple:
        return len(obj) == len(arguments) and all(map(isinstance, obj, arguments))
    return all(isinstance(item, arguments[0]) for item in obj)


def _is_union(origin):
    import types

    return origin is typing.Union or origin is types.UnionType


def fork(func, *args, **kwargs):
    """Calls the function now; wait() gives its result."""
    return _Done(func(*args, **kwargs))


def wait(future):
    """The result of fork().

    >>> torch.jit.wait(torch.jit.fork(max, 1, 2))
    2
    """
    return future.wait()


class _Done:
    """The result of a call."""

    def __init__(self, value):
        self._value = value

    def wait(self):
        """The result."""
        return self._value

    value = wait

    def done(self):
        """True."""
        return True


def load(f, map_location=None, _extra_files=None, _restore_shapes=False):
    """NotImplementedError: a file of compiled code needs TorchScript."""
    raise NotImplementedError(
        f"torch.jit.load({f!r}): the file holds code for TorchScript, which mindtorch does not "
        "have. Save the state_dict() of the model with torch.save instead, and load that."
    )


def save(m, f, _extra_files=None):
    """NotImplementedError: nothing is compiled."""
    raise NotImplementedError(
        "torch.jit.save: there is no TorchScript. Save the state_dict() of the model with "
        "torch.save."
    )


@contextlib.contextmanager
def optimized_execution(should_optimize):
    """Changes nothing."""
    yield


@contextlib.contextmanager
def strict_fusion():
    """Changes nothing."""
    yield
