"""torch.utils.module_tracker: which modules run at the moment, forward and backward."""

import weakref

import mindtorch_v2 as torch
from mindtorch_v2.autograd.graph import register_multi_grad_hook
from mindtorch_v2.nn.modules.module import (
    register_module_forward_hook,
    register_module_forward_pre_hook,
)
from mindtorch_v2.utils._pytree import tree_leaves

__all__ = ["ModuleTracker"]


class ModuleTracker:
    """with ModuleTracker() as tracker: `tracker.parents` has the names of all modules that run, and
    "Global". A module is named by its class, the modules in it by their path from there.

    >>> from mindtorch_v2.utils.module_tracker import ModuleTracker
    >>> model = torch.nn.Sequential(torch.nn.ReLU())
    >>> with ModuleTracker() as tracker:
    ...     show = lambda *args: print(sorted(tracker.parents))
    ...     handle = model[0].register_forward_pre_hook(show)
    ...     _ = model(torch.ones(1))
    ['Global', 'Sequential', 'Sequential.0']
    """

    def __init__(self):
        self.parents = {"Global"}
        self._names = weakref.WeakKeyDictionary()
        self._hooks = []
        self._resets = False  # at the end of the running backward pass
        self._in_backward = False

    @property
    def is_bw(self):
        """Whether a backward pass runs."""
        return self._in_backward

    def __enter__(self):
        self._handles = [
            register_module_forward_pre_hook(self._before),
            register_module_forward_hook(self._after, always_call=True),
        ]
        return self

    def __exit__(self, *error):
        for handle in (*self._handles, *self._hooks):
            handle.remove()
        self._hooks.clear()

    def _name(self, module):
        if module not in self._names:
            self._give_names(module, type(module).__name__)
        return self._names[module]

    def _give_names(self, module, name):
        self._names[module] = name
        for child_name, child in module.named_children():
            self._give_names(child, f"{name}.{child_name}")

    def _before(self, module, inputs):
        name = self._name(module)
        self._enter(name)
        self._in_backward_call(inputs, lambda *grads: self._leave(name))

    def _after(self, module, inputs, outputs):
        name = self._name(module)
        self._leave(name)
        self._in_backward_call(outputs, lambda *grads: self._enter_backward(name))

    def _in_backward_call(self, values, function):
        leaves = tree_leaves(values)
        tensors = [t for t in leaves if isinstance(t, torch.Tensor) and t.requires_grad]
        if tensors:
            self._hooks.append(register_multi_grad_hook(tensors, function))

    def _enter_backward(self, name):
        if not self._resets:
            self._resets = self._in_backward = True
            torch.autograd.Variable._execution_engine.queue_callback(self._reset)
        self._enter(name)

    def _reset(self):
        for name in self.parents - {"Global"}:
            self._leave(name)
        self._resets = self._in_backward = False

    def _enter(self, name):
        self.parents.add(name)

    def _leave(self, name):
        self.parents.discard(name)
