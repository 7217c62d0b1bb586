"""The parts of class UntypedStorage that are written in Python."""

from mindtorch_v2 import _C
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


def _untyped_cpu(self):
    """The storage on the CPU."""
    if self.device.type == "cpu":
        return self
    flat = _C._rebuild_tensor(self, _C.uint8, 0, (self.nbytes(),), (1,))
    return flat.cpu().untyped_storage()


def _untyped_self(self):
    """The storage itself."""
    return self


def _untyped_false(self, *args):
    """False: the memory belongs to this process and is not page-locked."""
    return False


UntypedStorage.__repr__ = _untyped_repr
UntypedStorage.__copy__ = lambda self: self.clone()
UntypedStorage.__deepcopy__ = _untyped_deepcopy
UntypedStorage.__reduce__ = _untyped_reduce
UntypedStorage.cpu = _untyped_cpu
UntypedStorage.untyped = _untyped_self
UntypedStorage.is_shared = _untyped_false
UntypedStorage.is_pinned = _untyped_false
UntypedStorage.is_cuda = property(lambda self: self.device.type == "cuda")
