"""What a sparse tensor says of itself, its history, copies, and how it is printed and pickled."""

import copy

import mindtorch_v2 as torch
from mindtorch_v2 import _C, _kinds
from mindtorch_v2._C import Tensor
from mindtorch_v2.sparse import _factories
from mindtorch_v2.sparse._convert import to_coo
from mindtorch_v2.sparse._tensor import (
    _TAKE_OUT,
    HANDLERS,
    LAYOUT_NAMES,
    Coo,
    from_parts,
    handles,
    is_coo,
    is_sparse,
    layout_name,
    make_compressed,
    make_coo,
    no_kernel,
    replace,
    with_values,
)

# --- components -----------------------------------------------------------------------------------


def _component(name, kinds, expected, read):
    """A method that reads a component, of tensors of some layouts only."""

    def method(self):
        kind = layout_name(self)
        if kind not in kinds:
            raise RuntimeError(f"{name} expected {expected} tensor layout but got {kind}")
        return read(self)

    HANDLERS[name] = method


def _of_coalesced(name):
    def read(self):
        if is_coo(self) and not self.parts.is_coalesced:
            raise RuntimeError(
                f"Cannot get {name} on an uncoalesced tensor, please call .coalesce() first"
            )
        return getattr(self.parts, name)

    return read


_ROWS, _COLUMNS = "sparse row compressed", "sparse column compressed"
_component("indices", ("Sparse",), "sparse coordinate", _of_coalesced("indices"))
_component("values", tuple(LAYOUT_NAMES.values())[1:], "sparse", _of_coalesced("values"))
_BY_ROWS, _BY_COLUMNS = ("SparseCsr", "SparseBsr"), ("SparseCsc", "SparseBsc")
_component("crow_indices", _BY_ROWS, _ROWS, lambda self: self.parts.begins)
_component("col_indices", _BY_ROWS, _ROWS, lambda self: self.parts.others)
_component("ccol_indices", _BY_COLUMNS, _COLUMNS, lambda self: self.parts.begins)
_component("row_indices", _BY_COLUMNS, _COLUMNS, lambda self: self.parts.others)
_component("is_coalesced", ("Sparse",), "sparse coordinate", lambda self: self.parts.is_coalesced)


@handles("_indices")
def _indices(self):
    if not is_coo(self):
        raise NotImplementedError(no_kernel("_indices", self))
    return self.parts.indices


@handles("_values")
def _values(self):
    if not is_coo(self):
        raise NotImplementedError(no_kernel("_values", self))
    return self.parts.values.detach()


@handles("_nnz")
def nnz(self):
    if not is_sparse(self):
        raise NotImplementedError(no_kernel("_nnz", self))
    return self.parts.indices.shape[1] if is_coo(self) else self.parts.others.shape[-1]


@handles("_coalesced_")
def _coalesced_(self, coalesced):
    self.parts = Coo(self.parts.indices, self.parts.values, coalesced)
    return self


@handles("sparse_dim")
def sparse_dim(self):
    if not is_sparse(self):
        return 0
    return self.parts.indices.shape[0] if is_coo(self) else 2


@handles("dense_dim")
def dense_dim(self):
    if not is_sparse(self):
        return self.dim()
    parts = self.parts
    first = 1 if is_coo(self) else parts.others.dim() + 2 * parts.has_blocks
    return parts.values.dim() - first


HANDLERS["_dimI"], HANDLERS["_dimV"] = sparse_dim, dense_dim
HANDLERS["is_sparse_csr.__get__"] = lambda self: self.parts.layout is torch.sparse_csr


@handles("stride")
def stride(self, dim=None):
    if not is_coo(self):
        raise RuntimeError(f"Sparse {_kind(self)} tensors do not have strides")
    return (0,) * self.dim() if dim is None else 0


@handles("is_contiguous")
def is_contiguous(self, memory_format=None):
    if not is_coo(self) and self.layout is not torch.sparse_csr:
        raise RuntimeError(f"Sparse {_kind(self)} tensors do not have is_contiguous")
    return False


def _kind(self):
    return str(self.layout)[-3:].upper()


