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
    "load",
    "safe_globals",
    "save",
]


def __getattr__(name):
    # FloatStorage, LongStorage, ...: made when first asked for.
    cls = storage_class(name)
    if cls is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return cls
