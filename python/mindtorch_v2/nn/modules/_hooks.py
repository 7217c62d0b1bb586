"""Hooks of modules: those of all modules, and the methods that register those of one.

Forward hooks run around `forward` (see `call_with_hooks`). Backward hooks are kept here and run by
`_backward_hooks`.
"""

import warnings
import weakref
from collections import OrderedDict

from mindtorch_v2._C import Tensor
from mindtorch_v2.utils import _backward_hooks
from mindtorch_v2.utils.hooks import RemovableHandle


class GlobalHooks:
    """The hooks that every module runs."""

    def __init__(self):
        self.forward_pre = OrderedDict()
        self.forward = OrderedDict()
        self.forward_always_called = OrderedDict()
        self.forward_with_kwargs = OrderedDict()
        self.backward_pre = OrderedDict()
        self.backward = OrderedDict()
        self.is_full_backward = None
        self.buffer_registration = OrderedDict()
        self.module_registration = OrderedDict()
        self.parameter_registration = OrderedDict()

    def changed(self, kind, module, name, value):
        """`value`, or what the registration hooks of this kind make of it."""
        for hook in kind.values():
            replacement = hook(module, name, value)
            if replacement is not None:
                value = replacement
        return value


EVERY_MODULE = GlobalHooks()
# Looked at in every call of every module.
forward_pre, forward = EVERY_MODULE.forward_pre, EVERY_MODULE.forward
backward_pre, backward = EVERY_MODULE.backward_pre, EVERY_MODULE.backward


def _add(hooks, hook, extra=(), prepend=False):
    handle = RemovableHandle(hooks, extra_dict=extra)
    hooks[handle.id] = hook
    if prepend:
        hooks.move_to_end(handle.id, last=False)
    return handle


def register_module_buffer_registration_hook(hook):
    """Runs hook(module, name, buffer) when any module gets a buffer."""
    return _add(EVERY_MODULE.buffer_registration, hook)


def register_module_module_registration_hook(hook):
    """Runs hook(module, name, submodule) when any module gets a submodule."""
    return _add(EVERY_MODULE.module_registration, hook)


def register_module_parameter_registration_hook(hook):
    """Runs hook(module, name, parameter) when any module gets a parameter."""
    return _add(EVERY_MODULE.parameter_registration, hook)


def register_module_forward_pre_hook(hook):
    """Runs hook(module, args) before the forward of every module.

    >>> seen = []
    >>> handle = torch.nn.modules.module.register_module_forward_pre_hook(
    ...     lambda module, args: seen.append(type(module).__name__))
    >>> _ = torch.nn.ReLU()(torch.ones(1))
    >>> handle.remove()
    >>> seen
    ['ReLU']
    """
    return _add(EVERY_MODULE.forward_pre, hook)


def register_module_forward_hook(hook, *, with_kwargs=False, always_call=False):
    """Runs hook(module, args, output) after the forward of every module."""
    handle = _add(
        EVERY_MODULE.forward,
        hook,
        [EVERY_MODULE.forward_with_kwargs, EVERY_MODULE.forward_always_called],
    )
    if with_kwargs:
        EVERY_MODULE.forward_with_kwargs[handle.id] = True
    if always_call:
        EVERY_MODULE.forward_always_called[handle.id] = True
    return handle


_GLOBAL_MIX = (
    "Cannot use both regular backward hooks and full backward hooks as a "
    "global Module hook. Please use only one of them."
)


def register_module_backward_hook(hook):
    """Runs hook(module, grad_input, grad_output) at the backward node of every module's output."""
    if EVERY_MODULE.is_full_backward is True:
        raise RuntimeError(_GLOBAL_MIX)
    EVERY_MODULE.is_full_backward = False
    return _add(EVERY_MODULE.backward, hook)


def register_module_full_backward_pre_hook(hook):
    """Runs hook(module, grad_output) before the gradients of every module's inputs are made."""
    return _add(EVERY_MODULE.backward_pre, hook)


def register_module_full_backward_hook(hook):
    """Runs hook(module, grad_input, grad_output) when they exist for every module."""
    if EVERY_MODULE.is_full_backward is False:
        raise RuntimeError(_GLOBAL_MIX)
    EVERY_MODULE.is_full_backward = True
    return _add(EVERY_MODULE.backward, hook)


