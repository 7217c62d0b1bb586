"""Batches of the samples of an op case."""

import contextlib
import itertools

import numpy as np

from tests.ops import harness
from tests.ops.harness import Array, Runtime, as_tuple, map_values


def variants(arrays, count=2):
    """The arguments of `count` samples: the second has all elements in reverse order."""
    found = []
    for number in range(count):

        def change(array, number=number):
            values = array.values if number % 2 == 0 else np.flip(array.values).copy()
            return Array(values, array.dtype, array.fixed, array.host)

        found.append(map_values(Array, change, arrays))
    return found


def tensors_of(torch, arguments):
    found = []
    map_values(torch.Tensor, found.append, arguments)
    return found


def choices(count):
    """Which of `count` tensors differ between samples: all, and each by itself."""
    yield (True,) * count
    if count > 1:
        for number in range(count):
            yield tuple(i == number for i in range(count))


class Batch:
    """Samples of a case; `chosen` tensors differ between them, with their batch dim at `dim`."""

    def __init__(self, runtime: Runtime, case, samples, chosen, dim):
        torch = self.torch = runtime.module
        self.runtime, self.case = runtime, case
        self.arguments = [runtime.arguments(*sample) for sample in samples]
        lists = [tensors_of(torch, arguments) for arguments in self.arguments]
        self.tensors, self.dims = [], []
        for is_chosen, column in zip(chosen, zip(*lists, strict=True), strict=True):
            place = None if not is_chosen else (dim if dim >= 0 else column[0].dim())
            self.dims.append(place)
            self.tensors.append(column[0] if place is None else torch.stack(column, place))

    def filled(self, tensors):
        """The arguments with these tensors."""
        rest = iter(tensors)
        return map_values(self.torch.Tensor, lambda _: next(rest), self.arguments[0])

    def call(self, *tensors):
        args, kwargs = self.filled(tensors)
        if self.case.name.endswith("_"):
            args = (args[0].clone(), *args[1:])
        return tuple(as_tuple(self.runtime.call(self.case, args, kwargs)))

    def one_by_one(self):
        """The results of each sample, stacked."""
        rows = []
        for number in range(len(self.arguments)):
            picked = [
                t if d is None else t.select(d, number)
                for t, d in zip(self.tensors, self.dims, strict=True)
            ]
            rows.append(self.call(*picked))
        return [self.torch.stack(column) for column in zip(*rows, strict=True)]

    def at_once(self, randomness="error"):
        run = self.torch.vmap(self.call, in_dims=tuple(self.dims), randomness=randomness)
        return run(*self.tensors)


def batches(runtime, case, dtype, limit=4):
    """Batches of the first samples of a case."""
    used = 0
    for number, sample in harness.samples_for(case, dtype):
        samples = variants(harness.build_arrays(case, sample, dtype))
        count = len(tensors_of(runtime.module, runtime.arguments(*samples[0])))
        if count == 0 or used == limit:
            continue
        used += 1
        for chosen, dim in itertools.product(choices(count), (0, -1)):
            with contextlib.suppress(StopIteration):
                yield (number, chosen, dim), Batch(runtime, case, samples, chosen, dim)
