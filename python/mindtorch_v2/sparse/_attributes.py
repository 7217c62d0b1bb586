"""What a sparse tensor says of itself, its history, copies, and how it is printed and pickled."""

import copy

import mindtorch_v2 as torch
from mindtorch_v2._C import Tensor
from mindtorch_v2.sparse._convert import coordinates, flat_places, sparse_sizes, to_coo
from mindtorch_v2.sparse._tensor import (
    HANDLERS,
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
_component("values", ("Sparse", "SparseCsr", "SparseCsc"), "sparse", _of_coalesced("values"))
_component("crow_indices", ("SparseCsr",), _ROWS, lambda self: self.parts.begins)
_component("col_indices", ("SparseCsr",), _ROWS, lambda self: self.parts.others)
_component("ccol_indices", ("SparseCsc",), _COLUMNS, lambda self: self.parts.begins)
_component("row_indices", ("SparseCsc",), _COLUMNS, lambda self: self.parts.others)
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
    first = 1 if is_coo(self) else self.parts.others.dim()
    return self.parts.values.dim() - first


HANDLERS["_dimI"], HANDLERS["_dimV"] = sparse_dim, dense_dim
HANDLERS["is_sparse_csr.__get__"] = lambda self: self.parts.layout is torch.sparse_csr


@handles("stride")
def stride(self, dim=None):
    if not is_coo(self):
        raise RuntimeError("Sparse CSR tensors do not have strides")
    return (0,) * self.dim() if dim is None else 0


@handles("is_contiguous")
def is_contiguous(self, memory_format=None):
    return False


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


# --- history: that of the values ------------------------------------------------------------------

HANDLERS["requires_grad.__get__"] = lambda self: self.parts.values.requires_grad
HANDLERS["is_leaf.__get__"] = lambda self: self.parts.values.is_leaf
HANDLERS["grad_fn.__get__"] = lambda self: self.parts.values.grad_fn
HANDLERS["retains_grad.__get__"] = lambda self: self.parts.values.retains_grad
HANDLERS["output_nr.__get__"] = lambda self: self.parts.values.output_nr
HANDLERS["_version.__get__"] = lambda self: self.parts.values._version
HANDLERS["retain_grad"] = lambda self: self.parts.values.retain_grad()


@handles("grad.__get__", "_grad.__get__")
def grad(self):
    values = self.parts.values.grad
    return None if values is None else gradient_from(self, values)


def gradient_from(self, values):
    """The gradient of a tensor, from that of its values. Entries at one place add up, so that each
    has the gradient of the place: it counts once."""
    if not is_coo(self) or self.parts.is_coalesced:
        return with_values(self, values)
    sizes = sparse_sizes(self)
    flat, inverse = torch.unique(flat_places(self.parts.indices, sizes), return_inverse=True)
    once = values.new_zeros((flat.shape[0], *values.shape[1:])).index_copy(0, inverse, values)
    return make_coo(coordinates(flat, sizes), once, self.shape)


@handles("grad.__set__", "_grad.__set__")
def set_grad(self, value):
    self.parts.values.grad = value if value is None else gradient_values(self, value)


@handles("grad.__delete__")
def delete_grad(self):
    self.parts.values.grad = None


@handles("requires_grad_")
def requires_grad_(self, requires_grad=True):
    self.parts.values.requires_grad_(requires_grad)
    return self


@handles("requires_grad.__set__")
def set_requires_grad(self, value):
    self.parts.values.requires_grad = value


def gradient_values(self, gradient):
    """The values of a gradient at the places of a tensor."""
    from mindtorch_v2.sparse._convert import sparse_mask

    if is_coo(gradient) and is_coo(self):
        own, given = self.parts.indices, gradient.parts.indices
        if given is own or (given.shape == own.shape and torch.equal(given, own)):
            return gradient.parts.values
    return sparse_mask(gradient, self).parts.values


@handles("backward")
def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    if gradient is None:
        raise RuntimeError("grad can be implicitly created only for scalar outputs")
    values = gradient_values(self, gradient) if isinstance(gradient, Tensor) else gradient
    self.parts.values.backward(values, retain_graph, create_graph, inputs=inputs)


@handles("register_hook")
def register_hook(self, hook):
    def on_values(values):
        made = hook(gradient_from(self, values))
        return None if made is None else gradient_values(self, made)

    return self.parts.values.register_hook(on_values)


@handles("detach", "alias")
def detach(self):
    return with_values(self, self.parts.values.detach())


HANDLERS["data.__get__"] = detach


@handles("data.__set__")
def set_data(self, value):
    if type(value) is not type(self):
        raise RuntimeError(
            "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have "
            "incompatible tensor type."
        )
    replace(self, detach(value))


@handles("detach_")
def detach_(self):
    self.parts.values.detach_()
    return self


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
def _to_copy(self, *, dtype=None, device=None, **options):
    return clone(_moved(self, self.parts.values.to(device=device, dtype=dtype)))


def _cast(name):
    def method(self, *args, **kwargs):
        return _moved(self, getattr(self.parts.values, name)(*args, **kwargs))

    HANDLERS[name] = method


for _name in (
    "float double half bfloat16 int long short char byte bool cfloat cdouble cpu npu cuda "
    "pin_memory share_memory_"
).split():
    if hasattr(Tensor, _name):
        _cast(_name)


@handles("type_as")
def type_as(self, other):
    return to(self, other.dtype)


@handles("type")
def type_(self, dtype=None, non_blocking=False, **kwargs):
    if not is_coo(self):
        raise RuntimeError(f"Unimplemented backend {layout_name(self)}CPU")
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
        return replace(self, with_values(self, torch.zeros_like(self.parts.values)))
    parts = self.parts
    indices, values = parts.indices[:, :0], parts.values.detach()[:0]
    return replace(self, make_coo(indices, values, self.shape, True))


@handles("zeros_like", "empty_like")
def zeros_like(self, *, dtype=None, layout=None, device=None, requires_grad=False, **options):
    options = {"dtype": dtype or self.dtype, "device": device or self.device}
    if layout is torch.strided:
        return torch.zeros(self.shape, requires_grad=requires_grad, **options)
    if layout not in (None, self.parts.layout):
        raise RuntimeError(f"{layout} of a tensor of layout {self.parts.layout} is not there")
    parts = self.parts
    if type(parts) is Coo:
        values = torch.zeros((0, *parts.values.shape[1:]), requires_grad=requires_grad, **options)
        return make_coo(parts.indices[:, :0].to(options["device"]), values, self.shape, True)
    values = torch.zeros(parts.values.shape, requires_grad=requires_grad, **options)
    return make_compressed(parts.layout, parts.begins, parts.others, values, self.shape)


@handles("new_zeros", "new_empty")
def new_zeros(self, *size, dtype=None, device=None, requires_grad=False, **options):
    from mindtorch_v2.sparse._create import sparse_coo_tensor

    size = size[0] if len(size) == 1 and not isinstance(size[0], int) else size
    return sparse_coo_tensor(
        size=size,
        dtype=dtype or self.dtype,
        device=device or self.device,
        requires_grad=requires_grad,
    )


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
    elif parts.layout is torch.sparse_csr:
        components = {"crow_indices": parts.begins, "col_indices": parts.others}
    else:
        components = {"ccol_indices": parts.begins, "row_indices": parts.others}
    components["values"] = parts.values.detach()
    return sparse_str(self, components, nnz(self))


@handles("__format__")
def to_format(self, spec):
    return object.__format__(self, spec)
