"""DataLoader: batches of a dataset, made in this process or by workers."""

import multiprocessing as python_multiprocessing
import os
import warnings
from typing import Generic, TypeVar

import mindtorch_v2 as torch

from ._utils.collate import default_collate, default_convert
from ._utils.fetch import IterableFetcher, MapFetcher
from ._utils.iterators import (
    _BaseDataLoaderIter,
    _MultiProcessingDataLoaderIter,
    _SingleProcessDataLoaderIter,
)
from ._utils.worker import get_worker_info
from .datapipes.datapipe import IterDataPipe
from .dataset import Dataset, IterableDataset
from .graph_settings import apply_shuffle_settings
from .sampler import BatchSampler, RandomSampler, Sampler, SequentialSampler

__all__ = [
    "DataLoader",
    "_BaseDataLoaderIter",
    "_DatasetKind",
    "default_collate",
    "default_convert",
    "get_worker_info",
]

_T_co = TypeVar("_T_co", covariant=True)
_FIXED = ("batch_size", "batch_sampler", "sampler", "drop_last", "dataset", "persistent_workers")


class _DatasetKind:
    """The two kinds of datasets, and what fetches samples of each."""

    Map, Iterable = 0, 1

    @staticmethod
    def create_fetcher(kind, dataset, auto_collation, collate_fn, drop_last):
        """What makes batches of a dataset of that kind."""
        fetcher = MapFetcher if kind == _DatasetKind.Map else IterableFetcher
        return fetcher(dataset, auto_collation, collate_fn, drop_last)


class _InfiniteConstantSampler(Sampler):
    """None, for ever: the sampler of an iterable dataset."""

    def __iter__(self):
        while True:
            yield None


class DataLoader(Generic[_T_co]):
    """Batches of a dataset.

    `batch_size` samples are joined by `collate_fn`; None gives single samples. The order comes from
    `shuffle`, a `sampler` of indices or a `batch_sampler` of lists. `num_workers` processes make
    batches ahead, `prefetch_factor` each, and send them through shared memory; they start by
    calling `worker_init_fn(number)`, and with `persistent_workers` live from epoch to epoch.
    `pin_memory` puts batches into page-locked memory, from which an accelerator copies while the
    host goes on. `timeout` limits the seconds to wait for a batch. `generator` gives the order and
    the seeds of the workers: the same as torch's, for the same seed.

    >>> loader = torch.utils.data.DataLoader(range(5), batch_size=2, drop_last=True)
    >>> list(loader)
    [tensor([0, 1]), tensor([2, 3])]
    >>> len(loader)
    2
    """

    _initialized = False

    def __init__(
        self,
        dataset,
        batch_size=1,
        shuffle=None,
        sampler=None,
        batch_sampler=None,
        num_workers=0,
        collate_fn=None,
        pin_memory=False,
        drop_last=False,
        timeout=0,
        worker_init_fn=None,
        multiprocessing_context=None,
        generator=None,
        *,
        prefetch_factor=None,
        persistent_workers=False,
        pin_memory_device="",
        in_order=True,
    ):
        _check_worker_options(num_workers, timeout, prefetch_factor, persistent_workers)
        if isinstance(dataset, IterDataPipe):
            dataset = apply_shuffle_settings(dataset, shuffle=shuffle)
            _check_iterable_options(None, sampler, batch_sampler)
        elif isinstance(dataset, IterableDataset):
            _check_iterable_options(shuffle, sampler, batch_sampler)
        if sampler is not None and shuffle:
            raise ValueError("sampler option is mutually exclusive with shuffle")
        if batch_sampler is not None:
            if batch_size != 1 or shuffle or sampler is not None or drop_last:
                raise ValueError(
                    "batch_sampler option is mutually exclusive with batch_size, shuffle, "
                    "sampler, and drop_last"
                )
            batch_size = None
        elif batch_size is None and drop_last:
            raise ValueError(
                "batch_size=None option disables auto-batching and is mutually exclusive with "
                "drop_last"
            )

        self.dataset = dataset
        self.num_workers = num_workers
        self.prefetch_factor = 2 if num_workers > 0 and prefetch_factor is None else prefetch_factor
        self.pin_memory = pin_memory
        self.pin_memory_device = pin_memory_device
        self.timeout = timeout
        self.worker_init_fn = worker_init_fn
        self.multiprocessing_context = multiprocessing_context
        self.in_order = in_order
        self.batch_size = batch_size
        self.drop_last = drop_last
        self.generator = generator
        self.persistent_workers = persistent_workers
        if sampler is None:
            sampler = self._default_sampler(shuffle)
        self.sampler = sampler
        if batch_size is not None:
            batch_sampler = BatchSampler(sampler, batch_size, drop_last)
        self.batch_sampler = batch_sampler
        if collate_fn is None:
            collate_fn = default_collate if self._auto_collation else default_convert
        self.collate_fn = collate_fn
        self._reported_length = None  # what len() said of an iterable dataset
        self._iterator = None
        self._initialized = True
        self.check_worker_number_rationality()

    def _default_sampler(self, shuffle):
        if isinstance(self.dataset, IterableDataset):
            return _InfiniteConstantSampler()
        if shuffle:
            return RandomSampler(self.dataset, generator=self.generator)
        return SequentialSampler(self.dataset)

    @property
    def multiprocessing_context(self):
        """The start method of the workers, as a context of multiprocessing; None: the default."""
        return self._multiprocessing_context

    @multiprocessing_context.setter
    def multiprocessing_context(self, context):
        if context is not None:
            context = _checked_context(context, self.num_workers)
        self._multiprocessing_context = context

    def __setattr__(self, name, value):
        if self._initialized and name in _FIXED:
            raise ValueError(
                f"{name} attribute should not be set after {type(self).__name__} is initialized"
            )
        super().__setattr__(name, value)

    def __iter__(self):
        if not self.persistent_workers:
            return self._get_iterator()
        if self._iterator is None or self._iterator.is_stopped:
            self._iterator = self._get_iterator()
        else:
            self._iterator.start_epoch(self)
        return self._iterator

    def _get_iterator(self):
        if self.num_workers == 0:
            return _SingleProcessDataLoaderIter(self)
        self.check_worker_number_rationality()
        return _MultiProcessingDataLoaderIter(self)

    @property
    def _dataset_kind(self):
        is_iterable = isinstance(self.dataset, IterableDataset)
        return _DatasetKind.Iterable if is_iterable else _DatasetKind.Map

    @property
    def _auto_collation(self):
        return self.batch_sampler is not None

    @property
    def _index_sampler(self):
        return self.batch_sampler if self._auto_collation else self.sampler

    @property
    def _fetcher_class(self):
        return IterableFetcher if isinstance(self.dataset, IterableDataset) else MapFetcher

    def __len__(self):
        if not isinstance(self.dataset, IterableDataset):
            return len(self._index_sampler)
        length = self._reported_length = len(self.dataset)
        if self.batch_size is not None:
            whole, rest = divmod(length, self.batch_size)
            length = whole + (rest > 0 and not self.drop_last)
        return length

    def check_worker_number_rationality(self):
        """Warns when there are more workers than CPUs to run them."""
        cpus = len(os.sched_getaffinity(0))
        if self.num_workers > cpus:
            warnings.warn(
                f"This DataLoader will create {self.num_workers} worker processes in total. Our "
                f"suggested max number of worker in current system is {cpus}, which is smaller "
                "than what this DataLoader is going to create. Please be aware that excessive "
                "worker creation might get DataLoader running slow or even freeze, lower the "
                "worker number to avoid potential slowness/freeze if necessary.",
                stacklevel=3,
            )


