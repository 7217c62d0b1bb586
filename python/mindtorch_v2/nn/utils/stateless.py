"""Calls of a module with other parameters than its own."""

import contextlib
import warnings

from mindtorch_v2._C import Tensor

__all__ = ["functional_call"]

_MISSING = object()


def _all_tensors(module):
    """Parameters and buffers by name; one that has several names is there several times."""
    return {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }


def _with_ties(module, tensors):
    """`tensors`, and the same for other names of what they stand for."""
    names_of = {}
    for name, tensor in _all_tensors(module).items():
        names_of.setdefault(id(tensor), []).append(name)
    tied = dict(tensors)
    for names in names_of.values():
        given = [name for name in names if name in tensors]
        if len({id(tensors[name]) for name in given}) > 1:
            raise ValueError(
                f"functional_call got multiple values for keys {sorted(given)}, which are tied. "
                "Consider using tie_weights=False"
            )
        if given:
            tied.update(dict.fromkeys(names, tensors[given[0]]))
    return tied


def _check_names(module, tensors):
    known = set(_all_tensors(module))
    problems = []
    for what, names in (("Unexpected", set(tensors) - known), ("Missing", known - set(tensors))):
        if names:
            listed = ", ".join(repr(name) for name in sorted(names))
            problems.append(f"{what} key(s): {listed}.")
    if problems:
        raise RuntimeError(
            f"Error(s) in reparametrizing for {type(module).__name__}:\n\t" + "\n\t".join(problems)
        )


def _place_of(module, name):
    """(the dict that holds it, its key there)"""
    *path, key = name.split(".")
    for part in path:
        module = getattr(module, part)
    for held in (module._parameters, module._buffers):
        if key in held:
            return held, key
    return module.__dict__, key


@contextlib.contextmanager
def _reparametrize_module(module, tensors, tie_weights=False, strict=False):
    """In the block the module has these tensors in place of its own. Those that it replaces
    meanwhile go to `tensors`."""
    for tensor in tensors.values():
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{tensor} is not an instance of torch.Tensor")
    values = _with_ties(module, tensors) if tie_weights else dict(tensors)
    if strict:
        _check_names(module, values)
    places = {name: _place_of(module, name) for name in values}
    before = {name: held.get(key, _MISSING) for name, (held, key) in places.items()}
    try:
        for name, (held, key) in places.items():
            held[key] = values[name]
        yield
    finally:
        for name, (held, key) in places.items():
            if name in tensors and key in held:
                tensors[name] = held[key]
            if before[name] is _MISSING:
                held.pop(key, None)
            else:
                held[key] = before[name]


def functional_call(
    module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False
):
    """The old name of torch.func.functional_call, for one dict.

    >>> layer = torch.nn.Linear(1, 1, bias=False)
    >>> call = torch.nn.utils.stateless.functional_call
    >>> call(layer, {"weight": torch.tensor([[2.0]])}, torch.tensor([[3.0]]))
    tensor([[6.]])
    """
    warnings.warn(
        "`torch.nn.utils.stateless.functional_call` is deprecated as of PyTorch 2.0 and will be "
        "removed in a future version of PyTorch. Please use `torch.func.functional_call` instead "
        "which is a drop-in replacement.",
        FutureWarning,
        stacklevel=2,
    )
    return _functional_call(
        module, parameters_and_buffers, args, kwargs, tie_weights=tie_weights, strict=strict
    )


def _functional_call(module, tensors, args, kwargs, *, tie_weights, strict):
    if not isinstance(args, tuple):
        args = () if args is None else (args,)
    with _reparametrize_module(module, tensors, tie_weights, strict):
        return module(*args, **(kwargs or {}))
