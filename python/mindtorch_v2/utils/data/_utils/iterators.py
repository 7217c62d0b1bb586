"""The iterators of a loader: in its own process, and over worker processes."""

import itertools
import queue
import warnings

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._utils import ExceptionWrapper

from . import draws
from .fetch import IterableFetcher
from .pin_memory import pin_memory
from .pipes import draw_seed
from .worker import IterableEnd, ResumeIteration
from .worker_pool import WorkerPool


class _BaseDataLoaderIter:
    """What both have in common."""

    def __init__(self, loader):
        self._dataset = loader.dataset
        self._fetcher_class = loader._fetcher_class
        self._index_sampler = loader._index_sampler
        self._pin_memory = _can_pin(loader)
        # In torch's order, which decides what each generator gives.
        self._pipe_seed = draw_seed(loader.dataset, loader.generator)
        self._indices = iter(self._index_sampler)
        self._base_seed = draws.draw_seed(loader.generator)
        self._num_yielded = 0
        self._reported_length = loader._reported_length

    def __iter__(self):
        return self

    def __len__(self):
        return len(self._index_sampler)

    def __next__(self):
        if _C._profiler_is_recording():
            profiled = _C._profiler_range(f"enumerate(DataLoader)#{type(self).__name__}.__next__")
        else:
            profiled = None
        try:
            batch = self._next_batch()
        finally:
            if profiled is not None:
                profiled.end()
        self._num_yielded += 1
        if (
            self._fetcher_class is IterableFetcher
            and self._reported_length is not None
            and self._num_yielded > self._reported_length
        ):
            self._warn_about_length()
        return batch

    def _warn_about_length(self):
        text = (
            f"Length of IterableDataset {self._dataset} was reported to be "
            f"{self._reported_length}(when accessing len(dataloader)), but {self._num_yielded} "
            "samples have been fetched. "
        )
        if isinstance(self, _MultiProcessingDataLoaderIter):
            text += (
                "For multiprocessing data-loading, this could be caused by not properly "
                "configuring the IterableDataset replica at each worker: see get_worker_info()."
            )
        warnings.warn(text, stacklevel=3)

    def __getstate__(self):
        raise NotImplementedError(f"{type(self).__name__} cannot be pickled")


def _can_pin(loader):
    if not loader.pin_memory:
        return False
    if loader.pin_memory_device:
        warnings.warn(
            "pin_memory_device is deprecated, the current accelerator will be used as the device,"
            f"ignore pin_memory_device='{loader.pin_memory_device}'.",
            stacklevel=5,
        )
    if not torch.accelerator.is_available():
        warnings.warn(
            "'pin_memory' argument is set as true but no accelerator is found, then device pinned "
            "memory won't be used.",
            stacklevel=5,
        )
        return False
    return True


class _SingleProcessDataLoaderIter(_BaseDataLoaderIter):
    """Makes each batch when it is asked for."""

    def __init__(self, loader):
        super().__init__(loader)
        if loader.timeout != 0:
            raise AssertionError("a timeout needs num_workers > 0")
        self._fetcher = loader._fetcher_class(
            loader.dataset, loader._auto_collation, loader.collate_fn, loader.drop_last
        )

    def _next_batch(self):
        batch = self._fetcher.fetch(next(self._indices))
        return pin_memory(batch) if self._pin_memory else batch


