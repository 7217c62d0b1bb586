"""torch.autograd.function: functions whose gradient the user writes."""

import functools
import inspect
import warnings

from mindtorch_v2 import _C
from mindtorch_v2._C import Tensor

__all__ = [
    "BackwardCFunction",
    "Function",
    "FunctionCtx",
    "FunctionMeta",
    "InplaceFunction",
    "once_differentiable",
]


class FunctionCtx:
    """What the forward of a Function leaves for its backward. Any attribute may be set on it;
    tensors that forward takes or returns belong in save_for_backward.

    >>> class Square(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         x, = ctx.saved_tensors
    ...         return 2 * x * grad
    >>> Square.apply(torch.tensor(3., requires_grad=True))
    tensor(9., grad_fn=<SquareBackward>)
    """

    def save_for_backward(self, *tensors):
        """Keeps tensors, or None, for backward, which finds them in `saved_tensors`. To be called
        once, in forward or setup_context."""
        self.to_save = tensors

    def save_for_forward(self, *tensors):
        """Names what jvp would need. There is no forward mode, so nothing is kept."""
        for tensor in tensors:
            if tensor is not None and not isinstance(tensor, Tensor):
                raise TypeError(
                    "save_for_forward expects all arguments to be tensors or None, "
                    f"not {type(tensor).__name__}"
                )

    def mark_dirty(self, *args):
        """Says that forward changed these inputs in place; it must return them."""
        self.dirty_tensors = args

    def mark_non_differentiable(self, *args):
        """Says that these outputs have no gradient."""
        self.non_differentiable = args

    def set_materialize_grads(self, value):
        """Whether backward gets zeros (the default) or None for outputs without a gradient."""
        self.materialize_grads = value


class BackwardCFunction(_C._FunctionBase, FunctionCtx):
    """The node of a Function in the graph, which is also the ctx of its forward. Each Function has
    a class of its own derived from this one."""

    def apply(self, *grads):
        """Runs the backward that the user wrote."""
        function = self._forward_cls
        if function.vjp is Function.vjp:
            return function.backward(self, *grads)
        if function.backward is not Function.backward:
            raise RuntimeError(
                "Implementing both 'backward' and 'vjp' for a custom Function is not allowed. "
                "You should only implement one of them."
            )
        return function.vjp(self, *grads)


class FunctionMeta(type):
    """Gives every Function the class of its nodes, named <Name>Backward."""

    def __init__(cls, name, bases, attributes):
        super().__init__(name, bases, attributes)
        node = type(f"{name}Backward", (BackwardCFunction,), {"_forward_cls": cls})
        node.__module__ = cls.__module__
        cls._backward_cls = node


