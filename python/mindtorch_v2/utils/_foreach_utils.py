"""torch.utils._foreach_utils."""

from mindtorch_v2.optim._subclass_helpers import group_tensors

__all__ = ["_group_tensors_by_device_and_dtype"]


def _group_tensors_by_device_and_dtype(tensorlistlist, with_indices=False):
    """{(device, dtype): (lists, indices)}, by the tensors of the first list."""
    return group_tensors(tensorlistlist, with_indices)
