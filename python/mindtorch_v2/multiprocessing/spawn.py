"""spawn: one function in several processes, which fail together."""

import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import tempfile
import time
import traceback
import warnings

__all__ = [
    "ProcessContext",
    "ProcessException",
    "ProcessExitedException",
    "ProcessRaisedException",
    "SpawnContext",
    "spawn",
    "start_processes",
]


class ProcessException(Exception):
    """A process that spawn started has failed."""

    def __init__(self, msg, error_index, error_pid):
        super().__init__(msg)
        self.msg = msg
        self.error_index = error_index
        self.error_pid = error_pid

    def __reduce__(self):
        return type(self), (self.msg, self.error_index, self.error_pid)


class ProcessRaisedException(ProcessException):
    """The function raised; the text holds its traceback."""


class ProcessExitedException(ProcessException):
    """The process was killed, or left with an exit code other than 0."""

    def __init__(self, msg, error_index, error_pid, exit_code, signal_name=None):
        super().__init__(msg, error_index, error_pid)
        self.exit_code = exit_code
        self.signal_name = signal_name

    def __reduce__(self):
        arguments = (self.msg, self.error_index, self.error_pid, self.exit_code, self.signal_name)
        return type(self), arguments


def _interrupt_when_parent_dies():
    import ctypes

    PR_SET_PDEATHSIG = 1
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGINT)


def _run(function, index, arguments, error_file):
    _interrupt_when_parent_dies()
    try:
        function(index, *arguments)
    except KeyboardInterrupt:
        pass  # the parent's wish
    except Exception:
        with open(error_file, "w", encoding="utf-8", errors="backslashreplace") as file:
            file.write(traceback.format_exc())
        sys.exit(1)


class ProcessContext:
    """The processes of one spawn(join=False)."""

    def __init__(self, processes, error_folder):
        self.processes = processes
        self.sentinels = {process.sentinel: i for i, process in enumerate(processes)}
        self._error_folder = error_folder

    def pids(self):
        """The ids of the processes."""
        return [process.pid for process in self.processes]

    def join(self, timeout=None, grace_period=None):
        """Waits until a process ends. True when all have; an error of one ends the others, after
        `grace_period` seconds, and is raised."""
        if not self.sentinels:
            return True
        for sentinel in multiprocessing.connection.wait(self.sentinels, timeout=timeout):
            index = self.sentinels.pop(sentinel)
            process = self.processes[index]
            process.join()
            if process.exitcode != 0:
                self._end_all(grace_period)
                raise self._error(index)
        return not self.sentinels

    def _end_all(self, grace_period):
        if grace_period is not None:
            self._wait_for_all(grace_period)
        for process in self.processes:
            if process.is_alive():
                process.terminate()
        self._wait_for_all(30 if grace_period is None else grace_period)
        for process in self.processes:
            if process.is_alive():
                process.kill()
            process.join()

    def _wait_for_all(self, seconds):
        end = time.monotonic() + seconds
        for process in self.processes:
            process.join(max(0, end - time.monotonic()))

    def _error(self, index):
        process = self.processes[index]
        try:
            with open(_error_file(self._error_folder, index), encoding="utf-8") as file:
                text = file.read()
        except FileNotFoundError:
            return _exit_error(index, process)
        message = f"\n\n-- Process {index} terminated with the following error:\n{text}"
        return ProcessRaisedException(message, index, process.pid)


def _exit_error(index, process):
    code, name = process.exitcode, None
    if code < 0:
        try:
            name = signal.Signals(-code).name
        except ValueError:
            name = f"<Unknown signal {-code}>"
        message = f"process {index} terminated with signal {name}"
    else:
        message = f"process {index} terminated with exit code {code}"
    return ProcessExitedException(message, index, process.pid, code, name)


def _error_file(folder, index):
    return os.path.join(folder.name, f"{index}.txt")


class SpawnContext(ProcessContext):
    """The old name of ProcessContext."""

    def __init__(self, processes, error_folder):
        warnings.warn("SpawnContext is renamed to ProcessContext since 1.4 release.", stacklevel=2)
        super().__init__(processes, error_folder)


def start_processes(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """spawn() with any start method of multiprocessing."""
    context = multiprocessing.get_context(start_method)
    folder = tempfile.TemporaryDirectory(prefix="torch-spawn-")
    processes = []
    for index in range(nprocs):
        process = context.Process(
            target=_run, args=(fn, index, args, _error_file(folder, index)), daemon=daemon
        )
        process.start()
        processes.append(process)
    started = ProcessContext(processes, folder)
    if not join:
        return started
    while not started.join():
        pass
    return None


def spawn(fn, args=(), nprocs=1, join=True, daemon=False, start_method="spawn"):
    """Runs fn(i, *args) in `nprocs` new processes, i from 0. When one fails, the others are ended
    and its error is raised, with its traceback. Without `join`, a ProcessContext to wait with.

    >>> torch.multiprocessing.spawn(print, ("hello",), nprocs=0)
    """
    if start_method != "spawn":
        warnings.warn(
            f"This method only supports start_method=spawn (got: {start_method}).\n"
            "To use a different start_method use:\n\t\t"
            " torch.multiprocessing.start_processes(...)",
            FutureWarning,
            stacklevel=2,
        )
    return start_processes(fn, args, nprocs, join, daemon, start_method="spawn")