@handles("contiguous")
def contiguous(self, *, memory_format=None):
    if is_coo(self):
        raise RuntimeError("unsupported memory format option Contiguous")
    return self


@handles("is_same_size")
def is_same_size(self, other):
    return self.shape == other.shape


def _no_storage(self, *args, **kwargs):
    raise NotImplementedError("Cannot access storage of SparseTensorImpl")


def _no_bytes(self, *args, **kwargs):
    raise RuntimeError("Cannot access data pointer of Tensor that doesn't have storage")


for _name in ("storage", "untyped_storage", "typed_storage", "_typed_storage", "set_"):
    HANDLERS[_name] = _no_storage
for _name in ("data_ptr", "tolist", "__dlpack__"):
    HANDLERS[_name] = _no_bytes


@handles("numpy", "__array__")
def numpy(self, *args, **kwargs):
    raise TypeError(
        f"can't convert {layout_name(self)} layout tensor to numpy. Use Tensor.to_dense() first."
    )


@handles("item", "_local_scalar_dense", "__float__", "__int__", "__index__", "__complex__")
def item(self):
    if self.numel() != 1:
        raise RuntimeError(f"a Tensor with {self.numel()} elements cannot be converted to Scalar")
    return to_coo(self).parts.values.sum().item()


@handles("__bool__")
def to_bool(self):
    if self.numel() != 1:
        raise RuntimeError("Boolean value of Tensor with more than one value is ambiguous")
    return bool(item(self))


# --- copies ---------------------------------------------------------------------------------------


def _map(tensor, function):
    """A tensor whose components are those of another, changed."""
    parts = tensor.parts
    if type(parts) is Coo:
        indices, values = function(parts.indices), function(parts.values)
        return make_coo(indices, values, tensor.shape, parts.is_coalesced)
    changed = [function(each) for each in (parts.begins, parts.others, parts.values)]
    return make_compressed(parts.layout, *changed, tensor.shape)


@handles("clone")
def clone(self, memory_format=None):
    return _map(self, lambda each: each.clone())


def _moved(self, values):
    """With other values, and the indices where those are."""
    if values is self.parts.values:
        return self
    made = with_values(self, values)
    if values.device != self.device:
        device = values.device
        made = from_parts(
            _map(made, lambda each: each if each is values else each.to(device)).parts, self.shape
        )
    return made


@handles("to")
def to(self, *args, **kwargs):
    if len(args) == 1 and is_sparse(args[0]):
        args = (args[0].device, args[0].dtype)
    made = _moved(self, self.parts.values.to(*args, **kwargs))
    return clone(self) if made is self and kwargs.get("copy") else made


@handles("_to_copy")
def _to_copy(self, dtype=None, device=None, *rest, **options):
    return clone(_moved(self, self.parts.values.to(device=device, dtype=dtype)))


def _cast(name):
    def method(self, *args, **kwargs):
        return _moved(self, getattr(self.parts.values, name)(*args, **kwargs))

    HANDLERS[name] = method


for _name in (
    *"float double half bfloat16 int long short char byte bool cfloat cdouble".split(),
    *_kinds.WITH_MEMORY,
    "pin_memory",
    "share_memory_",
):
    if hasattr(Tensor, _name):
        _cast(_name)


@handles("type_as")
def type_as(self, other):
    return to(self, other.dtype)


@handles("type")
def type_(self, dtype=None, non_blocking=False, **kwargs):
    if not is_coo(self):
        raise RuntimeError("Unimplemented backend SparseCsrCPU")
    if dtype is not None:
        return to(self, dtype if isinstance(dtype, torch.dtype) else self.parts.values.type(dtype))
    return self.parts.values.type().replace("torch.", "torch.sparse.", 1)