class _MultiProcessingDataLoaderIter(_BaseDataLoaderIter):
    """Lets workers make batches ahead, and gives them in the order of the sampler.

    Tasks are numbered from 0 in each epoch, and go to the workers in turn.
    """

    def __init__(self, loader):
        super().__init__(loader)
        if loader.prefetch_factor <= 0:
            raise AssertionError("prefetch_factor must be greater than 0 with num_workers > 0")
        self._num_workers = loader.num_workers
        self._max_tasks = loader.prefetch_factor * loader.num_workers
        self._timeout = loader.timeout
        self._persistent = loader.persistent_workers
        self._in_order = loader.in_order
        self._pool = WorkerPool(loader, self._base_seed)
        draw_seed(loader.dataset, loader.generator)  # torch does, too, and does not use it
        self._batches = _PinnedBatches(self._pool) if self._pin_memory else self._pool
        self._begin(loader)

    @property
    def _workers(self):
        return self._pool.processes

    @property
    def is_stopped(self):
        """Whether an error or the end has stopped the workers."""
        return self._pool.is_stopped

    def start_epoch(self, loader):
        """Begins again, with the same workers."""
        self._pipe_seed = draw_seed(loader.dataset, loader.generator)
        for worker in range(self._num_workers):
            self._pool.send(worker, ResumeIteration(self._pipe_seed))
        missing = self._num_workers
        while missing:
            _, number, _ = self._receive()
            missing -= isinstance(number, ResumeIteration)
        self._begin(loader)

    def _receive(self):
        try:
            return self._batches.receive(self._timeout)
        except BaseException:  # Ctrl-C, too: no worker stays behind
            self._pool.stop()
            raise

    def __del__(self):
        # The thread that pins batches keeps the pool.
        if hasattr(self, "_pool"):
            self._pool.stop()

    def _begin(self, loader):
        self._indices = iter(self._index_sampler)
        self._num_yielded = 0
        self._reported_length = loader._reported_length
        self._sent = 0  # tasks
        self._next = 0  # the task whose batch comes next
        self._owners = {}  # task: its worker, while the batch is not received
        self._received = {}  # task: a batch that came before its turn
        self._active = [True] * self._num_workers  # has more samples
        self._load = [0] * self._num_workers  # tasks of a worker whose batch was not given out
        self._turns = itertools.cycle(range(self._num_workers))
        for _ in range(self._max_tasks):
            self._send_task()

    def _send_task(self):
        try:
            index = next(self._indices)
        except StopIteration:
            return
        worker = self._next_worker()
        if worker is None:
            return
        self._pool.send(worker, (self._sent, index))
        self._owners[self._sent] = worker
        self._load[worker] += 1
        self._sent += 1

    def _next_worker(self):
        active = sum(self._active)
        for worker in itertools.islice(self._turns, self._num_workers):
            if not self._active[worker]:
                continue
            if self._in_order or self._load[worker] < self._max_tasks // active:
                return worker
        return None

    def _next_batch(self):
        while True:
            self._skip_tasks_of_ended_workers()
            if self._next == self._sent:
                if not self._persistent:
                    self._pool.stop()
                raise StopIteration
            if self._next in self._received:
                worker, batch = self._received.pop(self._next)
                self._next += 1
                return self._give_out(worker, batch)
            worker, task, batch = self._receive()
            if isinstance(batch, IterableEnd):
                self._active[worker] = False
                self._send_task()
                continue
            del self._owners[task]
            if task == self._next:
                self._next += 1
            elif self._in_order:
                self._received[task] = worker, batch
                continue
            return self._give_out(worker, batch)

    def _skip_tasks_of_ended_workers(self):
        # A worker without more samples leaves its last tasks undone.
        while self._next < self._sent and self._next not in self._received:
            worker = self._owners.get(self._next)
            if worker is not None and self._active[worker]:
                return
            self._owners.pop(self._next, None)
            self._next += 1

    def _give_out(self, worker, batch):
        self._load[worker] -= 1
        self._send_task()
        if isinstance(batch, ExceptionWrapper):
            batch.reraise()
        return batch


class _PinnedBatches:
    """Batches of a pool in pinned memory, copied by a thread while the host goes on."""

    def __init__(self, pool):
        self._batches = queue.Queue()
        pool.start_thread(self._run, pool, torch.accelerator.current_device_index())

    def _run(self, pool, device):
        torch.accelerator.set_device_index(device)
        while True:
            try:
                worker, task, batch = pool.receive(0)
            except Exception as error:  # raised where a batch is asked for
                self._batches.put(error)
                return
            if not isinstance(batch, (ExceptionWrapper, IterableEnd)):
                try:
                    batch = pin_memory(batch)
                except Exception:
                    batch = ExceptionWrapper(where=f"in pin memory thread for device {device}")
            self._batches.put((worker, task, batch))

    def receive(self, timeout):
        try:
            received = self._batches.get(timeout=timeout or None)
        except queue.Empty:
            raise RuntimeError(f"DataLoader timed out after {timeout} seconds") from None
        if isinstance(received, Exception):
            raise received
        return received
