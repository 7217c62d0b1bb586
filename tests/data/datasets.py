"""Datasets and functions that worker processes of any start method can import."""

import os
import random
import signal
import time

import mindtorch_v2 as torch
import numpy

data = torch.utils.data


class Squares(data.Dataset):
    def __init__(self, count=20):
        self.count = count

    def __len__(self):
        return self.count

    def __getitem__(self, index):
        return torch.full((2,), float(index)), index * index


class Images(Squares):
    """Samples large enough for shared memory."""

    def __getitem__(self, index):
        return torch.full((3, 64, 64), float(index)), index


class RandomNumbers(Squares):
    """What each source of random numbers gives in a worker."""

    def __getitem__(self, index):
        return torch.rand(2), random.random(), numpy.random.rand(2)


class Shards(data.IterableDataset):
    def __init__(self, count=11):
        self.count = count

    def __iter__(self):
        info = data.get_worker_info()
        step = info.num_workers if info else 1
        return iter(range(info.id if info else 0, self.count, step))


class BadKey(Squares):
    def __getitem__(self, index):
        if index == 3:
            raise KeyError("no such sample")
        return index


class StrictError(Exception):
    """Takes no single text."""

    def __init__(self, code, reason):
        super().__init__(code, reason)


class BadStrict(Squares):
    def __getitem__(self, index):
        raise StrictError(1, "reason")


class Unpicklable(Squares):
    def __getitem__(self, index):
        return lambda: index


class Killed(Squares):
    def __getitem__(self, index):
        if index == 3:
            os.kill(os.getpid(), signal.SIGKILL)
        return index


class Exits(Squares):
    def __getitem__(self, index):
        os._exit(7)


class Slow(Squares):
    def __getitem__(self, index):
        time.sleep(60)


class KeepsBatches(Images):
    """Sends the same tensor again and again, and keeps it."""

    def __init__(self):
        super().__init__(6)
        self.image = torch.zeros(3, 64, 64)

    def __getitem__(self, index):
        return self.image[:1] if index % 2 else self.image


def plus_ten(samples):
    """A collate_fn of one's own."""
    return torch.stack([image for image, _ in samples]) + 10


def ragged(samples):
    """Batches of another size each time."""
    return torch.cat([image.flatten()[: 10000 + 17 * index] for image, index in samples])


def first(samples):
    return samples[0]


def set_offset(worker_id):
    data.get_worker_info().dataset.count += worker_id


def fails_at_start(worker_id):
    raise ValueError(f"no start for worker {worker_id}")
