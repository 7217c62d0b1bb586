"""The base classes of data pipes."""

import functools
from typing import Generic, TypeVar

from mindtorch_v2.utils.data.dataset import Dataset, IterableDataset

from ._iteration import one_iterator_at_a_time

__all__ = ["DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe"]


_T_co = TypeVar("_T_co", covariant=True)


class _Pipe:
    """What pipes of both kinds have: methods for registered steps, and how they are shown."""

    functions = {}
    _HIDDEN = ("_iteration", "_starting")  # of the state that is pickled

    def __getattr__(self, name):
        if name in self.functions:
            return functools.partial(self.functions[name], self)
        raise AttributeError(f"'{type(self).__name__}' object has no attribute '{name}'")

    def __dir__(self):
        return [*super().__dir__(), *self.functions]

    @classmethod
    def register_function(cls, function_name, function):
        """Makes a function of a pipe a method of all pipes."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(
        cls, function_name, cls_to_register, enable_df_api_tracing=False
    ):
        """Makes a pipe a method of all pipes: pipe.name(...) is cls_to_register(pipe, ...)."""
        if function_name in cls.functions:
            raise Exception(
                f"Unable to add DataPipe function name {function_name} as it is already taken"
            )

        @functools.wraps(cls_to_register, updated=())
        def make(source, *args, **kwargs):
            return cls_to_register(source, *args, **kwargs)

        cls.functions[function_name] = make

    def __getstate__(self):
        return {name: value for name, value in self.__dict__.items() if name not in self._HIDDEN}

    def __repr__(self):
        return type(self).__qualname__

    def __str__(self):
        return type(self).__qualname__


class IterDataPipe(_Pipe, IterableDataset, Generic[_T_co]):
    """A pipe whose samples come one after the other. A step is a class with `__iter__`; it is a
    method of all pipes when functional_datapipe gives it a name.

    A pipe has one iterator at a time: a second one ends the first. `reset()` is called when an
    iteration begins.

    >>> pipe = torch.utils.data.datapipes.iter.IterableWrapper([1, 2, 3])
    >>> list(pipe.map(lambda x: x * 10))
    [10, 20, 30]
    """

    functions = {}

    def __init_subclass__(cls, **kwargs):
        super().__init_subclass__(**kwargs)
        if "__iter__" in cls.__dict__:
            cls.__iter__ = one_iterator_at_a_time(cls.__dict__["__iter__"])

    def __iter__(self):
        return self

    def reset(self):
        """Called when an iteration begins."""


class DFIterDataPipe(IterDataPipe):
    """A pipe of data frames."""

    def _is_dfpipe(self):
        return True


class MapDataPipe(_Pipe, Dataset, Generic[_T_co]):
    """A pipe whose samples have keys.

    >>> pipe = torch.utils.data.datapipes.map.SequenceWrapper([1, 2, 3])
    >>> pipe.map(lambda x: x * 10)[2]
    30
    """

    functions = {}


class DataChunk(list):
    """The samples of a batch.

    >>> torch.utils.data.DataChunk([1, 2])
    [1, 2]
    """

    def __init__(self, items):
        items = list(items)
        super().__init__(items)
        self.items = items

    def as_str(self, indent=""):
        """The samples as text, after an indentation."""
        return f"{indent}[{', '.join(str(item) for item in self)}]"

    def raw_iterator(self):
        """The samples, as they were given."""
        yield from self.items