class ModuleHook:
    """A hook that gets its module first, without keeping the module alive."""

    def __init__(self, hook, module=None):
        self.hook = hook
        self.with_module = module is not None
        self.module = weakref.ref(module) if self.with_module else None
        self.__name__ = getattr(hook, "__name__", type(hook).__name__)

    def __call__(self, *args, **kwargs):
        if not self.with_module:
            return self.hook(*args, **kwargs)
        module = self.module()
        if module is None:
            raise RuntimeError("You are trying to call the hook of a dead Module!")
        return self.hook(module, *args, **kwargs)

    def __getstate__(self):
        return self.hook, self.module() if self.with_module else None, self.with_module

    def __setstate__(self, state):
        hook, module, with_module = state
        if with_module and module is None:
            raise RuntimeError("You are trying to revive the hook of a dead Module!")
        self.__init__(hook, module)


class HookMethods:
    """The register_... methods of a module."""

    def register_forward_pre_hook(self, hook, *, prepend=False, with_kwargs=False):
        """Runs hook(module, args) before forward; what it returns replaces args. With
        with_kwargs it is hook(module, args, kwargs) and returns both or None.
        """
        handle = _add(
            self._forward_pre_hooks, hook, self._forward_pre_hooks_with_kwargs, prepend=prepend
        )
        if with_kwargs:
            self._forward_pre_hooks_with_kwargs[handle.id] = True
        return handle

    def register_forward_hook(self, hook, *, prepend=False, with_kwargs=False, always_call=False):
        """Runs hook(module, args, output) after forward, or hook(module, args, kwargs, output);
        what it returns replaces the output. With always_call also when forward raised.
        """
        handle = _add(
            self._forward_hooks,
            hook,
            [self._forward_hooks_with_kwargs, self._forward_hooks_always_called],
            prepend=prepend,
        )
        if with_kwargs:
            self._forward_hooks_with_kwargs[handle.id] = True
        if always_call:
            self._forward_hooks_always_called[handle.id] = True
        return handle

    def _refuse_mixed(self, is_full):
        if self._is_full_backward_hook is (not is_full):
            raise RuntimeError(
                "Cannot use both regular backward hooks and full backward hooks on a "
                "single Module. Please use only one of them."
            )
        self._is_full_backward_hook = is_full

    def register_backward_hook(self, hook):
        """Runs hook(module, grad_input, grad_output) at the backward node of the output; prefer
        register_full_backward_hook.
        """
        self._refuse_mixed(is_full=False)
        return _add(self._backward_hooks, hook)

    def register_full_backward_hook(self, hook, prepend=False):
        """Runs hook(module, grad_input, grad_output) when the gradients of the inputs exist; what
        it returns replaces grad_input.
        """
        self._refuse_mixed(is_full=True)
        return _add(self._backward_hooks, hook, prepend=prepend)

    def register_full_backward_pre_hook(self, hook, prepend=False):
        """Runs hook(module, grad_output) before the gradients of the inputs are computed; what it
        returns replaces grad_output.
        """
        return _add(self._backward_pre_hooks, hook, prepend=prepend)

    def _register_state_dict_hook(self, hook):
        if getattr(hook, "_from_public_api", False):
            raise RuntimeError(
                "Cannot register the same function as the state dict post hook that was "
                "previously registered via register_state_dict_post_hook"
            )
        return _add(self._state_dict_hooks, hook)

    def register_state_dict_post_hook(self, hook):
        """Runs hook(module, state_dict, prefix, local_metadata) at the end of state_dict()."""
        hook._from_public_api = True
        return _add(self._state_dict_hooks, hook)

    def register_state_dict_pre_hook(self, hook):
        """Runs hook(module, prefix, keep_vars) at the start of state_dict()."""
        return _add(self._state_dict_pre_hooks, hook)

    def _register_load_state_dict_pre_hook(self, hook, with_module=False):
        made = ModuleHook(hook, self if with_module else None)
        return _add(self._load_state_dict_pre_hooks, made)

    def register_load_state_dict_pre_hook(self, hook):
        """Runs hook(module, state_dict, prefix, local_metadata, strict, missing_keys,
        unexpected_keys, error_msgs) before this module is loaded.
        """
        return self._register_load_state_dict_pre_hook(hook, with_module=True)

    def register_load_state_dict_post_hook(self, hook):
        """Runs hook(module, incompatible_keys) after load_state_dict; it may change the keys."""
        return _add(self._load_state_dict_post_hooks, hook)

    def _get_backward_hooks(self):
        """(full hooks, regular hooks), those of all modules first."""
        full, regular = [], []
        if EVERY_MODULE.is_full_backward is True:
            full += EVERY_MODULE.backward.values()
        if self._is_full_backward_hook is True:
            full += self._backward_hooks.values()
        if EVERY_MODULE.is_full_backward is False:
            regular += EVERY_MODULE.backward.values()
        if self._is_full_backward_hook is False:
            regular += self._backward_hooks.values()
        return full, regular

    def _get_backward_pre_hooks(self):
        return [*EVERY_MODULE.backward_pre.values(), *self._backward_pre_hooks.values()]


