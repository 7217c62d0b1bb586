"""The parts of class UntypedStorage that are written in Python."""

from mindtorch_v2 import _C, _shared_memory
from mindtorch_v2._C import UntypedStorage


def storage_text(storage, name):
    lines = "\n ".join(str(value) for value in storage.tolist())
    return f" {lines}\n[{name} of size {len(storage)}]" if lines else f"[{name} of size 0]"


def save_storage(storage):
    import io

    from ._serialization import save

    buffer = io.BytesIO()
    save(storage, buffer)
    return buffer.getvalue()


def load_storage(data):
    import io

    from ._serialization import load

    return load(io.BytesIO(data))


def _untyped_repr(self):
    if self.device.type == "meta":
        return f"...\n[torch.storage.UntypedStorage(device=meta) of size {len(self)}]"
    return storage_text(self, f"torch.storage.UntypedStorage(device={self.device})")


def _untyped_deepcopy(self, memo):
    return self.clone()


def _untyped_reduce(self):
    return load_storage, (save_storage(self),)


def _untyped_sizeof(self):
    """The bytes of the object and of what it holds, for sys.getsizeof."""
    return object.__sizeof__(self) + self.nbytes()


def _untyped_cpu(self):
    """The storage on the CPU."""
    if self.device.type == "cpu":
        return self
    return UntypedStorage(self.nbytes(), device="cpu").copy_(self)


def _untyped_self(self):
    """The storage itself."""
    return self


def _flat(self):
    return _C._rebuild_tensor(self, _C.uint8, 0, (self.nbytes(),), (1,))


def _untyped_is_pinned(self, device=None):
    """Whether the memory is page-locked, for devices to read and write."""
    return self.device.type == "cpu" and _C._is_pinned(_flat(self), device)


def _untyped_pin_memory(self, device=None):
    """The storage in page-locked memory; itself if it lies there."""
    return self if self.is_pinned(device) else _flat(self).pin_memory(device).untyped_storage()


UntypedStorage.__repr__ = _untyped_repr
UntypedStorage.__copy__ = lambda self: self.clone()
UntypedStorage.__deepcopy__ = _untyped_deepcopy
UntypedStorage.__reduce__ = _untyped_reduce
UntypedStorage.__sizeof__ = _untyped_sizeof
UntypedStorage.cpu = _untyped_cpu
UntypedStorage.untyped = _untyped_self
UntypedStorage.is_shared = _shared_memory.storage_is_shared
UntypedStorage.share_memory_ = _shared_memory.storage_share_memory_
UntypedStorage.from_file = staticmethod(_shared_memory.storage_from_file)
UntypedStorage.is_pinned = _untyped_is_pinned
UntypedStorage.pin_memory = _untyped_pin_memory
UntypedStorage.is_cuda = property(lambda self: self.device.type == _C.device("cuda").type)
