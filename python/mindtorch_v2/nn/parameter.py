"""torch.nn.parameter: tensors that belong to a module."""

from mindtorch_v2 import _C
from mindtorch_v2._C import Tensor

__all__ = [
    "Buffer",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "UninitializedTensorMixin",
    "is_lazy",
]

_empty = _C._functions["empty"]


class _ParameterMeta(type(Tensor)):
    # A tensor of another class counts as a parameter once it is marked by `_is_param`.
    def __instancecheck__(cls, instance):
        if type.__instancecheck__(cls, instance):
            return True
        marked = isinstance(instance, Tensor) and getattr(instance, "_is_param", False)
        return cls is Parameter and marked


class Parameter(Tensor, metaclass=_ParameterMeta):
    """A tensor that is a parameter of a module. It shares the memory of `data`.

    >>> torch.nn.Parameter(torch.ones(2))
    Parameter containing:
    tensor([1., 1.], requires_grad=True)
    """

    __slots__ = ()
    __torch_function__ = _C._disabled_torch_function_impl

    def __new__(cls, data=None, requires_grad=True):
        if data is None:
            data = _empty(0)
        if not isinstance(data, Tensor):
            raise TypeError(f"Parameter data must be a tensor, not {type(data).__name__}")
        if requires_grad and not (data.is_floating_point() or data.is_complex()):
            raise RuntimeError(
                "Only Tensors of floating point and complex dtype can require gradients"
            )
        if data.layout is not _C.strided:
            from mindtorch_v2.sparse._parameter import make_parameter

            return make_parameter(data, requires_grad)
        return Tensor._make_subclass(cls, data, requires_grad)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(self.data.clone(), self.requires_grad)
        return memo[id(self)]

    def __repr__(self):
        from mindtorch_v2._tensor_str import parameter_repr

        return parameter_repr(self)


_C._set_parameter_class(Parameter)


class _BufferMeta(type(Tensor)):
    def __instancecheck__(cls, instance):
        if type.__instancecheck__(cls, instance):
            return True
        marked = isinstance(instance, Tensor) and getattr(instance, "_is_buffer", False)
        return cls is Buffer and marked


class Buffer(Tensor, metaclass=_BufferMeta):
    """A tensor that is state of a module but no parameter: an ordinary tensor with a mark, which
    a module it is assigned to understands.

    >>> torch.nn.Buffer(torch.ones(2)).persistent
    True
    """

    def __new__(cls, data=None, *, persistent=True):
        if data is None:
            data = _empty(0)
        made = data.detach()
        made.persistent = persistent
        made._is_buffer = True
        return made


class UninitializedTensorMixin:
    """A parameter or buffer whose shape is not known yet."""

    __slots__ = ()

    def materialize(self, shape, device=None, dtype=None):
        """Gives it memory of the given shape and makes it an ordinary one."""
        self.data = _empty(shape, device=device or self.device, dtype=dtype or self.dtype)
        self.__class__ = self.cls_to_become

    @property
    def shape(self):
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. "
            "This error usually happens in `load_state_dict` when trying to load "
            "an uninitialized parameter into an initialized one. "
            "Call `forward` to initialize the parameters before accessing their attributes."
        )

    def share_memory_(self):
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. "
            "Call `forward` to initialize the parameters before calling "
            "`module.share_memory()`."
        )

    def __repr__(self):
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol):
        # There is no content to write down.
        return type(self), self._creation()

    def _moved_to(self, tensor):
        """The same on the tensor's device and in its dtype."""
        return tensor

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        # What asks about the object, rather than its elements, works.
        plain = _C._disabled_torch_function_impl
        if func.__name__ in ("__get__", "__set__"):
            return plain(func, types, args, kwargs)
        if func in cls._works_without_elements():
            made = plain(func, types, args, kwargs)
            return args[0]._moved_to(made) if type(made) is Tensor else made
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {func}. This error happens when you "
            "are using a `LazyModule` or explicitly manipulating "
            f"`torch.nn.parameter.{cls.__name__}` objects. When using LazyModules Call `forward` "
            "with a dummy batch to initialize the parameters before calling torch functions"
        )

    @staticmethod
    def _works_without_elements():
        return {
            Tensor.__hash__,
            Tensor.size,
            Tensor.copy_,
            Tensor.is_complex,
            Tensor.is_floating_point,
            Tensor.half,
            Tensor.float,
            Tensor.double,
            Tensor.char,
            Tensor.short,
            Tensor.int,
            Tensor.long,
            Tensor.npu,
            Tensor.cuda,
            Tensor.cpu,
            Tensor.to,
            Tensor.get_device,
        }


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape is not known yet.

    >>> weight = torch.nn.UninitializedParameter()
    >>> weight.materialize((2, 3))
    >>> weight.shape
    torch.Size([2, 3])
    """

    __slots__ = ()
    cls_to_become = Parameter

    def __new__(cls, requires_grad=True, device=None, dtype=None):
        return Parameter.__new__(cls, _empty(0, device=device, dtype=dtype), requires_grad)

    def _creation(self):
        return (self.requires_grad, self.device, self.dtype)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(*self._creation())
        return memo[id(self)]


class _MaterializedBuffer(Tensor):
    """What an UninitializedBuffer becomes; the class of a tensor cannot become Tensor itself."""

    __slots__ = ()
    __torch_function__ = _C._disabled_torch_function_impl


class UninitializedBuffer(UninitializedTensorMixin, Tensor):
    """A buffer whose shape is not known yet.

    >>> mean = torch.nn.UninitializedBuffer()
    >>> mean.materialize((4,))
    >>> mean.shape
    torch.Size([4])
    """

    __slots__ = ()
    cls_to_become = _MaterializedBuffer

    def __new__(cls, requires_grad=False, device=None, dtype=None, persistent=True):
        made = Tensor._make_subclass(cls, _empty(0, device=device, dtype=dtype))
        made.persistent = persistent
        made._is_buffer = True
        return made

    def _creation(self):
        return (False, self.device, self.dtype, self.persistent)

    def _moved_to(self, tensor):
        return type(self)(False, tensor.device, tensor.dtype, self.persistent)

    def __deepcopy__(self, memo):
        if id(self) not in memo:
            memo[id(self)] = type(self)(*self._creation())
        return memo[id(self)]


def is_lazy(param):
    """Whether its shape is not known yet.

    >>> torch.nn.parameter.is_lazy(torch.nn.UninitializedParameter())
    True
    """
    return isinstance(param, UninitializedTensorMixin)
