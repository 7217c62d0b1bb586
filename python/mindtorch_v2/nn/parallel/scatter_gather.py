"""torch.nn.parallel.scatter_gather: inputs in parts, one for each device, and back."""

import mindtorch_v2 as torch

__all__ = ["gather", "scatter", "scatter_kwargs"]


def scatter(inputs, target_gpus, dim=0):
    """A tuple with a part of the inputs for each device: tensors are cut along `dim`, tuples, lists
    and dicts taken apart, and what is none of these is given to all.
    """
    count = len(target_gpus)

    def parts(value):
        if isinstance(value, torch.Tensor):
            pieces = value.chunk(count, dim)
            return [p.to(device) for p, device in zip(pieces, target_gpus, strict=False)]
        if isinstance(value, tuple) and hasattr(value, "_fields") and value:
            return [type(value)(*args) for args in zip(*map(parts, value), strict=False)]
        if isinstance(value, (list, tuple)) and value:
            return [type(value)(args) for args in zip(*map(parts, value), strict=False)]
        if isinstance(value, dict) and value:
            made = zip(*map(parts, value.values()), strict=False)
            return [type(value)(zip(value, args, strict=True)) for args in made]
        return [value] * count

    return tuple(parts(inputs))


def scatter_kwargs(inputs, kwargs, target_gpus, dim=0):
    """(inputs, kwargs) in equally many parts."""
    inputs = list(scatter(inputs, target_gpus, dim)) if inputs else []
    kwargs = list(scatter(kwargs, target_gpus, dim)) if kwargs else []
    inputs += [()] * (len(kwargs) - len(inputs))
    kwargs += [{} for _ in range(len(inputs) - len(kwargs))]
    return tuple(inputs), tuple(kwargs)


def gather(outputs, target_device, dim=0):
    """One result on a device, from the results of several."""
    first = outputs[0]
    if isinstance(first, torch.Tensor):
        moved = [output.to(target_device) for output in outputs]
        if first.dim() == 0:
            return torch.stack(moved)
        return torch.cat(moved, dim)
    if first is None:
        return None
    if isinstance(first, dict):
        keys = first.keys()
        if any(output.keys() != keys for output in outputs):
            raise ValueError("All dicts must have the same number of keys")
        return type(first)((k, gather([o[k] for o in outputs], target_device, dim)) for k in keys)
    made = [gather(list(values), target_device, dim) for values in zip(*outputs, strict=True)]
    return type(first)(*made) if hasattr(first, "_fields") else type(first)(made)