@handles("copy_")
def copy_(self, source, non_blocking=False):
    if is_coo(self) and is_coo(source):
        values = source.parts.values.to(self.dtype)
        made = make_coo(source.parts.indices.clone(), values.clone(), source.shape)
        made.parts.is_coalesced = source.parts.is_coalesced
        return replace(self, _moved(made, made.parts.values.to(self.device)))
    if is_sparse(self) and is_sparse(source) and self.parts.layout is source.parts.layout:
        return replace(self, clone(_moved(source, source.parts.values.to(self.dtype))))
    raise RuntimeError(
        "copy_() between dense and sparse Tensors is not implemented! Found self type = "
        f"{_type_name(self)} and src type = {_type_name(source)}"
    )


def _type_name(tensor):
    return type_(tensor) if is_sparse(tensor) else tensor.type()


@handles("zero_")
def zero_(self):
    if not is_coo(self):
        return replace(self, torch.zeros_like(self.detach()))
    parts = self.parts
    indices, values = parts.indices[:, :0], parts.values.detach()[:0]
    return replace(self, make_coo(indices, values, self.shape, True))


@handles("zeros")
def zeros(*size, out, **options):
    """torch.zeros(..., out=a sparse tensor)."""
    empty = Tensor.new_empty(out.parts.values, *size, device="meta")
    return replace(out, _factories.without_entries(empty.shape, out.layout, out.dtype, out.device))


_TAKE_OUT.add(zeros)


@handles("zeros_like")
def zeros_like(self, *, dtype=None, layout=None, device=None, requires_grad=False, **options):
    return _factories.like("zeros_like", self, dtype, layout, device, requires_grad)


@handles("empty_like")
def empty_like(self, *, dtype=None, layout=None, device=None, requires_grad=False, **options):
    return _factories.like("empty_like", self, dtype, layout, device, requires_grad)


@handles("ones_like")
def ones_like(self, *, dtype=None, layout=None, device=None, requires_grad=False, **options):
    made = empty_like(self, dtype=dtype, layout=layout, device=device)
    if is_coo(made):
        raise NotImplementedError(no_kernel("fill_.Scalar", self))
    made = (
        torch.ones_like(made)
        if not is_sparse(made)
        else with_values(made, torch.ones_like(made.parts.values))
    )
    return made.requires_grad_(requires_grad)


@handles("new_zeros", "new_empty")
def new_zeros(self, *size, dtype=None, device=None, layout=None, requires_grad=False, **options):
    size = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    size = options.get("size", size)
    dtype, device = dtype or self.dtype, device or self.device
    layout = self.parts.layout if layout is None else layout
    if layout is torch.strided:
        return torch.zeros(size, dtype=dtype, device=device, requires_grad=requires_grad)
    return _factories.without_entries(size, layout, dtype, device, requires_grad, "empty")


@handles("__deepcopy__")
def deepcopy(self, memo):
    if id(self) in memo:
        return memo[id(self)]
    if not self.parts.values.is_leaf:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy "
            "protocol at the moment.  If you were attempting to deepcopy a module, this may be "
            "because of a torch.nn.utils.weight_norm usage, see "
            "https://github.com/pytorch/pytorch/pull/103001"
        )
    made = memo[id(self)] = _map(self, lambda each: copy.deepcopy(each, memo))
    return made


@handles("__reduce_ex__", "__reduce__")
def reduce(self, protocol=None):
    from mindtorch_v2._serialization import _rebuild_sparse_tensor

    parts = self.parts
    size = torch.Size(self.shape)
    if type(parts) is Coo:
        components = (parts.indices, parts.values.detach(), size, parts.is_coalesced)
    else:
        components = (parts.begins, parts.others, parts.values.detach(), size)
    return _rebuild_sparse_tensor, (parts.layout, components)


# --- text -----------------------------------------------------------------------------------------


@handles("__repr__", "__str__")
def to_text(self, *, tensor_contents=None):
    from mindtorch_v2._tensor_str import sparse_str

    parts = self.parts
    if type(parts) is Coo:
        components = {"indices": parts.indices}
    elif not parts.by_columns:
        components = {"crow_indices": parts.begins, "col_indices": parts.others}
    else:
        components = {"ccol_indices": parts.begins, "row_indices": parts.others}
    components["values"] = parts.values.detach()
    return sparse_str(self, components, nnz(self))


@handles("__format__")
def to_format(self, spec):
    return object.__format__(self, spec)
