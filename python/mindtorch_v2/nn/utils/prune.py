"""torch.nn.utils.prune: parameters with elements switched off by a mask.

A pruned parameter `weight` becomes `weight_orig`, a parameter, and `weight_mask`, a buffer; a hook
makes `weight` their product before every call.

>>> layer = torch.nn.utils.prune.l1_unstructured(torch.nn.Linear(4, 1), "weight", amount=2)
>>> int(layer.weight_mask.sum())
2
"""

import numbers
from abc import ABC, abstractmethod

import mindtorch_v2 as torch
from mindtorch_v2.nn.parameter import Parameter


class BasePruningMethod(ABC):
    """A way to choose a mask; a subclass has compute_mask(t, default_mask)."""

    PRUNING_TYPE = "unstructured"
    _tensor_name = None

    def __call__(self, module, inputs):
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t, default_mask):
        """The mask for a tensor that has been pruned by default_mask."""

    def apply_mask(self, module):
        """The tensor with its mask."""
        mask = getattr(module, self._tensor_name + "_mask")
        original = getattr(module, self._tensor_name + "_orig")
        return mask.to(dtype=original.dtype) * original

    @classmethod
    def apply(cls, module, name, *args, importance_scores=None, **kwargs):
        """Prunes a parameter of a module this way, on top of ways it was pruned before."""
        method = cls(*args, **kwargs)
        method._tensor_name = name
        before = None
        for key, hook in list(module._forward_pre_hooks.items()):
            if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
                before = hook
                del module._forward_pre_hooks[key]
        if before is not None:
            container = before
            if not isinstance(before, PruningContainer):
                container = PruningContainer(before)
            container.add_pruning_method(method)
            method = container
        tensor = getattr(module, name)
        scores = tensor if importance_scores is None else importance_scores
        if scores.shape != tensor.shape:
            raise AssertionError(
                f"importance_scores should have the same shape as parameter {name} of {module}"
            )
        if before is None:
            original = module._parameters[name]
            module.register_parameter(name + "_orig", original)
            del module._parameters[name]
            default_mask = torch.ones_like(original)
        else:
            default_mask = getattr(module, name + "_mask").detach().clone()
        mask = method.compute_mask(scores, default_mask=default_mask)
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(self, t, default_mask=None, importance_scores=None):
        """A tensor, pruned this way."""
        scores = t if importance_scores is None else importance_scores
        mask = torch.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=mask)

    def remove(self, module):
        """Makes the pruned tensor an ordinary parameter."""
        name = self._tensor_name
        if name is None:
            raise AssertionError(f"Module {module} has to be pruned before pruning can be removed")
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original = module._parameters.pop(name + "_orig")
        original.data = weight.data
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


class PruningContainer(BasePruningMethod):
    """Several ways to prune, one after the other."""

    def __init__(self, *args):
        self._pruning_methods = ()
        methods = args[0] if len(args) == 1 and not isinstance(args[0], BasePruningMethod) else args
        if methods:
            self._tensor_name = methods[0]._tensor_name
        for method in methods:
            self.add_pruning_method(method)

    def add_pruning_method(self, method):
        """Adds a way; it must be for the same parameter."""
        if not isinstance(method, BasePruningMethod) and method is not None:
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if method is not None and self._tensor_name != method._tensor_name:
            raise ValueError(
                "Can only add pruning methods acting on "
                f"the parameter named '{self._tensor_name}' to PruningContainer {self}. "
                f"Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self):
        return len(self._pruning_methods)

    def __iter__(self):
        return iter(self._pruning_methods)

    def __getitem__(self, idx):
        return self._pruning_methods[idx]

    def compute_mask(self, t, default_mask):
        """The mask of the last way, chosen among what the others left."""
        method = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        if method.PRUNING_TYPE == "unstructured":
            left = mask == 1
            new = mask.clone()
            new[left] = method.compute_mask(t[left], default_mask=mask[left])
            return new
        if method.PRUNING_TYPE == "structured":
            dim = method.dim % t.dim()
            others = [d for d in range(t.dim()) if d != dim]
            kept = (mask.sum(others) != 0).nonzero().squeeze(1)
            part = method.compute_mask(
                t.index_select(dim, kept), default_mask=mask.index_select(dim, kept)
            )
            return mask.index_copy(dim, kept, part)
        if method.PRUNING_TYPE == "global":
            return method.compute_mask(t, default_mask=mask)
        raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")


class Identity(BasePruningMethod):
    """Prunes nothing, but makes the mask."""

    def compute_mask(self, t, default_mask):
        return default_mask


def _check_amount(amount):
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    is_int = isinstance(amount, numbers.Integral)
    if (is_int and amount < 0) or (not is_int and not 0.0 <= float(amount) <= 1.0):
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative "
            "integer"
        )


def _count(amount, size):
    """How many of `size` elements the amount means."""
    if isinstance(amount, numbers.Integral):
        if amount > size:
            raise ValueError(
                f"amount={amount} should be smaller than the number of parameters to prune={size}"
            )
        return amount
    return round(amount * size)


