"""autograd.Function inside vmap: by the function's own rule, or by one made of its methods."""

from typing import NamedTuple

from mindtorch_v2 import _C
from mindtorch_v2._C import Tensor
from mindtorch_v2.utils import _pytree as pytree

_HELP = "For more details, please see https://pytorch.org/docs/main/notes/extending.func.html"


class VmapInfo(NamedTuple):
    """What a function's vmap method is told of the vmap."""

    batch_size: int
    randomness: str


def level_of(args):
    """The innermost vmap that the arguments belong to; 0 for none."""
    if _C._vmap_level() == 0:
        return 0
    infos = [_C._batch_info(x) for x in pytree.tree_leaves(args) if isinstance(x, Tensor)]
    return max((info[2] for info in infos if info is not None), default=0)


def apply(function, args, level, has_own_rule, has_setup):
    """`function.apply(*args)`, where some of the arguments are batched at `level`."""
    if function.generate_vmap_rule and has_own_rule:
        raise RuntimeError(
            f"You tried to vmap over {function.__name__}, but it has both generate_vmap_rule=True "
            "and an overridden vmap staticmethod. Please set generate_vmap_rule=False or delete "
            f"the overridden vmap staticmethod to avoid ambiguity. {_HELP}"
        )
    if not (function.generate_vmap_rule or has_own_rule):
        raise RuntimeError(
            f"You tried to vmap over {function.__name__}, but it does not have vmap support. "
            "Please override and implement the vmap staticmethod or set generate_vmap_rule=True. "
            f"{_HELP}"
        )
    if has_own_rule:
        return apply_rule(function.vmap, function.__name__, args, {}, level)
    return _apply_generated(function, args, level, has_setup)


def _unwrap(value, level):
    """(the value with all samples, its batch dim), or (value, None)"""
    info = _C._batch_info(value) if isinstance(value, Tensor) else None
    return info[:2] if info is not None and info[2] == level else (value, None)


def _size(values, dims):
    return next(v.size(d) for v, d in zip(values, dims, strict=True) if d is not None)


def apply_rule(rule, name, args, kwargs, level):
    """What a rule, called with (info, in_dims, *args, **kwargs), makes of arguments of which some
    are batched at `level`.
    """
    leaves, spec = pytree.tree_flatten(args)
    values, dims = zip(*(_unwrap(x, level) for x in leaves), strict=True)
    info = VmapInfo(_size(values, dims), _C._vmap_randomness(level))
    in_dims = pytree.tree_unflatten(dims, spec)
    result = rule(info, in_dims, *pytree.tree_unflatten(values, spec), **kwargs)
    if not (isinstance(result, tuple) and len(result) == 2):
        found = f"{len(result)} returns" if isinstance(result, tuple) else f"a {type(result)}"
        raise RuntimeError(
            f"Expected the vmap staticmethod of {name} to return a tuple of "
            f"(output, out_dims). Got {found} instead"
        )
    outputs, out_spec = pytree.tree_flatten(result[0])
    out_dims = pytree._broadcast_to_and_flatten(result[1], out_spec)
    if out_dims is None:
        raise RuntimeError(
            "The autograd.Function's vmap staticmethod returned an incompatible (output, out_dims) "
            f"tuple. Expected out_dims={result[1]} to be compatible with the structure of "
            f"`output`. out_dims has structure {pytree.tree_flatten(result[1])[1]} but output has "
            f"structure {out_spec}. {_HELP}"
        )
    shown = [
        y if d is None else _C._add_batch_dim(y, d, level)
        for y, d in zip(outputs, out_dims, strict=True)
    ]
    return pytree.tree_unflatten(shown, out_spec)


class _Context:
    """The ctx that the function's methods see: it has the samples' tensors."""

    def __init__(self, needs_input_grad):
        self.saved_tensors = ()
        self.needs_input_grad = needs_input_grad

    def save_for_backward(self, *tensors):
        self.saved_tensors = tensors

    save_for_forward = save_for_backward

    def mark_non_differentiable(self, *tensors):
        self.non_differentiable = tensors

    def mark_dirty(self, *tensors):
        raise RuntimeError("vmap: a function with generate_vmap_rule=True cannot write its inputs")

    def set_materialize_grads(self, value):
        pass


def _apply_generated(function, args, level, has_setup):
    """The function on all samples, with a gradient that vmaps its backward."""
    from mindtorch_v2.autograd.function import Function
    from mindtorch_v2.func import vmap

    values, dims = zip(*(_unwrap(x, level) for x in args), strict=True)
    is_tuple = False

    class Batched(Function):
        @staticmethod
        def forward(ctx, *values):
            nonlocal is_tuple
            shown = [
                v if d is None else _C._add_batch_dim(v, d, level)
                for v, d in zip(values, dims, strict=True)
            ]
            inner = _Context(ctx.needs_input_grad)
            if has_setup:
                outputs = function.forward(*shown)
                function.setup_context(inner, tuple(shown), outputs)
            else:
                outputs = function.forward(inner, *shown)
            is_tuple = isinstance(outputs, tuple)
            outputs = outputs if is_tuple else (outputs,)
            whole = tuple(
                _C._remove_batch_dim(y, 0, level) if isinstance(y, Tensor) else y for y in outputs
            )
            known = {id(x): v for x, v in zip(shown, values, strict=True)}
            known.update((id(y), v) for y, v in zip(outputs, whole, strict=True))
            saved_dims = dict(zip(map(id, shown), dims, strict=True))
            saved_dims.update((id(y), 0) for y in outputs)
            saved = [
                (known[id(t)], saved_dims[id(t)]) if id(t) in known else _unwrap(t, level)
                for t in inner.saved_tensors
            ]
            ctx.save_for_backward(*(t for t, _ in saved))
            ctx.saved_dims = [d for _, d in saved]
            ctx.inner = inner
            marked = [known[id(t)] for t in getattr(inner, "non_differentiable", ())]
            ctx.mark_non_differentiable(*marked)
            inner.saved_tensors = inner.non_differentiable = ()
            return whole

        @staticmethod
        def backward(ctx, *grads):
            def one(saved, grads):
                ctx.inner.saved_tensors = tuple(saved)
                ctx.inner.needs_input_grad = ctx.needs_input_grad
                found = function.backward(ctx.inner, *grads)
                return found if isinstance(found, tuple) else (found,)

            kept = None

            def only_tensors(saved, grads):
                nonlocal kept
                found = one(saved, grads)
                kept = [g is not None for g in found]
                return tuple(g for g in found if g is not None)

            found = iter(
                vmap(only_tensors, in_dims=(ctx.saved_dims, 0))(
                    list(ctx.saved_tensors), list(grads)
                )
            )
            return tuple(
                _fit(next(found), d) if is_there else None
                for is_there, d in zip(kept, dims, strict=True)
            )

    outputs = Batched.apply(*values)
    shown = tuple(_C._add_batch_dim(y, 0, level) if isinstance(y, Tensor) else y for y in outputs)
    return shown if is_tuple else shown[0]


def _fit(grad, dim):
    """The gradient of an argument: all samples', or their sum where it is the same for all."""
    return grad.sum(0) if dim is None else grad.movedim(0, dim)
