"""torch.autograd.variable: the name that tensors with gradients had once."""

from mindtorch_v2 import _C
from mindtorch_v2._C import Tensor

__all__ = ["Variable"]


class _VariableMeta(type):
    def __instancecheck__(cls, instance):
        return isinstance(instance, Tensor)


class _Engine:
    """What programs ask of the engine by its old name."""

    @staticmethod
    def queue_callback(callback):
        """Runs `callback()` at the end of the backward pass that is going on."""
        _C._queue_callback(callback)


class Variable(metaclass=_VariableMeta):
    """A tensor over the memory of `data`, which may require gradients. Every tensor counts as a
    Variable.

    >>> torch.autograd.Variable(torch.ones(2), requires_grad=True)
    tensor([1., 1.], requires_grad=True)
    """

    _execution_engine = _Engine

    def __new__(cls, data=None, requires_grad=False, volatile=False) -> Tensor:
        if volatile:
            import warnings

            warnings.warn(
                "volatile was removed and now has no effect. Use `with torch.no_grad():` instead.",
                stacklevel=2,
            )
        if data is None:
            data = _C._functions["empty"](0)
        if not isinstance(data, Tensor):
            raise TypeError(f"Variable data has to be a tensor, but got {type(data).__name__}")
        made = data.detach()
        return made.requires_grad_() if requires_grad else made
