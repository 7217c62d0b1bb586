"""torch.distributed.nn.functional: each raises, because there is no process group."""

from mindtorch_v2.distributed import _collective

__all__ = (
    "all_gather all_reduce all_to_all all_to_all_single broadcast gather reduce reduce_scatter "
    "scatter"
).split()

for _name in __all__:
    globals()[_name] = _collective(_name)
