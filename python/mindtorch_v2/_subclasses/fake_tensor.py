"""torch._subclasses.fake_tensor: no tensor is a FakeTensor."""

from mindtorch_v2 import Tensor

__all__ = ["FakeTensor", "is_fake"]


class FakeTensor(Tensor):
    """A tensor without data on a device that need not be there. No tensor is one."""

    def __new__(cls, *args, **kwargs):
        raise NotImplementedError(
            "there are no fake tensors: nothing is traced. Tensors on the meta device have no data."
        )


def is_fake(x):
    """False.

    >>> from mindtorch_v2._subclasses.fake_tensor import is_fake
    >>> is_fake(torch.ones(1))
    False
    """
    return False
