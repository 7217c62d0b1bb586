"""Where the storages of a file live: the tags that name devices in it, and map_location."""

import mindtorch_v2 as torch

from . import _C


def new_storage(nbytes):
    return _C.UntypedStorage(nbytes, device="cpu")


def storage_view(storage):
    """A writable view of a CPU storage's bytes."""
    return memoryview(storage).cast("B") if storage.nbytes() else memoryview(bytearray())


def copy_storage(storage, device):
    """A storage on `device` with the same bytes."""
    return _C.UntypedStorage(storage.nbytes(), device=device).copy_(storage)


class MetaStorage:
    """Stands for a storage on the meta device: a size, no bytes."""

    device = "meta"

    def __init__(self, nbytes):
        self._nbytes = nbytes

    def nbytes(self):
        return self._nbytes

    def __getitem__(self, part):
        return MetaStorage(part.stop - part.start)


# --- Tags of devices ---------------------------------------------------------------------------


def _cpu_tag(storage):
    return "cpu" if storage.device.type == "cpu" else None


def _restore_on_cpu(storage, location):
    return storage if location == "cpu" else None


def _device_tag(storage):
    return str(storage.device)


def _restore_on_device(storage, location):
    kind = location.partition(":")[0]
    if not hasattr(getattr(torch, kind, None), "is_available"):
        return None
    try:
        device = torch.device(location)
    except RuntimeError:
        return None
    if device.type == "cpu":
        return storage
    validate_device(location, kind)
    return copy_storage(storage, device)


# (priority, tagger, deserializer)
_packages = [(10, _cpu_tag, _restore_on_cpu), (20, _device_tag, _restore_on_device)]


def register_package(priority, tagger, deserializer):
    """Adds a kind of place for storages. save() asks `tagger(storage)` for the tag to write, load()
    asks `deserializer(storage, tag)` for the storage to use; None means: another one's business.
    The lowest priority is asked first; the CPU has 10, accelerators 20.

    >>> def restore(storage, tag):
    ...     return storage if tag == "remote" else None
    >>> torch.serialization.register_package(5, lambda storage: None, restore)
    """
    _packages.append((priority, tagger, deserializer))
    _packages.sort(key=lambda package: package[0])


def location_tag(storage):
    """How a file names the place of a storage.

    >>> torch.serialization.location_tag(torch.ones(2).untyped_storage())
    'cpu'
    """
    for _, tagger, _ in _packages:
        location = tagger(storage)
        if location:
            return location
    raise RuntimeError(f"don't know how to determine data location of {type(storage)}")


def default_restore_location(storage, location):
    """A storage of the CPU, at the place that a file names.

    >>> storage = torch.ones(2).untyped_storage()
    >>> torch.serialization.default_restore_location(storage, "cpu") is storage
    True
    """
    for _, _, deserializer in _packages:
        result = deserializer(storage, location)
        if result is not None:
            return result
    raise RuntimeError(
        "don't know how to restore data location of torch.storage.UntypedStorage "
        f"(tagged with {location})"
    )


def validate_device(location, kind):
    """The index of a device that a file names; RuntimeError if this machine lacks it."""
    module = getattr(torch, kind, None)
    if module is None or not module.is_available():
        raise RuntimeError(
            f"Attempting to deserialize object on a {kind.upper()} device but "
            f"torch.{kind}.is_available() is False. If you are running on a CPU-only machine, "
            "please use torch.load with map_location=torch.device('cpu') to map your storages to "
            "the CPU."
        )
    index = torch.device(location).index
    if index is None:
        index = module.current_device()
    if index >= module.device_count():
        raise RuntimeError(
            f"Attempting to deserialize object on {kind.upper()} device {index} but "
            f"torch.{kind}.device_count() is {module.device_count()}. Please use torch.load with "
            "map_location to map your storages to an existing device."
        )
    return index


# --- Storages of a file ------------------------------------------------------------------------


def restore_storage(nbytes, location, map_location, fill):
    """A storage filled by `fill(view)`, on the device that `location` and `map_location` name."""
    if _wanted_location(location, map_location) == "meta":
        return MetaStorage(nbytes)
    storage = new_storage(nbytes)
    fill(storage_view(storage))
    return place_storage(storage, location, map_location)


def place_storage(storage, location, map_location):
    """A storage of the CPU, where `location` and `map_location` want it."""
    wanted = _wanted_location(location, map_location)
    if wanted is None:
        result = map_location(storage, location)
        if result is not None:
            return _checked_storage(result)
        wanted = location
    if wanted == "meta":
        return MetaStorage(storage.nbytes())
    return default_restore_location(storage, wanted)


def _wanted_location(location, map_location):
    if isinstance(map_location, dict):
        location = map_location.get(location, location)
        map_location = None
    if isinstance(map_location, (str, torch.device)):
        return str(map_location)
    return str(location) if map_location is None else None  # a function says later


def _checked_storage(result):
    if isinstance(result, torch.storage.TypedStorage):
        return result.untyped()
    if not isinstance(result, (_C.UntypedStorage, MetaStorage)):
        raise TypeError(f"map_location must give a storage, not {type(result).__name__}")
    return result
