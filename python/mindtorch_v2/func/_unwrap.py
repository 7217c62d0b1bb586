"""What stands behind tensors inside a transform."""

from mindtorch_v2 import _C


def debug_unwrap(tensor, *, recurse=True):
    """The tensor that holds all samples of a tensor inside vmap, for debugging; with `recurse`
    through all vmaps.

    >>> seen = []
    >>> _ = torch.vmap(lambda x: seen.append(torch.func.debug_unwrap(x)) or x)(torch.ones(2))
    >>> seen[0]
    tensor([1., 1.])
    """
    info = _C._batch_info(tensor)
    if info is None:
        return tensor
    return debug_unwrap(info[0]) if recurse else info[0]
