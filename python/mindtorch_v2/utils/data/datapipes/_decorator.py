"""Decorators of data pipes."""

import contextlib
import functools
import inspect
import typing

from .datapipe import IterDataPipe, MapDataPipe

__all__ = [
    "argument_validation",
    "functional_datapipe",
    "guaranteed_datapipes_determinism",
    "non_deterministic",
    "runtime_validation",
    "runtime_validation_disabled",
]


class functional_datapipe:
    """Makes a pipe a method of all pipes of its kind.

    >>> @torch.utils.data.functional_datapipe("doubled")
    ... class Doubled(torch.utils.data.IterDataPipe):
    ...     def __init__(self, source):
    ...         self.source = source
    ...     def __iter__(self):
    ...         for sample in self.source:
    ...             yield 2 * sample
    >>> list(torch.utils.data.datapipes.iter.IterableWrapper([1, 2]).doubled())
    [2, 4]
    """

    def __init__(self, name, enable_df_api_tracing=False):
        self.name = name
        self.enable_df_api_tracing = enable_df_api_tracing

    def __call__(self, cls):
        kinds = (IterDataPipe, MapDataPipe)
        kind = next((k for k in kinds if isinstance(cls, type) and issubclass(cls, k)), None)
        if kind is None and not (isinstance(cls, non_deterministic) and callable(cls)):
            raise TypeError("`functional_datapipe` can only decorate IterDataPipe or MapDataPipe")
        (kind or IterDataPipe).register_datapipe_as_function(
            self.name, cls, enable_df_api_tracing=self.enable_df_api_tracing
        )
        return cls


_determinism = False


class guaranteed_datapipes_determinism:
    """A with-block in which pipes that are not deterministic are refused."""

    def __init__(self):
        global _determinism
        self._before, _determinism = _determinism, True

    def __enter__(self):
        pass

    def __exit__(self, *exc_info):
        global _determinism
        _determinism = self._before


class non_deterministic:
    """Marks a pipe whose order may differ from run to run: always, or where a function of its
    arguments says so."""

    def __init__(self, arg):
        if isinstance(arg, type):
            if not issubclass(arg, IterDataPipe):
                raise TypeError(
                    "Only `IterDataPipe` can be decorated with `non_deterministic`, but "
                    f"{arg.__name__} is found"
                )
            self.cls, self.deterministic_fn = arg, lambda *args, **kwargs: True
        elif callable(arg):
            self.cls, self.deterministic_fn = None, arg
        else:
            raise TypeError(f"{arg} can not be decorated by non_deterministic")

    def __call__(self, *args, **kwargs):
        if self.cls is None:
            cls = args[0]
            if not (isinstance(cls, type) and issubclass(cls, IterDataPipe)):
                raise TypeError(f"Only `IterDataPipe` can be decorated, but {cls} is found")
            return functools.wraps(cls, updated=())(functools.partial(self._make, cls))
        return self._make(self.cls, *args, **kwargs)

    def _make(self, cls, *args, **kwargs):
        if _determinism and self.deterministic_fn(*args, **kwargs):
            raise TypeError(
                f"{cls.__name__} is non-deterministic, but you set "
                "'guaranteed_datapipes_determinism'. You can turn off determinism for this "
                "DataPipe if that is acceptable for your application"
            )
        return cls(*args, **kwargs)


def argument_validation(f):
    """Checks that the arguments annotated as pipes are pipes."""
    signature = inspect.signature(f)
    hints = typing.get_type_hints(f)

    @functools.wraps(f)
    def checked(*args, **kwargs):
        for name, value in signature.bind(*args, **kwargs).arguments.items():
            kind = typing.get_origin(hints.get(name)) or hints.get(name)
            if not isinstance(kind, type) or not issubclass(kind, IterDataPipe):
                continue
            if not isinstance(value, IterDataPipe):
                raise TypeError(
                    f"Expected argument '{name}' as a IterDataPipe, but found {type(value)}"
                )
        return f(*args, **kwargs)

    return checked


_validates = True


class runtime_validation_disabled(contextlib.ContextDecorator):
    """A with-block in which runtime_validation checks nothing."""

    def __init__(self):
        global _validates
        self._before, _validates = _validates, False

    def __enter__(self):
        pass

    def __exit__(self, *exc_info):
        global _validates
        _validates = self._before


def runtime_validation(f):
    """Checks each sample of a pipe against the T of its base class IterDataPipe[T]."""
    if f.__name__ != "__iter__":
        raise TypeError(
            f"Can not decorate function {f.__name__} with 'runtime_validation' other than "
            "'__iter__'"
        )

    @functools.wraps(f)
    def checked(self):
        kind = _kind_of_samples(type(self))
        for sample in f(self):
            if _validates and kind is not None and not isinstance(sample, kind):
                raise RuntimeError(
                    f"Expected an instance as subtype of {kind}, but found {sample}({type(sample)})"
                )
            yield sample

    return checked


def _kind_of_samples(cls):
    for base in getattr(cls, "__orig_bases__", ()):
        arguments = typing.get_args(base)
        if arguments and isinstance(typing.get_origin(base) or arguments[0], type):
            kind = typing.get_origin(arguments[0]) or arguments[0]
            return kind if isinstance(kind, type) else None
    return None
