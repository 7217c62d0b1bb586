"""Class SparseTensor, its components, and the table of what it can do.

A sparse tensor has the sizes, dtype and device of a tensor but no bytes; its components are
ordinary tensors. Its history is that of its values: a function of a sparse tensor is made of ops on
the values, and so is its gradient.
"""

import mindtorch_v2 as torch
from mindtorch_v2 import _C, _kinds
from mindtorch_v2._C import Tensor

# The functions of sparse tensors, by the names of torch's functions and methods. Those of
# attributes are called "grad.__get__" and "grad.__set__".
HANDLERS = {}


def handles(*names):
    """Registers a function under torch's names for it."""

    def register(function):
        for name in names:
            HANDLERS[name] = function
        return function

    return register


class Coo:
    """Coordinates (sparse_dim x nnz) and values (nnz x dense dims)."""

    __slots__ = ("indices", "is_coalesced", "values")
    layout = _C.sparse_coo

    def __init__(self, indices, values, is_coalesced):
        self.indices, self.values, self.is_coalesced = indices, values, is_coalesced

    def with_values(self, values):
        return Coo(self.indices, values, self.is_coalesced)


class Compressed:
    """Rows (CSR) or columns (CSC) by where they begin, the other coordinate, and the values. Those
    of BSR and BSC are blocks."""

    __slots__ = ("_expanded", "begins", "layout", "others", "values")

    def __init__(self, layout, begins, others, values):
        self.layout, self.begins, self.others, self.values = layout, begins, others, values
        self._expanded = None, None

    @property
    def by_columns(self):
        return self.layout in (_C.sparse_csc, _C.sparse_bsc)

    @property
    def has_blocks(self):
        return self.layout in (_C.sparse_bsr, _C.sparse_bsc)

    @property
    def block(self):
        """The sizes of a block; those of CSR and CSC are of one element."""
        first = self.others.dim()
        return tuple(self.values.shape[first : first + 2]) if self.has_blocks else (1, 1)

    def with_values(self, values):
        made = Compressed(self.layout, self.begins, self.others, values)
        made._expanded = self._expanded
        return made

    def expanded(self, expand):
        """expand(begins, count): the row of each entry. Kept as long as `begins` is not written."""
        version, rows = self._expanded
        if version != self.begins._version:
            rows = expand(self.begins, self.others.shape[0])
            self._expanded = self.begins._version, rows
        return rows


class SparseTensor(Tensor):
    """What torch.sparse_coo_tensor and torch.sparse_csr_tensor make.

    >>> torch.eye(2).to_sparse().layout
    torch.sparse_coo
    """

    # What every function asks for, without the way through __torch_function__.
    shape = property(lambda self: self._size)
    dtype = property(lambda self: self.parts.values.dtype)
    device = property(lambda self: self.parts.values.device)
    layout = property(lambda self: self.parts.layout)
    ndim = property(lambda self: len(self._size))
    is_sparse = property(lambda self: type(self.parts) is Coo)
    # The gradient, but for what the engine has left in that of the values since.
    own_grad = None

    def dim(self):
        return len(self._size)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        handler = _handler_of(func)
        if handler is not None:
            if not kwargs:
                return handler(*args)
            if kwargs.get("out") is None or handler in _TAKE_OUT:
                return handler(*args, **kwargs)
            others = {name: value for name, value in kwargs.items() if name != "out"}
            return _write(kwargs["out"], handler(*args, **others))
        # Functions made of others come back op by op, those that know no sparse tensors raise.
        with _C.DisableTorchFunctionSubclass():
            return func(*args, **(kwargs or {}))


_TAKE_OUT = set()  # handlers that write it themselves
_found = {}


def _handler_of(func):
    try:
        return _found[func]
    except KeyError:
        pass
    name = func.__name__
    if name in ("__get__", "__set__", "__delete__"):
        name = f"{func.__self__.__name__}.{name}"
    handler = _found[func] = HANDLERS.get(name)
    return handler


