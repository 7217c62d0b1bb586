"""The worker processes of one iterator: starting, talking to and ending them."""

import multiprocessing
import os
import selectors
import signal
import threading
import warnings
import weakref
from pickle import PicklingError

from .channel import Closed, LoaderEnd, connect
from .worker import Work, run_worker

_PATIENCE = 5.0  # seconds for a worker to end by itself


class WorkerPool:
    """Worker processes, each with a channel. stop() ends them; so does the end of the program."""

    def __init__(self, loader, base_seed):
        self.processes = []
        self._channels = []
        self._threads = []
        self._selector = selectors.DefaultSelector()
        self._stopping = threading.Event()
        self.stop = weakref.finalize(
            self,
            _stop,
            os.getpid(),
            self.processes,
            self._channels,
            self._threads,
            self._selector,
            self._stopping,
        )
        try:
            for worker_id in range(loader.num_workers):
                self._start(loader, base_seed, worker_id)
        except BaseException:
            self.stop()
            raise

    def start_thread(self, target, *args):
        """Starts a thread that reads from the pool until it is stopped."""
        thread = threading.Thread(target=target, args=args, daemon=True)
        thread.start()
        self._threads.append(thread)

    @property
    def is_stopped(self):
        return not self.stop.alive

    def _start(self, loader, base_seed, worker_id):
        context = loader.multiprocessing_context or multiprocessing
        mine, its = connect()
        self._channels.append(mine)
        forked = context.get_start_method() == "fork"
        work = Work(
            loader._fetcher_class,
            loader.dataset,
            loader._auto_collation,
            loader.collate_fn,
            loader.drop_last,
            base_seed,
            loader.worker_init_fn,
            worker_id,
            loader.num_workers,
            list(self._channels) if forked else [],
        )
        process = context.Process(target=run_worker, args=(its, work), daemon=True)
        try:
            process.start()
        except (TypeError, AttributeError, PicklingError):
            warnings.warn(
                "Got pickle error when attempting to start a worker Process. This might be because "
                "the worker Process arguments are not picklable, which every start method but "
                "'fork' needs.",
                stacklevel=6,
            )
            raise
        finally:
            its.close()
        self.processes.append(process)
        self._selector.register(mine, selectors.EVENT_READ, worker_id)
        self._selector.register(process.sentinel, selectors.EVENT_READ, worker_id)

    def send(self, worker_id, message):
        """Gives a worker a message."""
        try:
            self._channels[worker_id].send(message)
        except Closed:
            self._raise_dead(worker_id)

    def receive(self, timeout):
        """(worker, task, batch) of the next message of any worker; waits `timeout` seconds, or for
        ever if 0. Raises RuntimeError when a worker has died."""
        ready = [] if self._stopping.is_set() else self._selector.select(timeout or None)
        if self._stopping.is_set():
            raise RuntimeError("the workers of this DataLoader iterator have been stopped")
        if not ready:
            raise RuntimeError(f"DataLoader timed out after {timeout} seconds")
        # What a worker sent before it died is still read.
        keys = [key for key, _ in ready]
        key = next((key for key in keys if isinstance(key.fileobj, LoaderEnd)), None)
        if key is None:
            self._raise_dead(keys[0].data)
        try:
            return key.data, *key.fileobj.receive()
        except Closed:
            self._raise_dead(key.data)

    def _raise_dead(self, worker_id):
        process = self.processes[worker_id]
        process.join(_PATIENCE)
        raise RuntimeError(
            f"DataLoader worker (pid(s) {process.pid}) exited unexpectedly"
        ) from RuntimeError(_cause_of_death(process))


def _cause_of_death(process):
    pid, code = process.pid, process.exitcode
    lost = (
        " Details are lost due to multiprocessing. Rerunning with num_workers=0 may give better "
        "error trace."
    )
    if code is None or code >= 0:
        return f"DataLoader worker (pid {pid}) exited unexpectedly with exit code {code}.{lost}"
    reason = signal.strsignal(-code) or f"signal {-code}"
    if -code == signal.SIGBUS:
        lost = (
            " It is possible that dataloader's workers are out of shared memory. Please try to "
            "raise your shared memory limit."
        )
    return f"DataLoader worker (pid {pid}) is killed by signal: {reason}.{lost}"


def _stop(owner, processes, channels, threads, selector, stopping):
    if os.getpid() != owner:
        return  # a forked process has a copy of the pool, not the workers
    stopping.set()
    for channel in channels:
        channel.shut_down()
    for thread in threads:
        thread.join()
    selector.close()
    for channel in channels:
        channel.close()
    for process in processes:
        process.join(_PATIENCE)
    for end in ("terminate", "kill"):
        for process in processes:
            if process.is_alive():
                getattr(process, end)()
                process.join(_PATIENCE)
