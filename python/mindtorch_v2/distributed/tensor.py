"""torch.distributed.tensor: tensors that are spread over processes. There are none, so that no
tensor is a DTensor."""

from mindtorch_v2 import Tensor

__all__ = ["DTensor"]


class DTensor(Tensor):
    """A tensor that is spread over processes. No tensor is one."""

    def __new__(cls, *args, **kwargs):
        from mindtorch_v2 import distributed

        raise RuntimeError(distributed._NOT_AVAILABLE)
