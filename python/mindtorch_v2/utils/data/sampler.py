"""Samplers: the order in which a loader asks for samples."""

import itertools
from typing import Generic, TypeVar

import mindtorch_v2 as torch

from ._utils.draws import draw_seed, place_of

__all__ = [
    "BatchSampler",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "SubsetRandomSampler",
    "WeightedRandomSampler",
]

_T_co = TypeVar("_T_co", covariant=True)


class Sampler(Generic[_T_co]):
    """Gives indices, or lists of them. Subclasses write __iter__ and, where known, __len__."""

    def __iter__(self):
        raise NotImplementedError


def _check_positive(name, value):
    if not isinstance(value, int) or isinstance(value, bool) or value <= 0:
        raise ValueError(f"{name} should be a positive integer value, but got {name}={value}")


def _check_boolean(name, value, error=ValueError):
    if not isinstance(value, bool):
        raise error(f"{name} should be a boolean value, but got {name}={value}")


class SequentialSampler(Sampler[int]):
    """All indices, ascending.

    >>> list(torch.utils.data.SequentialSampler("abc"))
    [0, 1, 2]
    """

    def __init__(self, data_source):
        self.data_source = data_source

    def __iter__(self):
        return iter(range(len(self.data_source)))

    def __len__(self):
        return len(self.data_source)


class RandomSampler(Sampler[int]):
    """All indices in random order, or `num_samples` of them, drawn one by one with `replacement`.

    >>> sorted(torch.utils.data.RandomSampler("abc"))
    [0, 1, 2]
    """

    # As many as torch draws at a time: the numbers that come out depend on it.
    _DRAWN_AT_ONCE = 32

    def __init__(self, data_source, replacement=False, num_samples=None, generator=None):
        self.data_source = data_source
        self.replacement = replacement
        self._num_samples = num_samples
        self.generator = generator
        _check_boolean("replacement", replacement, TypeError)
        _check_positive("num_samples", self.num_samples)

    @property
    def num_samples(self):
        """How many indices one iteration gives."""
        # The length may change from one iteration to the next.
        return len(self.data_source) if self._num_samples is None else self._num_samples

    def __iter__(self):
        count, total = self.num_samples, len(self.data_source)
        generator = self.generator
        if generator is None:
            generator = torch.Generator().manual_seed(draw_seed())
        source = {"generator": generator, "device": place_of(generator)}

        def draw(size):
            if self.replacement:
                return torch.randint(total, (size,), **source).tolist()
            return torch.randperm(total, **source).tolist()[:size]

        # The last draw is made even for no index: the generator goes on as torch's does.
        at_once = self._DRAWN_AT_ONCE if self.replacement else total
        draws, rest = divmod(count, at_once)
        for _ in range(draws):
            yield from draw(at_once)
        yield from draw(rest)

    def __len__(self):
        return self.num_samples


class SubsetRandomSampler(Sampler[int]):
    """The given indices in random order.

    >>> sorted(torch.utils.data.SubsetRandomSampler([5, 7]))
    [5, 7]
    """

    def __init__(self, indices, generator=None):
        self.indices = indices
        self.generator = generator

    def __iter__(self):
        device = place_of(self.generator)
        order = torch.randperm(len(self.indices), generator=self.generator, device=device)
        for place in order.tolist():
            yield self.indices[place]

    def __len__(self):
        return len(self.indices)


class WeightedRandomSampler(Sampler[int]):
    """`num_samples` indices, drawn with the given weights.

    >>> list(torch.utils.data.WeightedRandomSampler([0, 1, 0], 3))
    [1, 1, 1]
    """

    def __init__(self, weights, num_samples, replacement=True, generator=None):
        _check_positive("num_samples", num_samples)
        _check_boolean("replacement", replacement)
        device = None if isinstance(weights, torch.Tensor) else place_of(generator)
        self.weights = torch.as_tensor(weights, dtype=torch.float64, device=device)
        if self.weights.dim() != 1:
            raise ValueError(
                "weights should be a 1d sequence but given weights have shape "
                f"{tuple(self.weights.shape)}"
            )
        self.num_samples = num_samples
        self.replacement = replacement
        self.generator = generator

    def __iter__(self):
        drawn = torch.multinomial(
            self.weights, self.num_samples, self.replacement, generator=self.generator
        )
        yield from drawn.tolist()

    def __len__(self):
        return self.num_samples


class BatchSampler(Sampler[list]):
    """The indices of another sampler in lists of `batch_size`.

    >>> list(torch.utils.data.BatchSampler(range(5), 2, drop_last=False))
    [[0, 1], [2, 3], [4]]
    """

    def __init__(self, sampler, batch_size, drop_last):
        _check_positive("batch_size", batch_size)
        _check_boolean("drop_last", drop_last)
        self.sampler = sampler
        self.batch_size = batch_size
        self.drop_last = drop_last

    def __iter__(self):
        indices = iter(self.sampler)
        while batch := list(itertools.islice(indices, self.batch_size)):
            if len(batch) == self.batch_size or not self.drop_last:
                yield batch

    def __len__(self):
        whole, rest = divmod(len(self.sampler), self.batch_size)
        return whole + (rest > 0 and not self.drop_last)
