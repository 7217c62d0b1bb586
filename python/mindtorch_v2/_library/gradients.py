"""Operators in autograd: a torch.autograd.Function for each, made when it is first needed."""

import threading

import mindtorch_v2 as torch
from mindtorch_v2.utils import _pytree

_state = threading.local()


class _Call:
    """What one call of an operator hands to forward(), which takes positions only."""

    def __init__(self, device, spec, kwargs):
        self.device, self.spec, self.kwargs = device, spec, kwargs
        self.result_spec = None


def call_with_gradient(overload, device, args, kwargs):
    """Runs the kernel without recording and records one node for it."""
    if overload.gradient is None:
        overload.gradient = _function_of(overload)
    # Tensors in lists are arguments of the node, too.
    has_lists = any(argument.type.is_tensor_list for argument in overload._schema.arguments)
    leaves, spec = _pytree.tree_flatten(args) if has_lists else (args, None)
    call = _Call(device, spec, kwargs)
    stack = _state.__dict__.setdefault("calls", [])
    stack.append(call)
    results = overload.gradient.apply(*leaves)
    if call.result_spec is None:
        return results
    return _pytree.tree_unflatten(list(results), call.result_spec)


def set_gradient(overload, backward, setup_context):
    """Gives an operator its rule for gradients."""
    overload.gradient = _function_of(overload, backward, setup_context)


def _function_of(overload, backward=None, setup_context=None):
    def forward(ctx, *leaves):
        call = _state.calls.pop()
        args = leaves if call.spec is None else _pytree.tree_unflatten(leaves, call.spec)
        result = overload.run(call.device, args, call.kwargs)
        ctx._mt_spec = call.spec
        if setup_context is not None:
            every, named = overload._schema.with_defaults(args, call.kwargs)
            if named:
                setup_context(ctx=ctx, inputs=every, keyword_only_inputs=named, output=result)
            else:
                setup_context(ctx=ctx, inputs=every, output=result)
        if isinstance(result, torch.Tensor):
            return result
        leaves, call.result_spec = _pytree.tree_flatten(result)
        return tuple(leaves)

    def run_backward(ctx, *grads):
        if backward is None:
            raise RuntimeError(
                f"Trying to backward through {overload} but no autograd formula was registered. "
                "Please use register_autograd to add one."
            )
        returns = overload._schema.returns
        if len(returns) == 1 and returns[0].type.is_tensor_list:
            grads = (list(grads),)
        found = backward(ctx, *grads)
        found = found if isinstance(found, tuple) else (found,)
        return _for_node(found, ctx, overload)

    name = f"GeneratedBackwardFor_{overload.namespace}_{overload.__name__.replace('.', '_')}"
    members = {"forward": staticmethod(forward), "backward": staticmethod(run_backward)}
    return type(name, (torch.autograd.Function,), members)


def _for_node(found, ctx, overload):
    """The gradients of all arguments as those of the node's inputs, which may be fewer: defaults
    are not among them. A single None stands for a whole list.
    """
    needs = ctx.needs_input_grad
    if ctx._mt_spec is None:
        return tuple(found[: len(needs)])
    grads = []
    for grad, spec in zip(found, ctx._mt_spec.children(), strict=False):
        if spec.is_leaf():
            grads.append(grad)
        else:
            grads += [None] * spec.num_leaves if grad is None else list(grad)
    return tuple(grads)
