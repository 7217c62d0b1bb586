"""torch.serialization: save, load, and the allow-list of load(weights_only=True)."""

from ._serialization import (
    TypedStorage,
    add_safe_globals,
    clear_safe_globals,
    get_safe_globals,
    load,
    safe_globals,
    save,
    storage_class,
)

__all__ = [
    "TypedStorage",
    "add_safe_globals",
    "clear_safe_globals",
    "get_safe_globals",
    "get_unsafe_globals_in_checkpoint",
    "load",
    "safe_globals",
    "save",
]


def get_unsafe_globals_in_checkpoint(f):
    """The classes and functions that a file names and that load(weights_only=True) refuses, as
    full names. Nothing of the file is run.

    >>> import fractions
    >>> torch.save([fractions.Fraction(1, 2)], "fraction.pt")
    >>> torch.serialization.get_unsafe_globals_in_checkpoint("fraction.pt")
    ['fractions.Fraction']
    """
    import contextlib
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
