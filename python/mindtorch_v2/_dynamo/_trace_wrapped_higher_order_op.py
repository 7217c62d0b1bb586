"""TransformGetItemToIndex, which libraries put around torch.vmap."""

__all__ = ["TransformGetItemToIndex"]


class TransformGetItemToIndex:
    """In torch, x[i] with a tensor i of no dimensions reads i as a number, which vmap cannot do,
    except in this context. In mindtorch i stays a tensor, with and without it."""

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return False
