"""Modules that give a tensor another shape."""

from mindtorch_v2.nn.modules.module import Module

__all__ = ["Flatten", "Unflatten"]


class Flatten(Module):
    """Dimensions start_dim to end_dim as one.

    >>> torch.nn.Flatten()(torch.ones(2, 3, 4)).shape
    torch.Size([2, 12])
    """

    __constants__ = ["start_dim", "end_dim"]

    def __init__(self, start_dim=1, end_dim=-1):
        super().__init__()
        self.start_dim, self.end_dim = start_dim, end_dim

    def forward(self, input):
        return input.flatten(self.start_dim, self.end_dim)

    def extra_repr(self):
        return f"start_dim={self.start_dim}, end_dim={self.end_dim}"


class Unflatten(Module):
    """One dimension as several.

    >>> torch.nn.Unflatten(1, (3, 4))(torch.ones(2, 12)).shape
    torch.Size([2, 3, 4])
    """

    __constants__ = ["dim", "unflattened_size"]

    def __init__(self, dim, unflattened_size):
        super().__init__()
        if isinstance(dim, int):
            self._require_ints(unflattened_size)
        elif isinstance(dim, str):
            self._require_pairs(unflattened_size)
            raise NotImplementedError("Unflatten: dimensions have no names here")
        self.dim, self.unflattened_size = dim, unflattened_size

    def _require_ints(self, size):
        if not isinstance(size, (tuple, list)):
            raise TypeError(
                f"unflattened_size must be a tuple of ints, but found type {type(size).__name__}"
            )
        for i, element in enumerate(size):
            if not isinstance(element, int):
                raise TypeError(
                    "unflattened_size must be tuple of ints, "
                    f"but found element of type {type(element).__name__} at pos {i}"
                )

    def _require_pairs(self, size):
        if not isinstance(size, tuple):
            raise TypeError(
                f"unflattened_size must be a tuple of tuples, but found type {type(size).__name__}"
            )

    def forward(self, input):
        return input.unflatten(self.dim, self.unflattened_size)

    def extra_repr(self):
        return f"dim={self.dim}, unflattened_size={self.unflattened_size}"
