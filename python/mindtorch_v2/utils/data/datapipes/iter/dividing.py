"""Pipes that make several of one. They share the source's iterator, with what one of them has read
and another has not yet in a buffer."""

import copy
import warnings
from collections import deque

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe

__all__ = ["DemultiplexerIterDataPipe", "ForkerIterDataPipe"]


class _Source(IterDataPipe):
    """Reads a pipe for several children. They read the same iteration; it begins anew when a child
    that took part begins again."""

    def __init__(self, datapipe, num_instances, buffer_size):
        if num_instances < 1:
            raise ValueError(
                f"Expected `num_instances` larger than 0, but {num_instances} is found"
            )
        if buffer_size == 0:
            raise ValueError("`buffer_size` should not be 0")
        if buffer_size < 0:
            warnings.warn(
                "Unlimited buffer size is set, please be aware of OOM risks", stacklevel=5
            )
        self.main_datapipe = datapipe
        self.num_instances = num_instances
        self.buffer_size = buffer_size
        self._generation = 0
        self._clear()

    def _clear(self):
        self._iterator = None
        self._buffers = [deque() for _ in range(self.num_instances)]
        self._is_over = False
        self._finished = set()  # children that have read everything

    def __getstate__(self):
        hidden = {"_iterator": None, "_buffers": [deque() for _ in range(self.num_instances)]}
        return {**super().__getstate__(), **hidden, "_is_over": False, "_finished": set()}

    def start(self, child_generation):
        """The generation that a child joins, which took part in that of `child_generation`."""
        if child_generation == self._generation:
            if self._iterator is not None and len(self._finished) < self.num_instances:
                warnings.warn(
                    "Some child DataPipes are not exhausted when __iter__ is called. We are "
                    "resetting the buffer and each child DataPipe will read from the start again.",
                    stacklevel=6,
                )
            self._generation += 1
            self._clear()
        return self._generation

    def read(self, child):
        """The samples for a child."""
        buffer = self._buffers[child]
        while True:
            if buffer:
                yield buffer.popleft()
            elif self._is_over:
                self._finished.add(child)
                return
            else:
                self._read_more(child)

    def _read_more(self, child):
        if self._iterator is None:
            self._iterator = iter(self.main_datapipe)
        try:
            sample = next(self._iterator)
        except StopIteration:
            self._is_over = True
            return
        self._divide(sample, child)

    @property
    def generation(self):
        return self._generation


class _ForkerIterDataPipe(_Source):
    def __init__(self, datapipe, num_instances, buffer_size, copy_fn):
        super().__init__(datapipe, num_instances, buffer_size)
        self.copy_fn = copy_fn

    def _divide(self, sample, child):
        for number, buffer in enumerate(self._buffers):
            if number != child and 0 <= self.buffer_size <= len(buffer):
                raise BufferError(
                    f"ForkerIterDataPipe buffer overflow,buffer size {self.buffer_size} is "
                    "insufficient."
                )
            buffer.append(self.copy_fn(sample) if self.copy_fn else sample)

    def __len__(self):
        return len(self.main_datapipe)


class _DemultiplexerIterDataPipe(_Source):
    def __init__(self, datapipe, num_instances, buffer_size, classifier_fn, drop_none):
        super().__init__(datapipe, num_instances, buffer_size)
        self.classifier_fn = classifier_fn
        self.drop_none = drop_none

    def _divide(self, sample, child):
        number = self.classifier_fn(sample)
        if number is None and self.drop_none:
            return
        if number is None or not 0 <= number < self.num_instances:
            raise ValueError(
                "Output of the classification fn should be between 0 and "
                f"{self.num_instances - 1}. {number} is returned."
            )
        if number != child and 0 <= self.buffer_size <= sum(map(len, self._buffers)):
            raise BufferError(
                f"DemultiplexerIterDataPipe buffer overflow, buffer size {self.buffer_size} is "
                "insufficient."
            )
        self._buffers[number].append(sample)


class _ChildDataPipe(IterDataPipe):
    def __init__(self, main_datapipe, instance_id):
        self.main_datapipe = main_datapipe
        self.instance_id = instance_id
        self._generation = -1

    def __iter__(self):
        self._generation = self.main_datapipe.start(self._generation)
        return self._read(self._generation)

    def _read(self, generation):
        for sample in self.main_datapipe.read(self.instance_id):
            if self.main_datapipe.generation != generation:
                break
            yield sample
        if self.main_datapipe.generation != generation:
            raise RuntimeError(
                "This iterator has been invalidated, because a new iterator has been created from "
                "one of the ChildDataPipes of "
                f"{type(self.main_datapipe).__name__}"
            )

    def __len__(self):
        return len(self.main_datapipe)


def _children(source):
    return [_ChildDataPipe(source, number) for number in range(source.num_instances)]


@functional_datapipe("fork")
class ForkerIterDataPipe(IterDataPipe):
    """Several pipes with the same samples, or with copies: `copy` is "shallow" or "deep".

    >>> pipe = torch.utils.data.datapipes.iter.IterableWrapper(range(3))
    >>> first, second = pipe.fork(2)
    >>> list(first), list(second)
    ([0, 1, 2], [0, 1, 2])
    """

    def __new__(cls, datapipe, num_instances, buffer_size=1000, copy=None):
        functions = {None: None, "shallow": _shallow_copy, "deep": _deep_copy}
        if copy not in functions:
            raise ValueError(
                f"Unknown copy method {copy}, possible options are None, `shallow`, or `deep`"
            )
        if num_instances == 1:
            return datapipe
        return _children(_ForkerIterDataPipe(datapipe, num_instances, buffer_size, functions[copy]))


@functional_datapipe("demux")
class DemultiplexerIterDataPipe(IterDataPipe):
    """Several pipes, to which a function divides the samples by giving their number.

    >>> pipe = torch.utils.data.datapipes.iter.IterableWrapper(range(5))
    >>> even, odd = pipe.demux(2, lambda x: x % 2)
    >>> list(even), list(odd)
    ([0, 2, 4], [1, 3])
    """

    def __new__(cls, datapipe, num_instances, classifier_fn, drop_none=False, buffer_size=1000):
        return _children(
            _DemultiplexerIterDataPipe(
                datapipe, num_instances, buffer_size, classifier_fn, drop_none
            )
        )


def _shallow_copy(sample):
    return copy.copy(sample)


def _deep_copy(sample):
    return copy.deepcopy(sample)