def _run_pre_hooks(module, args, kwargs):
    for key, hook in [*forward_pre.items(), *module._forward_pre_hooks.items()]:
        if key in module._forward_pre_hooks_with_kwargs:
            result = hook(module, args, kwargs)
            if result is None:
                continue
            if not (isinstance(result, tuple) and len(result) == 2):
                raise RuntimeError(
                    "forward pre-hook must return None or a tuple "
                    f"of (new_args, new_kwargs), but got {result}."
                )
            args, kwargs = result
        else:
            result = hook(module, args)
            if result is not None:
                args = result if isinstance(result, tuple) else (result,)
    return args, kwargs


class _Call:
    """One call of a module that has hooks."""

    def __init__(self, module, args, kwargs):
        self.module, self.args, self.kwargs = module, args, kwargs
        self.result = None
        self.called = set()  # ids of the hooks with always_call that ran

    def run(self):
        module = self.module
        full, regular = module._get_backward_hooks()
        pre = module._get_backward_pre_hooks()
        self.args, self.kwargs = _run_pre_hooks(module, self.args, self.kwargs)
        watch = None
        if full or pre:
            watch = _backward_hooks.BackwardHook(module, full, pre)
            self.args = watch.setup_input_hook(self.args)
        self.result = module.forward(*self.args, **self.kwargs)
        for key, hook in [*forward.items(), *module._forward_hooks.items()]:
            if self._is_always_called(key):
                self.called.add(key)
            self._run_hook(key, hook)
        if watch is not None:
            if not isinstance(self.result, (Tensor, tuple)):
                warnings.warn(
                    "For backward hooks to be called,"
                    " module output should be a Tensor or a tuple of Tensors"
                    f" but received {type(self.result)}",
                    stacklevel=4,
                )
            self.result = watch.setup_output_hook(self.result)
        if regular:
            _backward_hooks.watch_node(module, self.result, regular)
        return self.result

    def _is_always_called(self, key):
        module = self.module
        return key in module._forward_hooks_always_called or (
            key in EVERY_MODULE.forward_always_called
        )

    def _run_hook(self, key, hook):
        module = self.module
        if key in module._forward_hooks_with_kwargs or key in EVERY_MODULE.forward_with_kwargs:
            result = hook(module, self.args, self.kwargs, self.result)
        else:
            result = hook(module, self.args, self.result)
        if result is not None:
            self.result = result

    def run_always_called(self):
        """Forward or a hook raised: the hooks with always_call run all the same."""
        for kind, hooks in (("global module", forward), ("module", self.module._forward_hooks)):
            for key, hook in hooks.items():
                if not self._is_always_called(key) or key in self.called:
                    continue
                try:
                    self._run_hook(key, hook)
                except Exception as error:
                    warnings.warn(
                        f"{kind} forward hook with ``always_call=True`` raised an exception "
                        f"that was silenced as another error was raised in forward: {error}",
                        stacklevel=4,
                    )


def call_with_hooks(module, args, kwargs):
    """What module(*args, **kwargs) does when there are hooks."""
    call = _Call(module, args, kwargs)
    try:
        return call.run()
    except Exception:
        call.run_always_called()
        raise
