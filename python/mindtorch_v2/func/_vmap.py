"""vmap: a function of one sample becomes one of a batch."""

import functools

import mindtorch_v2 as torch
from mindtorch_v2 import _C
from mindtorch_v2._C import Tensor
from mindtorch_v2.utils import _pytree as pytree

_cat = _C._functions["cat"]


def vmap(func, in_dims=0, out_dims=0, randomness="error", *, chunk_size=None):
    """`func`, which takes one sample, for a whole batch of them at once.

    `in_dims` says which dim of each argument counts the samples: one int for all, or a structure
    like that of the arguments, None for what is the same for all samples. `out_dims` says where
    the results have it. What ops that draw random numbers do is up to `randomness`: an "error",
    the "same" numbers for all samples or "different" ones. With `chunk_size` so many samples at a
    time are computed, which saves memory.

    >>> torch.vmap(torch.dot)(torch.ones(3, 2), torch.ones(3, 2))
    tensor([2., 2., 2.])
    >>> torch.vmap(torch.mul, in_dims=(0, None))(torch.arange(3), torch.tensor([1, 2]))
    tensor([[0, 0],
            [1, 2],
            [2, 4]])
    """
    if randomness not in ("error", "different", "same"):
        raise RuntimeError(
            "Only allowed values for randomness are 'error', 'different', or 'same'. Got "
            f"{randomness}"
        )
    if not (chunk_size is None or chunk_size > 0):
        raise ValueError(f"vmap: chunk_size should be None or greater than 0. (got {chunk_size})")

    @functools.wraps(func)
    def batched(*args, **kwargs):
        dims, leaves, spec, size = _read_inputs(func, in_dims, args)
        if chunk_size is None or chunk_size >= size:
            return _run(func, size, randomness, dims, leaves, spec, out_dims, kwargs)
        return _run_chunks(func, size, chunk_size, randomness, dims, leaves, spec, out_dims, kwargs)

    return batched


def _name(func):
    return getattr(func, "__name__", repr(func))


def _read_inputs(func, in_dims, args):
    """(the dim of each leaf, the leaves, their structure, the number of samples)"""
    shown = f"vmap({_name(func)}, in_dims={in_dims}, ...)(<inputs>)"
    if not isinstance(in_dims, int | tuple) and in_dims is not None:
        raise ValueError(
            f"{shown}: expected `in_dims` to be int or a (potentially nested) tuple matching the "
            f"structure of inputs, got: {type(in_dims)}."
        )
    if not args:
        raise ValueError(
            f"vmap({_name(func)})(<inputs>): got no inputs. Maybe you forgot to add inputs, or you "
            "are trying to vmap over a function with no inputs. The latter is unsupported."
        )
    leaves, spec = pytree.tree_flatten(args)
    dims = pytree._broadcast_to_and_flatten(in_dims, spec)
    if dims is None:
        raise ValueError(
            f"{shown}: in_dims is not compatible with the structure of `inputs`. in_dims has "
            f"structure {pytree.tree_flatten(in_dims)[1]} but inputs has structure {spec}."
        )
    dims = [_read_dim(shown, dim, leaf, in_dims) for dim, leaf in zip(dims, leaves, strict=True)]
    sizes = [leaf.size(dim) for dim, leaf in zip(dims, leaves, strict=True) if dim is not None]
    if not sizes:
        raise ValueError("vmap: Expected at least one Tensor to vmap over")
    if any(size != sizes[0] for size in sizes):
        raise ValueError(
            "vmap: Expected all tensors to have the same size in the mapped dimension, got sizes "
            f"{sizes} for the mapped dimension"
        )
    return dims, leaves, spec, sizes[0]


def _read_dim(shown, dim, leaf, in_dims):
    """The dim, counted from the front."""
    if dim is None:
        return None
    if not isinstance(dim, int):
        raise ValueError(
            f"{shown}: Got in_dim={dim} for an input but in_dim must be either an integer "
            "dimension or None."
        )
    if not isinstance(leaf, Tensor):
        raise ValueError(
            f"{shown}: Got in_dim={dim} for an input but the input is of type {type(leaf)}. We "
            "cannot vmap over non-Tensor arguments, please use None as the respective in_dim"
        )
    if not -leaf.dim() <= dim < leaf.dim():
        raise ValueError(
            f"{shown}: Got in_dim={dim} for some input, but that input is a Tensor of "
            f"dimensionality {leaf.dim()} so expected in_dim to satisfy -{leaf.dim()} <= in_dim < "
            f"{leaf.dim()}."
        )
    return dim % leaf.dim()


