"""Modules as functions of their parameters."""

from mindtorch_v2 import _C
from mindtorch_v2.nn.utils import stateless

_stack = _C._functions["stack"]


def functional_call(
    module, parameter_and_buffer_dicts, args=None, kwargs=None, *, tie_weights=True, strict=False
):
    """`module(*args, **kwargs)` with these tensors in the place of its parameters and buffers.

    A tensor given for one of several names of one parameter counts for all of them, unless
    `tie_weights` is False. With `strict` there must be one for each name, and none for others.

    >>> layer = torch.nn.Linear(2, 1, bias=False)
    >>> torch.func.functional_call(layer, {"weight": torch.ones(1, 2)}, torch.ones(2))
    tensor([2.])
    """
    if isinstance(parameter_and_buffer_dicts, dict):
        tensors = parameter_and_buffer_dicts
    elif isinstance(parameter_and_buffer_dicts, list | tuple):
        tensors = _join(parameter_and_buffer_dicts)
    else:
        raise ValueError(
            "Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, but got "
            f"{type(parameter_and_buffer_dicts)}"
        )
    return stateless._functional_call(
        module, tensors, args, kwargs, tie_weights=tie_weights, strict=strict
    )


def _join(dicts):
    if not all(isinstance(entry, dict) for entry in dicts):
        raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
    names = [name for entry in dicts for name in entry]
    repeated = sorted({name for name in names if names.count(name) > 1})
    if repeated:
        raise ValueError(
            f"{repeated} appeared in multiple dictionaries; behavior of functional call is "
            "ambiguous"
        )
    return {name: tensor for entry in dicts for name, tensor in entry.items()}


def stack_module_state(models):
    """(parameters, buffers) of modules of one class, each stacked in dim 0: for functional_call
    inside vmap.

    >>> parameters, buffers = torch.func.stack_module_state([torch.nn.Linear(2, 1)] * 3)
    >>> parameters["weight"].shape
    torch.Size([3, 1, 2])
    """
    if len(models) == 0:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if any(m.training != models[0].training for m in models):
        raise RuntimeError(
            "stack_module_state: Expected all models to have the same training/eval mode."
        )
    if any(type(m) is not type(models[0]) for m in models):
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")

    def stacked(named):
        columns = zip(*[list(named(m)) for m in models], strict=True)
        return {column[0][0]: _stack_leaf(*zip(*column, strict=True)) for column in columns}

    return (
        stacked(lambda m: m.named_parameters()),
        stacked(lambda m: m.named_buffers()),
    )


def _stack_leaf(names, tensors):
    needs_grad = tensors[0].requires_grad
    if any(t.requires_grad != needs_grad for t in tensors):
        raise RuntimeError(f"Expected {names[0]} from each model to have the same .requires_grad")
    return _stack(tensors).detach().requires_grad_(needs_grad)
