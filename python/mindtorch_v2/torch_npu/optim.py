"""torch_npu.optim: optimizers whose steps are fused; torch.optim's are."""

from mindtorch_v2 import optim

__all__ = ["NpuFusedAdam", "NpuFusedAdamW", "NpuFusedSGD"]


class NpuFusedAdamW(optim.AdamW):
    """torch.optim.AdamW."""


class NpuFusedAdam(optim.Adam):
    """torch.optim.Adam."""


class NpuFusedSGD(optim.SGD):
    """torch.optim.SGD."""
