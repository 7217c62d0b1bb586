"""What a worker process of a loader does."""

import os
import queue
import random
import select
import threading
from dataclasses import dataclass, field
from typing import Any

import mindtorch_v2 as torch
from mindtorch_v2._utils import ExceptionWrapper

from .channel import Closed
from .fetch import IterableFetcher
from .pipes import give_seed, take_share
from .segments import SegmentPool

# How often a worker looks whether its loader is alive, where no message tells.
_CHECK_SECONDS = 5.0


@dataclass(frozen=True)
class WorkerInfo:
    """A worker process: its number, the number of workers, its seed, its copy of the dataset."""

    id: int
    num_workers: int
    seed: int
    dataset: Any
    rng: Any = None
    worker_method: str = "multiprocessing"


_worker_info = None
_pool = SegmentPool()


def new_batch_storage(nbytes):
    """Shared memory for a batch, in a worker."""
    return _pool.take(nbytes)


def get_worker_info():
    """In a worker process of a loader, which one it is; else None.

    >>> print(torch.utils.data.get_worker_info())
    None
    """
    return _worker_info


@dataclass(frozen=True)
class ResumeIteration:
    """To a worker: a new epoch begins. It sends the same back."""

    pipe_seed: int | None = None


@dataclass(frozen=True)
class IterableEnd:
    """From a worker: its iterable dataset has no more samples."""


@dataclass(frozen=True)
class Work:
    """All that a worker needs to know."""

    fetcher_class: Any
    dataset: Any
    auto_collation: bool
    collate_fn: Any
    drop_last: bool
    base_seed: int
    worker_init_fn: Any
    worker_id: int
    num_workers: int
    # The loader's ends of the channels, which a forked process inherits.
    inherited: list = field(default_factory=list)


def run_worker(channel, work):
    """The main function of a worker process."""
    for other in work.inherited:
        other.close()
    try:
        _Worker(channel, work).run()
    except (KeyboardInterrupt, Closed):
        pass  # the loader knows, or is gone


class _Worker:
    def __init__(self, channel, work):
        self._channel = channel
        self._work = work
        self._parent = os.getppid()
        self._tasks = queue.SimpleQueue()
        self._results = queue.SimpleQueue()
        self._ended = False  # the iterable dataset has no more samples in this epoch
        self._error = None  # an error of the beginning, for the first task to report

    def run(self):
        self._seed()
        # Tasks are read and results are written beside the work: neither side ever waits for the
        # other to read first.
        threading.Thread(target=self._read_tasks, daemon=True).start()
        threading.Thread(target=self._write_results, daemon=True).start()
        self._begin(self._work.worker_init_fn)
        while (message := self._tasks.get()) is not None:
            task, returned = message
            for number, reusable in returned:
                _pool.give_back(number, reusable)
            if isinstance(task, ResumeIteration):
                self._ended = False
                give_seed(self._work.dataset, task.pipe_seed)
                self._answer(task, None)
                self._begin()
            elif not self._ended:
                number, index = task
                self._answer(number, self._fetch(index))

    def _seed(self):
        global _worker_info
        import numpy

        work = self._work
        seed = work.base_seed + work.worker_id
        torch.set_num_threads(1)
        random.seed(seed)
        torch.manual_seed(seed)
        low, high = work.base_seed & 0xFFFFFFFF, work.base_seed >> 32
        sequence = numpy.random.SeedSequence([work.worker_id, low, high, 0])
        numpy.random.seed(sequence.generate_state(4))
        _worker_info = WorkerInfo(work.worker_id, work.num_workers, seed, work.dataset)

    def _begin(self, init_fn=None):
        work = self._work
        try:
            take_share(work.dataset, work.num_workers, work.worker_id)
            if init_fn is not None:
                init_fn(work.worker_id)
            self._fetcher = work.fetcher_class(
                work.dataset, work.auto_collation, work.collate_fn, work.drop_last
            )
        except Exception:
            self._error = self._caught()

    def _fetch(self, index):
        if self._error is not None:
            error, self._error = self._error, None
            return error
        try:
            return self._fetcher.fetch(index)
        except StopIteration:
            if not isinstance(self._fetcher, IterableFetcher):
                return self._caught()
            self._ended = True
            return IterableEnd()
        except Exception:
            return self._caught()

    def _caught(self):
        return ExceptionWrapper(where=f"in DataLoader worker process {self._work.worker_id}")

    def _answer(self, number, data):
        try:
            message = self._channel.pack((number, data), _pool)
        except Exception:
            message = self._channel.pack((number, self._caught()), _pool)
        self._results.put(message)

    def _write_results(self):
        try:
            while True:
                self._channel.send(self._results.get())
        except (Closed, OSError):
            self._tasks.put(None)

    def _read_tasks(self):
        try:
            while self._wait_for_task():
                self._tasks.put(self._channel.receive())
        except (Closed, OSError):
            pass
        finally:
            self._tasks.put(None)

    def _wait_for_task(self):
        """False when the loader's process is gone."""
        while os.getppid() == self._parent:
            if select.select([self._channel], [], [], _CHECK_SECONDS)[0]:
                return True
        return False
