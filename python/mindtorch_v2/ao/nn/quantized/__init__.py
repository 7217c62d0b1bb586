"""torch.ao.nn.quantized: what stands in float models that can be quantized."""

import mindtorch_v2 as torch
from mindtorch_v2.nn.modules.linear import Identity
from mindtorch_v2.nn.modules.module import Module

__all__ = ["FloatFunctional"]


class FloatFunctional(Module):
    """Functions of tensors as methods of a module, whose results tools of quantization observe.

    >>> from mindtorch_v2.ao.nn.quantized import FloatFunctional
    >>> FloatFunctional().add(torch.ones(1), torch.ones(1))
    tensor([2.])
    """

    def __init__(self):
        super().__init__()
        self.activation_post_process = Identity()

    def forward(self, x):
        """RuntimeError: the methods are to be called."""
        raise RuntimeError(
            "FloatFunctional is not intended to use the 'forward'. "
            "Please use the underlying operation"
        )

    def add(self, x, y):
        """torch.add."""
        return self.activation_post_process(torch.add(x, y))

    def add_scalar(self, x, y):
        """torch.add with a number."""
        return torch.add(x, y)

    def mul(self, x, y):
        """torch.mul."""
        return self.activation_post_process(torch.mul(x, y))

    def mul_scalar(self, x, y):
        """torch.mul with a number."""
        return torch.mul(x, y)

    def cat(self, x, dim=0):
        """torch.cat."""
        return self.activation_post_process(torch.cat(x, dim=dim))

    def add_relu(self, x, y):
        """relu(x + y)."""
        return self.activation_post_process(torch.nn.functional.relu(torch.add(x, y)))

    def matmul(self, x, y):
        """torch.matmul."""
        return self.activation_post_process(torch.matmul(x, y))
