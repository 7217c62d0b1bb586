"""torch.distributed.fsdp.fully_sharded_data_parallel."""

from mindtorch_v2.distributed.fsdp import FullyShardedDataParallel

__all__ = ["FullyShardedDataParallel"]
