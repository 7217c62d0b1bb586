"""torch.save and torch.load: torch's zip file format, both ways.

Files written here load in torch, and the other way round. This module holds what a pickle refers
to (storages, rebuild functions) and the two entry points; `_pickling` holds the picklers and
`_archive` the zip container. Those two are imported at the first save or load.
"""

import mindtorch_v2 as torch

from . import _C
from ._locations import MetaStorage, copy_storage, place_storage, restore_storage, storage_view
from .storage import LEGACY_NAMES as _LEGACY_NAMES  # how a pickle names the dtype of a tensor
from .storage import TypedStorage, storage_class, typed_storage
from .utils.hooks import warn_if_has_hooks


def _is_storage(obj):
    return isinstance(obj, _C.UntypedStorage)


def dtype_name(dtype):
    return str(dtype).rpartition(".")[2]


# --- Tensors to and from plain values ---------------------------------------------------------


def rebuild_tensor(storage, dtype, offset, size, stride):
    """A tensor over `storage`. A file is not trusted: what lies outside of it is refused."""
    size, stride = tuple(size), tuple(stride)
    if len(size) != len(stride) or min((offset, *size, *stride)) < 0:
        raise RuntimeError(f"invalid geometry: size {size}, stride {stride}, offset {offset}")
    if 0 not in size:
        last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
        if (last + 1) * dtype.itemsize > storage.nbytes():
            raise RuntimeError(
                f"a tensor of size {size}, stride {stride} and offset {offset} is out of bounds "
                f"for a storage of {storage.nbytes()} bytes"
            )
    if isinstance(storage, MetaStorage):
        return torch.empty_strided(size, stride, dtype=dtype, device="meta")
    return _C._rebuild_tensor(storage, dtype, offset, size, stride)


def _rebuild_tensor_v2(storage, offset, size, stride, requires_grad, hooks, metadata=None):
    return _rebuild_tensor_v3(
        storage.untyped(), offset, size, stride, requires_grad, hooks, storage.dtype, metadata
    )


def _rebuild_tensor_v3(storage, offset, size, stride, requires_grad, hooks, dtype, metadata=None):
    if metadata:
        raise RuntimeError(f"tensors with {', '.join(metadata)} are not supported")
    tensor = rebuild_tensor(storage, dtype, offset, size, stride)
    return tensor.requires_grad_(requires_grad)


def _rebuild_tensor(storage, offset, size, stride):
    return rebuild_tensor(storage.untyped(), storage.dtype, offset, size, stride)


def _rebuild_meta_tensor_no_storage(dtype, size, stride, requires_grad):
    tensor = torch.empty_strided(size, stride, dtype=dtype, device="meta")
    return tensor.requires_grad_(requires_grad)


def _rebuild_parameter(data, requires_grad, hooks):
    return torch.nn.Parameter(data, requires_grad)


def _rebuild_parameter_with_state(data, requires_grad, hooks, state):
    parameter = _rebuild_parameter(data, requires_grad, hooks)
    parameter.__dict__.update(state)
    return parameter


def _rebuild_sparse_tensor(layout, data):
    from mindtorch_v2.sparse._create import sparse_compressed_tensor, sparse_coo_tensor

    if layout is torch.sparse_coo:
        indices, values, size, *coalesced = data
        known = coalesced[0] if coalesced else None
        return sparse_coo_tensor(indices, values, size, check_invariants=True, is_coalesced=known)
    begins, others, values, size = data
    return sparse_compressed_tensor(
        begins, others, values, size, layout=layout, check_invariants=True
    )


def _rebuild_from_type_v2(function, cls, args, state):
    if isinstance(function, type):
        raise TypeError(f"expected a function to rebuild a tensor, not {function}")
    tensor = function(*args)
    if not isinstance(tensor, torch.Tensor):
        raise TypeError(f"expected a tensor to rebuild, not {type(tensor).__name__}")
    if type(tensor) is not cls:
        tensor = tensor.as_subclass(cls)
    if state:
        tensor.__dict__.update(state)
    return tensor


