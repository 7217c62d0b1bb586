"""torch.serialization: save, load, the allow-list of load(weights_only=True), places of storages,
and settings."""

import contextlib
import enum
from collections.abc import Callable
from typing import Union

from ._C import UntypedStorage, device
from ._locations import (
    default_restore_location,
    location_tag,
    register_package,
    validate_device,
)
from ._serialization import (
    TypedStorage,
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    load,
    safe_globals,
    save,
    skip_data,
    storage_class,
)
from .utils.serialization import config as _config

__all__ = [
    "LoadEndianness",
    "SourceChangeWarning",
    "TypedStorage",
    "add_safe_globals",
    "check_module_version_greater_or_equal",
    "clear_safe_globals",
    "default_restore_location",
    "get_crc32_options",
    "get_default_load_endianness",
    "get_default_mmap_options",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "location_tag",
    "mkdtemp",
    "normalize_storage_type",
    "register_package",
    "safe_globals",
    "save",
    "set_crc32_options",
    "set_default_load_endianness",
    "set_default_mmap_options",
    "skip_data",
    "storage_to_tensor_type",
    "validate_cuda_device",
    "validate_hpu_device",
]


DEFAULT_PROTOCOL = 2  # of pickle
# What `map_location` of load() may be; for annotations.
MAP_LOCATION = Union[  # noqa: UP007 - used at run time on Python 3.10
    Callable[[UntypedStorage, str], UntypedStorage], device, str, dict[str, str], None
]


class SourceChangeWarning(Warning):
    """For files whose classes have other source code than today's."""


class LoadEndianness(enum.Enum):
    """The byte order of files that do not say theirs."""

    NATIVE = 1
    LITTLE = 2
    BIG = 3


def get_crc32_options():
    """Whether save() computes a checksum for each record.

    >>> torch.serialization.get_crc32_options()
    True
    """
    return _config.save.compute_crc32


def set_crc32_options(compute_crc32):
    """Sets whether save() computes a checksum for each record. Files without any are written
    quicker, and other tools may call them damaged."""
    _config.save.compute_crc32 = compute_crc32


def get_default_load_endianness():
    """The byte order that load() takes for files that do not say theirs; None: little."""
    return _config.load.endianness


def set_default_load_endianness(endianness):
    """Sets the byte order that load() takes for files that do not say theirs."""
    if endianness is not None and not isinstance(endianness, LoadEndianness):
        raise TypeError("Invalid argument type in function set_default_load_endianness")
    _config.load.endianness = endianness


def get_default_mmap_options():
    """How load(mmap=True) maps files: mmap.MAP_PRIVATE or mmap.MAP_SHARED."""
    return _config.load.mmap_flags


class set_default_mmap_options:
    """Sets how load(mmap=True) maps files; as a context manager, for a while. With mmap.MAP_SHARED
    what is written to loaded tensors goes to the file.

    >>> import mmap
    >>> with torch.serialization.set_default_mmap_options(mmap.MAP_SHARED):
    ...     torch.serialization.get_default_mmap_options() == mmap.MAP_SHARED
    True
    """

    def __init__(self, flags):
        import mmap

        if flags not in (mmap.MAP_PRIVATE, mmap.MAP_SHARED):
            raise ValueError(
                "Invalid argument in function set_default_mmap_options, expected mmap.MAP_PRIVATE "
                f"or mmap.MAP_SHARED, but got {flags}"
            )
        self._before = _config.load.mmap_flags
        _config.load.mmap_flags = flags

    def __enter__(self):
        pass

    def __exit__(self, *exc_info):
        _config.load.mmap_flags = self._before


def validate_cuda_device(location):
    """The index of the GPU that a file names; RuntimeError if this machine lacks it."""
    return validate_device(location, "cuda")


def validate_hpu_device(location):
    """The index of the HPU that a file names; RuntimeError if this machine lacks it."""
    return validate_device(location, "hpu")


def normalize_storage_type(storage_type):
    """The class of the same name in torch."""
    import mindtorch_v2 as torch

    return getattr(torch, storage_type.__name__)


def storage_to_tensor_type(storage):
    """torch.FloatTensor for a torch.FloatStorage, and so on."""
    import mindtorch_v2 as torch

    return getattr(torch, type(storage).__name__.replace("Storage", "Tensor"))


@contextlib.contextmanager
def mkdtemp():
    """A with-block with a folder of its own, which is removed at its end."""
    import tempfile

    with tempfile.TemporaryDirectory() as folder:
        yield folder


def check_module_version_greater_or_equal(module, req_version_tuple, error_if_malformed=True):
    """Whether a module's __version__ is at least the one that is required.

    >>> import numpy
    >>> torch.serialization.check_module_version_greater_or_equal(numpy, (1, 20))
    True
    """
    try:
        parts = module.__version__.split(".")[: len(req_version_tuple)]
        version = tuple(
            type(required)(part) for required, part in zip(req_version_tuple, parts, strict=True)
        )
    except Exception as error:
        message = (
            f"'{module.__name__}' module version string is malformed '{module.__version__}' and "
            f"cannot be compared with tuple {req_version_tuple}"
        )
        if error_if_malformed:
            raise RuntimeError(message) from error
        import warnings

        warnings.warn(f"{message}, but continuing assuming that requirement is met", stacklevel=2)
        return True
    return version >= tuple(req_version_tuple)


def get_unsafe_globals_in_checkpoint(f):
    """The classes and functions that a file names and that load(weights_only=True) refuses, as
    full names. Nothing of the file is run.

    >>> import fractions
    >>> torch.save([fractions.Fraction(1, 2)], "fraction.pt")
    >>> torch.serialization.get_unsafe_globals_in_checkpoint("fraction.pt")
    ['fractions.Fraction']
    """
    import os

    from . import _pickling
    from ._archive import ArchiveReader

    is_path = isinstance(f, (str, os.PathLike))
    with open(f, "rb") if is_path else contextlib.nullcontext(f) as file:
        start = file.tell()
        magic = file.read(4)
        file.seek(start)
        if magic != b"PK\x03\x04":
            raise ValueError("Expected input to be a checkpoint returned by torch.save")
        found = _pickling.globals_in(ArchiveReader(file).read("data.pkl"))
    return sorted(name for name in found if not _pickling.is_safe(name))


def __getattr__(name):
    # FloatStorage, LongStorage, ...: made when first asked for.
    cls = storage_class(name)
    if cls is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return cls
