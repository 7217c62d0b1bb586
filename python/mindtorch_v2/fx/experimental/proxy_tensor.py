"""torch.fx.experimental.proxy_tensor: nothing is traced by its tensors."""

__all__ = ["get_proxy_mode"]


def get_proxy_mode():
    """None: no tracer is at work.

    >>> from mindtorch_v2.fx.experimental.proxy_tensor import get_proxy_mode
    >>> get_proxy_mode() is None
    True
    """
    return None