def reduce_tensor(tensor):
    """(function, arguments) that rebuild a tensor or parameter, as __reduce_ex__ returns them."""
    from collections import OrderedDict

    warn_if_has_hooks(tensor)
    cls = type(tensor)
    requires_grad = tensor.requires_grad
    state = dict(getattr(tensor, "__dict__", None) or {})
    if cls.__name__ == "Parameter":
        arguments = (tensor.detach(), requires_grad, OrderedDict())
        if state:
            return _rebuild_parameter_with_state, (*arguments, state)
        return _rebuild_parameter, arguments

    geometry = tuple(tensor.shape), tuple(tensor.stride())
    if tensor.device.type == "meta":
        function = _rebuild_meta_tensor_no_storage
        arguments = (tensor.dtype, *geometry, requires_grad)
    else:
        storage = tensor.untyped_storage()
        typed = typed_storage(storage, tensor.dtype)
        tail = (tensor.storage_offset(), *geometry, requires_grad, OrderedDict())
        if typed is not None:
            function, arguments = _rebuild_tensor_v2, (typed, *tail)
        else:
            function, arguments = _rebuild_tensor_v3, (storage, *tail, tensor.dtype)
    if cls is not torch.Tensor or state:
        return _rebuild_from_type_v2, (function, cls, arguments, state or None)
    return function, arguments


# --- Classes a file may name when weights_only is set -----------------------------------------

_safe_globals = []


def add_safe_globals(safe_globals):
    """Allow load(weights_only=True) to build these classes and call these functions. An entry is
    the object, or a pair (object, "full.name") when the file calls it by another name."""
    _safe_globals.extend(item for item in safe_globals if item not in _safe_globals)


def clear_safe_globals():
    _safe_globals.clear()


def get_safe_globals():
    return list(_safe_globals)


class safe_globals:
    """A with-block in which the given entries are allowed."""

    def __init__(self, safe_globals):
        self._entries = list(safe_globals)

    def __enter__(self):
        self._saved = get_safe_globals()
        add_safe_globals(self._entries)

    def __exit__(self, *exc_info):
        _safe_globals[:] = self._saved


# --- save and load ----------------------------------------------------------------------------


def save(obj, f, pickle_module=None, pickle_protocol=2, _use_new_zipfile_serialization=True):
    """Write `obj` to a path or a binary file. Tensors that share a storage still share it when
    they are loaded again, and each storage is written once. A file at `f` is replaced when the new
    one is whole: a save that fails or is cut off leaves the old one.

    >>> torch.save({"weight": torch.ones(2)}, "weights.pt")
    >>> torch.load("weights.pt")
    {'weight': tensor([1., 1.])}
    """
    from . import _old_files, _pickling
    from ._whole_file import whole_file

    # Before the file is opened: what cannot be pickled must not cost an older file.
    if _use_new_zipfile_serialization:
        dump, write = _pickling.dump, _write_archive
    else:
        dump, write = _old_files.dump, _old_files.write
    data, storages = dump(obj, pickle_protocol, pickle_module)
    if _is_path(f):
        import os

        nbytes = len(data) + sum(storage.nbytes() for _, storage, _ in storages)
        nbytes += _MOST_AROUND_RECORD * (len(storages) + _OTHER_RECORDS)
        with whole_file(os.fspath(f), nbytes) as file:
            folder = os.path.splitext(os.path.basename(os.fspath(f)))[0]
            write(file, folder, data, storages)
    elif hasattr(f, "write"):
        write(f, "archive", data, storages)
    else:
        raise AttributeError(
            "expected 'f' to be string, path, or a file-like object with a 'write' attribute"
        )


# What an archive needs for a record beside its bytes, as long as names have an ordinary length.
_MOST_AROUND_RECORD = 1024
_OTHER_RECORDS = 8


