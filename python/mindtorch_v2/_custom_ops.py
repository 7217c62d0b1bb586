"""torch._custom_ops: the old place of what torch.library offers."""

from mindtorch_v2.library import get_ctx

__all__ = ["get_ctx"]
