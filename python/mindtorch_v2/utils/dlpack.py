"""torch.utils.dlpack: memory shared with other libraries."""

from mindtorch_v2._C import from_dlpack, to_dlpack

__all__ = ["from_dlpack", "to_dlpack"]
