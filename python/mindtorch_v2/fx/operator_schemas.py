"""Arguments of calls by the names of their parameters."""

import inspect
from typing import NamedTuple

from mindtorch_v2.nn import Module

__all__ = ["ArgsKwargsPair", "get_signature_for_torch_op", "normalize_function", "normalize_module"]


class ArgsKwargsPair(NamedTuple):
    """Arguments of a call."""

    args: tuple
    kwargs: dict


def get_signature_for_torch_op(op, return_schemas=False):
    """The signatures of a function, one for each of its forms; None where they are not known.

    >>> torch.fx.operator_schemas.get_signature_for_torch_op(torch.nn.functional.relu) is None
    False
    """
    try:
        signatures = [inspect.signature(op)]
    except (TypeError, ValueError):
        signatures = None
    return (signatures, None) if return_schemas else signatures


def normalize_function(
    target,
    args,
    kwargs=None,
    arg_types=None,
    kwarg_types=None,
    normalize_to_only_use_kwargs=False,
):
    """The arguments of a call of `target` with names and defaults filled in; None where its
    parameters are not known or the arguments do not fit.

    >>> pair = torch.fx.operator_schemas.normalize_function(
    ...     torch.nn.functional.relu, (1,), {}, normalize_to_only_use_kwargs=True)
    >>> pair.kwargs
    {'input': 1, 'inplace': False}
    """
    signatures = get_signature_for_torch_op(target)
    if not signatures:
        return None
    return _bound(signatures[0], args, kwargs or {}, normalize_to_only_use_kwargs)


def normalize_module(root, target, args, kwargs=None, normalize_to_only_use_kwargs=False):
    """The same for a call of the submodule `target` of `root`.

    >>> model = torch.nn.Sequential(torch.nn.ReLU())
    >>> torch.fx.operator_schemas.normalize_module(
    ...     model, "0", (1,), {}, normalize_to_only_use_kwargs=True).kwargs
    {'input': 1}
    """
    try:
        module = root.get_submodule(target)
    except AttributeError as error:
        raise RuntimeError(
            f"Tried to normalize node with target {target} but root did not have that target!"
        ) from error
    assert isinstance(module, Module)
    signature = inspect.signature(module.forward)
    return _bound(signature, args, kwargs or {}, normalize_to_only_use_kwargs)


def _bound(signature, args, kwargs, only_kwargs):
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError:
        return None
    bound.apply_defaults()
    variadic = {inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD}
    if only_kwargs and not any(p.kind in variadic for p in signature.parameters.values()):
        return ArgsKwargsPair((), dict(bound.arguments))
    return ArgsKwargsPair(bound.args, bound.kwargs)
