"""torch.nn.utils.parametrize: parameters that are computed from others.

>>> class Symmetric(torch.nn.Module):
...     def forward(self, x):
...         return x.triu() + x.triu(1).mT
>>> layer = torch.nn.Linear(2, 2)
>>> _ = torch.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
>>> torch.equal(layer.weight, layer.weight.T)
True
"""

import contextlib
import copy

import mindtorch_v2 as torch
from mindtorch_v2.nn.modules.container import ModuleDict, ModuleList
from mindtorch_v2.nn.modules.module import Module
from mindtorch_v2.nn.parameter import Parameter

__all__ = [
    "ParametrizationList",
    "cached",
    "is_parametrized",
    "register_parametrization",
    "remove_parametrizations",
    "transfer_parametrizations_and_params",
    "type_before_parametrizations",
]

_cache_depth = 0
_cache = {}


@contextlib.contextmanager
def cached():
    """In the block every parametrized tensor is computed once.

    >>> with torch.nn.utils.parametrize.cached():
    ...     pass
    """
    global _cache_depth
    _cache_depth += 1
    try:
        yield
    finally:
        _cache_depth -= 1
        if _cache_depth == 0:
            _cache.clear()


class ParametrizationList(ModuleList):
    """The parametrizations of one tensor, and the tensor or tensors that they start from:
    `original`, or `original0`, `original1` and so on if the first one takes several.
    """

    def __init__(self, modules, original, unsafe=False):
        modules = list(modules)
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        super().__init__(modules)
        self.unsafe = unsafe
        shape, dtype = original.shape, original.dtype
        with torch.no_grad():
            start = original
            for module in reversed(self):
                if hasattr(module, "right_inverse"):
                    with contextlib.suppress(NotImplementedError):
                        start = module.right_inverse(start)
        if not isinstance(start, torch.Tensor) and not isinstance(start, (list, tuple)):
            raise ValueError(
                "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...). "
                f"Got {type(start).__name__}"
            )
        self.is_tensor = isinstance(start, torch.Tensor)
        self.ntensors = 1 if self.is_tensor else len(start)
        if self.is_tensor:
            if original.dtype != start.dtype:
                raise ValueError(
                    "When `right_inverse` outputs one tensor, it may not change the dtype.\n"
                    f"original.dtype: {original.dtype}\n"
                    f"right_inverse(original).dtype: {start.dtype}"
                )
            with torch.no_grad():
                original.data = start.data
            _register(self, "original", original)
        else:
            for i, part in enumerate(start):
                if not isinstance(part, torch.Tensor):
                    raise ValueError(
                        "'right_inverse' must return a Tensor or a Sequence of tensors "
                        f"(list, tuple...). Got element {i} of the sequence with type "
                        f"{type(part).__name__}."
                    )
                if isinstance(original, Parameter):
                    part = Parameter(part, original.requires_grad)
                part.requires_grad_(original.requires_grad)
                _register(self, f"original{i}", part)
        if not unsafe:
            result = self()
            if not isinstance(result, torch.Tensor):
                raise ValueError(
                    f"A parametrization must return a tensor. Got {type(result).__name__}."
                )
            if result.dtype != dtype:
                raise ValueError(
                    "Registering a parametrization may not change the dtype of the tensor, unless "
                    f"`unsafe` flag is enabled.\nunparametrized dtype: {dtype}\n"
                    f"parametrized dtype: {result.dtype}"
                )
            if result.shape != shape:
                raise ValueError(
                    "Registering a parametrization may not change the shape of the tensor, unless "
                    f"`unsafe` flag is enabled.\nunparametrized shape: {shape}\n"
                    f"parametrized shape: {result.shape}"
                )

    def _originals(self):
        if self.is_tensor:
            return [self.original]
        return [getattr(self, f"original{i}") for i in range(self.ntensors)]

    def right_inverse(self, value):
        """Sets the originals so that the tensor becomes about this value."""
        with torch.no_grad():
            for module in reversed(self):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse."
                    )
                value = module.right_inverse(value)
            values = [value] if self.is_tensor else list(value)
            if len(values) != self.ntensors:
                raise ValueError(
                    "'right_inverse' must return a sequence of tensors of length "
                    f"{self.ntensors}. Got a sequence of length {len(values)}."
                )
            for original, part in zip(self._originals(), values, strict=True):
                original.data = part.data if part.shape != original.shape else original.data
                original.copy_(part)

    def forward(self):
        first, *rest = self
        value = first(*self._originals())
        for module in rest:
            value = module(value)
        return value


