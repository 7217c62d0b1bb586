"""How tensors and storages travel between processes: as handles of shared memory."""

import os
import secrets
from multiprocessing import reduction, resource_tracker
from multiprocessing.reduction import ForkingPickler

import mindtorch_v2 as torch
from mindtorch_v2 import _C, _shared_memory
from mindtorch_v2._serialization import reduce_tensor as _reduce_by_value
from mindtorch_v2.storage import LEGACY_NAMES, TypedStorage, storage_class, typed_storage
from mindtorch_v2.utils.hooks import warn_if_has_hooks

__all__ = ["init_reductions", "reduce_storage", "reduce_tensor"]


def reduce_tensor(tensor):
    """(function, arguments) that make the tensor in another process."""
    if tensor.requires_grad and not tensor.is_leaf:
        raise RuntimeError(
            "Cowardly refusing to serialize non-leaf tensor which requires_grad, since autograd "
            "does not support crossing process boundaries.  If you just want to transfer the "
            "data, call detach() on the tensor before serializing (e.g., putting it on the queue)."
        )
    warn_if_has_hooks(tensor)
    if tensor.is_meta:
        return _reduce_by_value(tensor)
    _check_device(tensor)
    geometry = (tensor.storage_offset(), tuple(tensor.shape), tuple(tensor.stride()))
    storage = tensor.untyped_storage()
    return rebuild_tensor, (type(tensor), storage, tensor.dtype, geometry, tensor.requires_grad)


def rebuild_tensor(cls, storage, dtype, geometry, requires_grad):
    tensor = _C._rebuild_tensor(storage, dtype, *geometry)
    if cls is torch.nn.Parameter:
        return torch.nn.Parameter(tensor, requires_grad)
    return tensor.requires_grad_(requires_grad)


def _check_device(owner):
    if owner.device.type != "cpu":
        raise RuntimeError(
            f"a tensor on {owner.device} can not be sent to another process: its memory belongs to "
            "this one. Send tensor.cpu(), and move it to the device where it is received."
        )


def reduce_storage(storage):
    """(function, arguments) that map the storage in another process."""
    _check_device(storage)
    if storage.nbytes() == 0:
        return _C.UntypedStorage, (0,)
    from . import get_sharing_strategy

    if get_sharing_strategy() == "file_descriptor":
        segment = _shared_memory.share(storage)
        segment.is_exported = True
        return rebuild_storage_fd, (reduction.DupFd(segment.fd), segment.nbytes)
    segment = _shared_memory.share(storage, in_file_system=True)
    segment.is_exported = True
    return rebuild_storage_filename, (_give_name(segment), segment.nbytes)


def rebuild_storage_fd(handle, nbytes):
    return _shared_memory.map_segment(_shared_memory.Segment(handle.detach(), nbytes))


def rebuild_storage_filename(name, nbytes):
    path = _shared_memory.SHARED_FOLDER + name
    segment = _shared_memory.Segment(os.open(path, os.O_RDWR | os.O_CLOEXEC), nbytes, True)
    os.unlink(path)
    resource_tracker.unregister(name, "shared_memory")
    return _shared_memory.map_segment(segment)


def watch_files():
    """From here on a process of its own removes the files that nobody received, when this process
    and its children are gone."""
    resource_tracker.ensure_running()


def _give_name(segment):
    """Names a segment until it is received. Every message has a name of its own."""
    name = f"/torch_{os.getpid()}_{secrets.token_hex(8)}"
    resource_tracker.register(name, "shared_memory")
    # Only with a folder does Python follow the symbolic link; an absolute path ignores it.
    os.link(
        f"/proc/self/fd/{segment.fd}",
        _shared_memory.SHARED_FOLDER + name,
        src_dir_fd=segment.fd,
        follow_symlinks=True,
    )
    return name


def _reduce_typed_storage(storage):
    return typed_storage, (storage.untyped(), storage.dtype)


def init_reductions():
    """Teaches multiprocessing to send tensors and storages."""
    ForkingPickler.register(torch.Tensor, reduce_tensor)
    ForkingPickler.register(torch.nn.Parameter, reduce_tensor)
    ForkingPickler.register(_C.UntypedStorage, reduce_storage)
    for prefix in LEGACY_NAMES.values():
        cls = storage_class(prefix + "Storage")
        if cls is not None:
            ForkingPickler.register(cls, _reduce_typed_storage)
    ForkingPickler.register(TypedStorage, _reduce_typed_storage)
