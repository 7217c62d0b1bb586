"""Tensors from data, and settings of new tensors."""

from mindtorch_v2 import _C

__all__ = ["get_default_dtype", "set_default_dtype", "tensor"]


def tensor(data, *, dtype=None, device=None, requires_grad=False, pin_memory=False):
    """A new tensor with a copy of `data`: a number, nested sequences, an array or a tensor.

    >>> torch.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    """
    result = _C._tensor_from_data(data, dtype, device)
    if requires_grad:
        result.requires_grad = True
    return result


def set_default_dtype(d, /):
    """Sets the dtype of new float tensors.

    >>> torch.set_default_dtype(torch.float32)
    """
    _C._set_default_dtype(d)


def get_default_dtype():
    """The dtype of new float tensors.

    >>> torch.get_default_dtype()
    torch.float32
    """
    return _C._get_default_dtype()
