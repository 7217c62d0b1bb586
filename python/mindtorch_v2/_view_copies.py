"""Views under the names that promise a copy, and splits under those that promise nothing."""

import mindtorch_v2 as torch
from mindtorch_v2._overridable import make_overridable as _make_overridable


def _copied(name, view):
    def function(input, *args, out=None, **kwargs):
        result = getattr(torch.Tensor, view)(input, *args, **kwargs)
        if isinstance(result, tuple | list):
            return tuple(part.clone() for part in result)
        if out is not None:
            return out.resize_(result.shape).copy_(result)
        return result.clone()

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"A copy of what `Tensor.{view}` views."
    return function


_VIEWS = (
    "as_strided detach diagonal expand permute select split split_with_sizes squeeze t transpose "
    "unbind unfold unsqueeze view"
)
globals().update((f"{view}_copy", _copied(f"{view}_copy", view)) for view in _VIEWS.split())


def alias_copy(input, *, out=None):
    """A copy of the tensor.

    >>> torch.alias_copy(torch.ones(2))
    tensor([1., 1.])
    """
    return input.clone() if out is None else out.resize_(input.shape).copy_(input)


def slice_copy(input, dim=0, start=None, end=None, step=1, *, out=None):
    """A copy of a slice along `dim`.

    >>> torch.slice_copy(torch.arange(4), 0, 1, 3)
    tensor([1, 2])
    """
    dim = dim if dim >= 0 else dim + input.dim()
    result = input[(slice(None),) * dim + (slice(start, end, step),)]
    return result.clone() if out is None else out.resize_(result.shape).copy_(result)


def unsafe_chunk(input, chunks, dim=0):
    """`chunk`, whose parts autograd may take for tensors of their own.

    >>> torch.unsafe_chunk(torch.arange(2), 2)
    (tensor([0]), tensor([1]))
    """
    return torch.chunk(input, chunks, dim)


def unsafe_split(input, split_size, dim=0):
    """`split`, whose parts autograd may take for tensors of their own.

    >>> torch.unsafe_split(torch.arange(2), 1)
    (tensor([0]), tensor([1]))
    """
    return torch.split(input, split_size, dim)


def unsafe_split_with_sizes(input, split_sizes, dim=0):
    """`split_with_sizes`, whose parts autograd may take for tensors of their own.

    >>> torch.unsafe_split_with_sizes(torch.arange(3), [1, 2])
    (tensor([0]), tensor([1, 2]))
    """
    return torch.split_with_sizes(input, split_sizes, dim)


_make_overridable(globals())
