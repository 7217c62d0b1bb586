"""torch._higher_order_ops.associative_scan: results so far, along a dimension."""

import mindtorch_v2 as torch
from mindtorch_v2.utils import _pytree

__all__ = ["associative_scan"]


def associative_scan(combine_fn, xs, dim, reverse=False, combine_mode="pointwise"):
    """For each place along `dim` what combine_fn makes of all elements up to it; the function must
    be associative. It is called on many places at once, about 2 * log2(size) times.

    >>> from mindtorch_v2._higher_order_ops.associative_scan import associative_scan
    >>> associative_scan(torch.add, torch.tensor([1, 2, 3]), dim=0)
    tensor([1, 3, 6])
    """
    if not callable(combine_fn):
        raise ValueError(f"Combine_fn must be a callable, but got {combine_fn}")
    if not isinstance(dim, int):
        raise ValueError(f"Dim must be an int, but got {type(dim)}")
    if combine_mode not in ("pointwise", "generic"):
        raise ValueError(
            f"Combine_mode must either 'pointwise' or 'generic', but got {combine_mode}"
        )
    leaves, spec = _pytree.tree_flatten(xs)
    if not leaves or not all(isinstance(leaf, torch.Tensor) for leaf in leaves):
        raise ValueError(f"xs leaves must be tensors, and at least one, but got {leaves}")
    if any(leaf.dim() == 0 or leaf.size(dim) != leaves[0].size(dim) for leaf in leaves):
        raise ValueError("All xs leaves must have the same number of elements in the scan dim")

    def combine(left, right):
        made = combine_fn(*(_pytree.tree_unflatten(list(side), spec) for side in (left, right)))
        return _pytree.tree_leaves(made)

    moved = [leaf.movedim(dim, 0) for leaf in leaves]
    moved = [leaf.flip(0) for leaf in moved] if reverse else moved
    results = _scan(combine, moved)
    results = [leaf.flip(0) for leaf in results] if reverse else results
    return _pytree.tree_unflatten([leaf.movedim(0, dim) for leaf in results], spec)


def _scan(combine, leaves):
    size = leaves[0].size(0)
    if size < 2:
        return leaves
    # Neighbours together, then all of these; what lies between follows from one more step.
    pairs = combine([leaf[: size - 1 : 2] for leaf in leaves], [leaf[1::2] for leaf in leaves])
    odd = _scan(combine, pairs)
    before = [leaf[: (size - 1) // 2] for leaf in odd]
    even = [leaf[:1] for leaf in leaves]
    if size > 2:
        rest = combine(before, [leaf[2::2] for leaf in leaves])
        even = [torch.cat(both) for both in zip(even, rest, strict=True)]
    return [_interleaved(*both) for both in zip(even, odd, strict=True)]


def _interleaved(even, odd):
    """even[0], odd[0], even[1], ...; there may be one more in `even`."""
    count = odd.size(0)
    pairs = torch.stack([even[:count], odd], 1).flatten(0, 1)
    return pairs if even.size(0) == count else torch.cat([pairs, even[count:]])
