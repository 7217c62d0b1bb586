"""torch.multiprocessing: Python's multiprocessing, with tensors that are shared instead of copied.

A CPU tensor that is put into a queue or pipe, or given to a process, is moved to shared memory, and
the other process gets a tensor over the same bytes.

>>> mp = torch.multiprocessing
>>> queue = mp.SimpleQueue()
>>> x = torch.zeros(2)
>>> queue.put(x)
>>> y = queue.get()
>>> _ = y.fill_(1)
>>> x
tensor([1., 1.])
"""

import multiprocessing
from multiprocessing import *

from . import reductions
from .spawn import (
    ProcessContext,
    ProcessException,
    ProcessExitedException,
    ProcessRaisedException,
    SpawnContext,
    spawn,
    start_processes,
)

__all__ = [
    "get_all_sharing_strategies",
    "get_sharing_strategy",
    "set_sharing_strategy",
    "spawn",
    "start_processes",
    *multiprocessing.__all__,
]

_sharing_strategy = "file_descriptor"


def get_all_sharing_strategies():
    """The names that set_sharing_strategy takes.

    >>> sorted(torch.multiprocessing.get_all_sharing_strategies())
    ['file_descriptor', 'file_system']
    """
    return {"file_descriptor", "file_system"}


def get_sharing_strategy():
    """How CPU tensors are sent to other processes.

    >>> torch.multiprocessing.get_sharing_strategy()
    'file_descriptor'
    """
    return _sharing_strategy


def set_sharing_strategy(new_strategy):
    """Sets how CPU tensors are sent to other processes: "file_descriptor" keeps one descriptor
    open per shared tensor, and the sender must live until the tensor is received; "file_system"
    needs no descriptor, but the sender's files in /dev/shm stay until they are received.

    >>> torch.multiprocessing.set_sharing_strategy("file_descriptor")
    """
    global _sharing_strategy
    if new_strategy not in get_all_sharing_strategies():
        raise AssertionError(
            f"invalid sharing strategy {new_strategy!r}, expected one of "
            f"{get_all_sharing_strategies()}"
        )
    if new_strategy == "file_system":
        reductions.watch_files()
    _sharing_strategy = new_strategy


reductions.init_reductions()
