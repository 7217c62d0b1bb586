"""torch.nn.parameter: tensors that a module knows as its own.

There is no autograd yet. A parameter keeps `requires_grad` as a note for code that sorts
parameters by it; no op looks at it, and no gradient is ever computed. Plain tensors refuse
requires_grad=True.
"""

from mindtorch_v2 import _C
from mindtorch_v2._C import Tensor

__all__ = ["Buffer", "Parameter", "UninitializedParameter"]


class Parameter(Tensor):
    """A tensor that is a parameter of a module. It shares the memory of `data`.

    >>> torch.nn.Parameter(torch.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    __slots__ = ("_requires_grad",)

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = _C._functions["empty"](0)
        if not isinstance(data, Tensor):
            raise TypeError(f"Parameter data must be a tensor, not {type(data).__name__}")
        made = Tensor._make_subclass(cls, data)
        made.requires_grad = requires_grad
        return made

    @property
    def requires_grad(self):
        """Whether code that sorts parameters should count it as trained; see the module's notes."""
        return getattr(self, "_requires_grad", False)

    @requires_grad.setter
    def requires_grad(self, value):
        if value and not self.is_floating_point():
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients"
            )
        self._requires_grad = bool(value)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self):
        from mindtorch_v2._tensor_str import parameter_repr

        return parameter_repr(self)


class Buffer(Tensor):
    """A tensor that is state of a module but no parameter.

    >>> torch.nn.Buffer(torch.ones(2)).persistent
    True
    """

    def __new__(cls, data=None, *, persistent=True):
        if data is None:
            data = _C._functions["empty"](0)
        made = Tensor._make_subclass(cls, data)
        made.persistent = persistent
        return made

    def __repr__(self):
        from mindtorch_v2._tensor_str import _str

        return "Buffer containing:\n" + _str(self.as_subclass(Tensor))


class UninitializedParameter(Parameter):
    """A parameter whose shape is not known yet.

    >>> weight = torch.nn.UninitializedParameter()
    >>> weight.materialize((2, 3))
    >>> weight.shape
    torch.Size([2, 3])
    """

    __slots__ = ()

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        data = _C._functions["empty"](0, device=device, dtype=dtype)
        return Parameter.__new__(cls, data, requires_grad)

    def materialize(self, shape, device=None, dtype=None):
        """Gives it memory of the given shape and makes it an ordinary Parameter."""
        self.data = _C._functions["empty"](
            shape, device=device or self.device, dtype=dtype or self.dtype
        )
        self.__class__ = Parameter

    def __repr__(self):
        return "<UninitializedParameter>"