def _run(func, size, randomness, dims, leaves, spec, out_dims, kwargs):
    level = _C._enter_vmap(size, randomness)
    try:
        args = [
            leaf if dim is None else _C._add_batch_dim(leaf, dim, level)
            for dim, leaf in zip(dims, leaves, strict=True)
        ]
        outputs = func(*pytree.tree_unflatten(args, spec), **kwargs)
        results, out_spec = pytree.tree_flatten(outputs)
        places = _read_out_dims(func, out_dims, outputs, out_spec)
        results = [
            _take_out(func, value, place, level)
            for value, place in zip(results, places, strict=True)
        ]
    finally:
        _C._leave_vmap()
    return pytree.tree_unflatten(results, out_spec)


def _read_out_dims(func, out_dims, outputs, spec):
    """The dim of each result."""

    def is_dim(value):
        return value is None or isinstance(value, int)

    if not pytree.tree_all(is_dim, out_dims):
        raise ValueError(
            f"vmap({_name(func)}, ..., out_dims={out_dims}): `out_dims` must be an int, None or a "
            "python collection of ints representing where in the outputs the vmapped dimension "
            "should appear."
        )
    if isinstance(outputs, Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1:
        return list(out_dims)
    places = pytree._broadcast_to_and_flatten(out_dims, spec)
    if places is None:
        raise ValueError(
            f"vmap({_name(func)}, ..., out_dims={out_dims})(<inputs>): out_dims is not compatible "
            f"with the structure of `outputs`. out_dims has structure "
            f"{pytree.tree_flatten(out_dims)[1]} but outputs has structure {spec}."
        )
    return places


def _take_out(func, value, place, level):
    if place is None:
        if isinstance(value, Tensor):
            info = _C._batch_info(value)
            if info is not None and info[2] == level:
                raise ValueError(
                    f"vmap({_name(func)}, ...): `{_name(func)}` can not return a BatchedTensor "
                    "when out_dim is None"
                )
        return value
    if not isinstance(value, Tensor):
        raise ValueError(
            f"vmap({_name(func)}, ...): `{_name(func)}` must only return Tensors, got type "
            f"{type(value)}. Did you mean to set out_dims= to None for output?"
        )
    return _C._remove_batch_dim(value, place, level)


def _generators(leaves):
    """Of the CPU, the device of new tensors and those of the leaves."""
    devices = {torch.device("cpu"): None, torch.get_default_device(): None}
    devices |= {leaf.device: None for leaf in leaves if isinstance(leaf, torch.Tensor)}
    found = [_C._default_generator(device) for device in devices if device.type != "meta"]
    return list({id(generator): generator for generator in found}.values())


def _run_chunks(func, size, chunk_size, randomness, dims, leaves, spec, out_dims, kwargs):
    """Pieces of the batch one after the other; the `same` numbers are drawn for each."""
    generators = _generators(leaves) if randomness == "same" else []
    states = [generator.get_state() for generator in generators]
    parts = []
    out_spec = places = None
    for start in range(0, size, chunk_size):
        for generator, state in zip(generators, states, strict=True):
            generator.set_state(state)
        length = min(chunk_size, size - start)
        piece = [
            leaf if dim is None else leaf.narrow(dim, start, length)
            for dim, leaf in zip(dims, leaves, strict=True)
        ]
        outputs = _run(func, length, randomness, dims, piece, spec, out_dims, kwargs)
        results, out_spec = pytree.tree_flatten(outputs)
        places = _read_out_dims(func, out_dims, outputs, out_spec)
        parts.append(results)
    joined = [
        pieces[0] if place is None else _cat(pieces, place)
        for place, pieces in zip(places, zip(*parts, strict=True), strict=True)
    ]
    return pytree.tree_unflatten(joined, out_spec)
