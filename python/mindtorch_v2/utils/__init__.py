"""torch.utils: what fits nowhere else."""

from mindtorch_v2.utils import dlpack, hooks

__all__ = ["dlpack", "hooks"]
