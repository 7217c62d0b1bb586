"""torch.storage: the memory behind tensors, as bytes and as elements of a dtype."""

import mindtorch_v2 as torch

from . import _C
from ._C import UntypedStorage
from ._storage import load_storage, save_storage, storage_text

__all__ = ["TypedStorage", "UntypedStorage"]

LEGACY_NAMES = {
    "float64": "Double",
    "float32": "Float",
    "float16": "Half",
    "bfloat16": "BFloat16",
    "int64": "Long",
    "int32": "Int",
    "int16": "Short",
    "int8": "Char",
    "uint8": "Byte",
    "bool": "Bool",
    "complex128": "ComplexDouble",
    "complex64": "ComplexFloat",
}
_storage_classes = {}


class TypedStorage:
    """The bytes of an untyped storage, seen as elements of one dtype.

    >>> torch.tensor([1., 2.]).storage().tolist()
    [1.0, 2.0]
    """

    dtype = None

    def __init__(self, *args, wrap_storage=None, dtype=None, device=None):
        if dtype is not None:
            self.dtype = dtype
        if self.dtype is None:
            self.dtype = torch.get_default_dtype()
        if wrap_storage is not None:
            self._untyped = wrap_storage
        elif not args or isinstance(args[0], int):
            count = args[0] if args else 0
            self._untyped = UntypedStorage(count * self.dtype.itemsize, device=device)
        else:
            values = torch.tensor(args[0], dtype=self.dtype, device=device)
            self._untyped = values.untyped_storage()

    def __call__(self):
        # Tensor.storage is an attribute; torch writes t.storage().
        return self

    @property
    def data(self):
        """The elements as an array over the same memory: NumPy's, or a tensor for a dtype that
        NumPy lacks."""
        flat = self._flat()
        return flat if self.dtype == torch.bfloat16 or not flat.is_cpu else flat.numpy()

    @property
    def device(self):
        return self._untyped.device

    @property
    def is_cuda(self):
        return self._untyped.is_cuda

    def _flat(self):
        return _C._rebuild_tensor(self._untyped, self.dtype, 0, (len(self),), (1,))

    def untyped(self):
        """The same memory as bytes."""
        return self._untyped

    def __sizeof__(self):
        return super().__sizeof__() + self.nbytes()

    def nbytes(self):
        """The number of bytes."""
        return self._untyped.nbytes()

    def element_size(self):
        """The bytes of one element."""
        return self.dtype.itemsize

    def size(self):
        """The number of elements."""
        return len(self)

    def data_ptr(self):
        """The address of the first element."""
        return self._untyped.data_ptr()

    def tolist(self):
        """The elements as a list of numbers."""
        return self._flat().tolist()

    def clone(self):
        """A storage with the same elements."""
        return typed_storage(self._untyped.clone(), self.dtype)

    def copy_(self, source, non_blocking=False):
        """Copies all elements of a storage of the same size, converted."""
        self._flat().copy_(source._flat())
        return self

    def fill_(self, value):
        """Sets every element."""
        self._flat().fill_(value)
        return self

    def resize_(self, size):
        """Changes the number of elements; keeps the first."""
        self._untyped.resize_(size * self.dtype.itemsize)
        return self

    def is_shared(self):
        """Whether it lies in memory shared by processes."""
        return self._untyped.is_shared()

    def share_memory_(self):
        """Moves the elements to memory that other processes can see."""
        self._untyped.share_memory_()
        return self

    @classmethod
    def from_file(cls, filename, shared=False, size=0):
        """A storage of `size` elements over a file; see UntypedStorage.from_file."""
        dtype = cls.dtype or torch.get_default_dtype()
        untyped = UntypedStorage.from_file(filename, shared, size * dtype.itemsize)
        return cls(wrap_storage=untyped, dtype=dtype)

    def is_pinned(self, device=None):
        """Whether it lies in page-locked memory."""
        return self._untyped.is_pinned()

    def cpu(self):
        """The storage on the CPU."""
        return self if self.device.type == "cpu" else typed_storage(self._untyped.cpu(), self.dtype)

    def __len__(self):
        return self._untyped.nbytes() // self.dtype.itemsize

    def __iter__(self):
        return iter(self.tolist())

    def __getitem__(self, index):
        if isinstance(index, slice):
            raise NotImplementedError("slices are only supported in UntypedStorage.__getitem__")
        if not -len(self) <= index < len(self):
            raise IndexError(f"index {index} out of range for storage of size {len(self)}")
        return self._flat()[index].item()

    def __setitem__(self, index, value):
        self._flat()[index] = value

    def __eq__(self, other):
        if not isinstance(other, TypedStorage):
            return NotImplemented
        return self._untyped is other._untyped and self.dtype == other.dtype

    def __hash__(self):
        return hash(self._untyped)

    def __repr__(self):
        return storage_text(
            self, f"torch.storage.TypedStorage(dtype={self.dtype}, device={self.device})"
        )

    def __copy__(self):
        return self.clone()

    def __deepcopy__(self, memo):
        import copy

        return typed_storage(copy.deepcopy(self._untyped, memo), self.dtype)

    def __reduce__(self):
        return load_storage, (save_storage(self),)


def storage_class(class_name):
    """FloatStorage and its kin by name; None when the name is no storage class we support."""
    if not _storage_classes:
        for dtype_name, prefix in LEGACY_NAMES.items():
            dtype = getattr(torch, dtype_name, None)
            if dtype is not None:
                name = prefix + "Storage"
                members = {"dtype": dtype, "__module__": __name__}
                members["__doc__"] = f"A storage of {dtype} elements."
                _storage_classes[name] = type(name, (TypedStorage,), members)
    return _storage_classes.get(class_name)


def typed_storage(storage, dtype):
    """A typed view, or None for a dtype that came after typed storages."""
    prefix = LEGACY_NAMES.get(str(dtype).rpartition(".")[2])
    return storage_class(prefix + "Storage")(wrap_storage=storage) if prefix else None


def __getattr__(name):
    # FloatStorage, LongStorage, ...: made when first asked for.
    cls = storage_class(name)
    if cls is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return cls
