"""Modules that learn the shapes of their parameters from their first input."""

import itertools
import warnings

from mindtorch_v2.nn.parameter import is_lazy

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """Makes a module lazy: its parameters have no shape until the first call, which asks
    initialize_parameters(*args) to give them one. Then the module becomes a `cls_to_become`.

    >>> torch.nn.LazyLinear(2).weight
    <UninitializedParameter>
    """

    cls_to_become = None

    def __init__(self, *args, **kwargs):
        super().__init__(*args, **kwargs)
        self._load_hook = self._register_load_state_dict_pre_hook(_load_hook, with_module=True)
        self._initialize_hook = self.register_forward_pre_hook(
            _initialize_on_first_call, with_kwargs=True
        )
        warnings.warn(
            "Lazy modules are a new feature under heavy development "
            "so changes to the API or functionality can happen at any moment.",
            stacklevel=3,
        )

    def _save_to_state_dict(self, destination, prefix, keep_vars):
        for name, tensor in self._own_state():
            keep = keep_vars or is_lazy(tensor)
            destination[prefix + name] = tensor if keep else tensor.detach()

    def initialize_parameters(self, *args, **kwargs):
        """Gives the parameters shapes that fit the arguments of the first call."""
        raise NotImplementedError(
            f"initialize_parameters is not implemented for {type(self).__name__}"
        )

    def has_uninitialized_params(self):
        """Whether a parameter or buffer has no shape yet."""
        tensors = itertools.chain(self._parameters.values(), self._buffers.values())
        return any(is_lazy(tensor) for tensor in tensors)


def _load_hook(module, state_dict, prefix, *rest):
    # A tensor that is loaded brings the shape along.
    tensors = itertools.chain(module._parameters.items(), module._buffers.items())
    for name, tensor in tensors:
        key = prefix + name
        if key in state_dict and is_lazy(tensor) and not is_lazy(state_dict[key]):
            tensor.materialize(state_dict[key].shape)


def _initialize_on_first_call(module, args, kwargs):
    module.initialize_parameters(*args, **kwargs)
    if module.has_uninitialized_params():
        raise RuntimeError(f"module {module._get_name()} has not been fully initialized")
    module._initialize_hook.remove()
    module._load_hook.remove()
    del module._initialize_hook, module._load_hook
    if module.cls_to_become is not None:
        module.__class__ = module.cls_to_become
