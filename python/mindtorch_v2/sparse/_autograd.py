"""Gradients of and for sparse tensors. Their history is that of their values."""

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._C import Tensor
from mindtorch_v2.sparse._convert import coordinates, flat_places, sparse_mask, sparse_sizes
from mindtorch_v2.sparse._tensor import (
    HANDLERS,
    handles,
    is_coo,
    is_sparse,
    layout_name,
    make_coo,
    replace,
    with_values,
)

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
    if values is not None:
        self.parts.values.grad = None
        accumulate(self, gradient_from(self, values))
    return self.own_grad


def accumulate(self, gradient):
    """Adds to the gradient of a leaf: in place where its layout can hold the sum."""
    own = self.own_grad
    if own is None:
        self.own_grad = gradient
    elif is_sparse(own) and not is_sparse(gradient):
        self.own_grad = gradient + own
    elif gradient.requires_grad or own.requires_grad:
        self.own_grad = own + gradient
    else:
        with torch.no_grad():
            own.add_(gradient)


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
    if value is not None:
        if not isinstance(value, Tensor):
            raise TypeError(f"assigned grad expected to be a Tensor or None but got {type(value)}")
        if value.shape != self.shape:
            raise RuntimeError(
                f"attempting to assign a gradient of size '{list(value.shape)}' to a tensor of "
                f"size '{list(self.shape)}'. Please ensure that the gradient and the tensor are "
                "the same size"
            )
        if value.layout is not self.parts.layout or value.dtype != self.dtype:
            raise RuntimeError(
                "attempting to assign a gradient to a tensor that has data of a different type"
            )
    self.parts.values.grad = None
    self.own_grad = value


@handles("grad.__delete__")
def delete_grad(self):
    self.parts.values.grad = self.own_grad = None


@handles("requires_grad_")
def requires_grad_(self, requires_grad=True):
    self.parts.values.requires_grad_(requires_grad)
    return self


@handles("requires_grad.__set__")
def set_requires_grad(self, value):
    self.parts.values.requires_grad = value


def gradient_values(self, gradient):
    """The values of a gradient at the places of a tensor."""
    if is_coo(gradient) and is_coo(self):
        own, given = self.parts.indices, gradient.parts.indices
        if given is own or (given.shape == own.shape and torch.equal(given, own)):
            return gradient.parts.values
    return sparse_mask(gradient, self).parts.values


@handles("backward")
def backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    torch.autograd.backward(self, gradient, retain_graph, create_graph, inputs=inputs)


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
    if not is_sparse(self) or not is_sparse(value) or value.layout is not self.layout:
        raise RuntimeError(
            "Attempted to call `variable.set_data(tensor)`, but `variable` and `tensor` have "
            "incompatible tensor type."
        )
    with torch.no_grad():
        replace(self, detach(value))


@handles("detach_")
def detach_(self):
    self.parts.values.detach_()
    return self


# --- what the engine takes and gives --------------------------------------------------------------


def values_of(tensors):
    """What the engine knows of tensors: the values of sparse ones."""
    return tuple(each.parts.values if is_sparse(each) else each for each in tensors)


def accumulate_in_leaves(tensors, grads, inputs):
    """Gives sparse leaves among `tensors` their gradients as they are; (the others, theirs)."""
    kept = []
    for tensor, grad in zip(tensors, grads, strict=True):
        if not is_sparse(tensor) or not tensor.is_leaf or not tensor.requires_grad or inputs:
            kept.append((tensor, grad))
        else:
            accumulate(tensor, grad.detach().clone())
    return tuple(zip(*kept, strict=True)) or ((), ())


def seeds_like(tensors, grads):
    """Sparse gradients in the dtypes of the strided tensors they are given for."""
    made = []
    for at, (tensor, grad) in enumerate(zip(tensors, grads, strict=True)):
        if is_sparse(grad) and isinstance(tensor, Tensor) and not is_sparse(tensor):
            if not is_coo(grad):
                raise RuntimeError(
                    f"invalid gradient at index {at} - expected layout Strided but got "
                    f"{layout_name(grad)}"
                )
            grad = HANDLERS["to"](grad, tensor.dtype)
        made.append(grad)
    return tuple(made)


def seeds_of(tensors, grads):
    """The gradients to start from, as the engine takes them."""
    return tuple(
        gradient_values(tensor, grad) if is_sparse(tensor) and grad is not None else grad
        for tensor, grad in zip(tensors, grads, strict=True)
    )


def gradients_for(tensors, grads):
    """The gradients for tensors, from those that the engine found for their values."""
    return tuple(
        gradient_from(tensor, grad) if is_sparse(tensor) and grad is not None else grad
        for tensor, grad in zip(tensors, grads, strict=True)
    )
