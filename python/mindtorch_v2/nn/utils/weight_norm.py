"""Weights as a length and a direction, by hooks: the old form of parametrizations.weight_norm."""

import warnings

import mindtorch_v2 as torch
from mindtorch_v2.nn.parameter import Parameter, UninitializedParameter

__all__ = ["WeightNorm", "remove_weight_norm", "weight_norm"]


def norm_except_dim(weight, dim):
    """The 2-norm over all dimensions but one (dim None: over all)."""
    if dim is None or dim == -1:
        return weight.norm()
    dims = [d for d in range(weight.dim()) if d != dim % weight.dim()]
    return weight.square().sum(dims, keepdim=True).sqrt() if dims else weight.abs()


def weight_from(v, g, dim):
    """The weight of this direction and length."""
    return v * (g / norm_except_dim(v, dim))


class WeightNorm:
    """The hook that makes the weight before every call."""

    def __init__(self, name, dim):
        self.name, self.dim = name, -1 if dim is None else dim

    def compute_weight(self, module):
        """The weight that length and direction of the module give."""
        g, v = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        return weight_from(v, g, self.dim)

    @staticmethod
    def apply(module, name, dim):
        """Puts the hook on a module."""
        for hook in module._forward_pre_hooks.values():
            if isinstance(hook, WeightNorm) and hook.name == name:
                raise RuntimeError(
                    f"Cannot register two weight_norm hooks on the same parameter {name}"
                )
        made = WeightNorm(name, dim)
        weight = getattr(module, name)
        if isinstance(weight, UninitializedParameter):
            raise ValueError(
                "The module passed to `WeightNorm` can't have uninitialized parameters. "
                "Make sure to run the dummy forward before applying weight normalization"
            )
        del module._parameters[name]
        length = norm_except_dim(weight.data, made.dim)
        module.register_parameter(name + "_g", Parameter(length))
        module.register_parameter(name + "_v", Parameter(weight.data))
        setattr(module, name, made.compute_weight(module))
        module.register_forward_pre_hook(made)
        return made

    def remove(self, module):
        """Makes the weight a parameter again."""
        with torch.no_grad():
            weight = self.compute_weight(module)
        delattr(module, self.name)
        del module._parameters[self.name + "_g"], module._parameters[self.name + "_v"]
        setattr(module, self.name, Parameter(weight.data))

    def __call__(self, module, inputs):
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module, name="weight", dim=0):
    """Trains length and direction of a weight instead of the weight.

    >>> layer = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(2, 3))
    >>> layer.parametrizations.weight.original0.shape
    torch.Size([3, 1])
    """
    warnings.warn(
        "`torch.nn.utils.weight_norm` is deprecated "
        "in favor of `torch.nn.utils.parametrizations.weight_norm`.",
        FutureWarning,
        stacklevel=2,
    )
    WeightNorm.apply(module, name, dim)
    return module


def remove_weight_norm(module, name="weight"):
    """Makes the weight a parameter again."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")
