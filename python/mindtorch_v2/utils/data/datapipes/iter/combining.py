"""Pipes that join several."""

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe

__all__ = ["ConcaterIterDataPipe", "MultiplexerIterDataPipe", "ZipperIterDataPipe"]


def _checked(datapipes):
    if not datapipes:
        raise ValueError("Expected at least one DataPipe, but got nothing")
    if not all(isinstance(pipe, IterDataPipe) for pipe in datapipes):
        raise TypeError("Expected all inputs to be `IterDataPipe`")
    return datapipes


@functional_datapipe("concat")
class ConcaterIterDataPipe(IterDataPipe):
    """The samples of several pipes, one pipe after the other.

    >>> wrap = torch.utils.data.datapipes.iter.IterableWrapper
    >>> list(wrap([1, 2]).concat(wrap([3])))
    [1, 2, 3]
    """

    def __init__(self, *datapipes):
        self.datapipes = _checked(datapipes)

    def __iter__(self):
        for pipe in self.datapipes:
            yield from pipe

    def __len__(self):
        return sum(len(pipe) for pipe in self.datapipes)


@functional_datapipe("zip")
class ZipperIterDataPipe(IterDataPipe):
    """Tuples of the samples of several pipes, until the shortest ends.

    >>> wrap = torch.utils.data.datapipes.iter.IterableWrapper
    >>> list(wrap([1, 2]).zip(wrap("ab")))
    [(1, 'a'), (2, 'b')]
    """

    def __init__(self, *datapipes):
        self.datapipes = _checked(datapipes)

    def __iter__(self):
        yield from zip(*self.datapipes, strict=False)

    def __len__(self):
        return min(len(pipe) for pipe in self.datapipes)


@functional_datapipe("mux")
class MultiplexerIterDataPipe(IterDataPipe):
    """One sample of each of several pipes in turn, until the shortest ends.

    >>> wrap = torch.utils.data.datapipes.iter.IterableWrapper
    >>> list(wrap([1, 2]).mux(wrap([10, 20, 30])))
    [1, 10, 2, 20]
    """

    def __init__(self, *datapipes):
        self.datapipes = _checked(datapipes)

    def __iter__(self):
        for samples in zip(*self.datapipes, strict=False):
            yield from samples

    def __len__(self):
        return min(len(pipe) for pipe in self.datapipes) * len(self.datapipes)
