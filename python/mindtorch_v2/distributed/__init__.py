"""torch.distributed: not available, as in a torch that was built without it.

is_available() is False and there is no process group, so that programs and libraries take their
way for one process. What needs a group says that there is none.
"""

import enum

__all__ = [
    "Backend",
    "ProcessGroup",
    "ReduceOp",
    "destroy_process_group",
    "get_backend",
    "get_rank",
    "get_world_size",
    "group",
    "init_process_group",
    "is_available",
    "is_initialized",
    "is_torchelastic_launched",
    "new_group",
]
_COLLECTIVES = (
    "all_gather all_gather_into_tensor all_gather_object all_reduce all_to_all "
    "all_to_all_single barrier broadcast broadcast_object_list gather gather_object irecv isend "
    "monitored_barrier recv recv_object_list reduce reduce_scatter reduce_scatter_tensor scatter "
    "scatter_object_list send send_object_list"
).split()
__all__ += _COLLECTIVES


class ReduceOp(enum.Enum):
    """How a collective combines what the processes give."""

    SUM = 0
    AVG = 1
    PRODUCT = 2
    MIN = 3
    MAX = 4
    BAND = 5
    BOR = 6
    BXOR = 7
    PREMUL_SUM = 8


class ProcessGroup:
    """Processes that work together. There are none."""

    def __init__(self, *args, **kwargs):
        raise RuntimeError(_NOT_AVAILABLE)


class group:
    """group.WORLD: the group of all processes; None, because there is none."""

    WORLD = None


class Backend(str):
    """The name of what carries the messages, in lower case.

    >>> torch.distributed.Backend("NCCL")
    'nccl'
    """

    UNDEFINED, GLOO, NCCL, MPI, UCC, HCCL = "undefined", "gloo", "nccl", "mpi", "ucc", "hccl"

    def __new__(cls, name):
        if not isinstance(name, str):
            raise ValueError(f"Backend name must be a string, but got: {name}")
        return super().__new__(cls, name.lower())


_NOT_AVAILABLE = (
    "torch.distributed is not available: mindtorch runs in one process. "
    "torch.distributed.is_available() says so."
)


def is_available():
    """False: there is one process.

    >>> torch.distributed.is_available()
    False
    """
    return False


def is_initialized():
    """False: there is no process group.

    >>> torch.distributed.is_initialized()
    False
    """
    return False


def is_torchelastic_launched():
    """Whether torchrun started this process."""
    import os

    return os.environ.get("TORCHELASTIC_RUN_ID") is not None


def init_process_group(*args, **kwargs):
    """RuntimeError: process groups are not available."""
    raise RuntimeError(_NOT_AVAILABLE)


def new_group(*args, **kwargs):
    """ValueError: there is no default process group."""
    _no_group()


def destroy_process_group(group=None):
    """AssertionError: there is no process group."""
    raise AssertionError("Process group cannot be None")


def get_rank(group=None):
    """ValueError: there is no default process group."""
    _no_group()


def get_world_size(group=None):
    """ValueError: there is no default process group."""
    _no_group()


def get_backend(group=None):
    """ValueError: there is no default process group."""
    _no_group()


def _no_group():
    raise ValueError(
        "Default process group has not been initialized, please make sure to call "
        "init_process_group."
    )


def _collective(name):
    def function(*args, **kwargs):
        _no_group()

    function.__name__ = function.__qualname__ = name
    function.__doc__ = "ValueError: there is no default process group."
    return function


for _name in _COLLECTIVES:
    globals()[_name] = _collective(_name)


def __getattr__(name):
    import importlib

    if name in ("device_mesh", "distributed_c10d", "fsdp", "nn", "optim", "rpc", "tensor"):
        return importlib.import_module(f"{__name__}.{name}")
    if name in ("DeviceMesh", "init_device_mesh"):
        return getattr(importlib.import_module(f"{__name__}.device_mesh"), name)
    if name == "GroupMember":
        return group
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
