"""Gradients of and for sparse tensors. Their history is that of their values."""

from mindtorch_v2.sparse._attributes import gradient_from, gradient_values
from mindtorch_v2.sparse._tensor import is_sparse


def values_of(tensors):
    """What the engine knows of tensors: the values of sparse ones."""
    return tuple(each.parts.values if is_sparse(each) else each for each in tensors)


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
