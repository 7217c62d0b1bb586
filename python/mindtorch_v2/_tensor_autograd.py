"""The methods of class Tensor that belong to autograd and are written in Python."""

from collections import OrderedDict

from mindtorch_v2 import _C
from mindtorch_v2._C import Tensor

_ones_like = _C._functions["ones_like"]


def _backward(self, gradient=None, retain_graph=None, create_graph=False, inputs=None):
    """Adds the gradient of this tensor to `.grad` of the leaves it was computed from, or of
    `inputs`. `gradient` is where to start; it may be left out for a tensor with one element.

    >>> x = torch.tensor([1., 2.], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """
    # What most programs write, without the checks of arguments that are not there.
    is_plain = gradient is None and inputs is None and not create_graph
    if is_plain and self.requires_grad and self.numel() == 1 and not self.is_complex():
        _C._run_backward((self,), (_ones_like(self),), bool(retain_graph), False, (), True, True)
        return
    from mindtorch_v2.autograd import backward

    backward(self, gradient, retain_graph, create_graph, inputs=inputs)


def _register_hook(self, hook):
    """Runs hook(grad) whenever the gradient of this tensor is computed; what it returns, if
    anything, takes the gradient's place. The result removes the hook again.

    >>> x = torch.ones(1, requires_grad=True)
    >>> handle = x.register_hook(lambda grad: grad * 10)
    >>> (x * 2).backward()
    >>> x.grad
    tensor([20.])
    """
    from mindtorch_v2.utils.hooks import RemovableHandle

    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    hooks = self._backward_hooks
    if hooks is None:
        hooks = self._backward_hooks = OrderedDict()
        if self.grad_fn is not None:
            self._register_hook_dict(hooks)
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


def _register_post_accumulate_grad_hook(self, hook):
    """Runs hook(tensor) whenever something was added to `.grad` of this leaf. The result removes
    the hook again.

    >>> x = torch.ones(1, requires_grad=True)
    >>> handle = x.register_post_accumulate_grad_hook(lambda x: print(x.grad))
    >>> (x * 2).backward()
    tensor([2.])
    """
    from mindtorch_v2.utils.hooks import RemovableHandle

    if not self.requires_grad:
        raise RuntimeError("cannot register a hook on a tensor that doesn't require gradient")
    if self.grad_fn is not None:
        raise RuntimeError("post accumulate grad hooks cannot be registered on non-leaf tensors")
    hooks = self._post_accumulate_grad_hooks
    if hooks is None:
        hooks = self._post_accumulate_grad_hooks = OrderedDict()
    handle = RemovableHandle(hooks)
    hooks[handle.id] = hook
    return handle


Tensor.backward = _backward
Tensor.register_hook = _register_hook
Tensor.register_post_accumulate_grad_hook = _register_post_accumulate_grad_hook