def components(tensor):
    """The ordinary tensors that a sparse one is made of."""
    parts = tensor.parts
    if type(parts) is Coo:
        return parts.indices, parts.values
    return parts.begins, parts.others, parts.values


def run_op(name, is_composite, args, kwargs):
    """What the ops do that C++ calls on sparse tensors."""
    handler = HANDLERS.get(name.partition(".")[0])
    if handler is not None:
        return handler(*args, **kwargs)
    if is_composite:
        return NotImplemented
    sparse = next(each for each in _flat(args) if is_sparse(each))
    raise NotImplementedError(no_kernel(name, sparse))


def _flat(args):
    for each in args:
        if isinstance(each, (list, tuple)):
            yield from each
        else:
            yield each


def no_kernel(name, tensor):
    """Torch's words for an op that a layout does not have."""
    return no_kernel_for(name, tensor.layout, tensor.device.type)


def no_kernel_for(name, layout, device="cpu"):
    kind = {_C.strided: "", _C.sparse_coo: "Sparse"}.get(layout, "SparseCsr")
    backend = _kinds.ROWS[device].title
    return (
        f"Could not run 'aten::{name}' with arguments from the '{kind}{backend}' backend. This "
        "could be because the operator doesn't exist for this backend, or was omitted during the "
        "selective/custom build process (if using custom build)."
    )


def is_sparse(value):
    return isinstance(value, SparseTensor)


def is_coo(value):
    return isinstance(value, SparseTensor) and type(value.parts) is Coo


# As torch's errors say it.
LAYOUT_NAMES = {
    _C.strided: "Strided",
    _C.sparse_coo: "Sparse",
    _C.sparse_csr: "SparseCsr",
    _C.sparse_csc: "SparseCsc",
    _C.sparse_bsr: "SparseBsr",
    _C.sparse_bsc: "SparseBsc",
}


def layout_name(tensor):
    """The name that torch's errors give its layout."""
    return LAYOUT_NAMES[tensor.layout]


def from_parts(parts, size, cls=SparseTensor):
    made = _C._make_sparse(cls, size, parts.values.dtype, parts.values.device)
    made.parts = parts
    made._size = size if type(size) is _C.Size else _C.Size(size)
    return made


def make_coo(indices, values, size, is_coalesced=False):
    return from_parts(Coo(indices, values, is_coalesced or indices.shape[1] < 2), size)


def make_compressed(layout, begins, others, values, size):
    return from_parts(Compressed(layout, begins, others, values), size)


def with_values(tensor, values):
    """The same places, other values."""
    return from_parts(tensor.parts.with_values(values), tensor.shape)


def type_name(tensor):
    """Of its numbers, as errors name it: Float."""
    return tensor.parts.values.type().split(".")[-1].removesuffix("Tensor")


def _write(out, made):
    """The result of a function in what it was given as out=."""
    if is_sparse(out) != is_sparse(made):
        raise RuntimeError(
            f"a result of layout {made.layout} cannot be written to out= of layout {out.layout}"
        )
    if not is_sparse(out):
        return out.resize_(made.shape).copy_(made)
    if out.layout is not made.layout:
        made = made.to_sparse(layout=out.layout)
    if not torch.can_cast(made.dtype, out.dtype):
        found, wanted = type_name(made), type_name(out)
        raise RuntimeError(f"result type {found} can't be cast to the desired output type {wanted}")
    return replace(out, with_values(made, made.parts.values.to(out.dtype)))


def replace(tensor, other):
    """Gives a sparse tensor the components of another, in place."""
    own, parts = tensor.parts.values, other.parts
    if own.requires_grad and own.is_leaf:
        if torch.is_grad_enabled():
            raise RuntimeError(
                "a leaf Variable that requires grad is being used in an in-place operation."
            )
        HANDLERS["grad.__get__"](tensor)  # it must not be lost with the values
        parts = parts.with_values(parts.values.detach().requires_grad_())
    tensor.parts = parts
    if tensor.shape != other.shape:
        _C._resize_sparse(tensor, other.shape)
        tensor._size = other.shape
    return tensor