class _ByAmount(BasePruningMethod):
    def __init__(self, amount):
        _check_amount(amount)
        self.amount = amount


class RandomUnstructured(_ByAmount):
    """Prunes elements at random."""

    def compute_mask(self, t, default_mask):
        count = _count(self.amount, t.nelement())
        mask = default_mask.clone()
        if count != 0:
            chosen = torch.topk(torch.rand_like(t).view(-1), k=count).indices
            mask.view(-1)[chosen] = 0
        return mask


class L1Unstructured(_ByAmount):
    """Prunes the elements nearest to 0."""

    def compute_mask(self, t, default_mask):
        count = _count(self.amount, t.nelement())
        mask = default_mask.clone()
        if count != 0:
            chosen = torch.topk(t.abs().reshape(-1), k=count, largest=False).indices
            mask.view(-1)[chosen] = 0
        return mask


class _Structured(_ByAmount):
    PRUNING_TYPE = "structured"

    def __init__(self, amount, dim=-1):
        super().__init__(amount)
        self.dim = dim

    def _mask_of(self, t, channels, default_mask):
        shape = [1] * t.dim()
        shape[self.dim] = -1
        return default_mask * channels.view(shape).to(default_mask.dtype)


class RandomStructured(_Structured):
    """Prunes whole channels along a dimension at random."""

    def compute_mask(self, t, default_mask):
        size = t.size(self.dim)
        count = _count(self.amount, size)
        if count == 0:
            return default_mask
        order = torch.rand(size)
        threshold = torch.kthvalue(order, k=count).values
        return self._mask_of(t, (order > threshold).to(t.device), default_mask)


class LnStructured(_Structured):
    """Prunes the channels along a dimension whose norm is least."""

    def __init__(self, amount, n, dim=-1):
        super().__init__(amount, dim)
        self.n = n

    def compute_mask(self, t, default_mask):
        size = t.size(self.dim)
        count = _count(self.amount, size)
        if count == 0:
            return default_mask
        dims = [d for d in range(t.dim()) if d != self.dim % t.dim()]
        norms = torch.norm(t, self.n, dims)
        kept = torch.topk(norms, k=size - count, largest=True).indices
        channels = torch.zeros(size, device=t.device).index_fill_(0, kept, 1.0)
        return self._mask_of(t, channels, default_mask)


class CustomFromMask(BasePruningMethod):
    """Prunes by a mask of one's own."""

    PRUNING_TYPE = "global"

    def __init__(self, mask):
        self.mask = mask

    def compute_mask(self, t, default_mask):
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def identity(module, name):
    """Makes the mask of a parameter, all ones."""
    Identity.apply(module, name)
    return module


def random_unstructured(module, name, amount):
    """Prunes elements of a parameter at random: a share or a number of them."""
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module, name, amount, importance_scores=None):
    """Prunes the elements of a parameter that are nearest to 0."""
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module, name, amount, dim):
    """Prunes whole channels of a parameter at random."""
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(module, name, amount, n, dim, importance_scores=None):
    """Prunes the channels of a parameter whose norm is least."""
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module, name, mask):
    """Prunes a parameter by a mask of one's own."""
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(parameters, pruning_method, importance_scores=None, **kwargs):
    """Prunes several parameters together, as if they were one.

    >>> layers = [torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)]
    >>> torch.nn.utils.prune.global_unstructured(
    ...     [(layer, "weight") for layer in layers], torch.nn.utils.prune.L1Unstructured, amount=2)
    >>> int(sum(layer.weight_mask.sum() for layer in layers))
    2
    """
    parameters = list(parameters)
    scores = importance_scores or {}
    flat = torch.cat([scores.get(key, getattr(*key)).reshape(-1) for key in parameters])
    masks = torch.cat(
        [
            getattr(module, name + "_mask", torch.ones_like(getattr(module, name))).reshape(-1)
            for module, name in parameters
        ]
    )
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            'Only "unstructured" PRUNING_TYPE supported for '
            f"the `pruning_method`. Found method {pruning_method} of type {method.PRUNING_TYPE}"
        )
    method._tensor_name = "temp"
    container = PruningContainer(method)
    final = container.compute_mask(flat, masks)
    start = 0
    for module, name in parameters:
        size = getattr(module, name).numel()
        custom_from_mask(module, name, final[start : start + size].view_as(getattr(module, name)))
        start += size


def remove(module, name):
    """Makes a pruned tensor an ordinary parameter."""
    for key, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            hook.remove(module)
            del module._forward_pre_hooks[key]
            return module
    raise ValueError(
        f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
    )


def is_pruned(module):
    """Whether anything in the module is pruned.

    >>> torch.nn.utils.prune.is_pruned(torch.nn.Linear(2, 2))
    False
    """
    return any(
        isinstance(hook, BasePruningMethod)
        for submodule in module.modules()
        for hook in submodule._forward_pre_hooks.values()
    )