class Function(FunctionCtx, metaclass=FunctionMeta):
    """A function with a gradient that the user writes: a class with static methods `forward` and
    `backward`, called by `apply`.

    `forward(ctx, *args)` computes the result. Or `forward(*args)` does, and
    `setup_context(ctx, inputs, output)` sets up ctx after it. `backward(ctx, *grads)` gets one
    gradient per output and returns one per argument of forward, None where there is none.

    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return 2 * x
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         return 2 * grad
    >>> x = torch.ones(1, requires_grad=True)
    >>> Double.apply(x).backward()
    >>> x.grad
    tensor([2.])
    """

    generate_vmap_rule = False

    def __init__(self, *args, **kwargs):
        warnings.warn(
            f"{type(self)} should not be instantiated. Methods on autograd functions are all "
            "static, so you should invoke them on the class itself. Instantiating an autograd "
            "function will raise an error in a future version of PyTorch.",
            DeprecationWarning,
            stacklevel=2,
        )

    def __call__(self, *args, **kwargs):
        raise RuntimeError(
            "Legacy autograd function with non-static forward method is deprecated. Please use "
            "new-style autograd function with static forward method. (Example: "
            "https://pytorch.org/docs/stable/autograd.html#torch.autograd.Function)"
        )

    @staticmethod
    def forward(*args, **kwargs):
        """Computes the result; to be written by the user."""
        raise NotImplementedError(
            "You must implement the forward function for custom autograd.Function."
        )

    @staticmethod
    def setup_context(ctx, inputs, output):
        """Keeps what backward needs, if forward takes no ctx."""
        raise NotImplementedError("setup_context is not implemented.")

    @staticmethod
    def backward(ctx, *grad_outputs):
        """The gradients of the inputs; to be written by the user."""
        raise NotImplementedError(
            "You must implement either the backward or vjp method for your custom "
            "autograd.Function to use it with backward mode AD."
        )

    vjp = backward  # another name for it

    @staticmethod
    def jvp(ctx, *grad_inputs):
        """For forward mode, which uses backward instead."""
        raise NotImplementedError(
            "You must implement the jvp function for custom autograd.Function to use it with "
            "forward mode AD."
        )

    @staticmethod
    def vmap(info, in_dims, *args):
        """How it runs for a whole batch: returns (outputs, their batch dims). `info` has batch_size
        and randomness; `in_dims` says which dim of each argument counts samples, None for none."""
        raise NotImplementedError(
            "To use autograd.Function with vmap, you must either override the vmap staticmethod "
            "or set generate_vmap_rule=True."
        )

    @classmethod
    def apply(cls, *args, **kwargs):
        """Runs forward, and puts the function into the graph if an input requires gradients."""
        has_setup = cls.setup_context is not Function.setup_context
        if has_setup or kwargs:
            args = _bind(cls.forward, args, kwargs, has_setup)
        if _C._vmap_level():
            from mindtorch_v2.autograd import _function_vmap

            if level := _function_vmap.level_of(args):
                has_rule = cls.vmap is not Function.vmap
                return _function_vmap.apply(cls, args, level, has_rule, has_setup)
        return _C._FunctionBase._apply(cls, cls._backward_cls(), args, has_setup)


def _bind(forward, args, kwargs, has_setup):
    """All arguments of forward by position, defaults included."""
    ctx = () if has_setup else (None,)
    bound = inspect.signature(forward).bind(*ctx, *args, **kwargs)
    bound.apply_defaults()
    if bound.kwargs:
        raise TypeError(
            f"{forward.__qualname__}() takes arguments by keyword only, which apply() cannot pass: "
            f"{', '.join(bound.kwargs)}"
        )
    return bound.args[len(ctx) :]


class InplaceFunction(Function):
    """A Function with a flag that says whether it works in place."""

    def __init__(self, inplace=False):
        super().__init__()
        self.inplace = inplace


def once_differentiable(fn):
    """A backward whose result cannot be differentiated again: it runs with gradient mode off, and
    an attempt is an error.

    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         return 2 * x
    ...     @staticmethod
    ...     @torch.autograd.function.once_differentiable
    ...     def backward(ctx, grad):
    ...         return 2 * grad
    """

    @functools.wraps(fn)
    def backward(ctx, *grads):
        was_enabled = _C._is_grad_enabled()
        _C._set_grad_enabled(False)
        try:
            result = fn(ctx, *grads)
        finally:
            _C._set_grad_enabled(was_enabled)
        if not was_enabled or not any(isinstance(g, Tensor) and g.requires_grad for g in grads):
            return result
        if not isinstance(result, tuple):
            return _without_derivative(result)
        return tuple(map(_without_derivative, result))

    return backward


def _without_derivative(grad):
    return _NoDerivative.apply(grad.detach().requires_grad_()) if isinstance(grad, Tensor) else grad


class _NoDerivative(Function):
    @staticmethod
    def forward(ctx, grad):
        return grad.view_as(grad)

    @staticmethod
    def backward(ctx, grad):
        raise RuntimeError(
            "trying to differentiate twice a function that was marked with @once_differentiable"
        )