def _is_path(f):
    import os

    return isinstance(f, (str, os.PathLike))


def _write_archive(file, folder, data, storages):
    import sys

    from ._archive import ArchiveWriter

    settings = _settings().save
    with ArchiveWriter(file, folder, settings.storage_alignment, settings.compute_crc32) as archive:
        archive.write("data.pkl", data)
        archive.write(".format_version", b"1")
        archive.write(".storage_alignment", str(settings.storage_alignment).encode())
        archive.write("byteorder", sys.byteorder.encode())
        for key, storage, _ in storages:
            if _skipped_data is not None:
                archive.write_zeros(f"data/{key}", storage.nbytes())
            else:
                archive.write(f"data/{key}", host_bytes(storage))


def host_bytes(storage):
    """The bytes of a storage, fetched from its device."""
    if storage.device.type != "cpu":
        if _settings().save.use_pinned_memory_for_d2h:
            pinned = torch.empty(storage.nbytes(), dtype=torch.uint8, pin_memory=True)
            storage = pinned.untyped_storage().copy_(storage)
        else:
            storage = copy_storage(storage, "cpu")
    return storage_view(storage)


def _settings():
    from .utils.serialization import config

    return config


def load(
    f, map_location=None, pickle_module=None, *, weights_only=None, mmap=None, **pickle_load_args
):
    """Read what save() or torch.save wrote to a path or a seekable binary file.

    `map_location` says where storages go: a device, a dict from saved to wanted device, or a
    function of (storage, saved device). With `weights_only`, the default, the file can make
    tensors and plain containers only; see add_safe_globals. Without it a file can run any code.
    With `mmap` the bytes are read from the file when they are used.

    The variables TORCH_FORCE_WEIGHTS_ONLY_LOAD and TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD change the
    default of a program, as in torch.
    """
    from . import _pickling

    if mmap is None:
        mmap = _settings().load.mmap
    weights_only = _checked_weights_only(weights_only, pickle_module)
    options = _pickling.Options(weights_only, pickle_module, pickle_load_args)
    if _is_path(f):
        if str(f).endswith(".safetensors"):
            return _load_safetensors(f, map_location)
        # What is written to tensors that are mapped as shared goes to the file.
        with open(f, "r+b" if mmap and _maps_shared() else "rb") as opened:
            return _load(opened, map_location, options, mmap)
    if mmap:
        raise ValueError("f must be a file path in order to use the mmap argument")
    if not hasattr(f, "seek"):
        raise AttributeError(
            f"'{type(f).__name__}' object has no attribute 'seek'. You can only torch.load from a "
            "file that is seekable. Please pre-load the data into a buffer like io.BytesIO and try "
            "to load from it instead."
        )
    return _load(f, map_location, options, False)


def _checked_weights_only(weights_only, pickle_module):
    import os

    def is_set(name):
        return os.environ.get(name, "0").lower() in ("1", "y", "yes", "true")

    forced = is_set("TORCH_FORCE_WEIGHTS_ONLY_LOAD")
    forced_off = is_set("TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD")
    if forced and forced_off:
        raise RuntimeError(
            "Only one of `TORCH_FORCE_WEIGHTS_ONLY_LOAD` or `TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD` "
            "should be set, but both were set."
        )
    if forced:
        weights_only = True
    elif weights_only is None:
        if forced_off:
            import warnings

            warnings.warn(
                "Environment variable TORCH_FORCE_NO_WEIGHTS_ONLY_LOAD detected, since the"
                "`weights_only` argument was not explicitly passed to `torch.load`, forcing "
                "weights_only=False.",
                UserWarning,
                stacklevel=3,
            )
        weights_only = pickle_module is None and not forced_off
    if weights_only and pickle_module is not None:
        raise RuntimeError("Can not safely load weights when explicit pickle_module is specified")
    return weights_only


