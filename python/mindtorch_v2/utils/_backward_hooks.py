"""Runs backward hooks of modules in backward passes.

`BackwardHook` puts an identity node before the inputs and one after the outputs of a module: the
node of the outputs gives the gradients that come in, the node of the inputs those that go out.
"""

import functools

import mindtorch_v2 as torch
from mindtorch_v2._C import Tensor


@functools.cache
def _identity():
    """The identity as a function of autograd, made when it is first needed: most programs have no
    such hook."""

    class BackwardHookFunction(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *tensors):
            made = tuple(tensor.view_as(tensor) for tensor in tensors)
            pairs = zip(made, tensors, strict=True)
            ctx.mark_non_differentiable(*(view for view, t in pairs if not t.requires_grad))
            return made

        @staticmethod
        def backward(ctx, *grads):
            return grads

    return BackwardHookFunction


def _with_node(values):
    """(values with their tensors behind one node, that node, the places of the tensors)."""
    places = [i for i, value in enumerate(values) if isinstance(value, Tensor)]
    if not torch.is_grad_enabled() or not any(values[i].requires_grad for i in places):
        return values, None, places
    made, through = list(values), _identity().apply(*(values[i] for i in places))
    for i, tensor in zip(places, through, strict=True):
        made[i] = tensor
    node = next(made[i].grad_fn for i in places if made[i].grad_fn is not None)
    return tuple(made), node, places


def _spread(grads, places, size):
    result = [None] * size
    for i, grad in zip(places, grads, strict=True):
        result[i] = grad
    return tuple(result)


class BackwardHook:
    """Runs the full backward hooks of one call of a module: hooks(module, grad_input, grad_output)
    and, before them, pre_hooks(module, grad_output).

    >>> layer = torch.nn.Linear(2, 1)
    >>> seen = torch.utils.hooks.BackwardHook(layer, [lambda *grads: print(len(grads))], [])
    >>> x = torch.ones(1, 2, requires_grad=True)
    >>> out = seen.setup_output_hook(layer(*seen.setup_input_hook((x,))))
    >>> out.sum().backward()
    3
    """

    def __init__(self, module, user_hooks, user_pre_hooks):
        self.module, self.user_hooks, self.user_pre_hooks = module, user_hooks, user_pre_hooks
        self.grad_outputs = None
        self.input_count = 0
        self.has_input_node = False

    def setup_input_hook(self, args):
        """args, behind a node that reports their gradients."""
        self.input_count = len(args)
        made, node, places = _with_node(args)
        if node is None:
            return args
        self.has_input_node = True

        def report(grad_inputs, _):
            if self.grad_outputs is None:  # the outputs took no part in this backward pass
                return None
            result = self._run_hooks(_spread(grad_inputs, places, len(args)))
            self.grad_outputs = None
            return tuple(result[i] for i in places)

        node.register_hook(report)
        return made

    def setup_output_hook(self, result):
        """result, behind a node that reports its gradients."""
        is_tensor = isinstance(result, Tensor)
        if not is_tensor and not isinstance(result, tuple):
            return result
        values = (result,) if is_tensor else result
        made, node, places = _with_node(values)
        if node is None:
            return result

        def report(grad_outputs):
            self.grad_outputs = self._run_pre_hooks(_spread(grad_outputs, places, len(values)))
            changed = tuple(self.grad_outputs[i] for i in places) if self.user_pre_hooks else None
            if not self.has_input_node:
                self._run_hooks((None,) * self.input_count)
                self.grad_outputs = None
            return changed

        node.register_prehook(report)
        return made[0] if is_tensor else type(result)(made)

    def _run_pre_hooks(self, grad_outputs):
        for hook in self.user_pre_hooks:
            result = hook(self.module, grad_outputs)
            grad_outputs = _replaced("pre hook", "grad_output", grad_outputs, result)
        return grad_outputs

    def _run_hooks(self, grad_inputs):
        for hook in self.user_hooks:
            result = hook(self.module, grad_inputs, self.grad_outputs)
            grad_inputs = _replaced("hook", "grad_input", grad_inputs, result)
        return grad_inputs


def _replaced(kind, name, grads, result):
    """What a hook returned in place of the gradients, if anything."""
    if result is None:
        return grads
    result = result if isinstance(result, tuple) else (result,)
    if len(result) != len(grads):
        raise RuntimeError(
            f"Backward {kind} returned an invalid number of {name}, got {len(result)}, "
            f"but expected {len(grads)}"
        )
    return result


def watch_node(module, result, hooks):
    """Runs regular backward hooks at the node of the first tensor in the result."""
    while not isinstance(result, Tensor):
        values = result.values() if isinstance(result, dict) else result
        result = next(value for value in values if isinstance(value, (Tensor, tuple, list, dict)))
    if result.grad_fn is not None:
        for hook in hooks:
            result.grad_fn.register_hook(lambda *grads, hook=hook: hook(module, *grads))