def _check_worker_options(num_workers, timeout, prefetch_factor, persistent_workers):
    if num_workers < 0:
        raise ValueError(
            "num_workers option should be non-negative; use num_workers=0 to disable "
            "multiprocessing."
        )
    if timeout < 0:
        raise ValueError("timeout option should be non-negative")
    if prefetch_factor is not None:
        if num_workers == 0:
            raise ValueError(
                "prefetch_factor option could only be specified in multiprocessing."
                "let num_workers > 0 to enable multiprocessing, otherwise set prefetch_factor to "
                "None."
            )
        if prefetch_factor < 0:
            raise ValueError("prefetch_factor option should be non-negative")
    if persistent_workers and num_workers == 0:
        raise ValueError("persistent_workers option needs num_workers > 0")


def _check_iterable_options(shuffle, sampler, batch_sampler):
    options = {
        "shuffle": (shuffle, shuffle in (False, None)),
        "sampler": (sampler, sampler is None),
        "batch_sampler": (batch_sampler, batch_sampler is None),
    }
    for name, (value, unset) in options.items():
        if not unset:
            raise ValueError(
                f"DataLoader with IterableDataset: expected unspecified {name} option, but got "
                f"{name}={value}"
            )


def _checked_context(context, num_workers):
    if num_workers == 0:
        raise ValueError(
            "multiprocessing_context can only be used with multi-process loading "
            f"(num_workers > 0), but got num_workers={num_workers}"
        )
    if isinstance(context, str):
        methods = python_multiprocessing.get_all_start_methods()
        if context not in methods:
            raise ValueError(
                "multiprocessing_context option should specify a valid start method in "
                f"{methods!r}, but got multiprocessing_context={context!r}"
            )
        context = python_multiprocessing.get_context(context)
    if not isinstance(context, python_multiprocessing.context.BaseContext):
        raise TypeError(
            "multiprocessing_context option should be a valid context object or a string "
            f"specifying the start method, but got multiprocessing_context={context}"
        )
    return context