def _load_safetensors(f, map_location):
    import os

    from .utils.safetensors import load_file

    if map_location is not None and not isinstance(map_location, (str, torch.device)):
        raise RuntimeError(
            "a safetensors file is loaded to one device: map_location must be a device string or "
            f"torch.device, not {type(map_location).__name__}"
        )
    return load_file(os.fspath(f), device=map_location or "cpu")


def _load(f, map_location, options, mmap):
    from . import _archive, _pickling

    start = f.tell()
    magic = f.read(4)
    if not magic:
        raise EOFError("Ran out of input")
    f.seek(start)
    if magic != b"PK\x03\x04":
        if mmap:
            raise RuntimeError(
                "mmap can only be used with files saved with "
                f"`torch.save({f.name}, _use_new_zipfile_serialization=True), please torch.save "
                "your checkpoint with this option in order to use mmap."
            )
        from . import _old_files

        return _old_files.load(f, map_location, options)
    archive = _archive.ArchiveReader(f)
    if archive.has("constants.pkl"):
        raise RuntimeError("this is a TorchScript archive, which can not be loaded here")
    return _pickling.load(
        archive.read("data.pkl"), _StorageReader(archive, f, map_location, mmap), options
    )


class _StorageReader:
    """Gives the storages of an archive by key, each once."""

    def __init__(self, archive, file, map_location, mmap):
        self._archive = archive
        self._map_location = map_location
        self._swapped = archive.is_byte_swapped(_settings().load.endianness)
        self._restored = {}
        self._mapped = _map_whole(file) if mmap and not self._swapped else None

    def __call__(self, key, dtype, location, nbytes):
        if key not in self._restored:
            record = f"data/{key}"
            size = self._archive.size(record)
            if size != nbytes:
                raise RuntimeError(
                    f"record size ({size} bytes) does not match expected size ({nbytes} bytes) of "
                    f"storage {key}"
                )
            self._restored[key] = self._restore(record, dtype, location, nbytes)
        return self._restored[key]

    def _restore(self, record, dtype, location, nbytes):
        if _skipped_data is not None:
            return restore_storage(nbytes, location, self._map_location, lambda view: None)
        if self._mapped is not None and nbytes:
            position = self._archive.position(record)
            # Records of other tools may be compressed, or begin anywhere.
            if position is not None and position % 16 == 0:
                storage = self._mapped[position : position + nbytes]
                return place_storage(storage, location, self._map_location)

        def fill(view):
            self._archive.read_into(record, view)
            if self._swapped:
                swap_bytes(view, dtype)

        return restore_storage(nbytes, location, self._map_location, fill)


def _map_whole(file):
    import os

    size = os.fstat(file.fileno()).st_size
    return _C._map_file(file.fileno(), 0, size, shared=_maps_shared(), populate=False, owner=None)


def _maps_shared():
    import mmap

    return _settings().load.mmap_flags == mmap.MAP_SHARED


_skipped_data = None  # the innermost with-block of skip_data


class skip_data:
    """A with-block in which torch.save leaves the bytes of storages out of a file, with room for
    them, and torch.load makes storages without reading them. With `materialize_fake_tensors` that
    room is also left for tensors that have no bytes.

    >>> with torch.serialization.skip_data():
    ...     torch.save(torch.ones(2), "room.pt")
    >>> torch.load("room.pt")
    tensor([0., 0.])
    """

    def __init__(self, materialize_fake_tensors=False):
        self.materialize_fake_tensors = materialize_fake_tensors

    def __enter__(self):
        global _skipped_data
        self._outer, _skipped_data = _skipped_data, self

    def __exit__(self, *exc_info):
        global _skipped_data
        _skipped_data = self._outer


def swap_bytes(view, dtype):
    """Reverses the bytes of every element, for files of a machine with the other byte order."""
    width = dtype.itemsize // (2 if dtype.is_complex else 1) if dtype is not None else 1
    original = bytes(view)
    for position in range(width):
        view[position::width] = original[width - 1 - position :: width]
