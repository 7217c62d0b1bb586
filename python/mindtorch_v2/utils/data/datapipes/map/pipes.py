"""The pipes of datapipes.map."""

import copy
import random
import warnings

import mindtorch_v2 as torch

from .._decorator import functional_datapipe
from ..datapipe import DataChunk, IterDataPipe, MapDataPipe

__all__ = [
    "BatcherMapDataPipe",
    "ConcaterMapDataPipe",
    "MapperMapDataPipe",
    "SequenceWrapperMapDataPipe",
    "ShufflerIterDataPipe",
    "ZipperMapDataPipe",
]


class SequenceWrapperMapDataPipe(MapDataPipe):
    """The elements of a sequence or a dict, or of a copy of it.

    >>> torch.utils.data.datapipes.map.SequenceWrapper([10, 20])[1]
    20
    """

    def __init__(self, sequence, deepcopy=True):
        self.sequence = sequence
        if deepcopy:
            try:
                self.sequence = copy.deepcopy(sequence)
            except TypeError:
                warnings.warn(
                    "The input sequence can not be deepcopied, please be aware of in-place "
                    "modification would affect source data",
                    stacklevel=2,
                )

    def __getitem__(self, index):
        return self.sequence[index]

    def __len__(self):
        return len(self.sequence)


def _same(sample):
    return sample


@functional_datapipe("map")
class MapperMapDataPipe(MapDataPipe):
    """A function of each sample, called when the sample is asked for.

    >>> wrap = torch.utils.data.datapipes.map.SequenceWrapper
    >>> wrap([10, 20]).map(lambda x: -x)[1]
    -20
    """

    def __init__(self, datapipe, fn=_same):
        self.datapipe = datapipe
        self.fn = fn

    def __getitem__(self, index):
        return self.fn(self.datapipe[index])

    def __len__(self):
        return len(self.datapipe)


def _checked(datapipes):
    if not datapipes:
        raise ValueError("Expected at least one DataPipe, but got nothing")
    if not all(isinstance(pipe, MapDataPipe) for pipe in datapipes):
        raise TypeError("Expected all inputs to be `MapDataPipe`")
    if not all(hasattr(pipe, "__len__") for pipe in datapipes):
        raise TypeError("Expected all inputs to be `Sized`")
    return datapipes


@functional_datapipe("concat")
class ConcaterMapDataPipe(MapDataPipe):
    """Several pipes with keys from 0, one after the other.

    >>> wrap = torch.utils.data.datapipes.map.SequenceWrapper
    >>> wrap([10, 20]).concat(wrap([30]))[2]
    30
    """

    def __init__(self, *datapipes):
        self.datapipes = _checked(datapipes)

    def __getitem__(self, index):
        offset = 0
        for pipe in self.datapipes:
            if index - offset < len(pipe):
                return pipe[index - offset]
            offset += len(pipe)
        raise IndexError(f"Index {index} is out of range.")

    def __len__(self):
        return sum(len(pipe) for pipe in self.datapipes)


@functional_datapipe("zip")
class ZipperMapDataPipe(MapDataPipe):
    """Tuples of the samples that several pipes have for a key.

    >>> wrap = torch.utils.data.datapipes.map.SequenceWrapper
    >>> wrap([10, 20]).zip(wrap("ab"))[1]
    (20, 'b')
    """

    def __init__(self, *datapipes):
        self.datapipes = _checked(datapipes)

    def __getitem__(self, index):
        try:
            return tuple(pipe[index] for pipe in self.datapipes)
        except IndexError as error:
            raise IndexError(
                f"Index {index} is out of range for one of the input MapDataPipes."
            ) from error

    def __len__(self):
        return min(len(pipe) for pipe in self.datapipes)


@functional_datapipe("batch")
class BatcherMapDataPipe(MapDataPipe):
    """Lists of `batch_size` samples; the last may be shorter, or is left out.

    >>> wrap = torch.utils.data.datapipes.map.SequenceWrapper
    >>> wrap([10, 20, 30]).batch(2)[0]
    [10, 20]
    """

    def __init__(self, datapipe, batch_size, drop_last=False, wrapper_class=DataChunk):
        if batch_size <= 0:
            raise AssertionError("Batch size is required to be larger than 0!")
        self.datapipe = datapipe
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.wrapper_class = wrapper_class

    def __getitem__(self, index):
        if not 0 <= index < len(self):
            raise IndexError(f"Index {index} is out of bound.")
        start = index * self.batch_size
        stop = min(start + self.batch_size, len(self.datapipe))
        return self.wrapper_class([self.datapipe[i] for i in range(start, stop)])

    def __len__(self):
        whole, rest = divmod(len(self.datapipe), self.batch_size)
        return whole + (rest > 0 and not self.drop_last)


class ShufflerIterDataPipe(IterDataPipe):
    """The samples of a pipe with keys, in random order; torch's for the same seed.

    >>> wrap = torch.utils.data.datapipes.map.SequenceWrapper
    >>> sorted(wrap([10, 20, 30]).shuffle().set_seed(0))
    [10, 20, 30]
    """

    def __init__(self, datapipe, *, indices=None):
        self.datapipe = datapipe
        self.indices = list(range(len(datapipe))) if indices is None else indices
        self._enabled = True
        self._seed = None
        self._random = random.Random()
        self._order = self.indices

    def set_shuffle(self, shuffle=True):
        """Switches it on or off."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed):
        """The seed of the next iteration."""
        self._seed = seed
        return self

    def reset(self):
        """Draws the order, with a seed of torch's generator if there is none."""
        self._order = self.indices
        if self._enabled:
            if self._seed is None:
                self._seed = int(torch.empty((), dtype=torch.int64).random_().item())
            self._random.seed(self._seed)
            self._seed = None
            self._order = self._random.sample(self.indices, len(self.indices))

    def __iter__(self):
        # The last one drawn comes first, as in torch.
        order = reversed(self._order) if self._enabled else self._order
        for index in order:
            yield self.datapipe[index]

    def __len__(self):
        return len(self.datapipe)


MapDataPipe.register_datapipe_as_function("shuffle", ShufflerIterDataPipe)
