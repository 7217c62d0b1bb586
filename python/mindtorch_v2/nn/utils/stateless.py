"""Calls of a module with other parameters than its own."""

import contextlib

__all__ = ["functional_call"]


@contextlib.contextmanager
def _reparametrize_module(module, parameters_and_buffers, strict=False):
    """In the block the module has these tensors in place of its own."""
    places = {}
    own = {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }
    if strict:
        unknown = [name for name in parameters_and_buffers if name not in own]
        missing = [name for name in own if name not in parameters_and_buffers]
        if unknown or missing:
            raise RuntimeError(
                "Error(s) in reparametrizing: "
                f"Unexpected key(s): {', '.join(unknown)}. Missing key(s): {', '.join(missing)}."
            )
    try:
        for name, tensor in parameters_and_buffers.items():
            path, _, key = name.rpartition(".")
            owner = module.get_submodule(path)
            for place in (owner._parameters, owner._buffers):
                if key in place:
                    places[name] = (place, key, place[key])
                    place[key] = tensor
                    break
            else:
                raise AttributeError(f"{owner._get_name()} has no attribute `{key}`")
        yield
    finally:
        for name, (place, key, before) in places.items():
            if isinstance(parameters_and_buffers, dict):
                parameters_and_buffers[name] = place[key]
            place[key] = before


def functional_call(
    module, parameters_and_buffers, args=None, kwargs=None, *, tie_weights=True, strict=False
):
    """module(*args, **kwargs) with these tensors in place of its own.

    >>> layer = torch.nn.Linear(1, 1, bias=False)
    >>> call = torch.nn.utils.stateless.functional_call
    >>> call(layer, {"weight": torch.tensor([[2.0]])}, torch.tensor([[3.0]]))
    tensor([[6.]])
    """
    if not isinstance(args, tuple):
        args = () if args is None else (args,)
    with _reparametrize_module(module, dict(parameters_and_buffers), strict):
        return module(*args, **(kwargs or {}))
