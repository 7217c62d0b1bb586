"""torch.distributed.rpc: calls in other processes; not available."""

__all__ = ["is_available"]


def is_available():
    """False: there is one process.

    >>> from mindtorch_v2.distributed import rpc
    >>> rpc.is_available()
    False
    """
    return False
