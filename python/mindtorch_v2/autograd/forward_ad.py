"""torch.autograd.forward_ad: derivatives along with the values, by dual numbers.

A dual tensor is a primal and a tangent, the direction of a derivative. Tangents of results are
computed when they are asked for, from the graph of the ops in between: ops under `no_grad` have
none.

>>> import mindtorch_v2.autograd.forward_ad as fwAD
>>> with fwAD.dual_level():
...     dual = fwAD.make_dual(torch.tensor(3.), torch.tensor(1.))
...     fwAD.unpack_dual(dual ** 2).tangent
tensor(6.)
"""

import contextlib
from typing import Any, NamedTuple

from mindtorch_v2._C import Tensor
from mindtorch_v2.func._duals import Duals

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]

_levels: list[Duals] = []


def enter_dual_level():
    """Starts a level, in which dual tensors can be made; its number.

    >>> torch.autograd.forward_ad.enter_dual_level()
    0
    >>> torch.autograd.forward_ad.exit_dual_level()
    """
    if _levels:
        raise RuntimeError("Nested forward mode AD is not supported at the moment")
    _levels.append(Duals())
    return len(_levels) - 1


def exit_dual_level(*, level=None):
    """Ends a level: dual tensors of it have no tangents any more."""
    current = len(_levels) - 1
    if level is None:
        level = current
    if level != current:
        raise RuntimeError(
            "Trying to exit a forward AD level that was not the last one that was created. This is "
            "not supported."
        )
    if level < 0:
        raise RuntimeError("Dual level must be a positive number.")
    _levels.pop()


class dual_level(contextlib.ContextDecorator):
    """A level as a context.

    >>> with torch.autograd.forward_ad.dual_level():
    ...     dual = torch.autograd.forward_ad.make_dual(torch.ones(1), torch.ones(1))
    """

    def __enter__(self):
        self.level = enter_dual_level()
        return self.level

    def __exit__(self, *error):
        exit_dual_level(level=self.level)


class UnpackedDualTensor(NamedTuple):
    """What unpack_dual gives: a primal, and a tangent, which is None where there is none."""

    primal: Any
    tangent: Any


def _level(level, action):
    level = len(_levels) - 1 if level is None else level
    if not 0 <= level < len(_levels):
        raise RuntimeError(
            f"Trying to {action} for forward AD but no level exists, make sure to "
            "enter_dual_level() first."
        )
    return _levels[level]


def make_dual(tensor, tangent, *, level=None):
    """A dual tensor: `tensor` with the tangent `tangent`, of its shape.

    >>> with torch.autograd.forward_ad.dual_level():
    ...     dual = torch.autograd.forward_ad.make_dual(torch.ones(1), torch.ones(1))
    """
    duals = _level(level, "create a dual Tensor")
    for what, value in (("primal", tensor), ("tangent", tangent)):
        if not (isinstance(value, Tensor) and value.is_floating_point()):
            dtype = value.dtype if isinstance(value, Tensor) else type(value)
            raise ValueError(f"Expected {what} to be floating point or complex, but got: {dtype}")
    if tensor.shape != tangent.shape:
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original "
            f"Tensor, this is not supported. Tensor is of size {list(tensor.shape)} while the "
            f"given forward gradient is of size {list(tangent.shape)}."
        )
    return duals.make(tensor, tangent)


def unpack_dual(tensor, *, level=None):
    """(primal, tangent) of a tensor computed from dual ones.

    >>> with torch.autograd.forward_ad.dual_level():
    ...     dual = torch.autograd.forward_ad.make_dual(torch.zeros(1), torch.ones(1))
    ...     torch.autograd.forward_ad.unpack_dual(dual.sin())
    UnpackedDualTensor(primal=tensor([0.]), tangent=tensor([1.]))
    """
    level = len(_levels) - 1 if level is None else level
    if not 0 <= level < len(_levels):
        return UnpackedDualTensor(tensor, None)
    return UnpackedDualTensor(*_levels[level].unpack(tensor))
