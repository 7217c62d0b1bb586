"""torch.backends.mha: the fast way of MultiheadAttention. It can be set and read."""

_enabled = True


def get_fastpath_enabled():
    """Whether it is allowed.

    >>> torch.backends.mha.get_fastpath_enabled()
    True
    """
    return _enabled


def set_fastpath_enabled(value):
    """Allows it or not."""
    global _enabled
    _enabled = value