def _register(module, name, tensor):
    if isinstance(tensor, Parameter):
        module.register_parameter(name, tensor)
    else:
        module.register_buffer(name, tensor)


def _with_own_class(module):
    """Gives the module a class of its own, which can have properties."""
    base = type(module)

    def deepcopy(self, memo):
        made = base.__new__(type(self))
        memo[id(self)] = made
        made.__dict__.update(copy.deepcopy(self.__dict__, memo))
        return made

    def getstate(self):
        raise RuntimeError(
            "Serialization of parametrized modules is only "
            "supported through state_dict(). See:\n"
            "https://pytorch.org/tutorials/beginner/saving_loading_models.html"
            "#saving-loading-a-general-checkpoint-for-inference-and-or-resuming-training"
        )

    fields = {"__getstate__": getstate}
    if not hasattr(base, "__deepcopy__"):
        fields["__deepcopy__"] = deepcopy
    module.__class__ = type(f"Parametrized{base.__name__}", (base,), fields)


def _inject_property(module, name):
    def compute(self):
        if _cache_depth == 0:
            return self.parametrizations[name]()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = self.parametrizations[name]()
        return _cache[key]

    def assign(self, value):
        self.parametrizations[name].right_inverse(value)

    setattr(type(module), name, property(compute, assign))


def register_parametrization(module, tensor_name, parametrization, *, unsafe=False):
    """Makes a parameter or buffer of a module the result of a parametrization, a module whose
    forward takes the original tensor.
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        before = getattr(module, tensor_name)
        parts = module.parametrizations[tensor_name]
        if not unsafe:
            after = parametrization(before)
            if not isinstance(after, torch.Tensor):
                raise ValueError(
                    f"A parametrization must return a tensor. Got {type(after).__name__}."
                )
            if after.dtype != before.dtype or after.shape != before.shape:
                raise ValueError(
                    "Registering a parametrization may not change the dtype or shape of the "
                    "tensor, unless the `unsafe` flag is enabled."
                )
        parts.append(parametrization)
        parts.unsafe |= unsafe
    elif tensor_name in module._buffers or tensor_name in module._parameters:
        original = getattr(module, tensor_name)
        parts = ParametrizationList([parametrization], original, unsafe=unsafe)
        delattr(module, tensor_name)
        if not is_parametrized(module):
            _with_own_class(module)
            module.parametrizations = ModuleDict()
        _inject_property(module, tensor_name)
        module.parametrizations[tensor_name] = parts
    else:
        raise ValueError(
            f"Module '{module}' does not have a parameter, a buffer, or a "
            f"parametrized element with name '{tensor_name}'"
        )
    return module


def is_parametrized(module, tensor_name=None):
    """Whether the module, or this tensor of it, is parametrized.

    >>> torch.nn.utils.parametrize.is_parametrized(torch.nn.Linear(2, 2))
    False
    """
    parts = getattr(module, "parametrizations", None)
    if not isinstance(parts, ModuleDict):
        return False
    return len(parts) > 0 if tensor_name is None else tensor_name in parts


def remove_parametrizations(module, tensor_name, leave_parametrized=True):
    """Makes the tensor an ordinary one again: its value now, or the original one."""
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {module} does not have a parametrization on {tensor_name}")
    parts = module.parametrizations[tensor_name]
    if parts.is_tensor:
        original = parts.original
        if leave_parametrized:
            with torch.no_grad():
                original.data = getattr(module, tensor_name).data
    elif leave_parametrized:
        value = getattr(module, tensor_name).detach()
        original = Parameter(value) if parts.original0.requires_grad else value
    else:
        raise ValueError(
            "Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is "
            "parametrized in terms of a sequence of tensors."
        )
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    _register(module, tensor_name, original)
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module):
    """The class that the module had before it was parametrized.

    >>> torch.nn.utils.parametrize.type_before_parametrizations(torch.nn.ReLU()).__name__
    'ReLU'
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(from_module, to_module, tensor_name=None):
    """Gives another module the parametrizations, and the tensors they start from."""
    if not is_parametrized(from_module):
        return to_module
    names = [tensor_name] if tensor_name is not None else list(from_module.parametrizations)
    for name in names:
        if not hasattr(to_module, name):
            setattr(to_module, name, Parameter(getattr(from_module, name).detach().clone()))
        parts = from_module.parametrizations[name]
        for parametrization in parts:
            register_parametrization(to_module, name, parametrization)
        target = to_module.parametrizations[name]
        for key, tensor in parts._parameters.items():
            setattr(target, key, tensor)
    return to_module
