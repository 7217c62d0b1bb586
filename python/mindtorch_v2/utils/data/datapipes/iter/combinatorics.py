"""Pipes that change the order of samples."""

import random

import mindtorch_v2 as torch
from mindtorch_v2.utils.data.sampler import SequentialSampler

from .._decorator import functional_datapipe
from ..datapipe import IterDataPipe

__all__ = ["SamplerIterDataPipe", "ShufflerIterDataPipe"]


class SamplerIterDataPipe(IterDataPipe):
    """What a sampler of torch.utils.data makes of a pipe.

    >>> pipe = torch.utils.data.datapipes.iter.IterableWrapper(range(3))
    >>> list(torch.utils.data.datapipes.iter.Sampler(pipe))
    [0, 1, 2]
    """

    def __init__(self, datapipe, sampler=SequentialSampler, sampler_args=None, sampler_kwargs=None):
        self.datapipe = datapipe
        self.sampler_args = sampler_args or ()
        self.sampler_kwargs = {**(sampler_kwargs or {}), "data_source": datapipe}
        self.sampler = sampler(*self.sampler_args, **self.sampler_kwargs)

    def __iter__(self):
        return iter(self.sampler)

    def __len__(self):
        return len(self.sampler)


@functional_datapipe("shuffle")
class ShufflerIterDataPipe(IterDataPipe):
    """Samples in random order: each is drawn from a buffer of those that come next. torch's order
    for the same seed.

    >>> pipe = torch.utils.data.datapipes.iter.IterableWrapper(range(4))
    >>> list(pipe.shuffle().set_seed(0))
    [3, 1, 0, 2]
    """

    def __init__(self, datapipe, *, buffer_size=10000, unbatch_level=0):
        if buffer_size <= 0:
            raise ValueError("buffer_size should be larger than 0")
        self.datapipe = datapipe if unbatch_level == 0 else datapipe.unbatch(unbatch_level)
        self.buffer_size = buffer_size
        self._enabled = True
        self._seed = None
        self._random = random.Random()

    def set_shuffle(self, shuffle=True):
        """Switches it on or off."""
        self._enabled = shuffle
        return self

    def set_seed(self, seed):
        """The seed of the next iteration."""
        self._seed = seed
        return self

    def reset(self):
        """Draws a seed from torch's generator if there is none."""
        if self._enabled:
            if self._seed is None:
                self._seed = int(torch.empty((), dtype=torch.int64).random_().item())
            self._random.seed(self._seed)
            self._seed = None

    def __iter__(self):
        if not self._enabled:
            yield from self.datapipe
            return
        waiting = []
        for sample in self.datapipe:
            if len(waiting) < self.buffer_size:
                waiting.append(sample)
                continue
            index = self._random.randint(0, len(waiting) - 1)
            drawn, waiting[index] = waiting[index], sample
            yield drawn
        while waiting:
            yield waiting.pop(self._random.randint(0, len(waiting) - 1))

    def __len__(self):
        return len(self.datapipe)
